//! Answers that several operations share. Field names are those of the wire; they are added, never renamed.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::author::Author;

/// Bytes of a memory's content.
pub const CONTENT_BYTES_MAX: usize = 1_048_576;

/// A memory in full.
#[expect(clippy::struct_excessive_bools, reason = "states that do not depend on each other")]
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
    /// When it happened, where that is not when it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub happened_at: Option<String>,
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
    /// Who wrote this version, as far as it is known.
    #[serde(default)]
    pub author: Author,
    /// A rule or preference that no person stated or confirmed.
    #[serde(default)]
    pub proposed: bool,
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
    /// The journal entry that holds this version; `seq` beside a memory is the entry of a change.
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
    pub memory_type: String,
    pub created_at: String,
    /// When it happened, where that is not when it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub happened_at: Option<String>,
    /// The beginning of what it says.
    pub preview: String,
    pub pinned: bool,
    pub superseded: bool,
    /// Who wrote its current version.
    #[serde(default)]
    pub by: String,
    #[serde(default)]
    pub author: Author,
    /// A rule or preference that no person stated or confirmed.
    #[serde(default)]
    pub proposed: bool,
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

/// One version of a memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct VersionView {
    pub version: u32,
    pub title: String,
    pub content: String,
    pub created_at: String,
    pub by: String,
}
