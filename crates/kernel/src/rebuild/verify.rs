//! Checking a store: the engine's own structures, the journal, the bodies, and every derived row against a replay.

use std::ops::ControlFlow;

use proof::actor::ActorName;
use proof::digest::{Digest, encode_hex};
use proof::journal::Payload;
use proof::memory::MemoryId;
use proof::merkle::log;

use super::read_ahead::{AheadEntry, read_ahead};
use super::{ScratchReader, marker, stored};
use crate::batch::{Batch, Hooks, ProgressFn};
use crate::birth::live_side;
use crate::commitments::roots_at;
use crate::error::{Error, Result};
use crate::keys::{self, HOOK_PREFIXES, TruthKey};
use crate::limits::VERIFY_ROUNDS_MAX;
use crate::store::{
    DamageNote, KeyRange, Side, Space, Storage, StoreReader, View, WriteSet, unscrubbed,
};

/// Problems after which a check stops looking for more.
pub const PROBLEMS_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyProblem {
    pub place: String,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyReport {
    /// Journal entries replayed.
    pub entries: u64,
    /// Derived rows compared.
    pub rows: u64,
    /// The root the replay came to.
    pub root: Option<Digest>,
    pub problems: Vec<VerifyProblem>,
}

impl VerifyReport {
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    fn add(&mut self, place: impl Into<String>, reason: impl Into<String>) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(VerifyProblem { place: place.into(), reason: reason.into() });
        }
    }

    /// Damage becomes a problem; anything else is an error of the check itself.
    fn take(&mut self, error: Error) -> Result<()> {
        match error {
            Error::Corrupt { place, reason } => self.add(place, reason),
            Error::NonCanonical { what, reason } => self.add(what, reason),
            Error::RootMismatch { .. } | Error::Schema { .. } => {
                self.add("journal", error.to_string());
            }
            Error::NotFound { .. } => self.add("journal", format!("refers to {error}")),
            other => return Err(other),
        }
        Ok(())
    }
}

/// Verifies `storage` with the help of an empty `scratch` store, which is filled with the replay.
///
/// A memory that is erased meanwhile would look like damage: its body is gone and the entry that says why is not in
/// the state that is checked. So the check then begins anew. `settle` waits until copies of what was erased before
/// are gone.
pub(crate) fn verify(
    actor: &ActorName,
    (storage, settle): (&dyn Storage, &dyn Fn()),
    scratch: &dyn Storage,
    hooks: &mut Hooks,
    progress: &mut ProgressFn<'_>,
) -> Result<VerifyReport> {
    for _ in 0..VERIFY_ROUNDS_MAX {
        settle();
        let (report, size) = verify_once(actor, storage, scratch, hooks, progress)?;
        if report.is_clean() || !has_erasure_since(storage, size)? {
            return Ok(report);
        }
        let mut empty = WriteSet::new();
        empty.clear(Space::Derived(Side::A));
        scratch.commit(&empty)?;
    }
    Err(Error::invalid("store", "memories are erased all the time; verify again when that is over"))
}

