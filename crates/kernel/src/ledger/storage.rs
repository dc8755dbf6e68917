//! The storage of an actor: the truth in a ledger, everything derived from it in a store of rows.
//!
//! Rows of the truth in a `WriteSet` become a frame of the ledger; the derived store keeps only where it is. The order
//! of a commit: derived rows are staged, so that a full disk is noticed before anything is written; the frame is
//! appended and synced; erased bodies are overwritten and synced; then the derived rows become visible without a wait
//! for the disk. They are made durable every `UNSYNCED_ENTRIES_MAX` entries, by `settle` and at close.
//!
//! A full disk refuses the frame, and nothing has happened. Derived rows without room go on in memory
//! (`store/spill.rs`) until there is room for a copy of all of them.
//!
//! What must stay true: a location is committed with the derived rows of its entry, so a reader sees an entry exactly
//! when it sees what follows from it. The derived store never holds an entry that the ledger does not. If it fails
//! after the frame is synced, the write has happened: it is acknowledged, and the actor must be reopened before anybody
//! reads.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proof::Digest;
use proof::actor::ActorName;

use super::health::{Health, put_aside};
use super::reader::{LocationReader, last_location, location};
use super::segment::LedgerKey;
use super::segment_files::SegmentNames;
use super::shared::{MirrorLedger, SharedJournal};
use super::{FileLedger, Frame, FrameEntry, Ledger, Location, SharedEntry, former};
use crate::birth::{birth, live_side};
use crate::error::{Error, Result};
use crate::keys::{self, TruthKey};
use crate::limits::{
    COPY_ROOM_LEFT_BYTES, ENGINE_CHECK_BYTES_MAX, PACK_ENTRIES_MIN, REWRITE_PENDING_BYTES_MAX,
    UNSYNCED_ENTRIES_MAX,
};
use crate::store::{
    DamageNote, EngineOptions, FreshCopy, Medium, PACKED_KEY, RedbStorage, RowChanges, STORE_FILE,
    Space, Storage, StoreFile, StoreReader, View, WriteSet,
};

pub struct LedgerStorage {
    ledger: Arc<dyn Ledger>,
    derived: RedbStorage,
    health: Arc<Health>,
    /// Entries whose derived rows are not durable yet.
    unsynced: AtomicU64,
    /// What is committed while the derived store is being copied. Held by every commit, so that a copy begins between
    /// two of them.
    shadow: Mutex<Option<Shadow>>,
    /// Why the derived store had to be begun anew when it was opened.
    made_because: Option<Error>,
}

impl std::fmt::Debug for LedgerStorage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LedgerStorage").field("ledger", &self.ledger).finish_non_exhaustive()
    }
}

/// Commits that a copy of the derived store still lacks.
#[derive(Debug, Default)]
struct Shadow {
    commits: Vec<(WriteSet, RowChanges)>,
    bytes: usize,
    /// There were too many: the copy is worthless.
    is_full: bool,
}

impl Shadow {
    fn push(&mut self, writes: &WriteSet, rows: &RowChanges) {
        self.bytes += writes.bytes();
        self.is_full |= self.bytes > REWRITE_PENDING_BYTES_MAX;
        if self.is_full {
            self.commits.clear();
        } else {
            self.commits.push((writes.clone(), rows.clone()));
        }
    }
}

impl LedgerStorage {
    /// Opens an actor's files, or makes them. A store from before there was a ledger is moved into one first.
    pub fn open(
        medium: impl Into<Arc<dyn Medium>>,
        actor: &ActorName,
        options: EngineOptions,
        key: LedgerKey,
    ) -> Result<LedgerStorage> {
        LedgerStorage::open_copy(medium, actor, options, key, None)
    }

