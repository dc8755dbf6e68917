//! Answers that several operations share. Field names are those of the wire; they are added, never renamed.
//!
//! Times are RFC 3339 in UTC. `type` is the caller's own word (the kind); `memory_type` is one of the nine shapes. Texts
//! that are not set are empty, lists are never null.

use kernel::Reading;
use kernel::memory::{Body, Edge, Head, MemoryId, Millis, PinnedVersion, Usage, Version};
use kernel::render;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::Result;
use super::fields;
use super::parse::from_ppm;

/// A memory in full.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Memory {
    pub id: u64,
    pub title: String,
    pub content: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub project: String,
    pub scope: String,
    pub session_id: String,
    pub topic_key: String,
    pub created_at: String,
    pub updated_at: String,
    pub uri: String,
    pub memory_type: String,
    /// The version shown, and the newest there is.
    pub version: u32,
    pub latest: u32,
    /// How often the same thing was saved again.
    pub duplicates: u32,
    pub tags: Vec<String>,
    pub fields: Value,
    pub pinned: bool,
    pub archived: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<String>,
    /// Why it was forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_reason: Option<String>,
    pub erased: bool,
    pub accesses: u64,
    pub citations: u64,
    pub by: String,
    pub confidence: f64,
    pub importance: f64,
    /// private, scoped or public: what grants may show.
    pub visibility: String,
    pub channel: String,
    /// user, derived, observed or imported.
    pub source: String,
    /// `12#3`: memories it follows from.
    pub derived_from: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// The journal entry that holds this version.
    pub entry: u64,
    /// Where it stood in another system, if it was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// A memory in one line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Brief {
    pub id: u64,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub project: String,
    pub scope: String,
    pub session_id: String,
    pub created_at: String,
    /// The beginning of what it says.
    pub preview: String,
    pub pinned: bool,
    pub superseded: bool,
}

impl Brief {
    /// What showing it costs.
    pub(super) fn tokens(&self) -> u32 {
        render::tokens(&self.title).saturating_add(render::tokens(&self.preview))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct EdgeView {
    /// The entry that made it.
    pub id: u64,
    pub from_obs_id: u64,
    pub to_obs_id: u64,
    pub relation_type: String,
    pub weight: f64,
    pub created_at: String,
    pub by: String,
}

impl From<&Edge> for EdgeView {
    fn from(edge: &Edge) -> EdgeView {
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
}

/// One version of a memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct VersionView {
    pub version: u32,
    pub title: String,
    pub content: String,
    pub created_at: String,
    pub by: String,
}

pub(super) fn memory(
    reading: &Reading,
    head: &Head,
    version: &Version,
    usage: &Usage,
    body: Option<&Body>,
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
        uri: reading.uri(head, version.n).to_string(),
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

/// `12#3`.
fn pinned(pinned: &PinnedVersion) -> String {
    format!("{}#{}", pinned.id, pinned.version)
}

/// The current version of a memory in full.
pub(super) fn current(reading: &Reading, id: MemoryId) -> Result<Memory> {
    let resolved = reading.resolve_version(id, None)?;
    let body = resolved.body.as_ref();
    Ok(memory(reading, &resolved.head, &resolved.version, &resolved.usage, body))
}

/// A memory in one line, with at most `chars` characters of what it says.
pub(super) fn brief(reading: &Reading, head: &Head, chars: usize) -> Result<Brief> {
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
        created_at: head.created.rfc3339(),
        preview: super::wording::shortened(text, chars),
        pinned: head.pinned,
        superseded: view.usage(head.id)?.superseded > 0,
    })
}

/// In sight: neither forgotten, erased nor archived.
pub(super) fn is_live(head: &Head) -> bool {
    head.tombstone.is_none() && !head.erased && !head.archived
}
