//! Answers that several operations share. Field names are those of the wire; they are added, never renamed.
//!
//! Times are RFC 3339 in UTC. `type` is the caller's own word (the kind); `memory_type` is one of the nine shapes.
//! Texts that are not set are empty, lists are never null.

use api::author::Author;
use api::memory::{Brief, EdgeView, Memory};
use kernel::context::RuleAuthors;
use kernel::memory::{
    Body, DecisionStatus, Edge, Fields, GoalStatus, Head, MemoryId, MemoryType, Millis,
    PinnedVersion, Usage, Version,
};
use kernel::store::View;
use kernel::{Reading, render};
use serde_json::Value;

use crate::error::Result;
use crate::fields;
use crate::parse::from_ppm;

/// What showing a memory in one line costs.
pub(super) fn brief_tokens(brief: &Brief) -> u32 {
    render::tokens(&brief.title).saturating_add(render::tokens(&brief.preview))
}

pub fn edge_view(edge: &Edge) -> EdgeView {
    EdgeView {
        id: edge.seq,
        from_obs_id: edge.src.get(),
        to_obs_id: edge.dst.get(),
        relation_type: edge.relation.name().to_owned(),
        weight: from_ppm(edge.weight),
        created_at: edge.at.rfc3339(),
        by: edge.by.clone(),
    }
}

/// A memory as every answer shows it.
pub fn memory(
    uri: String,
    head: &Head,
    version: &Version,
    usage: &Usage,
    body: Option<&Body>,
    rules: RuleAuthors,
) -> Memory {
    Memory {
        id: head.id.get(),
        title: body.map(|body| body.title.clone()).unwrap_or_default(),
        content: body.map(|body| body.content.clone()).unwrap_or_default(),
        kind: head.kind.clone(),
        project: head.project.clone().unwrap_or_default(),
        scope: head.scope.name().to_owned(),
        session_id: head.session.clone().unwrap_or_default(),
        topic_key: head.topic_key.clone().unwrap_or_default(),
        created_at: head.created.rfc3339(),
        updated_at: head.updated.rfc3339(),
        happened_at: happened_at(head, version, body),
        uri,
        memory_type: head.memory_type.name().to_owned(),
        version: version.n,
        latest: head.version,
        duplicates: head.duplicates,
        tags: head.tags.clone(),
        fields: body.map_or(Value::Null, |body| fields::to_json(&body.fields)),
        pinned: head.pinned,
        archived: head.archived,
        deleted_at: head.tombstone.as_ref().map(|tombstone| tombstone.at.rfc3339()),
        deleted_reason: head.tombstone.as_ref().map(|tombstone| tombstone.reason.clone()),
        erased: head.erased,
        accesses: usage.accesses,
        citations: usage.citations,
        by: version.by.clone(),
        author: author(version),
        proposed: rules.is_proposed(head, version),
        confidence: from_ppm(version.confidence),
        importance: from_ppm(head.importance),
        visibility: head.visibility.name().to_owned(),
        channel: head.channel.clone().unwrap_or_default(),
        source: version.provenance.source.name().to_owned(),
        derived_from: version.provenance.derived_from.iter().map(pinned).collect(),
        valid_from: version.valid_from.map(Millis::rfc3339),
        valid_until: version.valid_until.map(Millis::rfc3339),
        expires: version.expires.map(Millis::rfc3339),
        entry: version.seq,
        origin: version.provenance.origin.clone(),
    }
}

/// When what a memory says happened: what its event says, else since when it is true, else when it was recorded.
pub fn happened(head: &Head, version: &Version, body: Option<&Body>) -> Millis {
    let told = match body.map(|body| &body.fields) {
        Some(Fields::Event(event)) => event.happened_at,
        _ => None,
    };
    told.or(version.valid_from).filter(|at| *at < head.created).unwrap_or(head.created)
}

/// The same for a memory of which only the head was read.
pub(super) fn when_happened(view: &View<'_>, head: &Head) -> kernel::Result<Millis> {
    let version = view.required_version(head.id, head.version)?;
    let body = match head.memory_type {
        MemoryType::Event => view.body(&version)?,
        _ => None,
    };
    Ok(happened(head, &version, body.as_ref()))
}

/// The same for answers, which name it only where it is not when it was recorded.
pub(super) fn happened_at(head: &Head, version: &Version, body: Option<&Body>) -> Option<String> {
    let at = happened(head, version, body);
    (at != head.created).then(|| at.rfc3339())
}

/// When a memory came to say what this version says, if it said something else before.
pub fn revised(version: &Version) -> Option<Millis> {
    (version.n > 1 && version.valid_from.is_none()).then_some(version.created)
}

/// Who wrote a version.
pub fn author(version: &Version) -> Author {
    let provenance = &version.provenance;
    Author::of(provenance.source.name(), provenance.origin.as_deref())
}

/// `12#3`.
pub fn pinned(pinned: &PinnedVersion) -> String {
    format!("{}#{}", pinned.id, pinned.version)
}

/// The current version of a memory in full.
pub(super) fn current(reading: &Reading, id: MemoryId, rules: RuleAuthors) -> Result<Memory> {
    let resolved = reading.resolve_version(id, None)?;
    let body = resolved.body.as_ref();
    let uri = reading.uri(&resolved.head, resolved.version.n).to_string();
    Ok(memory(uri, &resolved.head, &resolved.version, &resolved.usage, body, rules))
}

/// A memory in one line, with at most `chars` characters of what it says.
pub(super) fn brief(
    reading: &Reading,
    head: &Head,
    chars: usize,
    rules: RuleAuthors,
) -> Result<Brief> {
    let view = reading.view();
    let version = view.required_version(head.id, head.version)?;
    let body = view.body(&version)?;
    let text = body.as_ref().map(|body| body.content.as_str()).unwrap_or_default();
    Ok(Brief {
        id: head.id.get(),
        title: body.as_ref().map(|body| body.title.clone()).unwrap_or_default(),
        kind: head.kind.clone(),
        project: head.project.clone().unwrap_or_default(),
        scope: head.scope.name().to_owned(),
        session_id: head.session.clone().unwrap_or_default(),
        memory_type: head.memory_type.name().to_owned(),
        created_at: head.created.rfc3339(),
        happened_at: happened_at(head, &version, body.as_ref()),
        preview: crate::wording::shortened(text, chars),
        pinned: head.pinned,
        superseded: view.usage(head.id)?.superseded > 0,
        author: author(&version),
        proposed: rules.is_proposed(head, &version),
        by: version.by,
    })
}

/// What became of a decision or a goal, where it is not what its reader would take it for: accepted, active.
pub fn status(fields: &Fields) -> Option<&'static str> {
    match fields {
        Fields::Decision(decision) if decision.status != DecisionStatus::Accepted => {
            Some(decision.status.name())
        }
        Fields::Goal(goal) if goal.status != GoalStatus::Active => Some(goal.status.name()),
        _ => None,
    }
}

/// In sight: neither forgotten, erased nor archived.
pub fn is_live(head: &Head) -> bool {
    head.tombstone.is_none() && !head.erased && !head.archived
}
