//! A derived store being written that will replace another.
//!
//! What must stay true: there is one at a time, whoever wants the next waits; until it takes the place of the store
//! it is worthless, and one that is given up leaves no file. A process that wants to end gives up all of them.

use std::io::Write as _;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use redb::Database;

use super::backend::{engine, guarded, io};
use super::engine::{
    OpenDatabase, RowChanges, SPACES, Wait, begin, commit_to, definition, open_database, stage,
};
use super::redb_reader::RedbReader;
use super::{
    EngineOptions, KeyRange, Medium, PACKED_KEY, SCRUB_KEY, Space, StoreFile, StoreReader, WriteSet,
};
use crate::error::{Error, Result};
use crate::keys::{self, TruthKey};

/// Rows copied per transaction when a file is rewritten.
const REWRITE_ROWS_PER_COMMIT: usize = 20_000;
/// Bytes that are copied at a time when a file is taken out.
const COPY_PART_BYTES: usize = 1 << 20;

/// Whose turn it is to write a copy.
#[derive(Debug, Default)]
pub(super) struct CopyTurns {
    is_taken: Mutex<bool>,
    freed: Condvar,
    /// None is written any more.
    are_over: AtomicBool,
}

impl CopyTurns {
    /// The copy that is being written fails at its next step, and so do all that would follow.
    pub(super) fn give_up(&self) {
        self.are_over.store(true, Ordering::Release);
    }

    fn check(&self) -> Result<()> {
        if self.are_over.load(Ordering::Acquire) { Err(Error::Closed) } else { Ok(()) }
    }
}

/// Held by the one copy that is being written.
struct CopyTurn(Arc<CopyTurns>);

impl CopyTurn {
    fn wait(turns: &Arc<CopyTurns>) -> CopyTurn {
        let taken = turns.is_taken.lock().unwrap_or_else(PoisonError::into_inner);
        let free = turns.freed.wait_while(taken, |is_taken| *is_taken);
        *free.unwrap_or_else(PoisonError::into_inner) = true;
        CopyTurn(Arc::clone(turns))
    }
}

impl Drop for CopyTurn {
    fn drop(&mut self) {
        *self.0.is_taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.freed.notify_one();
    }
}

/// A store being written that will replace another.
pub struct FreshCopy {
    medium: Arc<dyn Medium>,
    /// `None` once it has taken the place of the store.
    file: Option<Arc<OpenDatabase>>,
    turn: CopyTurn,
}

impl std::fmt::Debug for FreshCopy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FreshCopy").finish_non_exhaustive()
    }
}

impl FreshCopy {
    /// Begins an empty one, after whoever writes another.
    pub(super) fn begin(
        medium: &Arc<dyn Medium>,
        options: EngineOptions,
        turns: &Arc<CopyTurns>,
    ) -> Result<FreshCopy> {
        let turn = CopyTurn::wait(turns);
        turns.check()?;
        let mut copy = FreshCopy { medium: Arc::clone(medium), file: None, turn };
        guarded(|| {
            medium.remove(StoreFile::DerivedScratch).map_err(io)?;
            let database = open_database(&**medium, StoreFile::DerivedScratch, options);
            // What could not be begun leaves no file either.
            copy.file = Some(OpenDatabase::new(database.inspect_err(|_| {
                let _ = medium.remove(StoreFile::DerivedScratch);
            })?));
            Ok(())
        })?;
        Ok(copy)
    }

    fn file(&self) -> &Arc<OpenDatabase> {
        self.file.as_ref().expect("a copy has its file until it takes the place of the store")
    }

    /// Adds something to it, unless all copies were given up.
    fn add(&self, work: impl FnOnce(&Database) -> Result<()>) -> Result<()> {
        self.turn.0.check()?;
        self.file().with(work)
    }

    /// Copies all rows that `reader` shows, densely: rows that came one by one leave every second page half empty. The
    /// row that asks for a scrub is copied only if it `keeps_scrub`.
    pub(crate) fn fill(&self, reader: &dyn StoreReader, keeps_scrub: bool) -> Result<()> {
        for space in SPACES {
            self.fill_space(reader, space, keeps_scrub)?;
        }
        let mut packed = WriteSet::new();
        packed.put(Space::Engine, PACKED_KEY.to_vec(), last_entry(reader)?.to_be_bytes().to_vec());
        self.add(|database| commit_to(database, &packed, Wait::Disk))
    }

