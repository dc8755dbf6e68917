//! What happened: the newest entries of the journal, in one line each, for whoever watches.
//!
//! A watcher asks for what came after the last entry it saw. Nothing is noted: looking leaves no trace.

use api::activity::{ACTIVITY_MAX, ActivityAnswer, ActivityRequest, EntryView};
use api::search::NamedView;
use kernel::journal::{Entry, HeadPatch, MindRunPhase, Payload};
use kernel::memory::MemoryId;
use kernel::store::View;

use crate::Service;
use crate::caller::Caller;
use crate::error::{Error, Result};

impl Service {
    pub fn activity(&self, caller: &Caller, request: ActivityRequest) -> Result<ActivityAnswer> {
        let limit = request.limit.unwrap_or(50);
        if limit == 0 || limit > ACTIVITY_MAX {
            return Err(Error::invalid("limit", format!("must lie between 1 and {ACTIVITY_MAX}")));
        }
        let (_, reading) = self.reading(caller)?;
        let view = reading.view();
        let size = view.counters()?.size;
        let first = request.after.unwrap_or(0).saturating_add(1);
        let mut entries = Vec::new();
        for seq in (first..=size).rev().take(limit) {
            let Some(entry) = view.entry(seq)? else { continue };
            let payload = entry.payload()?;
            let memory_id = memory_of(seq, &payload);
            let title = memory_id.map_or(Ok(None), |id| title_now(&view, id))?;
            entries.push(EntryView {
                seq,
                kind: entry.kind.name().to_owned(),
                at: entry.at.rfc3339(),
                summary: summary(&view, &entry, &payload)?,
                memory_id,
                title,
                other: other_end(&view, &payload)?,
                by: entry.by,
            });
        }
        Ok(ActivityAnswer { entries, size })
    }
}

/// The memory that an entry is about.
fn memory_of(seq: u64, payload: &Payload) -> Option<u64> {
    match payload {
        Payload::Write(_) => Some(seq),
        Payload::Update(p) => Some(p.id.get()),
        Payload::UpdateHead(p) => Some(p.id.get()),
        Payload::Tombstone(p) => Some(p.id.get()),
        Payload::Restore(p) => Some(p.id.get()),
        Payload::Erase(p) => Some(p.id.get()),
        Payload::AddEdge(p) => Some(p.src.get()),
        Payload::RemoveEdge(p) => Some(p.src.get()),
        Payload::Touch(p) => match p.accesses.as_slice() {
            [access] => Some(access.id.get()),
            _ => None,
        },
        _ => None,
    }
}

/// The memory at the other end of a relation that came or went.
fn other_end(view: &View<'_>, payload: &Payload) -> kernel::Result<Option<NamedView>> {
    let id = match payload {
        Payload::AddEdge(p) => p.dst.get(),
        Payload::RemoveEdge(p) => p.dst.get(),
        _ => return Ok(None),
    };
    Ok(Some(NamedView { id, title: title_now(view, id)?.unwrap_or_default() }))
}

/// What a memory is called now: nothing if its text was erased.
fn title_now(view: &View<'_>, id: u64) -> kernel::Result<Option<String>> {
    let Some(id) = MemoryId::new(id) else { return Ok(None) };
    let Some(head) = view.head(id)? else { return Ok(None) };
    let body = view.body(&view.required_version(id, head.version)?)?;
    Ok(body.map(|body| one_line(&body.title)))
}

/// One line about an entry. Titles come from the body beside it, if it is still there.
pub fn summary(view: &View<'_>, entry: &Entry, payload: &Payload) -> kernel::Result<String> {
    let title = || -> kernel::Result<String> {
        Ok(match view.sealed(entry.seq)? {
            Some(sealed) => format!("{:?}", one_line(&sealed.open()?.title)),
            None => "[erased]".to_owned(),
        })
    };
    let line = match payload {
        Payload::Write(p) => format!("{} {} {}", p.memory_type.name(), entry.seq, title()?),
        Payload::Update(p) => format!("{}#{} {}", p.id, p.version, title()?),
        Payload::UpdateHead(p) => format!("{} {}", p.id, changed(&p.patch).join(", ")),
        Payload::Tombstone(p) => format!("{}: {}", p.id, p.reason),
        Payload::Restore(p) => format!("{}: {}", p.id, p.reason),
        Payload::Erase(p) => format!("{}: {}", p.id, p.reason),
        Payload::AddEdge(p) => format!("{} {} {}", p.src, p.relation.name(), p.dst),
        Payload::RemoveEdge(p) => format!("{} {} {}", p.src, p.relation.name(), p.dst),
        Payload::Touch(p) => {
            let shown = p.shown.as_ref().map_or(0, Vec::len);
            let counts =
                [(p.accesses.len(), "opened"), (shown, "shown"), (p.grants.len(), "by grants")];
            let parts = counts.into_iter().filter(|(count, _)| *count > 0);
            parts.map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
        }
        Payload::FindLate(p) => format!("{} results at {} entries", p.results.len(), p.size),
        Payload::Attest(p) => {
            format!("{} {}, {} cited", p.intent, p.outcome.name(), p.cited.len())
        }
        Payload::LearnWeights(p) => match &p.skipped {
            Some(reason) => format!("nothing: {reason}"),
            None => format!("from attestation {}", p.attest_seq),
        },
        Payload::Compact(p) => format!(
            "{} {}: {} kept, {} stubs, {} tokens",
            p.intent,
            p.step,
            p.kept.len(),
            p.stubs.len(),
            p.tokens,
        ),
        Payload::SessionStart(p) => p.session.clone(),
        Payload::SessionEnd(p) => p.session.clone(),
        Payload::Prompt(p) => p.session.clone().unwrap_or_default(),
        Payload::Snapshot(p) => format!("{} root {}: {}", p.number, p.root, p.reason),
        Payload::ScopeGrant(p) => p.id.to_string(),
        Payload::ScopeRevoke(p) => format!("{}: {}", p.grant, p.reason),
        Payload::ScopeViolation(p) => format!("{} by {}", p.operation, p.grant),
        Payload::MindRun(p) => format!("{} {} {}", p.job, p.run, phase(p.phase)),
        Payload::PastForget(p) => format!("something of the past: {}", p.reason),
        Payload::PastRestore(_) => "something of the past may be read again".to_owned(),
        Payload::Migration(p) => format!("{} {} -> {}", p.component, p.from, p.to),
    };
    Ok(one_line(&line))
}

pub fn phase(phase: MindRunPhase) -> &'static str {
    match phase {
        MindRunPhase::Started => "started",
        MindRunPhase::Finished => "finished",
        MindRunPhase::Failed => "failed",
        MindRunPhase::Undone => "undone",
    }
}

/// The names of what a patch changes.
fn changed(patch: &HeadPatch) -> Vec<&'static str> {
    let set = [
        ("kind", patch.kind.is_some()),
        ("project", patch.project.is_some()),
        ("scope", patch.scope.is_some()),
        ("visibility", patch.visibility.is_some()),
        ("pinned", patch.pinned.is_some()),
        ("archived", patch.archived.is_some()),
        ("tags", patch.tags.is_some()),
        ("topic_key", patch.topic_key.is_some()),
        ("session", patch.session.is_some()),
        ("channel", patch.channel.is_some()),
        ("importance", patch.importance.is_some()),
        ("duplicates", patch.duplicates.is_some()),
    ];
    set.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect()
}

/// Stored text must not draw on a terminal: control characters become spaces.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