/// True if one of the entries after `size` erases a memory.
fn has_erasure_since(storage: &dyn Storage, size: u64) -> Result<bool> {
    if storage.has_failed() {
        return Ok(false);
    }
    // An erasure that is under way has begun with the bytes: this waits for it.
    storage.commit(&WriteSet::new())?;
    let reader = storage.reader()?;
    let last = View::new(&*reader, Side::A).last_seq()?;
    for seq in size.saturating_add(1)..=last {
        if let Ok(Some(found)) = stored(&*reader, seq)
            && matches!(found.payload, Payload::Erase(_))
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Verifies one state. Also returns the last entry of it.
fn verify_once(
    actor: &ActorName,
    storage: &dyn Storage,
    scratch: &dyn Storage,
    hooks: &mut Hooks,
    progress: &mut ProgressFn<'_>,
) -> Result<(VerifyReport, u64)> {
    let mut report = VerifyReport { entries: 0, rows: 0, root: None, problems: Vec::new() };
    match storage.check() {
        // With readers open the engine cannot check itself now. The logical check below reads every row anyway.
        Ok(()) | Err(Error::Busy) => {}
        Err(error) => report.take(error)?,
    }
    let reader = match storage.reader().and_then(|reader| Ok((live_side(&*reader)?, reader))) {
        Ok(found) => found,
        // What was found wrong says why nothing is read any more.
        Err(Error::Poisoned) if !report.is_clean() => return Ok((report, u64::MAX)),
        Err(error) => {
            report.take(error)?;
            return Ok((report, u64::MAX));
        }
    };
    let (side, reader) = reader;
    let size = View::new(&*reader, side).last_seq()?;
    let of = (storage, &*reader as &dyn StoreReader, side);
    if let Err(error) = check(actor, of, scratch, hooks, progress, &mut report) {
        report.take(error)?;
    }
    Ok((report, size))
}

/// Replays the journal of `storage` into an empty `scratch`; the first problem is an error.
pub(crate) fn replay_into(
    storage: &dyn Storage,
    scratch: &dyn Storage,
    hooks: &mut Hooks,
    progress: &mut ProgressFn<'_>,
) -> Result<()> {
    let reader = storage.reader()?;
    let mut report = VerifyReport { entries: 0, rows: 0, root: None, problems: Vec::new() };
    let total = check_journal_keys(&*reader, &mut report)?;
    if report.is_clean() {
        replay((storage, &*reader), scratch, hooks, total, progress, &mut report)?;
    }
    match report.problems.into_iter().next() {
        Some(problem) => Err(Error::corrupt(problem.place, problem.reason)),
        None => Ok(()),
    }
}

fn check(
    actor: &ActorName,
    (storage, reader, side): (&dyn Storage, &dyn StoreReader, Side),
    scratch: &dyn Storage,
    hooks: &mut Hooks,
    progress: &mut ProgressFn<'_>,
    report: &mut VerifyReport,
) -> Result<()> {
    let total = check_journal_keys(reader, report)?;
    // Entries that no longer fit what is left end the replay. Bodies are checked all the same.
    if let Err(error) = replay((storage, reader), scratch, hooks, total, progress, report) {
        report.take(error)?;
    }
    let replayed = scratch.reader()?;
    let replayed_view = View::new(&*replayed, Side::A);
    if report.is_clean() {
        report.root = Some(roots_at(&replayed_view, total)?.overall(actor.as_str()));
        for DamageNote { place, reason } in other_roots(storage, &replayed_view, total)? {
            report.add(place, reason);
        }
    }
    let is_sound = report.is_clean();
    check_bodies(reader, &replayed_view, total, report)?;
    // Without an entry, everything that follows from it would differ: what is lost is named already.
    if !is_sound {
        return Ok(());
    }
    // Where copies of erased texts are left, rows that hold many texts differ, and are made again when they can be.
    let is_compared = |key: &[u8]| key.first().is_none_or(|first| !HOOK_PREFIXES.contains(first));
    match unscrubbed(reader)? {
        Some(_) if hooks.mix_texts() => compare(reader, side, &*replayed, is_compared, report),
        _ => compare(reader, side, &*replayed, |_| true, report),
    }
}

/// Journals that have another root than the one they were told to have, of those with at most `size` entries.
pub(crate) fn other_roots(
    storage: &dyn Storage,
    view: &View<'_>,
    size: u64,
) -> Result<Vec<DamageNote>> {
    let mut notes = Vec::new();
    for (entries, told) in storage.named_roots() {
        if entries <= size {
            let found = log::root(view, entries)?;
            if found != told {
                let reason = format!(
                    "with {entries} entries it has the root {found}, it was told as {told}"
                );
                notes.push(DamageNote::new("journal", reason));
            }
        }
    }
    Ok(notes)
}

/// Every key of the truth space is an entry or body, entries are gap-free, bodies lie beside an entry.
fn check_journal_keys(reader: &dyn StoreReader, report: &mut VerifyReport) -> Result<u64> {
    let mut last = 0;
    reader.scan(Space::Truth, &KeyRange::all(), &mut |key, _| {
        match keys::parse_truth(key) {
            Some(TruthKey::Entry(seq)) => {
                if seq != last + 1 {
                    report.add(format!("entry {seq}"), format!("follows entry {last}"));
                }
                last = seq;
            }
            Some(TruthKey::Body(seq)) if seq == last => {}
            Some(TruthKey::Body(seq)) => report.add(format!("body {seq}"), "has no entry"),
            None => report.add(format!("truth key {}", encode_hex(key)), "is unknown"),
        }
        Ok(if report.problems.len() < PROBLEMS_MAX {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        })
    })?;
    Ok(last)
}

fn replay(
    (storage, reader): (&dyn Storage, &dyn StoreReader),
    scratch: &dyn Storage,
    hooks: &mut Hooks,
    total: u64,
    progress: &mut ProgressFn<'_>,
    report: &mut VerifyReport,
) -> Result<()> {
    let empty = scratch.reader()?;
    let beside = ScratchReader { truth: reader, derived: &*empty };
    let view = View::new(&beside, Side::A);
    hooks.each(|hook| hook.open(&view))?;
    drop(empty);
    let preparers = hooks.preparers();
    let mut done = 0;
    read_ahead(storage, &preparers, (1, total), |entries| {
        while done < total {
            progress(done, total);
            let slice = entries.slice()?;
            let replayed = scratch.reader()?;
            let beside = ScratchReader { truth: reader, derived: &*replayed };
            let mut batch = Batch::new(&beside, Side::A, hooks);
            for AheadEntry { seq, found, prepared } in slice {
                let found = match found {
                    Ok(Some(found)) => found,
                    Ok(None) => {
                        report.add(format!("entry {seq}"), "is missing");
                        marker(seq, batch.view().counters()?.at)
                    }
                    Err(error) => {
                        report.take(error)?;
                        marker(seq, batch.view().counters()?.at)
                    }
                };
                let body = (found.sealed.as_ref(), &prepared[..]);
                batch.derive(&found.entry, &found.bytes, &found.payload, body)?;
                done = seq;
                report.entries = done;
            }
            let rows = batch.seal()?;
            drop(replayed);
            scratch.commit(&rows)?;
            hooks.committed();
        }
        Ok(())
    })?;
    progress(total, total);
    Ok(())
}

/// Each body hashes to what its entry says, and is there unless its memory was erased.
fn check_bodies(
    reader: &dyn StoreReader,
    replayed: &View<'_>,
    total: u64,
    report: &mut VerifyReport,
) -> Result<()> {
    for seq in 1..=total {
        // An entry that does not read was named by the replay.
        let Ok(Some(found)) = stored(reader, seq) else { continue };
        if let Some(DamageNote { place, reason }) = found.body_damage {
            report.add(place, reason);
            continue;
        }
        let (expected, memory) = match &found.payload {
            Payload::Write(p) => (Some(p.body_hash), MemoryId::new(seq)),
            Payload::Update(p) => (Some(p.body_hash), Some(p.id)),
            Payload::Prompt(p) => (Some(p.body_hash), None),
            Payload::FindLate(p) => (Some(p.query_hash), None),
            Payload::SessionEnd(p) => (p.summary_hash, None),
            _ => (None, None),
        };
        let erased = replayed.is_body_erased(seq, memory)?;
        let place = format!("body {seq}");
        match (expected, &found.sealed) {
            (None, Some(_)) => report.add(place, "lies beside an entry that has none"),
            (Some(_), None) if !erased => report.add(place, "is missing"),
            (Some(_), Some(_)) if erased => report.add(place, "is there although erased"),
            (Some(hash), Some(sealed)) if sealed.hash() != hash => {
                report.add(place, "does not match the hash in its entry");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Walks both sides in key order and names every row that differs.
fn compare(
    reader: &dyn StoreReader,
    side: Side,
    replayed: &dyn StoreReader,
    is_compared: impl Fn(&[u8]) -> bool,
    report: &mut VerifyReport,
) -> Result<()> {
    let mut expected = Rows::new(replayed, Side::A);
    let mut wanted = expected.next()?;
    reader.scan(Space::Derived(side), &KeyRange::all(), &mut |key, value| {
        // Keys come in order, and those of hooks are the last.
        if !is_compared(key) {
            return Ok(ControlFlow::Break(()));
        }
        report.rows += 1;
        while let Some((missing, _)) = wanted.as_ref().filter(|(wanted_key, _)| **wanted_key < *key)
        {
            report.add(row_name(missing), "is missing");
            wanted = expected.next()?;
        }
        match &wanted {
            Some((wanted_key, wanted_value)) if wanted_key == key => {
                if wanted_value != value {
                    report.add(row_name(key), "differs from what the journal gives");
                }
                wanted = expected.next()?;
            }
            _ => report.add(row_name(key), "does not follow from the journal"),
        }
        Ok(if report.problems.len() < PROBLEMS_MAX {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        })
    })?;
    while let Some((missing, _)) = wanted.as_ref().filter(|(key, _)| is_compared(key)) {
        if report.problems.len() >= PROBLEMS_MAX {
            break;
        }
        report.add(row_name(missing), "is missing");
        wanted = expected.next()?;
    }
    Ok(())
}

fn row_name(key: &[u8]) -> String {
    format!("{} row {}", keys::namespace_of(key).unwrap_or("unknown"), encode_hex(key))
}

/// Rows of a derived side in key order, fetched in chunks because a scan cannot be suspended.
struct Rows<'a> {
    reader: &'a dyn StoreReader,
    space: Space,
    from: Vec<u8>,
    chunk: std::vec::IntoIter<(Vec<u8>, Vec<u8>)>,
    ended: bool,
}

const CHUNK_ROWS: usize = 1_024;

impl<'a> Rows<'a> {
    fn new(reader: &'a dyn StoreReader, side: Side) -> Rows<'a> {
        let chunk = Vec::new().into_iter();
        Rows { reader, space: Space::Derived(side), from: Vec::new(), chunk, ended: false }
    }

    fn next(&mut self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        if let Some(row) = self.chunk.next() {
            return Ok(Some(row));
        }
        if self.ended {
            return Ok(None);
        }
        let mut rows = Vec::with_capacity(CHUNK_ROWS);
        let range = KeyRange { from: self.from.clone(), to: None, reverse: false };
        self.reader.scan(self.space, &range, &mut |key, value| {
            rows.push((key.to_vec(), value.to_vec()));
            Ok(if rows.len() < CHUNK_ROWS {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            })
        })?;
        self.ended = rows.len() < CHUNK_ROWS;
        if let Some((last, _)) = rows.last() {
            self.from.clone_from(last);
            self.from.push(0);
        }
        self.chunk = rows.into_iter();
        Ok(self.chunk.next())
    }
}
