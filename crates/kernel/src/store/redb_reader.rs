//! A state of a redb file for one reader, which keeps the file open though another one takes its place.

use std::cell::OnceCell;
use std::ops::Bound;
use std::sync::{Arc, PoisonError};

use redb::{ReadOnlyTable, ReadTransaction, ReadableDatabase, TableError};

use super::backend::{engine, guarded};
use super::engine::{OpenDatabase, SPACES, definition};
use super::{KeyRange, Space, StoreReader, Visit};
use crate::error::{Error, Result};

type Table = ReadOnlyTable<&'static [u8], &'static [u8]>;

pub(super) struct RedbReader {
    transaction: ReadTransaction,
    /// Opened at first use: truth, side A, side B, engine.
    tables: [OnceCell<Option<Table>>; 4],
    /// Last, so that it is there until the transaction is gone.
    file: Arc<OpenDatabase>,
}

impl RedbReader {
    pub(super) fn begin(current: &Arc<OpenDatabase>) -> Result<RedbReader> {
        let database = current.database.read().unwrap_or_else(PoisonError::into_inner);
        guarded(|| {
            let transaction =
                database.as_ref().ok_or(Error::Closed)?.begin_read().map_err(engine)?;
            let file = Arc::clone(current);
            Ok(RedbReader { transaction, tables: Default::default(), file })
        })
    }

    fn table(&self, space: Space) -> Result<Option<&Table>> {
        let slot = SPACES.iter().position(|s| *s == space).expect("SPACES lists every space");
        if self.tables[slot].get().is_none() {
            let opened = match self.transaction.open_table(definition(space)) {
                Ok(table) => Some(table),
                // A space nobody has written to yet.
                Err(TableError::TableDoesNotExist(_)) => None,
                Err(error) => return Err(engine(error)),
            };
            // The slot was empty just now and a reader belongs to one thread, so this cannot fail.
            let _ = self.tables[slot].set(opened);
        }
        Ok(self.tables[slot].get().and_then(Option::as_ref))
    }
}

impl StoreReader for RedbReader {
    fn generation(&self) -> u64 {
        self.file.generation
    }

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        guarded(|| {
            let Some(table) = self.table(space)? else { return Ok(None) };
            Ok(table.get(key).map_err(engine)?.map(|guard| guard.value().to_vec()))
        })
    }

    fn scan(&self, space: Space, range: &KeyRange, visit: &mut Visit<'_>) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let Some(table) = guarded(|| self.table(space))? else { return Ok(()) };
        let from = Bound::Included(range.from.as_slice());
        let to = range.to.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut rows = guarded(|| table.range::<&[u8]>((from, to)).map_err(engine))?;
        loop {
            let next = guarded(|| {
                let row = if range.reverse { rows.next_back() } else { rows.next() };
                row.transpose().map_err(engine)
            })?;
            let Some((key, value)) = next else { return Ok(()) };
            if visit(key.value(), value.value())?.is_break() {
                return Ok(());
            }
        }
    }
}
