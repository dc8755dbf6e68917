//! One actor's store: an ordered key-value file behind a narrow trait.
//!
//! The kernel needs two things of an engine: a consistent snapshot to read from, and a set of writes that appears as a
//! whole or not at all. Nothing above this module knows which engine it is. The engine in turn reaches the disk only
//! through `Medium`, as the ledger does, so that tests can cut the power at every sync.
//!
//! `RedbStorage` keeps rows. The storage of an actor is `ledger::LedgerStorage`, which keeps the truth in a ledger and
//! everything else in such a file.

mod backend;
mod cache_medium;
mod disk;
mod engine;
mod fresh_copy;
mod read_only;
mod redb_reader;
mod spill;
mod view;
mod write_set;

use std::fmt;
use std::ops::ControlFlow;

pub use cache_medium::CacheMedium;
pub use disk::DiskMedium;
pub use engine::{EngineOptions, RedbStorage};
pub(crate) use engine::{RowChanges, STORE_FILE};
pub use fresh_copy::FreshCopy;
pub use read_only::ReadOnlyMedium;
pub use view::View;
pub use write_set::WriteSet;

use proof::Digest;

use crate::error::Result;
use crate::keys;

/// A part of the file with its own keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// Journal entries and bodies.
    Truth,
    /// Everything that `apply` and the hooks write. Two sides: one is live, a rebuild fills the other.
    Derived(Side),
    /// Bookkeeping of the file itself: schema, live side, rebuild progress. Not state: never part of a dump or root.
    Engine,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    A,
    B,
}

impl Side {
    pub fn other(self) -> Side {
        match self {
            Side::A => Side::B,
            Side::B => Side::A,
        }
    }
}

/// Key of the row that says content was erased and the file has not been rewritten since. Its value is the entry that
/// erased last, as eight bytes; nothing in stores of earlier versions.
pub(crate) const SCRUB_KEY: &[u8] = b"scrub";

/// Key of the row that says up to which entry, eight bytes, the rows lie densely.
pub(crate) const PACKED_KEY: &[u8] = b"packed";

/// The last entry that erased something of which copies may be left; `None` if none are.
pub(crate) fn unscrubbed(rows: &dyn StoreReader) -> Result<Option<u64>> {
    let value = rows.get(Space::Engine, SCRUB_KEY)?;
    Ok(value.map(|value| value.as_slice().try_into().map_or(0, u64::from_be_bytes)))
}

/// Bytes of a page of the file.
const PAGE_BYTES: usize = 4096;
/// What a page says of itself and of the one row in it.
const LONE_ROW_BYTES: usize = 12;

/// The longest value that so many pages, a power of two, have room for under a key of so many bytes. A row that a page
/// has no room for lies alone, in twice as many pages until they are enough: one that is a byte longer than this wastes
/// half of them.
pub const fn value_bytes(pages: usize, key_bytes: usize) -> usize {
    pages * PAGE_BYTES - LONE_ROW_BYTES - key_bytes
}

/// Keys from `from` on and before `to`, upwards or downwards.
#[derive(Clone, Debug)]
pub struct KeyRange {
    pub from: Vec<u8>,
    pub to: Option<Vec<u8>>,
    pub reverse: bool,
}

impl KeyRange {
    pub fn all() -> KeyRange {
        KeyRange { from: Vec::new(), to: None, reverse: false }
    }

    pub fn prefix(prefix: &[u8]) -> KeyRange {
        KeyRange { from: prefix.to_vec(), to: keys::after_prefix(prefix), reverse: false }
    }

    pub fn reversed(mut self) -> KeyRange {
        self.reverse = true;
        self
    }

    /// True if `key` lies in it.
    pub fn holds(&self, key: &[u8]) -> bool {
        *key >= *self.from && self.to.as_ref().is_none_or(|to| *key < **to)
    }

    /// Nothing lies in it.
    pub fn is_empty(&self) -> bool {
        self.to.as_ref().is_some_and(|to| *to <= self.from)
    }
}

/// What a scan calls for each row; it may stop early.
pub type Visit<'v> = dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>> + 'v;

/// A consistent state of the store, unaffected by later commits.
pub trait StoreReader {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>>;

    fn scan(&self, space: Space, range: &KeyRange, visit: &mut Visit<'_>) -> Result<()>;

    /// How often the derived rows were made again since the store was opened. Two states of the same number of entries
    /// have the same rows only if this is the same for both: what is kept in memory beside a state must fit both.
    fn generation(&self) -> u64 {
        0
    }

    /// Told of damage that the reader goes around.
    fn note_damage(&self, _: DamageNote) {}

    /// Told that a derived row does not decode: everything derived has to be made again.
    fn distrust(&self, _: DamageNote) {}
}

/// Damage that was found and cost nothing but what it names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DamageNote {
    pub place: String,
    pub reason: String,
}

impl DamageNote {
    pub fn new(place: impl Into<String>, reason: impl Into<String>) -> DamageNote {
        DamageNote { place: place.into(), reason: reason.into() }
    }
}

/// An entry in a journal that several nodes write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedEntry {
    pub seq: u64,
    pub entry: Vec<u8>,
    /// Absent if it has none or it was erased.
    pub body: Option<Vec<u8>>,
}

/// An open store.
pub trait Storage: Send + Sync + fmt::Debug {
    fn reader(&self) -> Result<Box<dyn StoreReader + Send>>;

