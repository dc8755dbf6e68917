//! Rows on redb: one file, one B-tree per space, one transaction per commit.
//!
//! redb gives checksummed copy-on-write pages, snapshots for readers and an atomic commit with one sync. What is added
//! here: a store file comes into being by an atomic rename, so that an empty or cut-off file is damage and never
//! mistaken for a new one; the file can be rewritten so that deleted bytes are gone; panics of the engine on a damaged
//! file become errors.
//!
//! A commit need not wait for the disk (`commit_around`). redb then keeps its pages in a write buffer of half the
//! cache, writes older ones to parts of the file that no durable commit uses, and a crash leads back to the last durable
//! commit. Pages that only such commits made are used again at once, those of the durable state only after the next
//! durable commit, so the file grows by what was changed between two durable commits and no more.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};

use redb::{
    BackendError, Builder, Database, Durability, ReadOnlyTable, ReadTransaction, ReadableDatabase,
    StorageBackend, TableDefinition, TableError, WriteTransaction,
};

use super::{
    KeyRange, Medium, SCRUB_KEY, Side, Space, Storage, StoreFile, StoreReader, Visit, WriteSet,
};
use crate::error::{Error, Result, StorageFailure};
use crate::limits::SEGMENT_BYTES_MAX;

type Table = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// How errors call the file.
pub(crate) const STORE_FILE: &str = "store file";

/// Rows copied per transaction when a file is rewritten.
const REWRITE_ROWS_PER_COMMIT: usize = 20_000;

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
    /// Written to only when the file is replaced, checked or closed, so that nobody who begins to read waits for a commit.
    current: RwLock<Arc<OpenDatabase>>,
}

/// An open file. Readers of one that was replaced keep it open; redb would turn them away otherwise.
struct OpenDatabase {
    /// `None` once closed.
    database: RwLock<Option<Database>>,
}

impl OpenDatabase {
    fn new(database: Database) -> Arc<OpenDatabase> {
        Arc::new(OpenDatabase { database: RwLock::new(Some(database)) })
    }
}

impl fmt::Debug for RedbStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedbStorage").field("medium", &self.medium).finish_non_exhaustive()
    }
}

impl RedbStorage {
    /// Opens the derived store, or makes a new one whose first content is `birth`.
    pub fn open(
        medium: impl Into<Arc<dyn Medium>>,
        options: EngineOptions,
        birth: impl FnOnce() -> WriteSet,
    ) -> Result<RedbStorage> {
        let medium = medium.into();
        let open = || {
            medium.remove(StoreFile::DerivedScratch).map_err(io)?;
            if !medium.exists(StoreFile::Derived).map_err(io)? {
                let scratch = open_database(&*medium, StoreFile::DerivedScratch, options)?;
                commit_to(&scratch, &birth(), Wait::ForDisk)?;
                drop(scratch);
                medium.rename(StoreFile::DerivedScratch, StoreFile::Derived).map_err(io)?;
            }
            open_database(&*medium, StoreFile::Derived, options)
        };
        let current = RwLock::new(OpenDatabase::new(guarded(open)?));
        Ok(RedbStorage { medium, file: StoreFile::Derived, options, current })
    }

    /// Opens a store that is there, to read from it.
    pub(crate) fn open_former(
        medium: &Arc<dyn Medium>,
        options: EngineOptions,
    ) -> Result<RedbStorage> {
        let (medium, file) = (Arc::clone(medium), StoreFile::Former);
        let database = guarded(|| open_database(&*medium, file, options))?;
        let current = RwLock::new(OpenDatabase::new(database));
        Ok(RedbStorage { medium, file, options, current })
    }

    /// Commits `writes` around something that must happen first: rows are staged, `first` is done, and then they become
    /// visible with the rows of the truth that it gave. So whatever the staging fails over, `first` is not done; if that
    /// fails, nothing is committed. `is_durable`: when this returns, with everything before it; else with the next commit
    /// that is, and lost in a crash before it.
    pub(crate) fn commit_around(
        &self,
        writes: &WriteSet,
        is_durable: bool,
        first: impl FnOnce() -> Result<RowChanges>,
    ) -> Result<()> {
        let wait = if is_durable { self.waiting()? } else { Wait::ForNothing };
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

    /// Begins a file that will replace this one; see `replace_by`.
    pub(crate) fn begin_copy(&self) -> Result<FreshCopy> {
        guarded(|| FreshCopy::begin(&*self.medium, self.options))
    }

    /// Makes a copy the store. Readers that are open keep the old one. The caller sees to it that nothing was committed
    /// that the copy has not.
    pub(crate) fn replace_by(&self, copy: FreshCopy) -> Result<()> {
        self.alone(|current| {
            *current = OpenDatabase::new(self.put_in_place(copy)?);
            Ok(())
        })
    }

    fn put_in_place(&self, copy: FreshCopy) -> Result<Database> {
        // It is reopened under its new name, so that its lock and path agree.
        drop(copy);
        self.medium.rename(StoreFile::DerivedScratch, self.file).map_err(io)?;
        open_database(&*self.medium, self.file, self.options)
    }

    /// Removes a copy that will not be finished.
    pub(crate) fn remove_copy(&self) -> Result<()> {
        self.medium.remove(StoreFile::DerivedScratch).map_err(io)
    }

    fn waiting(&self) -> Result<Wait> {
        let is_large = self.size_bytes()? >= self.options.quick_repair_from_bytes;
        Ok(if is_large { Wait::ForDiskAndMap } else { Wait::ForDisk })
    }

    fn with<T>(&self, work: impl FnOnce(&Database) -> Result<T>) -> Result<T> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        let database = current.database.read().unwrap_or_else(PoisonError::into_inner);
        guarded(|| work(database.as_ref().ok_or(Error::Closed)?))
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

    fn rewrite(&self) -> Result<()> {
        self.alone(|current| {
            let reader = RedbReader::begin(current)?;
            let copy = FreshCopy::begin(&*self.medium, self.options)?;
            copy.fill(&reader)?;
            drop(reader);
            *current = OpenDatabase::new(self.put_in_place(copy)?);
            Ok(())
        })
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
        self.medium.len(self.file).map_err(io)
    }

    fn close(&self) -> Result<()> {
        self.alone(|current| {
            let mut database = current.database.write().unwrap_or_else(PoisonError::into_inner);
            drop(database.take());
            Ok(())
        })
    }
}

const SPACES: [Space; 4] =
    [Space::Truth, Space::Derived(Side::A), Space::Derived(Side::B), Space::Engine];

fn definition(space: Space) -> TableDefinition<'static, &'static [u8], &'static [u8]> {
    TableDefinition::new(match space {
        Space::Truth => "truth",
        Space::Derived(Side::A) => "derived-a",
        Space::Derived(Side::B) => "derived-b",
        Space::Engine => "engine",
    })
}

