//! What a run did, read from the journal, and the plan that takes it back.
//!
//! What must stay true: after an undo every memory says what it said before the run; what somebody changed since is
//! left alone and named; a run is undone once.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use kernel::command::Revision;
use kernel::journal::{Entry, EntryKind, MindRunPhase, Payload};
use kernel::keys;
use kernel::memory::{MemoryId, MemoryType, Millis, PinnedVersion, Salt};
use kernel::store::{KeyRange, View};
use kernel::{Digest, Result as KernelResult};

use crate::error::{MindError, Result};
use crate::proposal::{BY, MemoryAction, MindPlan, Proposal, Suggestion};

/// Entries of one run that are read.
pub const RUN_ENTRIES_MAX: usize = 100_000;

/// One change of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunChange {
    pub seq: u64,
    pub at: Millis,
    pub kind: &'static str,
    /// The memory it is about.
    pub id: Option<u64>,
    pub reason: Option<String>,
}

/// A run as the journal has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MindRunRecord {
    pub run: String,
    pub job: String,
    pub started: Option<Millis>,
    pub finished: Option<Millis>,
    pub undone: bool,
    pub changes: Vec<RunChange>,
}

/// Everything a run did.
pub fn run_record(view: &View<'_>, run: &str) -> Result<MindRunRecord> {
    let mut record = MindRunRecord {
        run: run.to_owned(),
        job: String::new(),
        started: None,
        finished: None,
        undone: false,
        changes: Vec::new(),
    };
    for entry in entries(view, run)? {
        let payload = entry.payload()?;
        let (id, reason) = match &payload {
            Payload::MindRun(mind_run) => {
                match mind_run.phase {
                    MindRunPhase::Started => {
                        record.started = Some(entry.at);
                        record.job.clone_from(&mind_run.job);
                    }
                    MindRunPhase::Undone => record.undone = true,
                    MindRunPhase::Finished | MindRunPhase::Failed => {
                        record.finished = Some(entry.at);
                    }
                }
                continue;
            }
            Payload::Write(_) => (MemoryId::new(entry.seq), None),
            Payload::Update(update) => (Some(update.id), None),
            Payload::UpdateHead(update) => (Some(update.id), update.reason.clone()),
            Payload::Tombstone(gone) => (Some(gone.id), Some(gone.reason.clone())),
            Payload::Restore(back) => (Some(back.id), Some(back.reason.clone())),
            Payload::AddEdge(edge) => (Some(edge.src), None),
            Payload::RemoveEdge(edge) => (Some(edge.src), Some(edge.reason.clone())),
            _ => (None, None),
        };
        let (seq, at, kind) = (entry.seq, entry.at, entry.kind.name());
        record.changes.push(RunChange { seq, at, kind, id: id.map(MemoryId::get), reason });
    }
    Ok(record)
}

/// One line of the log of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLine {
    pub run: String,
    pub job: String,
    pub started: Millis,
    /// What was planned, as counts.
    pub planned: Option<String>,
    /// What was done; absent if the run never finished.
    pub done: Option<String>,
    pub undone: bool,
}

/// The newest runs that changed something, newest first, found among the last `RUN_ENTRIES_MAX` entries. A run that
/// changed nothing journaled nothing; its report is with its job.
pub fn recent_runs(view: &View<'_>, limit: usize) -> Result<Vec<RunLine>> {
    let size = view.counters()?.size;
    let oldest = size.saturating_sub(RUN_ENTRIES_MAX as u64);
    let (mut lines, mut ended, mut undone) = (Vec::new(), BTreeMap::new(), BTreeSet::new());
    for seq in (oldest + 1..=size).rev() {
        if lines.len() == limit {
            break;
        }
        let Some(entry) = view.entry(seq)?.filter(|entry| entry.kind == EntryKind::MindRun) else {
            continue;
        };
        let Payload::MindRun(said) = entry.payload()? else { continue };
        match said.phase {
            MindRunPhase::Undone => {
                undone.insert(said.run);
            }
            MindRunPhase::Finished | MindRunPhase::Failed => {
                ended.insert(said.run, said.reason.unwrap_or_default());
            }
            MindRunPhase::Started => lines.push(RunLine {
                done: ended.remove(&said.run),
                undone: undone.remove(&said.run),
                run: said.run,
                job: said.job,
                started: entry.at,
                planned: said.reason,
            }),
        }
    }
    Ok(lines)
}