    /// The same, as a copy of a journal that is elsewhere, if `shared` says so.
    pub(crate) fn open_copy(
        medium: impl Into<Arc<dyn Medium>>,
        actor: &ActorName,
        options: EngineOptions,
        key: LedgerKey,
        shared: Option<Arc<dyn SharedJournal>>,
    ) -> Result<LedgerStorage> {
        let medium = medium.into();
        former::finish_move(&medium, actor, options, key)?;
        let failed = |error| Error::io("ledger", error);
        let segments = medium.segments().map_err(failed)?;
        let has_ledger = segments.iter().any(|file| matches!(file, StoreFile::Segment(_)));
        let has_derived = medium.exists(StoreFile::Derived).map_err(failed)?;
        let open_ledger = |known| {
            let (medium, names) = (Arc::clone(&medium), SegmentNames::Ledger);
            FileLedger::open(medium, names, (actor, key), known, options.segment_bytes)
        };
        if !has_ledger && has_derived {
            let reason = "is missing, though what was derived from it is there";
            return Err(Error::corrupt("ledger", reason));
        }
        // The ledger comes first: an actor exists when it has one, and it says whose it is.
        FileLedger::claim(&*medium, (actor, key))?;
        let begin = || RedbStorage::open(Arc::clone(&medium), options, || birth(actor));
        let open_derived = || {
            let derived = begin()?;
            let known = last_location(&*derived.reader()?)?;
            Ok((open_ledger(known)?, derived, known))
        };
        let (opened, mut made_because) = match open_derived() {
            // Either the derived store does not read, or the ledger lost what is in it.
            Err(error @ Error::Corrupt { .. }) => {
                put_aside(&*medium)?;
                (open_derived()?, Some(error))
            }
            opened => (opened?, None),
        };
        let (ledger, derived, known) = opened;
        if !has_derived && ledger.last() > 0 {
            made_because.get_or_insert(Error::not_found("index", actor));
        }
        let health = Health::new(&medium);
        if let Some(Error::Corrupt { place, reason }) = &made_because {
            health.note(DamageNote::new(place, reason));
        }
        ledger.damage().into_iter().for_each(|note| health.note(note));
        let ledger: Arc<dyn Ledger> = match shared {
            Some(shared) => Arc::new(MirrorLedger::new(ledger, medium, shared)?),
            None => Arc::new(ledger),
        };
        LedgerStorage::start(ledger, derived, health, known, made_because)
    }

    fn start(
        ledger: Arc<dyn Ledger>,
        derived: RedbStorage,
        health: Health,
        known: Option<(u64, Location)>,
        made_because: Option<Error>,
    ) -> Result<LedgerStorage> {
        let storage = LedgerStorage {
            ledger,
            derived,
            health: Arc::new(health),
            unsynced: AtomicU64::new(0),
            shadow: Mutex::default(),
            made_because,
        };
        storage.locate(known.map_or(0, |(seq, _)| seq))?;
        Ok(storage)
    }

    pub(crate) fn ledger(&self) -> &dyn Ledger {
        &*self.ledger
    }

    /// The rows do not decode: they are put aside, and the next open makes them again.
    pub(crate) fn distrust(&self, note: DamageNote) {
        self.health.distrust(note);
    }

    /// Why everything derived has to be made again, if it has.
    pub(crate) fn made_because(&self) -> Option<&Error> {
        self.made_because.as_ref()
    }

    /// The same ledger with an empty derived store; the old one is closed and put aside. `why` is noted. The ledger is
    /// not opened anew: what was acknowledged is known here, and could be taken for a torn tail there.
    pub(crate) fn begun_anew(
        &self,
        actor: &ActorName,
        options: EngineOptions,
        why: Option<&Error>,
    ) -> Result<LedgerStorage> {
        // It is not read again, so it does not matter in which state it is left.
        let _ = self.derived.close();
        let medium = &self.health.medium;
        put_aside(&**medium)?;
        let health = Health::new(medium);
        self.damage().into_iter().for_each(|note| health.note(note));
        match why {
            Some(Error::Corrupt { place, reason }) => health.note(DamageNote::new(place, reason)),
            Some(error) => health.note(DamageNote::new(STORE_FILE, error.to_string())),
            None => {}
        }
        let derived = RedbStorage::open(Arc::clone(medium), options, || birth(actor))?;
        LedgerStorage::start(Arc::clone(&self.ledger), derived, health, None, why.cloned())
    }

    /// Notes where the entries after `known` are: those whose derived rows a crash took.
    fn locate(&self, known: u64) -> Result<()> {
        const ROWS_PER_COMMIT: usize = 20_000;
        let commit = |rows| self.derived.commit_around(&WriteSet::new(), false, || Ok(rows));
        let (mut rows, mut last) = (RowChanges::new(), known);
        self.ledger.read(known + 1, &mut |found| {
            rows.insert(keys::entry(found.seq), Some(found.location.to_bytes()));
            if rows.len() == ROWS_PER_COMMIT {
                commit(std::mem::take(&mut rows))?;
            }
            last = found.seq;
            Ok(ControlFlow::Continue(()))
        })?;
        // The last entries may be gone: their numbers are not given again.
        if self.ledger.last() > last {
            rows.insert(keys::entry(self.ledger.last()), Some(Location::LOST.to_bytes()));
        }
        if rows.is_empty() { Ok(()) } else { commit(rows) }
    }

