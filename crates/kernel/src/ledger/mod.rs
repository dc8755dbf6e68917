//! The ledger: journal entries and the bodies beside them, in append-only segments of checksummed frames. The truth.
//!
//! A **frame** is one commit of the writer: the entries that were admitted together, each followed by its body. A
//! **segment** is a file of frames of bounded size that begins with whose it is, its first entry and the journal root
//! before it. Everything else on disk can be made again from the segments; `LedgerStorage` puts both together.
//!
//! What must stay true:
//!
//! 1. *A frame is whole or it is not there.* It is one write and one sync, and nothing else is written before the sync
//!    has returned. So at most the last frame can be torn. Opening cuts a torn frame off and syncs that before anything
//!    is appended: no byte of it can later be taken for a part of something else.
//! 2. *Nothing is acknowledged before its frame is synced.* A sync that fails poisons the ledger: what the disk holds
//!    is unknown, and the system may take pages for clean that never reached it. That is why opening writes the last
//!    frame a second time, unless a durable derived store has seen it.
//! 3. *Damage is not a torn tail.* A frame that does not read, and behind which another frame stands, or which a
//!    durable derived store or the watermark has seen, was acknowledged once. It is left as it is, named, and skipped;
//!    and so with a last segment that is gone.
//! 4. *Entries are gap-free from 1.* `append` says after which entry it comes and is refused if that is not the last.
//! 5. *Bytes are never rewritten, except by erasure*, which replaces a body by a filler of the same length with a
//!    checksum and a flag of its own. It is done after the frame with the `erase` entry is durable and before anybody
//!    is told; a crash between the two is finished when the entry is replayed. A body that is half overwritten does not
//!    read, and is overwritten then.
//! 6. *A segment appears complete with its header*, by a rename. One that is empty or has no header is damage. A new
//!    segment is made only after the one before is cut to its length and synced.
//!
//! What fails, and what comes of it: power lost at any sync (1, 2, 5, 6); a short write or `EIO` while appending (the
//! ledger is poisoned, opening cuts the rest off, nothing was acknowledged); a full disk (the frame is refused, what
//! was written of it is cut off, and the ledger goes on); `EIO` while reading (an
//! error of that read); a flipped bit in an entry or body (that record is named and skipped, its neighbours read); in a
//! frame's header (the frame is skipped: the next is found by its magic and its checksum, which is keyed by the
//! segment, so that no memory's text can pose as a frame); in a segment's header (its frames read, the header is
//! named).
//!
//! The derived store may be any number of frames behind the ledger, never ahead of it. What it lacks is replayed before
//! anybody reads.

mod check;
mod copy;
mod file;
mod former;
mod frame;
mod health;
mod reader;
mod recovery;
mod segment;
mod segment_files;
mod shared;
mod storage;
mod tail;
mod time_line;
mod watermark;

use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;

use proof::Digest;

pub(crate) use check::check_ledger;
pub use check::{CHECK_PROBLEMS_MAX, LedgerCheck};
pub use copy::RestorePoint;
pub(crate) use copy::{LossRule, copy_entries};
pub use file::FileLedger;
pub use frame::Location;
pub use health::is_of_truth;
pub use reader::LocationReader;
pub use segment::{LedgerKey, SegmentHeader};
pub(crate) use segment_files::SegmentNames;
pub(crate) use shared::remove_copy;
pub use shared::{CopyPurpose, LastEntry, SentAppend, SharedJournal, SharedLedgers, SharedSource};
pub use storage::LedgerStorage;

pub use crate::store::SharedEntry;

use crate::error::Result;

/// What one commit adds to the journal.
#[derive(Clone, Debug, Default)]
pub struct Frame<'a> {
    pub entries: Vec<FrameEntry<'a>>,
    /// Entries before it whose bodies it erases.
    pub erased: Vec<u64>,
}

/// An entry with the sealed body beside it, both as canonical bytes.
#[derive(Clone, Copy, Debug)]
pub struct FrameEntry<'a> {
    pub entry: &'a [u8],
    pub body: Option<&'a [u8]>,
}

