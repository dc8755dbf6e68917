//! The lines of our own export: one JSON object each, told apart by `record`.
//!
//! The format is documented in `docs/export-format.md` and has a version. Readers ignore keys they do not know, so keys
//! may be added; nothing may change its meaning. Times are RFC 3339 in UTC with milliseconds, ratios are numbers from 0
//! to 1.

use kernel::memory::{Edge, Head, Millis, Provenance, Tombstone, Usage, Version};
use kernel::{Digest, Reading};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Result, origin};
use service::fields;
use service::parse::from_ppm;

/// Version of the format.
pub(super) const FORMAT: u32 = 1;
/// How memories of a Cortex store are named in origins.
pub(super) const SYSTEM: &str = "cortex";

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub(super) enum ExportLine {
    Header(HeaderLine),
    Session(SessionLine),
    Memory(Box<MemoryLine>),
    /// More versions of the memory before, if they do not fit on its line.
    Versions(VersionsLine),
    Edge(EdgeLine),
    Prompt(PromptLine),
    End(EndLine),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HeaderLine {
    pub(super) cortex_export: u32,
    pub(super) actor: String,
    /// Names the store: ids of one store are not those of another.
    pub(super) store: String,
    pub(super) exported_at: String,
    #[serde(default)]
    pub(super) project: Option<String>,
    #[serde(default)]
    pub(super) all: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct SessionLine {
    pub(super) session: String,
    pub(super) project: Option<String>,
    pub(super) directory: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) started: Option<String>,
    pub(super) ended: Option<String>,
    pub(super) summary: Option<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct MemoryLine {
    pub(super) id: u64,
    /// Where it was imported from, if it was.
    pub(super) origin: Option<String>,
    #[serde(rename = "type")]
    pub(super) memory_type: String,
    pub(super) kind: String,
    pub(super) project: Option<String>,
    pub(super) scope: String,
    pub(super) visibility: String,
    pub(super) pinned: bool,
    pub(super) archived: bool,
    pub(super) forgotten: Option<ForgottenLine>,
    pub(super) tags: Vec<String>,
    pub(super) topic_key: Option<String>,
    pub(super) session: Option<String>,
    pub(super) channel: Option<String>,
    pub(super) importance: f64,
    pub(super) duplicates: u32,
    pub(super) created: String,
    pub(super) updated: String,
    /// When the current version was made.
    pub(super) revised: String,
    pub(super) accesses: u64,
    pub(super) last_access: Option<String>,
    /// For information: citations follow from attestations and are not imported.
    pub(super) citations: u64,
    /// The current version.
    pub(super) version: u32,
    pub(super) versions: Vec<VersionLine>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ForgottenLine {
    pub(super) reason: String,
    pub(super) by: String,
    pub(super) at: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct VersionsLine {
    pub(super) memory: u64,
    pub(super) versions: Vec<VersionLine>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct VersionLine {
    pub(super) version: u32,
    pub(super) title: String,
    pub(super) content: String,
    pub(super) fields: Map<String, Value>,
    pub(super) by: String,
    pub(super) created: String,
    pub(super) confidence: f64,
    pub(super) source: String,
    pub(super) derived_from: Vec<String>,
    pub(super) model: Option<String>,
    /// What its provenance says.
    pub(super) origin: Option<String>,
    pub(super) valid_from: Option<String>,
    pub(super) valid_until: Option<String>,
    pub(super) expires: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct EdgeLine {
    pub(super) from: u64,
    pub(super) relation: String,
    pub(super) to: u64,
    pub(super) weight: f64,
    pub(super) by: String,
    pub(super) at: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PromptLine {
    pub(super) id: u64,
    pub(super) origin: Option<String>,
    pub(super) session: Option<String>,
    pub(super) project: Option<String>,
    pub(super) text: String,
    pub(super) at: String,
}

/// Written last: an export without it was cut off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct EndLine {
    pub(super) memories: u64,
    pub(super) edges: u64,
    pub(super) sessions: u64,
    pub(super) prompts: u64,
}

/// Nothing where an entry does not read: what lies beside the damage is exported all the same.
fn unless_damaged<T>(found: kernel::Result<Option<T>>) -> Result<Option<T>> {
    match found {
        Err(kernel::Error::Corrupt { .. }) => Ok(None),
        found => Ok(found?),
    }
}

/// A name for a store that no other store has: a digest of its first entry. `None` while it is empty.
pub(super) fn store_name(reading: &Reading) -> Result<Option<String>> {
    let first = unless_damaged(reading.view().entry_bytes(1))?;
    Ok(first.map(|entry| {
        let digest = Digest::of("cortex/store/1", &[&entry]);
        kernel::digest::encode_hex(&digest.as_bytes()[..12])
    }))
}

/// The origin of what an earlier import wrote.
pub(super) fn origin_of(reading: &Reading, seq: u64) -> Result<Option<String>> {
    let entry = reading.view().entry(seq)?;
    let key = entry.and_then(|entry| entry.idempotency).map(|made| made.key);
    Ok(key.as_deref().and_then(origin::of_key).map(str::to_owned))
}

impl MemoryLine {
    pub(super) fn of(
        head: &Head,
        usage: &Usage,
        revised: Millis,
        origin: Option<String>,
    ) -> MemoryLine {
        MemoryLine {
            id: head.id.get(),
            origin,
            memory_type: head.memory_type.name().to_owned(),
            kind: head.kind.clone(),
            project: head.project.clone(),
            scope: head.scope.name().to_owned(),
            visibility: head.visibility.name().to_owned(),
            pinned: head.pinned,
            archived: head.archived,
            forgotten: head.tombstone.as_ref().map(ForgottenLine::of),
            tags: head.tags.clone(),
            topic_key: head.topic_key.clone(),
            session: head.session.clone(),
            channel: head.channel.clone(),
            importance: from_ppm(head.importance),
            duplicates: head.duplicates,
            created: head.created.rfc3339(),
            updated: head.updated.rfc3339(),
            revised: revised.rfc3339(),
            accesses: usage.accesses,
            last_access: usage.last_access.map(Millis::rfc3339),
            citations: usage.citations,
            version: head.version,
            versions: Vec::new(),
        }
    }
}

impl ForgottenLine {
    fn of(tombstone: &Tombstone) -> ForgottenLine {
        ForgottenLine {
            reason: tombstone.reason.clone(),
            by: tombstone.by.clone(),
            at: tombstone.at.rfc3339(),
        }
    }
}

impl VersionLine {
    pub(super) fn of(version: &Version, body: kernel::memory::Body) -> VersionLine {
        let Provenance { source, derived_from, model, origin } = version.provenance.clone();
        let fields = match fields::to_json(&body.fields) {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        VersionLine {
            version: version.n,
            title: body.title,
            content: body.content,
            fields,
            by: version.by.clone(),
            created: version.created.rfc3339(),
            confidence: from_ppm(version.confidence),
            source: source.name().to_owned(),
            derived_from: derived_from.iter().map(|p| format!("{}#{}", p.id, p.version)).collect(),
            model,
            origin,
            valid_from: version.valid_from.map(Millis::rfc3339),
            valid_until: version.valid_until.map(Millis::rfc3339),
            expires: version.expires.map(Millis::rfc3339),
        }
    }

    /// Bytes of text on the line.
    pub(super) fn weight(&self) -> usize {
        self.title.len() + self.content.len()
    }
}

impl EdgeLine {
    pub(super) fn of(edge: &Edge) -> EdgeLine {
        EdgeLine {
            from: edge.src.get(),
            relation: edge.relation.name().to_owned(),
            to: edge.dst.get(),
            weight: from_ppm(edge.weight),
            by: edge.by.clone(),
            at: edge.at.rfc3339(),
        }
    }
}
