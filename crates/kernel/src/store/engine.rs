//! Rows on redb: one file, one B-tree per space, one transaction per commit.
//!
//! redb gives checksummed copy-on-write pages, snapshots for readers and an atomic commit with one sync. What is added
//! here: a store file comes into being by an atomic rename, so that an empty or cut-off file is damage and never
//! mistaken for a new one; the file can be rewritten so that deleted bytes are gone; panics of the engine on a damaged
//! file become errors.
//!
//! A commit need not wait for the disk (`commit_around`). redb then keeps its pages in a write buffer of half the
//! cache, writes older ones to parts of the file that no durable commit uses, and a crash leads back to the last
//! durable commit. Pages that only such commits made are used again at once, those of the durable state only after the
//! next durable commit, so the file grows by what was changed between two durable commits and no more.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};

use redb::{Builder, Database, Durability, StorageBackend, TableDefinition, WriteTransaction};

use super::backend::{Backend, engine, guarded, io};
use super::fresh_copy::{CopyTurns, FreshCopy};
use super::redb_reader::RedbReader;
use super::spill::{SpillFile, SpilledLength};
use super::{Medium, Side, Space, Storage, StoreFile, StoreReader, WriteSet};
use crate::error::{Error, Result};
use crate::limits::SEGMENT_BYTES_MAX;

/// How errors call the file.
pub(crate) const STORE_FILE: &str = "store file";

#[derive(Clone, Copy, Debug)]
pub struct EngineOptions {
    /// Page cache of one open store.
    pub cache_bytes: usize,
    /// From this file size on, each durable commit also saves what a reopen after a crash would otherwise have to work
    /// out: at 500 MB that takes most of a second. It costs such a commit a second wait for the disk and some forty
    /// kilobytes.
    pub quick_repair_from_bytes: u64,
    /// Bytes after which a segment of the ledger is closed.
    pub segment_bytes: u64,
}

impl Default for EngineOptions {
    fn default() -> Self {
        // The system caches the file's pages too. Of a cache of 64 MB, more than half was rows that are read once, and
        // each page of it had to be made: at 100,000 memories the first answer came later and no question was answered
        // faster.
        EngineOptions {
            cache_bytes: 16 << 20,
            quick_repair_from_bytes: 16 << 20,
            segment_bytes: SEGMENT_BYTES_MAX,
        }
    }
}

pub struct RedbStorage {
    medium: Arc<dyn Medium>,
    file: StoreFile,
    options: EngineOptions,
    /// Written to only when the file is replaced, checked or closed, so that nobody who begins to read waits for a
    /// commit.
    current: RwLock<Arc<OpenDatabase>>,
    turns: Arc<CopyTurns>,
}

/// An open file. Readers of one that was replaced keep it open; redb would turn them away otherwise.
pub(super) struct OpenDatabase {
    /// `None` once closed.
    pub(super) database: RwLock<Option<Database>>,
    spilled: SpilledLength,
    /// See `StoreReader::generation`.
    pub(super) generation: u64,
}

impl OpenDatabase {
    /// A file in which nothing that is read may be missing: it does not go on in memory.
    pub(super) fn new(database: Database) -> Arc<OpenDatabase> {
        let (database, spilled) = (RwLock::new(Some(database)), SpilledLength::default());
        Arc::new(OpenDatabase { database, spilled, generation: 0 })
    }

    /// A file that goes on in memory if the disk has no room.
    fn spilling(
        file: SpillFile,
        options: EngineOptions,
        generation: u64,
    ) -> Result<Arc<OpenDatabase>> {
        let spilled = file.spilled_length();
        let database = RwLock::new(Some(open_file(Box::new(file), options)?));
        Ok(Arc::new(OpenDatabase { database, spilled, generation }))
    }

    pub(super) fn with<T>(&self, work: impl FnOnce(&Database) -> Result<T>) -> Result<T> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        guarded(|| work(database.as_ref().ok_or(Error::Closed)?))
    }

    fn open(
        medium: &dyn Medium,
        options: EngineOptions,
        generation: u64,
    ) -> Result<Arc<OpenDatabase>> {
        let file = open_backend(medium, StoreFile::Derived)?;
        OpenDatabase::spilling(SpillFile::over(file), options, generation)
    }
}

impl fmt::Debug for RedbStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedbStorage").field("medium", &self.medium).finish_non_exhaustive()
    }
}