/// An entry or a body as a ledger holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerPart {
    /// There never was one.
    Absent,
    Whole(Vec<u8>),
    /// Overwritten on purpose.
    Erased,
    /// Its bytes are not the ones that were written.
    Damaged,
}

/// One entry as a ledger holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    pub seq: u64,
    pub location: Location,
    pub entry: LedgerPart,
    pub body: LedgerPart,
}

/// Segments that were copied into a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SegmentCopies {
    /// The first entry of each, and its bytes.
    pub segments: Vec<(u64, u64)>,
    /// Bytes of those that were not there yet.
    pub copied_bytes: u64,
}

/// What a read of a ledger calls for each entry; it may stop early.
pub type LedgerVisit<'v> = dyn FnMut(LedgerEntry) -> Result<ControlFlow<()>> + 'v;

/// Where the truth of one actor is kept: files, or a database.
pub trait Ledger: Send + Sync + fmt::Debug {
    /// The `seq` of the last entry; 0 if there is none.
    fn last(&self) -> u64;

    /// Adds a frame behind entry `after`, which must be the last. It is durable when this returns. After `DiskFull` it
    /// is not there and the ledger goes on; after any other error nobody knows, and the ledger has to be opened anew.
    /// `root` gives the journal root after `after`, if it is needed.
    fn append(
        &self,
        after: u64,
        frame: &Frame<'_>,
        root: &dyn Fn() -> Result<Digest>,
    ) -> Result<Vec<Location>>;

    /// Starts what `append` of the same frame then waits for, if the way there is long.
    fn send(&self, _after: u64, _frame: &Frame<'_>) {}

    /// What became of a frame that was sent and for which `append` was not called.
    fn outcome_of_sent(&self) -> Option<Result<()>> {
        None
    }

    /// Entries behind `after` that others wrote, in order, a bounded number. Nobody else writes to files.
    fn foreign(&self, _after: u64) -> Result<Vec<SharedEntry>> {
        Ok(Vec::new())
    }

    /// Asks those who append before this one, again and again, to let it append once.
    fn ask_for_way(&self) {}

    /// Adds a frame of such entries.
    fn adopt(
        &self,
        after: u64,
        frame: &Frame<'_>,
        root: &dyn Fn() -> Result<Digest>,
    ) -> Result<Vec<Location>> {
        self.append(after, frame, root)
    }

    /// True once what was appended is safe but can no longer be read here: the ledger has to be opened anew.
    fn has_failed(&self) -> bool {
        false
    }

    /// Visits entries from `from` on, in order, with those that are damaged. An entry that is not there at all, since
    /// its frame or segment is lost, is left out: the visitor sees the gap.
    fn read(&self, from: u64, visit: &mut LedgerVisit<'_>) -> Result<()>;

    /// The bytes of entry `seq`, checked.
    fn entry(&self, seq: u64, location: Location) -> Result<Vec<u8>>;

    /// The bytes of the body beside entry `seq`, checked; `None` if there is none or it was erased.
    fn body(&self, seq: u64, location: Location) -> Result<Option<Vec<u8>>>;

    /// Overwrites bodies for good, durably. Those that are gone already stay so.
    fn erase(&self, bodies: &[(u64, Location)]) -> Result<()>;

    /// Copies its segments into a folder, up to the last frame. `before` is what a manifest there names: the first
    /// entry of each segment, and its bytes. Files that are there in full are left and others grow, unless they hold
    /// one of the `erased` bodies. What does not read is not copied over what is there.
    fn copy_to(
        &self,
        folder: &Path,
        before: &[(u64, u64)],
        erased: &[u64],
    ) -> Result<SegmentCopies>;

    /// Notes the root that the journal of so many entries has, so that it can be compared later.
    fn note_root(&self, _size: u64, _root: Digest) {}

    /// Journals whose root is known: so many entries, this root.
    fn named_roots(&self) -> Vec<(u64, Digest)> {
        Vec::new()
    }

    /// Bytes it takes.
    fn size_bytes(&self) -> Result<u64>;
}