    /// Walks through all frames: each entry must be in the one behind the one before, where the derived store says.
    fn check_frames(&self) -> Result<()> {
        let rows = self.derived.reader()?;
        let mut last = 0;
        self.ledger.read(1, &mut |found| {
            let place = || format!("entry {}", last + 1);
            if found.seq != last + 1 {
                return Err(Error::corrupt(place(), "the frame that held it does not read"));
            }
            // An entry that was added since is not known yet.
            let known = location(&*rows, found.seq)?;
            if known.is_some_and(|known| known != found.location) {
                return Err(Error::corrupt(place(), "is elsewhere in the ledger"));
            }
            last = found.seq;
            Ok(if known.is_some() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        match last_location(&*rows)? {
            Some((known, _)) if known > last => {
                let reason = "the frame that held it does not read";
                Err(Error::corrupt(format!("entry {}", last + 1), reason))
            }
            _ => Ok(()),
        }
    }

    /// Appends the entries of a draft and overwrites what they erase. Returns the rows that say where entries are.
    /// `reader` shows the state before.
    fn append(&self, draft: FrameDraft<'_>, reader: &dyn StoreReader) -> Result<RowChanges> {
        let FrameDraft { first, frame, is_foreign } = draft;
        let mut rows = RowChanges::new();
        if !frame.entries.is_empty() {
            let root = || journal_root(reader, first - 1);
            let locations = if is_foreign {
                self.ledger.adopt(first - 1, &frame, &root)?
            } else {
                self.ledger.append(first - 1, &frame, &root)?
            };
            for (seq, location) in (first..).zip(locations) {
                rows.insert(keys::entry(seq), Some(location.to_bytes()));
            }
        }
        if !frame.erased.is_empty() && !self.ledger.has_failed() {
            let mut bodies = Vec::with_capacity(frame.erased.len());
            for seq in frame.erased {
                bodies.extend(location(reader, seq)?.map(|location| (seq, location)));
            }
            self.ledger.erase(&bodies)?;
        }
        Ok(rows)
    }

    /// Refuses what would fill the disk that others write to. A copy takes at most as much as there is.
    fn check_room_for_copy(&self) -> Result<()> {
        let failed = |error| Error::io(STORE_FILE, error);
        let needed = match self.derived.spilled_length() {
            Some(length) => length,
            None => self.derived.size_bytes()?,
        };
        match self.health.medium.room().map_err(failed)? {
            Some(room) if room < needed.saturating_add(COPY_ROOM_LEFT_BYTES) => {
                let reason =
                    format!("a copy of what is derived takes {needed} bytes, {room} are free");
                Err(Error::DiskFull(reason.as_str().into()))
            }
            _ => Ok(()),
        }
    }

    /// Lets the ledger know the root that the journal has now. What does not read now is told to whoever reads it.
    fn note_root(&self) {
        let noted = self.derived.reader().and_then(|reader| {
            let size = View::new(&*reader, live_side(&*reader)?).counters()?.size;
            Ok((size, journal_root(&*reader, size)?))
        });
        if let Ok((size, root)) = noted {
            self.ledger.note_root(size, root);
        }
    }

    fn shadow(&self) -> MutexGuard<'_, Option<Shadow>> {
        self.shadow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies the derived store and puts the copy in its place, whatever the load.
    fn rewrite_with(&self, keeps_scrub: bool) -> Result<()> {
        self.check_room_for_copy()?;
        let outcome = match self.rewrite_beside(keeps_scrub) {
            Ok(false) => {
                // Under such a load the only way is to let everybody wait.
                let _commit_guard = self.shadow();
                let outcome = self.derived.rewrite_alone(keeps_scrub);
                outcome.map(|()| self.unsynced.store(0, Ordering::Release))
            }
            outcome => outcome.map(drop),
        };
        *self.shadow() = None;
        outcome
    }

    /// Copies the derived store while others go on, and puts the copy in its place. False: too much was committed
    /// meanwhile, and nothing has changed.
    fn rewrite_beside(&self, keeps_scrub: bool) -> Result<bool> {
        let copy = self.derived.begin_copy()?;
        let reader = {
            let mut shadow = self.shadow();
            *shadow = Some(Shadow::default());
            self.derived.reader()?
        };
        copy.fill(&*reader, keeps_scrub)?;
        drop(reader);
        loop {
            let waiting = match &mut *self.shadow() {
                Some(shadow) if !shadow.is_full => {
                    shadow.bytes = 0;
                    std::mem::take(&mut shadow.commits)
                }
                _ => return Ok(false),
            };
            if waiting.is_empty() {
                break;
            }
            waiting.iter().try_for_each(|(writes, rows)| copy.apply(writes, rows))?;
        }
        copy.settle()?;
        // From here on commits wait; what came since the last look is little.
        let mut shadow = self.shadow();
        let Some(last) = shadow.take().filter(|shadow| !shadow.is_full) else { return Ok(false) };
        last.commits.iter().try_for_each(|(writes, rows)| copy.apply(writes, rows))?;
        if !last.commits.is_empty() {
            copy.settle()?;
        }
        self.derived.swap_for(copy)?;
        self.unsynced.store(0, Ordering::Release);
        Ok(true)
    }
}

impl Storage for LedgerStorage {
    fn reader(&self) -> Result<Box<dyn StoreReader + Send>> {
        if self.has_failed() {
            return Err(Error::Poisoned);
        }
        let rows = self.health.judge(self.derived.reader())?;
        let (ledger, health) = (Arc::clone(&self.ledger), Arc::clone(&self.health));
        Ok(Box::new(LocationReader { rows, ledger, health }))
    }

    fn commit(&self, writes: &WriteSet) -> Result<()> {
        if self.has_failed() {
            return Err(Error::Poisoned);
        }
        // A copy begins between two commits.
        let mut shadow = self.shadow();
        let entries = entries_in(writes);
        let unsynced = self.unsynced.load(Ordering::Acquire) + entries;
        // What comes without entries is a slice of a rebuild or a switch of sides, and seldom.
        let is_durable = entries == 0 || unsynced >= UNSYNCED_ENTRIES_MAX;
        let reader = self.health.judge(self.derived.reader())?;
        let (mut appended, mut is_refused) = (None, false);
        let draft = FrameDraft::of(writes)?;
        if !draft.frame.entries.is_empty() && !draft.is_foreign {
            // Rows are staged here while the frame is on its way.
            self.ledger.send(draft.first - 1, &draft.frame);
        }
        let mut outcome = self.derived.commit_around(writes, is_durable, || {
            let rows = self.append(draft, &*reader);
            is_refused = matches!(rows, Err(Error::DiskFull(_)));
            let rows = rows?;
            appended = Some(rows.clone());
            if self.ledger.has_failed() { Err(Error::Poisoned) } else { Ok(rows) }
        });
        match self.ledger.outcome_of_sent() {
            // The rows failed before anybody waited for the frame.
            Some(Ok(())) => appended = Some(RowChanges::new()),
            Some(Err(error)) => outcome = Err(error),
            None => {}
        }
        match (self.health.judge(outcome), appended) {
            (Ok(()), Some(rows)) => {
                self.unsynced.store(if is_durable { 0 } else { unsynced }, Ordering::Release);
                if let Some(shadow) = &mut *shadow {
                    shadow.push(writes, &rows);
                }
                if is_durable && entries > 0 {
                    self.note_root();
                }
                Ok(())
            }
            // The entries are safe. They are derived again when the actor is reopened.
            (Err(_), Some(_)) if entries > 0 => {
                self.health.has_failed.store(true, Ordering::Release);
                Ok(())
            }
            (Err(error @ Error::DiskFull(_)), None) => {
                // A ledger that refused a frame for want of room goes on. An engine that found none does not.
                self.health.has_failed.fetch_or(!is_refused, Ordering::AcqRel);
                Err(error)
            }
            (outcome, _) => outcome,
        }
    }

    fn has_failed(&self) -> bool {
        self.health.has_failed() || self.ledger.has_failed()
    }

    fn foreign(&self, after: u64) -> Result<Vec<SharedEntry>> {
        self.ledger.foreign(after)
    }

    fn ask_for_way(&self) {
        self.ledger.ask_for_way();
    }

    fn damage(&self) -> Vec<DamageNote> {
        let damage = self.health.damage.lock().unwrap_or_else(PoisonError::into_inner);
        damage.iter().cloned().collect()
    }

    fn settle(&self) -> Result<()> {
        if self.unsynced.load(Ordering::Acquire) == 0 || self.has_failed() {
            return Ok(());
        }
        // Entries that are committed meanwhile are durable with this or counted by the next.
        self.unsynced.store(0, Ordering::Release);
        self.note_root();
        self.derived.sync()
    }

    fn named_roots(&self) -> Vec<(u64, Digest)> {
        self.ledger.named_roots()
    }

    fn wants_rewrite(&self) -> bool {
        self.derived.spilled_length().is_some() && self.check_room_for_copy().is_ok()
    }

    fn rows(&self) -> Result<Box<dyn StoreReader + Send>> {
        self.health.judge(self.derived.reader())
    }

    fn begin_copy(&self) -> Result<FreshCopy> {
        self.check_room_for_copy()?;
        self.derived.begin_copy()
    }

    fn give_up_copies(&self) {
        self.derived.give_up_copies();
    }

    fn replace_by(&self, copy: FreshCopy) -> Result<()> {
        // No commit is under way while this is held.
        let _commit_guard = self.shadow();
        self.derived.replace_by(copy)?;
        self.unsynced.store(0, Ordering::Release);
        Ok(())
    }

    fn rewrite(&self) -> Result<()> {
        self.rewrite_with(false)
    }

    fn wants_packing(&self) -> Result<bool> {
        let packed = self.rows()?.get(Space::Engine, PACKED_KEY)?;
        let packed =
            packed.and_then(|row| row.as_slice().try_into().ok()).map_or(0, u64::from_be_bytes);
        let new = self.ledger.last().saturating_sub(packed);
        Ok(new >= PACK_ENTRIES_MIN && new > packed / 2 && self.check_room_for_copy().is_ok())
    }

    fn pack(&self) -> Result<()> {
        if self.derived.spilled_length().is_some() {
            return self.rewrite_with(true);
        }
        self.check_room_for_copy()?;
        let outcome = self.rewrite_beside(true).map(drop);
        *self.shadow() = None;
        outcome
    }

    fn check(&self) -> Result<()> {
        self.check_frames()?;
        // Nobody can begin to read meanwhile. Of a large file every row is read by whoever verifies it.
        let is_short = self.derived.size_bytes()? <= ENGINE_CHECK_BYTES_MAX;
        if !is_short {
            return Ok(());
        }
        self.health.judge(self.derived.check().map_err(|error| match error {
            Error::Corrupt { place, reason } if place == STORE_FILE => {
                let then = "it is put aside, and the next open makes it again from the journal";
                Error::corrupt(place, format!("{reason}; {then}"))
            }
            error => error,
        }))
    }

    fn size_bytes(&self) -> Result<u64> {
        Ok(self.derived.size_bytes()? + self.ledger.size_bytes()?)
    }

    fn close(&self) -> Result<()> {
        if self.unsynced.load(Ordering::Acquire) > 0 && !self.has_failed() {
            self.note_root();
        }
        self.derived.close()
    }
}

/// The entries of a commit, as the ledger takes them.
struct FrameDraft<'w> {
    /// The `seq` of the first.
    first: u64,
    frame: Frame<'w>,
    /// They are in the shared journal already.
    is_foreign: bool,
}

impl<'w> FrameDraft<'w> {
    fn of(writes: &'w WriteSet) -> Result<FrameDraft<'w>> {
        let (mut first, mut frame) = (0, Frame::default());
        let truth = writes.iter().find(|(space, _)| *space == Space::Truth);
        for (key, value) in truth.into_iter().flat_map(|(_, rows)| rows) {
            match (keys::parse_truth(key), value.as_deref()) {
                (Some(TruthKey::Entry(seq)), Some(entry)) => {
                    if frame.entries.is_empty() {
                        first = seq;
                    }
                    if seq != first + frame.entries.len() as u64 {
                        return Err(Error::corrupt(format!("entry {seq}"), "leaves a gap"));
                    }
                    frame.entries.push(FrameEntry { entry, body: None });
                }
                (Some(TruthKey::Body(seq)), body) => {
                    let in_frame = seq.checked_sub(first).filter(|_| !frame.entries.is_empty());
                    let at = in_frame.and_then(|at| usize::try_from(at).ok());
                    match (at.and_then(|at| frame.entries.get_mut(at)), body) {
                        (Some(entry), body) => entry.body = body,
                        (None, None) => frame.erased.push(seq),
                        (None, Some(_)) => {
                            return Err(Error::corrupt(format!("body {seq}"), "has no entry"));
                        }
                    }
                }
                (Some(TruthKey::Entry(seq)), None) => {
                    return Err(Error::corrupt(format!("entry {seq}"), "cannot be taken back"));
                }
                (None, _) => return Err(Error::corrupt("truth", "a key is unknown")),
            }
        }
        Ok(FrameDraft { first, frame, is_foreign: writes.is_foreign() })
    }
}

fn journal_root(reader: &dyn StoreReader, size: u64) -> Result<Digest> {
    let side = live_side(reader)?;
    proof::merkle::log::root(&View::new(reader, side), size)
}

/// Entries in a set.
fn entries_in(writes: &WriteSet) -> u64 {
    let truth = writes.iter().find(|(space, _)| *space == Space::Truth);
    let is_entry = |key: &&Vec<u8>| matches!(keys::parse_truth(key), Some(TruthKey::Entry(_)));
    truth.map_or(0, |(_, rows)| rows.keys().filter(is_entry).count() as u64)
}
