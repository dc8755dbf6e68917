//! The one function from an entry to its effect.
//!
//! Live writes, rebuild and replicas all run `apply(view, entry)`. It reads nothing but the view and the entry: no
//! clock, no randomness, no environment. It never refuses what `admit` let through; an error here means the journal and
//! the state it is applied to do not belong together.

mod edges;
mod memories;
mod records;

pub(crate) use memories::preview;

use std::collections::BTreeMap;

use proof::Digest;
use proof::codec;
use proof::journal::{Entry, Payload};
use proof::memory::{MemoryId, MemoryType, Relation};

use crate::command::is_clock_jump;
use crate::error::{Error, Result};
use crate::keys;
use crate::state::{ClockJump, Counters, IdempotencyRecord};
use crate::store::View;

/// What one entry changes.
#[derive(Debug, Default)]
pub struct EntryChanges {
    /// Rows of the derived space; `None` deletes. Empty once they are staged.
    pub rows: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// Heads that changed, for the heads tree.
    pub heads: Vec<HeadChange>,
    /// Edges that changed, for the edges tree.
    pub edges: Vec<EdgeChange>,
    /// Entries whose bodies are to be deleted.
    pub erased_bodies: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
pub struct HeadChange {
    pub memory_type: MemoryType,
    pub id: MemoryId,
    pub leaf: Digest,
}

#[derive(Clone, Copy, Debug)]
pub struct EdgeChange {
    pub src: MemoryId,
    pub relation: Relation,
    pub dst: MemoryId,
    /// `None`: the edge is gone.
    pub leaf: Option<Digest>,
}

pub(crate) fn apply(view: &View<'_>, entry: &Entry, payload: &Payload) -> Result<EntryChanges> {
    let mut counters = view.counters()?;
    if entry.seq != counters.size + 1 {
        let reason = format!("follows entry {}", counters.size);
        return Err(Error::corrupt(format!("entry {}", entry.seq), reason));
    }
    let mut step = Step { view, entry, counters: &mut counters, changes: EntryChanges::default() };
    let about = match payload {
        Payload::Write(p) => memories::write(&mut step, p)?,
        Payload::Update(p) => memories::update(&mut step, p)?,
        Payload::UpdateHead(p) => memories::update_head(&mut step, p)?,
        Payload::Tombstone(p) => memories::tombstone(&mut step, p)?,
        Payload::Restore(p) => memories::restore(&mut step, p)?,
        Payload::Erase(p) => memories::erase(&mut step, p)?,
        Payload::AddEdge(p) => edges::add(&mut step, p)?,
        Payload::RemoveEdge(p) => edges::remove(&mut step, p)?,
        Payload::Touch(p) => records::touch(&mut step, p)?,
        Payload::FindLate(p) => records::find_late(&mut step, p)?,
        Payload::Attest(p) => records::attest(&mut step, p)?,
        Payload::LearnWeights(p) => records::learn_weights(&mut step, p),
        Payload::Compact(p) => records::compact(&mut step, p),
        Payload::SessionStart(p) => records::session_start(&mut step, p),
        Payload::SessionEnd(p) => records::session_end(&mut step, p)?,
        Payload::Prompt(p) => records::prompt(&mut step, p),
        Payload::Snapshot(p) => records::snapshot(&mut step, p),
        Payload::ScopeGrant(p) => records::scope_grant(&mut step, p),
        Payload::ScopeRevoke(p) => records::scope_revoke(&mut step, p),
        Payload::PastForget(p) => records::past_forget(&mut step, p),
        Payload::PastRestore(p) => records::past_restore(&mut step, p)?,
        // The entry itself is the record; nothing is derived from it.
        Payload::ScopeViolation(_) | Payload::MindRun(_) | Payload::Migration(_) => About::NOTHING,
    };
    let mut changes = step.changes;
    if let Some(run) = &entry.run {
        changes.rows.insert(keys::run_entry(run, entry.seq), Some(vec![entry.kind as u8]));
    }
    if let Some(idempotency) = &entry.idempotency {
        let record = IdempotencyRecord {
            request: idempotency.request,
            seq: entry.seq,
            id: about.id,
            version: about.version,
            at: entry.at,
        };
        let key = keys::idempotency(&idempotency.key);
        changes.rows.insert(key, Some(codec::encode(&record)));
    }
    if is_clock_jump(counters.at, entry.at) {
        let jump = ClockJump { from: counters.at, to: entry.at };
        changes.rows.insert(keys::clock_jump(entry.seq), Some(codec::encode(&jump)));
    }
    counters.size = entry.seq;
    counters.at = entry.at;
    changes.rows.insert(keys::counters(), Some(codec::encode(&counters)));
    Ok(changes)
}

/// The memory an entry is about, for the answer to a retry.
struct About {
    id: Option<MemoryId>,
    version: Option<u32>,
}

impl About {
    const NOTHING: About = About { id: None, version: None };

    fn memory(id: MemoryId, version: u32) -> About {
        About { id: Some(id), version: Some(version) }
    }
}

/// One entry being applied. Each record is read from the view at most once, so staged rows need not be read back.
struct Step<'a> {
    view: &'a View<'a>,
    entry: &'a Entry,
    counters: &'a mut Counters,
    changes: EntryChanges,
}

impl Step<'_> {
    fn put<T: minicbor::Encode<()>>(&mut self, key: Vec<u8>, record: &T) {
        self.changes.rows.insert(key, Some(codec::encode(record)));
    }

    fn mark(&mut self, key: Vec<u8>) {
        self.changes.rows.insert(key, Some(Vec::new()));
    }

    fn delete(&mut self, key: Vec<u8>) {
        self.changes.rows.insert(key, None);
    }

    /// The state does not fit the entry.
    fn damaged(&self, reason: &str) -> Error {
        Error::corrupt(format!("entry {} ({})", self.entry.seq, self.entry.kind.name()), reason)
    }
}