fn entries(view: &View<'_>, run: &str) -> Result<Vec<Entry>> {
    let mut seqs = Vec::new();
    view.scan(&KeyRange::prefix(&keys::run_entries(run)), &mut |key, _| {
        seqs.extend(keys::trailing_u64(key));
        let full = seqs.len() == RUN_ENTRIES_MAX;
        Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    if seqs.is_empty() {
        return Err(MindError::UnknownRun(run.chars().take(128).collect()));
    }
    let entry = |seq: u64| -> KernelResult<Entry> {
        view.entry(seq)?.ok_or_else(|| kernel::Error::not_found("entry", seq))
    };
    Ok(seqs.into_iter().map(entry).collect::<KernelResult<Vec<Entry>>>()?)
}

/// The plan that takes back what a run did, last change first.
pub fn undo(view: &View<'_>, run: &str) -> Result<MindPlan> {
    let entries = entries(view, run)?;
    let mut plan =
        MindPlan { job: "undo".to_owned(), undoes: Some(run.to_owned()), ..MindPlan::default() };
    plan.examined = entries.len();
    let of_run: BTreeSet<u64> = entries.iter().map(|entry| entry.seq).collect();
    let written: BTreeSet<u64> = entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Write)
        .map(|entry| entry.seq)
        .collect();
    for entry in entries.iter().rev() {
        let back = match entry.payload()? {
            Payload::MindRun(mind_run) if mind_run.phase == MindRunPhase::Undone => {
                return Err(MindError::AlreadyUndone(run.to_owned()));
            }
            Payload::Write(_) => {
                let Some(id) = MemoryId::new(entry.seq) else { continue };
                let head = view.required_head(id)?;
                let Some(version) = view.version(id, head.version)? else { continue };
                if head.tombstone.is_some() {
                    continue;
                }
                if version.by != BY && !of_run.contains(&version.seq) {
                    let reason = format!("made by {run}, but {} changed it since", version.by);
                    plan.suggestions.push(Suggestion { about: vec![id.get()], reason });
                    continue;
                }
                MemoryAction::Forget(PinnedVersion { id, version: head.version })
            }
            // What the run itself wrote goes as a whole.
            Payload::Tombstone(gone) if written.contains(&gone.id.get()) => continue,
            Payload::UpdateHead(update) if written.contains(&update.id.get()) => continue,
            Payload::AddEdge(edge) if written.contains(&edge.src.get()) => continue,
            Payload::Tombstone(gone) => {
                let head = view.required_head(gone.id)?;
                if head.erased || head.tombstone.is_none() {
                    continue;
                }
                MemoryAction::Restore(gone.id)
            }
            Payload::UpdateHead(update) if update.patch.archived == Some(true) => {
                let head = view.required_head(update.id)?;
                if !head.archived || head.tombstone.is_some() {
                    continue;
                }
                MemoryAction::Restore(update.id)
            }
            Payload::Update(update) if written.contains(&update.id.get()) => continue,
            Payload::Update(update) => {
                let head = view.required_head(update.id)?;
                if head.version != update.version || head.tombstone.is_some() {
                    let reason = "changed again since".to_owned();
                    plan.suggestions.push(Suggestion { about: vec![update.id.get()], reason });
                    continue;
                }
                let before = view.required_version(update.id, update.version - 1)?;
                let Some(body) = view.body(&before)? else { continue };
                MemoryAction::Revise {
                    revision: Box::new(Revision {
                        provenance: before.provenance.clone(),
                        confidence: before.confidence,
                        valid_from: before.valid_from,
                        valid_until: before.valid_until,
                        expires: before.expires,
                        ..Revision::new(update.id, Some(update.version), body, Salt::NONE)
                    }),
                    evidence: Vec::new(),
                }
            }
            Payload::AddEdge(edge) => {
                let there = view.edge(edge.src, edge.relation, edge.dst)?;
                if there.is_none_or(|there| there.seq != entry.seq) {
                    continue;
                }
                let (src, relation, dst) = (edge.src, edge.relation, edge.dst);
                MemoryAction::RemoveEdge { src, relation, dst }
            }
            _ => continue,
        };
        plan.proposals.push(Proposal { action: back, reason: format!("undo of {run}") });
    }
    Ok(plan)
}

/// Digest of what the memory says: every live memory at its text, put away or not, and the edges between them.
///
/// Equal digests mean that no memory was lost, gained or altered, whatever happened in between.
pub fn content_digest(view: &View<'_>) -> Result<Digest> {
    let mut bytes = Vec::new();
    for memory_type in MemoryType::ALL {
        let mut ids = Vec::new();
        view.scan_index(&keys::by_type(memory_type), None, false, &mut |id| {
            ids.push(id);
            Ok(ControlFlow::Continue(()))
        })?;
        for id in ids {
            let Some(head) = view.head(id)?.filter(|head| head.tombstone.is_none()) else {
                continue;
            };
            let version = view.required_version(id, head.version)?;
            let body = view.body(&version)?;
            bytes.extend(id.get().to_be_bytes());
            bytes.push(memory_type.code());
            bytes.push(u8::from(head.archived));
            bytes.push(u8::from(head.pinned));
            bytes.extend(head.importance.to_be_bytes());
            bytes.extend(kernel::codec::encode(&body));
            for edge in view.edges_out(id, kernel::limits::EDGES_PER_MEMORY_MAX as usize)? {
                let live = view.head(edge.dst)?.is_some_and(|head| head.tombstone.is_none());
                if live {
                    bytes.push(edge.relation.code());
                    bytes.extend(edge.dst.get().to_be_bytes());
                    bytes.extend(edge.weight.to_be_bytes());
                }
            }
        }
    }
    Ok(Digest::of("cortex/content/1", &[&bytes]))
}
