//! The storage of an actor: the truth in a ledger, everything derived from it in a store of rows.
//!
//! Rows of the truth in a `WriteSet` become a frame of the ledger; the derived store keeps only where it is. The order
//! of a commit: the frame is appended and synced, erased bodies are overwritten and synced, then the derived rows become
//! visible without a wait for the disk. They are made durable every `UNSYNCED_ENTRIES_MAX` entries, by `settle` and at
//! close.
//!
//! What must stay true: a location is committed with the derived rows of its entry, so a reader sees an entry exactly
//! when it sees what follows from it. The derived store never holds an entry that the ledger does not. If it fails after
//! the frame is synced, the write has happened: it is acknowledged, and the actor must be reopened before anybody reads.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use proof::Digest;
use proof::actor::ActorName;

use super::file::SegmentNames;
use super::segment::LedgerKey;
use super::{FileLedger, Frame, FrameEntry, Ledger, Location, former};
use crate::birth::{birth, live_side};
use crate::error::{Error, Result};
use crate::keys::{self, TruthKey};
use crate::limits::UNSYNCED_ENTRIES_MAX;
use crate::store::{
    EngineOptions, KeyRange, Medium, RedbStorage, RowChanges, Space, Storage, StoreFile,
    StoreReader, View, Visit, WriteSet,
};

#[derive(Debug)]
pub struct LedgerStorage {
    ledger: Arc<dyn Ledger>,
    derived: RedbStorage,
    /// Entries whose derived rows are not durable yet.
    unsynced: AtomicU64,
    has_failed: AtomicBool,
}

impl LedgerStorage {
    /// Opens an actor's files, or makes them. A store from before there was a ledger is moved into one first.
    pub fn open(
        medium: impl Into<Arc<dyn Medium>>,
        actor: &ActorName,
        options: EngineOptions,
        key: LedgerKey,
    ) -> Result<LedgerStorage> {
        let medium = medium.into();
        former::finish_move(&medium, actor, options, key)?;
        let is_known = |file| medium.exists(file).map_err(|error| Error::io("ledger", error));
        let segments = medium.segments().map_err(|error| Error::io("ledger", error))?;
        let has_ledger = segments.iter().any(|file| matches!(file, StoreFile::Segment(_)));
        if !has_ledger && is_known(StoreFile::Derived)? {
            let reason = "is missing, though what was derived from it is there";
            return Err(Error::corrupt("ledger", reason));
        }
        // The ledger comes first: an actor exists when it has one.
        if !has_ledger {
            FileLedger::open(Arc::clone(&medium), SegmentNames::Ledger, (actor, key), None)?;
        }
        let derived = RedbStorage::open(Arc::clone(&medium), options, || birth(actor))?;
        let known = last_location(&*derived.reader()?)?;
        let ledger = FileLedger::open(medium, SegmentNames::Ledger, (actor, key), known)?;
        let storage = LedgerStorage {
            ledger: Arc::new(ledger),
            derived,
            unsynced: AtomicU64::new(0),
            has_failed: AtomicBool::new(false),
        };
        storage.locate(known.map_or(0, |(seq, _)| seq))?;
        Ok(storage)
    }

