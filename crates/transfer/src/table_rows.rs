//! The rows of several tables, one table after the other, with one progress for all; a bad row is named and left out.

use crate::Result;
use crate::normalize::Normalizer;
use crate::sqlite::{Bad, Database, Row};

/// Nothing, or why the row is left out.
pub(super) type RowOutcome = std::result::Result<(), Bad>;
/// Makes a record of a row and gives it to the normalizer.
pub(super) type RowReader<'m> =
    dyn FnMut(&Row, &str, &mut Normalizer<'_>) -> Result<RowOutcome> + 'm;

pub(super) struct TableRows<'d> {
    pub(super) db: &'d Database,
    done: u64,
    total: u64,
}

impl<'d> TableRows<'d> {
    /// All that will be read, so that progress has an end.
    pub(super) fn of(db: &'d Database, tables: &[&str]) -> Result<TableRows<'d>> {
        let mut total = 0;
        for table in tables {
            total += db.count(table)?;
        }
        Ok(TableRows { db, done: 0, total })
    }

    pub(super) fn each(
        &mut self,
        table: &str,
        columns: &[&[&str]],
        normalizer: &mut Normalizer<'_>,
        read: &mut RowReader<'_>,
    ) -> Result<()> {
        self.db.each(table, columns, &mut |row| {
            let what = row.what();
            if let Err(bad) = read(row, &what, normalizer)? {
                normalizer.skip(what, bad);
            }
            self.done += 1;
            (normalizer.progress)(self.done, self.total);
            Ok(())
        })
    }
}
