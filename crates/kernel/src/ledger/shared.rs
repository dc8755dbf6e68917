//! A ledger that several nodes share, and the copy of it that one node keeps.
//!
//! The truth of an actor is then elsewhere, in a database; what lies in this node's folder is a cache of it, with the
//! same files as an actor of its own: segments and a derived store. [`SharedJournal`] is the little that such a
//! database must do. `MirrorLedger` appends there first and to the local copy afterwards.
//!
//! What must stay true:
//!
//! 1. *Nothing is in the copy that is not in the shared journal.* The append there comes first, and names the entry
//!    that it comes after with its bytes: a node whose past is another one cannot append.
//! 2. *Two nodes never both append entry n.* The journal refuses one of them (`Error::Overtaken`), which then takes
//!    over what the other wrote. No lease, clock or lock is needed for this.
//! 3. *A copy that fails costs nothing but itself.* Once the shared journal has an entry, the write has happened. A
//!    copy that cannot take it, or in which a byte has changed, is thrown away and made again.

use std::fmt;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proof::Digest;
use proof::actor::ActorName;

use super::{
    FileLedger, Frame, Ledger, LedgerEntry, LedgerPart, LedgerVisit, Location, SegmentCopies,
};
use crate::error::{Error, Result};
use crate::store::{Medium, SharedEntry, StoreFile};

/// How errors call a copy that is not what the shared journal says.
const COPY: &str = "local copy";

/// The entry that an append comes after.
#[derive(Clone, Copy, Debug)]
pub struct LastEntry<'a> {
    /// 0: there is none, and the journal begins.
    pub seq: u64,
    pub entry: &'a [u8],
}

/// The journal of one actor, where all nodes see it.
pub trait SharedJournal: Send + Sync + fmt::Debug {
    /// Makes the entries and bodies of `frame` durable and deletes the bodies it erases, all at once, if `after` is the
    /// last entry. `Overtaken`: it is not. `LedgerAway`: nothing was written. `OutcomeUnknown`: nobody can say.
    fn append(&self, after: LastEntry<'_>, frame: &Frame<'_>) -> Result<()>;

    /// Starts an append, so that the caller can do something else until it is there.
    fn send(&self, after: LastEntry<'_>, frame: &Frame<'_>) -> Box<dyn SentAppend> {
        Box::new(EndedAppend(self.append(after, frame)))
    }

    /// Entries from `from` on, in order, a bounded number. Empty: there are none.
    fn read(&self, from: u64) -> Result<Vec<SharedEntry>>;

    /// Asks the nodes that overtake this one to let it append once. May be lost: it is asked again.
    fn ask_for_way(&self) {}
}

/// An append that is under way.
pub trait SentAppend: Send {
    /// What `append` would have said.
    fn wait(self: Box<Self>) -> Result<()>;
}

struct EndedAppend(Result<()>);

impl SentAppend for EndedAppend {
    fn wait(self: Box<Self>) -> Result<()> {
        self.0
    }
}

/// The journals of all actors.
pub trait SharedLedgers: Send + Sync + fmt::Debug {
    fn journal(&self, actor: &ActorName) -> Arc<dyn SharedJournal>;

    /// True if the actor has an entry.
    fn has(&self, actor: &ActorName) -> Result<bool>;

    /// Names of all actors that have one, in order.
    fn actors(&self) -> Result<Vec<ActorName>>;

    /// Puts the files of a checkpoint into the empty folder of an actor. False: there is none that could be used, and
    /// the folder is empty still. Whatever is there is judged like any copy.
    fn restore(&self, _actor: &ActorName, _folder: &Path) -> bool {
        false
    }
}

/// What the local copy of a shared ledger is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyPurpose {
    /// A cache: it never waits for the disk and may be thrown away.
    Cache,
    /// A home of its own, once it is complete.
    Home,
}

/// Where the truth is, if it is not in the actor's folder.
#[derive(Clone, Debug)]
pub struct SharedSource {
    pub ledgers: Arc<dyn SharedLedgers>,
    pub purpose: CopyPurpose,
}

pub(super) struct MirrorLedger {
    local: FileLedger,
    medium: Arc<dyn Medium>,
    shared: Arc<dyn SharedJournal>,
    /// The bytes of the last entry in the copy.
    last_entry: Mutex<Vec<u8>>,
    /// A frame that is on its way to the shared journal. The one writer waits for it before it sends another.
    sent: Mutex<Option<Box<dyn SentAppend>>>,
    /// The copy cannot follow any more.
    has_failed: AtomicBool,
}

impl fmt::Debug for MirrorLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MirrorLedger").field("shared", &self.shared).finish_non_exhaustive()
    }
}

impl MirrorLedger {
    pub(super) fn new(
        local: FileLedger,
        medium: Arc<dyn Medium>,
        shared: Arc<dyn SharedJournal>,
    ) -> Result<MirrorLedger> {
        let mut last_entry = Vec::new();
        if local.last() > 0 {
            local.read(local.last(), &mut |found| {
                if let LedgerPart::Whole(bytes) = found.entry {
                    last_entry = bytes;
                }
                Ok(ControlFlow::Continue(()))
            })?;
            if last_entry.is_empty() {
                return Err(Error::corrupt(COPY, "its last entry does not read"));
            }
        }
        let (last_entry, has_failed) = (Mutex::new(last_entry), AtomicBool::new(false));
        Ok(MirrorLedger { local, medium, shared, last_entry, sent: Mutex::default(), has_failed })
    }