    /// Notes where the entries after `known` are: those whose derived rows a crash took.
    fn locate(&self, known: u64) -> Result<()> {
        const ROWS_PER_COMMIT: usize = 20_000;
        let none = WriteSet::new();
        let mut rows = RowChanges::new();
        self.ledger.read(known + 1, &mut |found| {
            rows.insert(keys::entry(found.seq), Some(found.location.to_bytes()));
            if rows.len() == ROWS_PER_COMMIT {
                self.derived.commit_unsynced(&none, &std::mem::take(&mut rows))?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if rows.is_empty() { Ok(()) } else { self.derived.commit_unsynced(&none, &rows) }
    }

    /// Appends the entries of `writes` and overwrites what they erase. Returns the rows that say where entries are, and
    /// how many entries there are.
    fn append(&self, writes: &WriteSet) -> Result<(RowChanges, u64)> {
        let mut frame = Frame::default();
        let (mut first, mut erased) = (0, Vec::new());
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
                        (None, None) => erased.push(seq),
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
        let mut rows = RowChanges::new();
        if !frame.entries.is_empty() {
            let root = || self.journal_root(first - 1);
            let locations = self.ledger.append(first - 1, &frame, &root)?;
            for (seq, location) in (first..).zip(locations) {
                rows.insert(keys::entry(seq), Some(location.to_bytes()));
            }
        }
        if !erased.is_empty() {
            let reader = self.derived.reader()?;
            let mut bodies = Vec::with_capacity(erased.len());
            for seq in erased {
                bodies.extend(location(&*reader, seq)?.map(|location| (seq, location)));
            }
            self.ledger.erase(&bodies)?;
        }
        Ok((rows, frame.entries.len() as u64))
    }

    fn journal_root(&self, size: u64) -> Result<Digest> {
        let reader = self.derived.reader()?;
        let side = live_side(&*reader)?;
        proof::merkle::log::root(&View::new(&*reader, side), size)
    }

    fn commit_derived(&self, writes: &WriteSet, rows: &RowChanges, entries: u64) -> Result<()> {
        let unsynced = self.unsynced.load(Ordering::Acquire) + entries;
        // What comes without entries is a slice of a rebuild or a switch of sides, and seldom.
        let waits = entries == 0 || unsynced >= UNSYNCED_ENTRIES_MAX;
        if waits {
            self.derived.commit_synced(writes, rows)?;
        } else {
            self.derived.commit_unsynced(writes, rows)?;
        }
        self.unsynced.store(if waits { 0 } else { unsynced }, Ordering::Release);
        Ok(())
    }
}

impl Storage for LedgerStorage {
    fn reader(&self) -> Result<Box<dyn StoreReader + Send>> {
        if self.has_failed() {
            return Err(Error::Poisoned);
        }
        let rows = self.derived.reader()?;
        Ok(Box::new(LocationReader { rows, ledger: Arc::clone(&self.ledger) }))
    }

    fn commit(&self, writes: &WriteSet) -> Result<()> {
        if self.has_failed() {
            return Err(Error::Poisoned);
        }
        let (rows, entries) = self.append(writes)?;
        match self.commit_derived(writes, &rows, entries) {
            // The entries are safe. They are derived again when the actor is reopened.
            Err(_) if entries > 0 => {
                self.has_failed.store(true, Ordering::Release);
                Ok(())
            }
            outcome => outcome,
        }
    }

    fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    fn settle(&self) -> Result<()> {
        if self.unsynced.load(Ordering::Acquire) == 0 || self.has_failed() {
            return Ok(());
        }
        // Entries that are committed meanwhile are durable with this or counted by the next.
        self.unsynced.store(0, Ordering::Release);
        self.derived.commit_synced(&WriteSet::new(), &RowChanges::new())
    }

    fn rewrite(&self) -> Result<()> {
        self.derived.rewrite()?;
        self.unsynced.store(0, Ordering::Release);
        Ok(())
    }

    fn check(&self) -> Result<()> {
        self.derived.check()
    }

    fn size_bytes(&self) -> Result<u64> {
        Ok(self.derived.size_bytes()? + self.ledger.size_bytes()?)
    }

    fn close(&self) -> Result<()> {
        self.derived.close()
    }
}

/// A state of the derived store, with the entries and bodies it knows of read from the ledger.
pub struct LocationReader {
    rows: Box<dyn StoreReader + Send>,
    ledger: Arc<dyn Ledger>,
}

impl std::fmt::Debug for LocationReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocationReader").field("ledger", &self.ledger).finish_non_exhaustive()
    }
}

impl LocationReader {
    /// The entry and then the body, where they lie in the range, in its direction.
    fn visit_entry(
        &self,
        (seq, location): (u64, Location),
        range: &KeyRange,
        visit: &mut Visit<'_>,
    ) -> Result<ControlFlow<()>> {
        let mut keys = [TruthKey::Entry(seq), TruthKey::Body(seq)];
        if range.reverse {
            keys.reverse();
        }
        for part in keys {
            let (key, value) = match part {
                TruthKey::Entry(seq) => {
                    let key = keys::entry(seq);
                    let is_inside = range.holds(&key);
                    (key, is_inside.then(|| self.ledger.entry(seq, location)).transpose()?)
                }
                TruthKey::Body(seq) => {
                    let key = keys::body(seq);
                    let is_inside = range.holds(&key);
                    let body = is_inside.then(|| self.ledger.body(seq, location)).transpose()?;
                    (key, body.flatten())
                }
            };
            if let Some(value) = value
                && visit(&key, &value)?.is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl StoreReader for LocationReader {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if space != Space::Truth {
            return self.rows.get(space, key);
        }
        let Some(part) = keys::parse_truth(key) else { return Ok(None) };
        let (TruthKey::Entry(seq) | TruthKey::Body(seq)) = part;
        let Some(location) = location(&*self.rows, seq)? else { return Ok(None) };
        match part {
            TruthKey::Entry(_) => self.ledger.entry(seq, location).map(Some),
            TruthKey::Body(_) => self.ledger.body(seq, location),
        }
    }

    fn scan(&self, space: Space, range: &KeyRange, visit: &mut Visit<'_>) -> Result<()> {
        if space != Space::Truth {
            return self.rows.scan(space, range, visit);
        }
        // A range that begins with a body has its entry's row before it.
        let mut rows = range.clone();
        if let Some(TruthKey::Body(seq)) = keys::parse_truth(&range.from) {
            rows.from = keys::entry(seq);
        }
        self.rows.scan(Space::Truth, &rows, &mut |key, value| {
            self.visit_entry(parse_location(key, value)?, range, visit)
        })
    }
}

fn parse_location(key: &[u8], value: &[u8]) -> Result<(u64, Location)> {
    match (keys::parse_truth(key), Location::from_bytes(value)) {
        (Some(TruthKey::Entry(seq)), Some(location)) => Ok((seq, location)),
        _ => Err(Error::corrupt(proof::digest::encode_hex(key), "is no place in the ledger")),
    }
}

fn location(rows: &dyn StoreReader, seq: u64) -> Result<Option<Location>> {
    let key = keys::entry(seq);
    let row = rows.get(Space::Truth, &key)?;
    row.map(|value| Ok(parse_location(&key, &value)?.1)).transpose()
}

/// The last entry that the derived store knows of.
fn last_location(rows: &dyn StoreReader) -> Result<Option<(u64, Location)>> {
    let mut last = None;
    rows.scan(Space::Truth, &KeyRange::all().reversed(), &mut |key, value| {
        last = Some(parse_location(key, value)?);
        Ok(ControlFlow::Break(()))
    })?;
    Ok(last)
}
