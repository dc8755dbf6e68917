//! Saving: redact, then update the topic's memory, count a repetition, or write a new one.

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Saves that one request may commit together.
pub const SAVE_MANY_MAX: usize = 16_384;

with_details! {
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
    #[serde(default, deny_unknown_fields)]
    pub struct SaveRequest {
        pub title: String,
        pub content: String,
        /// One of the nine; follows from the kind if absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub memory_type: Option<String>,
        /// True: a save that names no session and finds none alive belongs to `manual-save`, as agents expect.
        pub default_session: bool,
        pub tags: Vec<String>,
        pub pinned: bool,
        /// Who speaks or takes part. A save that names no type and says this is an Event.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub participants: Vec<String>,
        /// When it happened, if not now: a date, or a time in UTC.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub happened_at: Option<String>,
    }
}

/// What became of a save.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Saved)]
pub enum SaveStatus {
    #[default]
    Created,
    /// The memory of the topic key has a new version.
    Updated,
    /// It was saved before, within the window; only counted.
    Duplicate,
    /// An earlier request with the same idempotency key was answered again.
    Replayed,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SaveAnswer {
    pub id: u64,
    pub uri: String,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub memory_type: String,
    pub version: u32,
    pub status: SaveStatus,
    pub project: String,
    pub scope: String,
    pub session_id: String,
    pub topic_key: String,
    /// A key under which the next save of this topic would update it. Empty if it has one.
    pub suggested_topic_key: String,
    /// Files, symbols, packages … that it names.
    pub entities: Vec<EntityView>,
    /// What was taken out: private blocks, secrets. Empty if nothing was.
    pub redacted: String,
    /// What was changed so that it could be kept: a title of several lines, signs that no text has. Empty if nothing
    /// was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cleaned: String,
    /// Memories that say nearly the same, nearest first: perhaps it replaces or contradicts one of them.
    pub similar: Vec<SimilarView>,
    /// Set if it is the first of a project whose name is nearly another's.
    pub project_note: String,
    /// Set if the caller's word names none of the nine types, so that the memory became a Fact.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub type_note: String,
    pub seq: u64,
    /// When the memory was first saved; `at` is when this save was.
    pub created_at: String,
    pub at: String,
    pub changed: bool,
    /// It is a rule or preference that counts only when a person confirms it.
    #[serde(default)]
    pub proposed: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SimilarView {
    pub id: u64,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub memory_type: String,
    pub created_at: String,
    /// 0 to 1; a copy has 1.
    pub nearness: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct EntityView {
    #[serde(rename = "type")]
    pub kind: String,
    pub value: String,
}

/// Many new memories, committed together: no topic is looked up, no repetition counted, nothing similar looked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SaveManyRequest {
    /// At most [`SAVE_MANY_MAX`]. None: only see whether there is somebody to save for.
    pub saves: Vec<KeyedSave>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KeyedSave {
    pub save: SaveRequest,
    /// Makes a retry return the first answer instead of saving again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SaveManyAnswer {
    /// One for each save, in the same order.
    pub outcomes: Vec<SaveOutcome>,
}

/// What became of one of many saves. What is refused does not stop the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaveOutcome {
    Saved(SaveReceipt),
    Refused(Error),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaveReceipt {
    pub id: u64,
    pub uri: String,
    pub version: u32,
    #[serde(rename = "type")]
    pub kind: String,
    pub memory_type: String,
    pub seq: u64,
    pub replayed: bool,
}