    fn fill_space(&self, reader: &dyn StoreReader, space: Space, keeps_scrub: bool) -> Result<()> {
        let mut rows = Vec::new();
        reader.scan(space, &KeyRange::all(), &mut |key, value| {
            if keeps_scrub || (space, key) != (Space::Engine, SCRUB_KEY) {
                rows.push((key.to_vec(), value.to_vec()));
            }
            if rows.len() == REWRITE_ROWS_PER_COMMIT {
                self.append(space, &std::mem::take(&mut rows))?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        self.append(space, &rows)
    }

    /// Adds rows whose keys come after all that are there.
    fn append(&self, space: Space, rows: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.add(|database| {
            let transaction = begin(database, Wait::Nothing)?;
            {
                let mut table = transaction.open_table(definition(space)).map_err(engine)?;
                let end = Bound::<&[u8]>::Unbounded;
                let mut end = table.upper_bound_mut(end).map_err(engine)?;
                for (key, value) in rows {
                    end.insert_before(&**key, &**value).map_err(engine)?;
                }
                end.close().map_err(engine)?;
            }
            transaction.commit().map_err(engine)
        })
    }

    /// Adds rows without a wait for the disk.
    pub(crate) fn commit(&self, writes: &WriteSet) -> Result<()> {
        self.add(|database| commit_to(database, writes, Wait::Nothing))
    }

    /// The state so far.
    pub(crate) fn reader(&self) -> Result<Box<dyn StoreReader + Send>> {
        Ok(Box::new(RedbReader::begin(self.file())?))
    }

    /// Applies what was committed to the store since.
    pub(crate) fn apply(&self, writes: &WriteSet, truth: &RowChanges) -> Result<()> {
        self.add(|database| {
            let transaction = begin(database, Wait::Nothing)?;
            let others = writes.iter().filter(|(space, _)| *space != Space::Truth);
            stage(&transaction, writes, others.chain([(Space::Truth, truth)]))?;
            transaction.commit().map_err(engine)
        })
    }

    /// Makes it durable.
    pub(crate) fn settle(&self) -> Result<()> {
        self.add(|database| commit_to(database, &WriteSet::new(), Wait::Disk))
    }

    /// Closes the file and copies it to `path`; it takes nothing's place.
    pub(crate) fn take_out(mut self, path: &Path) -> Result<()> {
        drop(self.file.take());
        let outcome = copy_out(&*self.medium, path);
        // The next open removes what cannot be removed now.
        let _ = self.medium.remove(StoreFile::DerivedScratch);
        outcome.map_err(io)
    }

    /// Closes the file and gives it the name of the store.
    pub(super) fn take_place(mut self) -> Result<()> {
        // It is reopened under its new name, so that its lock and path agree.
        drop(self.file.take());
        let renamed = self.medium.rename(StoreFile::DerivedScratch, StoreFile::Derived);
        renamed.map_err(|error| {
            // It is worthless now, and the next open removes it too.
            let _ = self.medium.remove(StoreFile::DerivedScratch);
            io(error)
        })
    }
}

impl Drop for FreshCopy {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // It is worthless, and the next open removes it too.
            let _ = self.medium.remove(StoreFile::DerivedScratch);
        }
    }
}

/// The last entry of the truth; 0 if there is none.
fn last_entry(reader: &dyn StoreReader) -> Result<u64> {
    let mut last = 0;
    reader.scan(Space::Truth, &KeyRange::all().reversed(), &mut |key, _| {
        if let Some(TruthKey::Entry(seq) | TruthKey::Body(seq)) = keys::parse_truth(key) {
            last = seq;
        }
        Ok(ControlFlow::Break(()))
    })?;
    Ok(last)
}

fn copy_out(medium: &dyn Medium, path: &Path) -> std::io::Result<()> {
    let from = medium.open(StoreFile::DerivedScratch)?;
    let (mut to, length) = (std::fs::File::create(path)?, from.len()?);
    let mut part = vec![0; COPY_PART_BYTES];
    let (mut at, most) = (0, COPY_PART_BYTES as u64);
    while at < length {
        let wanted = usize::try_from((length - at).min(most)).unwrap_or(COPY_PART_BYTES);
        from.read(at, &mut part[..wanted])?;
        to.write_all(&part[..wanted])?;
        at += wanted as u64;
    }
    from.close()
}
