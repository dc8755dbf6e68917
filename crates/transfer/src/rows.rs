//! The rows of several tables, one table after the other, with one progress for all; a bad row is named and left out.

use crate::Result;
use crate::sink::Sink;
use crate::sqlite::{Bad, Database, Row};

/// Nothing, or why the row is left out.
pub(super) type Made = std::result::Result<(), Bad>;
/// Makes a record of a row.
pub(super) type Make<'m> = dyn FnMut(&Row, &str, &mut Sink<'_>) -> Result<Made> + 'm;

pub(super) struct Rows<'d> {
    pub(super) db: &'d Database,
    done: u64,
    total: u64,
}

impl<'d> Rows<'d> {
    /// All that will be read, so that progress has an end.
    pub(super) fn of(db: &'d Database, tables: &[&str]) -> Result<Rows<'d>> {
        let mut total = 0;
        for table in tables {
            total += db.count(table)?;
        }
        Ok(Rows { db, done: 0, total })
    }

    pub(super) fn each(
        &mut self,
        table: &str,
        columns: &[&[&str]],
        sink: &mut Sink<'_>,
        make: &mut Make<'_>,
    ) -> Result<()> {
        self.db.each(table, columns, &mut |row| {
            let what = row.what();
            if let Err(bad) = make(row, &what, sink)? {
                sink.skip(what, bad);
            }
            self.done += 1;
            (sink.progress)(self.done, self.total);
            Ok(())
        })
    }
}
