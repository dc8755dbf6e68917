//! What `--json` prints: plain structs of their own, so that the kernel's records can change without breaking scripts.
//!
//! Times are RFC 3339 in UTC, ratios are numbers from 0 to 1, digests are hexadecimal. Fields are added, never renamed.

use kernel::journal::Manifest;
use kernel::memory::{Body, Head, Millis, PinnedVersion, Tombstone, Version};
use serde::Serialize;
use serde_json::Value;

use crate::failure::Outcome;
use crate::fields;
use crate::open::Invocation;
use crate::parse::from_ppm;

/// A memory at a version, as far as a proof can speak of it.
#[derive(Debug, Serialize)]
pub(crate) struct MemoryView {
    pub(crate) id: u64,
    pub(crate) uri: String,
    pub(crate) version: u32,
    /// The newest version there is.
    pub(crate) latest: u32,
    #[serde(rename = "type")]
    pub(crate) memory_type: &'static str,
    pub(crate) kind: String,
    /// Null when the content was erased.
    pub(crate) title: Option<String>,
    pub(crate) content: Option<String>,
    pub(crate) fields: Value,
    pub(crate) project: Option<String>,
    pub(crate) scope: &'static str,
    pub(crate) visibility: &'static str,
    pub(crate) pinned: bool,
    pub(crate) archived: bool,
    pub(crate) forgotten: Option<ForgottenView>,
    pub(crate) erased: bool,
    pub(crate) tags: Vec<String>,
    pub(crate) topic_key: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) channel: Option<String>,
    pub(crate) importance: f64,
    pub(crate) confidence: f64,
    pub(crate) source: &'static str,
    pub(crate) derived_from: Vec<String>,
    pub(crate) by: String,
    pub(crate) created: String,
    pub(crate) updated: String,
    pub(crate) valid_from: Option<String>,
    pub(crate) valid_until: Option<String>,
    pub(crate) expires: Option<String>,
    pub(crate) seq: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct ForgottenView {
    pub(crate) reason: String,
    pub(crate) by: String,
    pub(crate) at: String,
}

impl From<&Tombstone> for ForgottenView {
    fn from(tombstone: &Tombstone) -> ForgottenView {
        ForgottenView {
            reason: tombstone.reason.clone(),
            by: tombstone.by.clone(),
            at: tombstone.at.rfc3339(),
        }
    }
}

/// A memory as proofs show it.
pub(crate) fn memory(uri: &str, head: &Head, version: &Version, body: Option<&Body>) -> MemoryView {
    MemoryView {
        id: head.id.get(),
        uri: uri.to_owned(),
        version: version.n,
        latest: head.version,
        memory_type: head.memory_type.name(),
        kind: head.kind.clone(),
        title: body.map(|body| body.title.clone()),
        content: body.map(|body| body.content.clone()),
        fields: body.map_or(Value::Null, |body| fields::to_json(&body.fields)),
        project: head.project.clone(),
        scope: head.scope.name(),
        visibility: head.visibility.name(),
        pinned: head.pinned,
        archived: head.archived,
        forgotten: head.tombstone.as_ref().map(Into::into),
        erased: head.erased,
        tags: head.tags.clone(),
        topic_key: head.topic_key.clone(),
        session: head.session.clone(),
        channel: head.channel.clone(),
        importance: from_ppm(head.importance),
        confidence: from_ppm(version.confidence),
        source: version.provenance.source.name(),
        derived_from: version.provenance.derived_from.iter().map(pinned).collect(),
        by: version.by.clone(),
        created: head.created.rfc3339(),
        updated: head.updated.rfc3339(),
        valid_from: version.valid_from.map(Millis::rfc3339),
        valid_until: version.valid_until.map(Millis::rfc3339),
        expires: version.expires.map(Millis::rfc3339),
        seq: version.seq,
    }
}

/// `12#3`.
pub(crate) fn pinned(pinned: &PinnedVersion) -> String {
    format!("{}#{}", pinned.id, pinned.version)
}

/// The answer of an operation that changed something, with the root that followed.
#[derive(Debug, Serialize)]
pub(crate) struct Rooted<'a, T> {
    #[serde(flatten)]
    answer: &'a T,
    root: String,
}

impl<'a, T> Rooted<'a, T> {
    pub(crate) fn of(inv: &Invocation, answer: &'a T) -> Outcome<Rooted<'a, T>> {
        Ok(Rooted { answer, root: inv.existing()?.root()?.to_string() })
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct SnapshotView {
    pub(crate) number: u64,
    /// Journal entries it covers.
    pub(crate) size: u64,
    pub(crate) root: String,
    pub(crate) manifest: String,
    pub(crate) previous: Option<String>,
    pub(crate) reason: String,
    pub(crate) memories: u64,
    pub(crate) forgotten: u64,
    pub(crate) edges: u64,
}

impl From<&Manifest> for SnapshotView {
    fn from(manifest: &Manifest) -> SnapshotView {
        SnapshotView {
            number: manifest.number,
            size: manifest.size,
            root: manifest.root.to_string(),
            manifest: manifest.digest().to_string(),
            previous: manifest.previous.map(|digest| digest.to_string()),
            reason: manifest.reason.clone(),
            memories: manifest.live,
            forgotten: manifest.tombstoned,
            edges: manifest.edges,
        }
    }
}