impl RedbStorage {
    /// Opens the derived store, or makes a new one whose first content is `birth`. Where there is no room for one, it
    /// is made in memory.
    pub fn open(
        medium: impl Into<Arc<dyn Medium>>,
        options: EngineOptions,
        birth: impl FnOnce() -> WriteSet,
    ) -> Result<RedbStorage> {
        let medium = medium.into();
        let open = || {
            medium.remove(StoreFile::DerivedScratch).map_err(io)?;
            if medium.exists(StoreFile::Derived).map_err(io)? {
                return OpenDatabase::open(&*medium, options, 0);
            }
            let birth = birth();
            match make(&*medium, options, &birth) {
                Err(Error::DiskFull(_)) => {
                    medium.remove(StoreFile::DerivedScratch).map_err(io)?;
                    let made = OpenDatabase::spilling(SpillFile::in_memory(), options, 0)?;
                    made.with(|database| commit_to(database, &birth, Wait::Disk))?;
                    Ok(made)
                }
                made => made.and_then(|()| OpenDatabase::open(&*medium, options, 0)),
            }
        };
        let current = RwLock::new(guarded(open)?);
        let (file, turns) = (StoreFile::Derived, Arc::default());
        Ok(RedbStorage { medium, file, options, current, turns })
    }

    /// Opens a store that is there, to read from it.
    pub(crate) fn open_former(
        medium: &Arc<dyn Medium>,
        options: EngineOptions,
    ) -> Result<RedbStorage> {
        let (medium, file) = (Arc::clone(medium), StoreFile::Former);
        let database = guarded(|| open_database(&*medium, file, options))?;
        let current = RwLock::new(OpenDatabase::new(database));
        Ok(RedbStorage { medium, file, options, current, turns: Arc::default() })
    }

    /// Commits `writes` around something that must happen first: rows are staged, `first` is done, and then they become
    /// visible with the rows of the truth that it gave. So whatever the staging fails over, `first` is not done; if
    /// that fails, nothing is committed. `is_durable`: when this returns, with everything before it; else with the next
    /// commit that is, and lost in a crash before it.
    pub(crate) fn commit_around(
        &self,
        writes: &WriteSet,
        is_durable: bool,
        first: impl FnOnce() -> Result<RowChanges>,
    ) -> Result<()> {
        let wait = if is_durable { self.waiting()? } else { Wait::Nothing };
        self.with(|database| {
            let transaction = begin(database, wait)?;
            let others = writes.iter().filter(|(space, _)| *space != Space::Truth);
            stage(&transaction, writes, others)?;
            let truth = first()?;
            stage(&transaction, &WriteSet::new(), std::iter::once((Space::Truth, &truth)))?;
            transaction.commit().map_err(engine)
        })
    }

    /// Makes everything durable that was committed without a wait.
    pub(crate) fn sync(&self) -> Result<()> {
        let wait = self.waiting()?;
        self.with(|database| begin(database, wait)?.commit().map_err(engine))
    }

    fn waiting(&self) -> Result<Wait> {
        let is_large = self.size_bytes()? >= self.options.quick_repair_from_bytes;
        Ok(if is_large { Wait::DiskAndMap } else { Wait::Disk })
    }

    fn with<T>(&self, work: impl FnOnce(&Database) -> Result<T>) -> Result<T> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).with(work)
    }

    /// How long the file would be if it had room on disk; `None` if all of it is there.
    pub(crate) fn spilled_length(&self) -> Option<u64> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Some(current.spilled.load(Ordering::Acquire)).filter(|length| *length > 0)
    }

    /// Puts a copy of the rows in the place of the file.
    pub(crate) fn swap_for(&self, copy: FreshCopy) -> Result<()> {
        self.alone(|current| self.take_over(copy, current, current.generation))
    }

    /// Writes everything into a fresh file while nobody commits or begins to read. `keeps_scrub`: the row that asks for
    /// a scrub, too.
    pub(crate) fn rewrite_alone(&self, keeps_scrub: bool) -> Result<()> {
        // Whoever writes a copy may wait for the turn of `alone`: this one waits for it first.
        let copy = self.begin_copy()?;
        self.alone(|current| {
            let reader = RedbReader::begin(current)?;
            copy.fill(&reader, keeps_scrub)?;
            drop(reader);
            self.take_over(copy, current, current.generation)
        })
    }

    fn take_over(
        &self,
        copy: FreshCopy,
        current: &mut Arc<OpenDatabase>,
        generation: u64,
    ) -> Result<()> {
        copy.take_place()?;
        *current = OpenDatabase::open(&*self.medium, self.options, generation)?;
        Ok(())
    }

    /// Does what needs that nobody commits or begins to read.
    fn alone<T>(&self, work: impl FnOnce(&mut Arc<OpenDatabase>) -> Result<T>) -> Result<T> {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        guarded(|| work(&mut current))
    }
}