    /// Makes all of `writes` durable, or none. After `DiskFull` nothing of it is there, and the store goes on unless
    /// `has_failed` says otherwise; after any other error the caller must assume nothing and reopen.
    fn commit(&self, writes: &WriteSet) -> Result<()>;

    /// True once what was committed can no longer be shown, though it is safe: the actor has to be reopened.
    fn has_failed(&self) -> bool {
        false
    }

    /// Entries behind `after` that others wrote, in order, a bounded number.
    fn foreign(&self, _after: u64) -> Result<Vec<SharedEntry>> {
        Ok(Vec::new())
    }

    /// Asks those who append before this store, again and again, to let it append once.
    fn ask_for_way(&self) {}

    /// Damage that was met since the store was opened, and gone around.
    fn damage(&self) -> Vec<DamageNote> {
        Vec::new()
    }

    /// Journals of the store that somebody named the root of: so many entries, this root.
    fn named_roots(&self) -> Vec<(u64, Digest)> {
        Vec::new()
    }

    /// Makes durable what was committed without a wait for the disk.
    fn settle(&self) -> Result<()> {
        Ok(())
    }

    /// True if the file should be rewritten though nothing was erased: a part of it is in memory since the disk was
    /// full, and there is room now.
    fn wants_rewrite(&self) -> bool {
        false
    }

    /// The rows as the engine keeps them: of the truth where it is, if it lies elsewhere.
    fn rows(&self) -> Result<Box<dyn StoreReader + Send>> {
        self.reader()
    }

    /// Begins an empty store that may take the place of this one, after whoever writes another.
    fn begin_copy(&self) -> Result<FreshCopy>;

    /// Lets the copy that is being written fail soon, and every later one at once: the process wants to end. The live
    /// store stays as it is.
    fn give_up_copies(&self) {}

    /// Makes a store whose rows were made again this one: another generation. Readers that are open keep the old one.
    /// The caller sees to it that nothing was committed that the copy has not.
    fn replace_by(&self, copy: FreshCopy) -> Result<()>;

    /// Writes the live content into a fresh file that replaces this one, so that deleted bytes are gone from disk. The
    /// row that asked for it is gone too. Commits and reads may go on meanwhile.
    fn rewrite(&self) -> Result<()>;

    /// True if so many rows came since they were last written densely that it is worth a copy.
    fn wants_packing(&self) -> Result<bool> {
        Ok(false)
    }

    /// Writes the live content densely into a fresh file that replaces this one. A row that asks for a scrub stays.
    /// Commits and reads may go on meanwhile; if there are too many, nothing has changed.
    fn pack(&self) -> Result<()> {
        Ok(())
    }

    /// Checks the engine's own structures. An error says what is damaged.
    fn check(&self) -> Result<()>;

    /// Bytes on disk.
    fn size_bytes(&self) -> Result<u64>;

    /// Leaves the file so that the next open needs no repair. Readers that are still open keep their state.
    fn close(&self) -> Result<()>;
}

/// A file of an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StoreFile {
    /// Everything derived: `derived.redb`. It may be deleted at any time.
    Derived,
    /// A derived store being written that will replace it. Left over after a crash, it is worthless.
    DerivedScratch,
    /// A derived store that was damaged and has been made again since. Kept for whoever wants to know why.
    DerivedAside,
    /// Journal, bodies and derived rows in one file, as they were kept before there was a ledger: `store.redb`.
    Former,
    /// The same after its content was moved into a ledger, until that is checked.
    FormerAside,
    /// The segment of the ledger that begins with this entry.
    Segment(u64),
    /// A segment being made. Left over after a crash, it is worthless.
    SegmentScratch(u64),
    /// How far the ledger was acknowledged. Nothing depends on it.
    Watermark,
    /// A segment that a move out of `Former` has written. It counts once `Former` is put aside.
    SegmentMove(u64),
}

impl StoreFile {
    /// True for files that can be made again.
    pub(crate) fn is_derived(self) -> bool {
        matches!(self, StoreFile::Derived | StoreFile::DerivedScratch | StoreFile::DerivedAside)
    }
}

/// Where the files of one actor live: a folder, or a simulated disk.
pub trait Medium: Send + Sync + fmt::Debug {
    fn exists(&self, file: StoreFile) -> std::io::Result<bool>;

    /// Opens a file, creating it empty if it is not there.
    fn open(&self, file: StoreFile) -> std::io::Result<Box<dyn redb::StorageBackend>>;

    /// Length of a file.
    fn len(&self, file: StoreFile) -> std::io::Result<u64>;

    /// Bytes that a file takes on the disk: holes in it take none.
    fn used(&self, file: StoreFile) -> std::io::Result<u64> {
        self.len(file)
    }

    /// Gives a file another name, atomically and durably. A file that had the name is gone.
    fn rename(&self, from: StoreFile, to: StoreFile) -> std::io::Result<()>;

    /// Removes a file, if it is there. It may be back after a power cut.
    fn remove(&self, file: StoreFile) -> std::io::Result<()>;

    /// All files that belong to the ledger: segments, and those being made or moved.
    fn segments(&self) -> std::io::Result<Vec<StoreFile>>;

    /// Bytes that can still be written, where anybody knows.
    fn room(&self) -> std::io::Result<Option<u64>> {
        Ok(None)
    }
}