fn open_database(medium: &dyn Medium, file: StoreFile, options: EngineOptions) -> Result<Database> {
    let backend = medium.open(file).map_err(io)?;
    if file != StoreFile::DerivedScratch && backend.len().map_err(io)? == 0 {
        return Err(Error::corrupt(STORE_FILE, "the file is empty"));
    }
    Builder::new()
        .set_cache_size(options.cache_bytes)
        .create_with_backend(Backend(backend))
        .map_err(engine)
}

/// Rows of one space; `None` deletes.
pub(crate) type RowChanges = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// What a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    ForNothing,
    ForDisk,
    /// Also for the map of used pages, which a reopen after a crash needs.
    ForDiskAndMap,
}

fn begin(database: &Database, wait: Wait) -> Result<WriteTransaction> {
    let mut transaction = database.begin_write().map_err(engine)?;
    match wait {
        Wait::ForNothing => transaction.set_durability(Durability::None).map_err(engine)?,
        Wait::ForDisk => transaction.set_quick_repair(false),
        Wait::ForDiskAndMap => transaction.set_quick_repair(true),
    }
    Ok(transaction)
}

/// Puts the rows of some spaces into a transaction, behind what `writes` clears.
fn stage<'w>(
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

fn commit_to(database: &Database, writes: &WriteSet, wait: Wait) -> Result<()> {
    let transaction = begin(database, wait)?;
    stage(&transaction, writes, writes.iter())?;
    transaction.commit().map_err(engine)
}

/// A store being written that will replace another.
pub(crate) struct FreshCopy(Database);

impl FreshCopy {
    fn begin(medium: &dyn Medium, options: EngineOptions) -> Result<FreshCopy> {
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
                guarded(|| commit_to(&self.0, &std::mem::take(&mut batch), Wait::ForNothing))?;
            }
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        guarded(|| commit_to(&self.0, &batch, Wait::ForDisk))
    }

    /// Applies what was committed to the store since.
    pub(crate) fn apply(&self, writes: &WriteSet, truth: &RowChanges) -> Result<()> {
        guarded(|| {
            let transaction = begin(&self.0, Wait::ForNothing)?;
            let others = writes.iter().filter(|(space, _)| *space != Space::Truth);
            stage(&transaction, writes, others.chain([(Space::Truth, truth)]))?;
            transaction.commit().map_err(engine)
        })
    }

    /// Makes it durable.
    pub(crate) fn settle(&self) -> Result<()> {
        guarded(|| commit_to(&self.0, &WriteSet::new(), Wait::ForDisk))
    }
}

struct RedbReader {
    transaction: ReadTransaction,
    /// Opened at first use: truth, side A, side B, engine.
    tables: [OnceCell<Option<Table>>; 4],
    /// Last, so that it is there until the transaction is gone.
    _file: Arc<OpenDatabase>,
}

impl RedbReader {
    fn begin(current: &Arc<OpenDatabase>) -> Result<RedbReader> {
        let database = current.database.read().unwrap_or_else(PoisonError::into_inner);
        guarded(|| {
            let transaction =
                database.as_ref().ok_or(Error::Closed)?.begin_read().map_err(engine)?;
            let file = Arc::clone(current);
            Ok(RedbReader { transaction, tables: Default::default(), _file: file })
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

/// redb takes its backend by type; a medium hands out a boxed one.
struct Backend(Box<dyn StorageBackend>);

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StorageBackend for Backend {
    fn len(&self) -> std::io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> std::io::Result<()> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
        self.0.write(offset, data)
    }

    fn close(&self) -> std::io::Result<()> {
        self.0.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.try_lock_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.0.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.query_lock_range(start, end)
    }
}

/// Runs engine code; a panic over damaged pages becomes an error instead of taking the process down.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let reason = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("the engine stopped");
        Err(Error::corrupt(STORE_FILE, format!("the engine could not read it ({reason})")))
    })
}

pub(crate) fn io(error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::WouldBlock => Error::Busy,
        std::io::ErrorKind::UnexpectedEof => Error::corrupt(STORE_FILE, "the file is cut off"),
        _ => Error::io(STORE_FILE, error),
    }
}

fn engine(error: impl Into<redb::Error>) -> Error {
    match error.into() {
        redb::Error::DatabaseAlreadyOpen => Error::Busy,
        redb::Error::Corrupted(reason) => Error::corrupt(STORE_FILE, reason),
        redb::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            Error::corrupt(STORE_FILE, error.to_string())
        }
        redb::Error::Io(error) => io(error),
        redb::Error::PreviousIo => Error::Poisoned,
        other => Error::Storage(StorageFailure::new(other.to_string(), other)),
    }
}