impl Storage for RedbStorage {
    fn reader(&self) -> Result<Box<dyn StoreReader + Send>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Ok(Box::new(RedbReader::begin(&current)?))
    }

    fn commit(&self, writes: &WriteSet) -> Result<()> {
        let wait = self.waiting()?;
        self.with(|database| commit_to(database, writes, wait))
    }

    fn begin_copy(&self) -> Result<FreshCopy> {
        FreshCopy::begin(&self.medium, self.options, &self.turns)
    }

    fn give_up_copies(&self) {
        self.turns.give_up();
    }

    fn replace_by(&self, copy: FreshCopy) -> Result<()> {
        self.alone(|current| self.take_over(copy, current, current.generation + 1))
    }

    fn rewrite(&self) -> Result<()> {
        self.rewrite_alone(false)
    }

    fn check(&self) -> Result<()> {
        self.alone(|current| {
            let mut database = current.database.write().unwrap_or_else(PoisonError::into_inner);
            match database.as_mut().ok_or(Error::Closed)?.check_integrity() {
                Ok(true) => Ok(()),
                Ok(false) => Err(Error::corrupt(STORE_FILE, "page checksums did not match")),
                Err(redb::DatabaseError::TransactionInProgress) => Err(Error::Busy),
                Err(error) => Err(engine(error)),
            }
        })
    }

    fn size_bytes(&self) -> Result<u64> {
        if self.medium.exists(self.file).map_err(io)? {
            self.medium.used(self.file).map_err(io)
        } else {
            Ok(0)
        }
    }

    fn close(&self) -> Result<()> {
        self.alone(|current| {
            let mut database = current.database.write().unwrap_or_else(PoisonError::into_inner);
            drop(database.take());
            Ok(())
        })
    }
}

pub(super) const SPACES: [Space; 4] =
    [Space::Truth, Space::Derived(Side::A), Space::Derived(Side::B), Space::Engine];

pub(super) fn definition(space: Space) -> TableDefinition<'static, &'static [u8], &'static [u8]> {
    TableDefinition::new(match space {
        Space::Truth => "truth",
        Space::Derived(Side::A) => "derived-a",
        Space::Derived(Side::B) => "derived-b",
        Space::Engine => "engine",
    })
}

/// Makes a derived store with its first content.
fn make(medium: &dyn Medium, options: EngineOptions, birth: &WriteSet) -> Result<()> {
    let scratch = open_database(medium, StoreFile::DerivedScratch, options)?;
    commit_to(&scratch, birth, Wait::Disk)?;
    drop(scratch);
    medium.rename(StoreFile::DerivedScratch, StoreFile::Derived).map_err(io)
}

pub(super) fn open_database(
    medium: &dyn Medium,
    file: StoreFile,
    options: EngineOptions,
) -> Result<Database> {
    open_file(open_backend(medium, file)?, options)
}

fn open_backend(medium: &dyn Medium, file: StoreFile) -> Result<Box<dyn StorageBackend>> {
    let backend = medium.open(file).map_err(io)?;
    if file != StoreFile::DerivedScratch && backend.len().map_err(io)? == 0 {
        return Err(Error::corrupt(STORE_FILE, "the file is empty"));
    }
    Ok(backend)
}

fn open_file(file: Box<dyn StorageBackend>, options: EngineOptions) -> Result<Database> {
    Builder::new()
        .set_cache_size(options.cache_bytes)
        .create_with_backend(Backend(file))
        .map_err(engine)
}

/// Rows of one space; `None` deletes.
pub(crate) type RowChanges = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// What a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Nothing,
    Disk,
    /// Also the map of used pages, which a reopen after a crash needs.
    DiskAndMap,
}

pub(super) fn begin(database: &Database, wait: Wait) -> Result<WriteTransaction> {
    let mut transaction = database.begin_write().map_err(engine)?;
    match wait {
        Wait::Nothing => transaction.set_durability(Durability::None).map_err(engine)?,
        Wait::Disk => transaction.set_quick_repair(false),
        Wait::DiskAndMap => transaction.set_quick_repair(true),
    }
    Ok(transaction)
}

/// Puts the rows of some spaces into a transaction, behind what `writes` clears.
pub(super) fn stage<'w>(
    transaction: &WriteTransaction,
    writes: &WriteSet,
    spaces: impl Iterator<Item = (Space, &'w RowChanges)>,
) -> Result<()> {
    for space in writes.cleared() {
        transaction.delete_table(definition(space)).map_err(engine)?;
    }
    for (space, rows) in spaces.filter(|(_, rows)| !rows.is_empty()) {
        let mut table = transaction.open_table(definition(space)).map_err(engine)?;
        for (key, value) in rows {
            match value {
                Some(value) => drop(table.insert(&**key, &**value).map_err(engine)?),
                None => drop(table.remove(&**key).map_err(engine)?),
            }
        }
    }
    Ok(())
}

pub(super) fn commit_to(database: &Database, writes: &WriteSet, wait: Wait) -> Result<()> {
    let transaction = begin(database, wait)?;
    stage(&transaction, writes, writes.iter())?;
    transaction.commit().map_err(engine)
}