    fn last_entry(&self) -> MutexGuard<'_, Vec<u8>> {
        self.last_entry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the copy up to what the shared journal has. If that fails, the copy is given up and nothing else.
    fn follow(&self, after: u64, frame: &Frame<'_>, root: &RootFn<'_>) -> Vec<Location> {
        match self.local.append(after, frame, root) {
            Ok(locations) => {
                if let Some(last) = frame.entries.last() {
                    *self.last_entry() = last.entry.to_vec();
                }
                locations
            }
            Err(_) => {
                self.give_up();
                Vec::new()
            }
        }
    }

    /// Throws the copy away: without its segments the next open makes it again. Who reads now has them open still.
    fn give_up(&self) {
        if !self.has_failed.swap(true, Ordering::AcqRel) {
            // What cannot be removed is judged again by whoever opens it.
            let _ = remove_copy(&*self.medium);
        }
    }

    /// One entry of the shared journal, for a reader who found the copy damaged.
    fn fetch(&self, seq: u64) -> Result<SharedEntry> {
        self.give_up();
        let found = self.shared.read(seq)?.into_iter().next();
        let found = found.filter(|found| found.seq == seq);
        found.ok_or_else(|| Error::corrupt(format!("entry {seq}"), "is not in the shared journal"))
    }
}

type RootFn<'r> = dyn Fn() -> Result<Digest> + 'r;

/// Removes the files of a copy: the ledger and what is derived from it.
pub(crate) fn remove_copy(medium: &dyn Medium) -> Result<()> {
    let failed = |error| Error::io(COPY, error);
    for file in medium.segments().map_err(failed)? {
        medium.remove(file).map_err(failed)?;
    }
    let others = [StoreFile::Derived, StoreFile::DerivedScratch, StoreFile::DerivedAside];
    for file in others.into_iter().chain([StoreFile::Watermark]) {
        medium.remove(file).map_err(failed)?;
    }
    Ok(())
}

impl Ledger for MirrorLedger {
    fn last(&self) -> u64 {
        self.local.last()
    }

    fn append(&self, after: u64, frame: &Frame<'_>, root: &RootFn<'_>) -> Result<Vec<Location>> {
        match self.outcome_of_sent() {
            Some(outcome) => outcome?,
            None => {
                let last_entry = self.last_entry().clone();
                self.shared.append(LastEntry { seq: after, entry: &last_entry }, frame)?;
            }
        }
        Ok(self.follow(after, frame, root))
    }

    fn send(&self, after: u64, frame: &Frame<'_>) {
        let sent = self.shared.send(LastEntry { seq: after, entry: &self.last_entry() }, frame);
        *self.sent.lock().unwrap_or_else(PoisonError::into_inner) = Some(sent);
    }

    fn outcome_of_sent(&self) -> Option<Result<()>> {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner).take();
        sent.map(SentAppend::wait)
    }

    fn adopt(&self, after: u64, frame: &Frame<'_>, root: &RootFn<'_>) -> Result<Vec<Location>> {
        Ok(self.follow(after, frame, root))
    }

    fn foreign(&self, after: u64) -> Result<Vec<SharedEntry>> {
        if self.has_failed() {
            return Err(Error::Poisoned);
        }
        // The entry that the copy ends with is read as well: it must be the same one.
        let mut found = self.shared.read(after.max(1))?;
        if after > 0 {
            let is_same = found
                .first()
                .is_some_and(|first| first.seq == after && first.entry == *self.last_entry());
            if !is_same {
                self.give_up();
                let reason = format!("entry {after} is another one in the shared journal");
                return Err(Error::corrupt(COPY, reason));
            }
            found.remove(0);
        }
        for (expected, found) in (after + 1..).zip(&found) {
            if found.seq != expected {
                let place = format!("entry {expected}");
                return Err(Error::corrupt(place, "is missing in the shared journal"));
            }
        }
        Ok(found)
    }

    fn ask_for_way(&self) {
        self.shared.ask_for_way();
    }

    fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    fn read(&self, from: u64, visit: &mut LedgerVisit<'_>) -> Result<()> {
        let mut expected = from.max(1);
        self.local.read(from, &mut |found: LedgerEntry| {
            let is_sound = found.seq == expected
                && found.entry != LedgerPart::Damaged
                && found.body != LedgerPart::Damaged;
            if !is_sound {
                self.give_up();
                return Err(Error::corrupt(COPY, format!("entry {expected} does not read")));
            }
            expected += 1;
            visit(found)
        })
    }

    fn entry(&self, seq: u64, location: Location) -> Result<Vec<u8>> {
        match self.local.entry(seq, location) {
            Err(Error::Corrupt { .. }) => Ok(self.fetch(seq)?.entry),
            found => found,
        }
    }

    fn body(&self, seq: u64, location: Location) -> Result<Option<Vec<u8>>> {
        match self.local.body(seq, location) {
            Err(Error::Corrupt { .. }) => Ok(self.fetch(seq)?.body),
            found => found,
        }
    }

    fn erase(&self, bodies: &[(u64, Location)]) -> Result<()> {
        // They are gone from the shared journal. A copy that keeps them is thrown away as a whole.
        if self.local.erase(bodies).is_err() {
            self.give_up();
        }
        Ok(())
    }

    fn note_root(&self, size: u64, root: Digest) {
        self.local.note_root(size, root);
    }

    fn named_roots(&self) -> Vec<(u64, Digest)> {
        self.local.named_roots()
    }

    fn copy_to(
        &self,
        folder: &Path,
        before: &[(u64, u64)],
        erased: &[u64],
    ) -> Result<SegmentCopies> {
        self.local.copy_to(folder, before, erased)
    }

    fn size_bytes(&self) -> Result<u64> {
        self.local.size_bytes()
    }
}
