//! A derived store being written that will replace another.

use redb::Database;

use super::backend::{engine, guarded, io};
use super::engine::{RowChanges, SPACES, Wait, begin, commit_to, open_database, stage};
use super::{EngineOptions, KeyRange, Medium, SCRUB_KEY, Space, StoreFile, StoreReader, WriteSet};
use crate::error::Result;

/// Rows copied per transaction when a file is rewritten.
const REWRITE_ROWS_PER_COMMIT: usize = 20_000;

/// A store being written that will replace another.
pub(crate) struct FreshCopy(pub(super) Database);

impl FreshCopy {
    pub(super) fn begin(medium: &dyn Medium, options: EngineOptions) -> Result<FreshCopy> {
        medium.remove(StoreFile::DerivedScratch).map_err(io)?;
        Ok(FreshCopy(open_database(medium, StoreFile::DerivedScratch, options)?))
    }

    /// Copies all rows that `reader` shows, but the one that asks for the copy.
    pub(crate) fn fill(&self, reader: &dyn StoreReader) -> Result<()> {
        SPACES.into_iter().try_for_each(|space| self.fill_space(reader, space))
    }

    fn fill_space(&self, reader: &dyn StoreReader, space: Space) -> Result<()> {
        let mut batch = WriteSet::new();
        let mut rows = 0;
        reader.scan(space, &KeyRange::all(), &mut |key, value| {
            if (space, key) == (Space::Engine, SCRUB_KEY) {
                return Ok(std::ops::ControlFlow::Continue(()));
            }
            batch.put(space, key.to_vec(), value.to_vec());
            rows += 1;
            if rows % REWRITE_ROWS_PER_COMMIT == 0 {
                guarded(|| commit_to(&self.0, &std::mem::take(&mut batch), Wait::Nothing))?;
            }
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        guarded(|| commit_to(&self.0, &batch, Wait::Disk))
    }

    /// Applies what was committed to the store since.
    pub(crate) fn apply(&self, writes: &WriteSet, truth: &RowChanges) -> Result<()> {
        guarded(|| {
            let transaction = begin(&self.0, Wait::Nothing)?;
            let others = writes.iter().filter(|(space, _)| *space != Space::Truth);
            stage(&transaction, writes, others.chain([(Space::Truth, truth)]))?;
            transaction.commit().map_err(engine)
        })
    }

    /// Makes it durable.
    pub(crate) fn settle(&self) -> Result<()> {
        guarded(|| commit_to(&self.0, &WriteSet::new(), Wait::Disk))
    }
}
