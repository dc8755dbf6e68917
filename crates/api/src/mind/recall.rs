//! `memory_recall` as an operation: the four modes that the mind itself asks with, for models and scripts.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryRecallRequest {
    /// May be empty, but for `hybrid`.
    pub query: String,
    /// Types or kinds: identity, goal, observation …
    pub memory_types: Vec<String>,
    /// recent, important, typed or hybrid. If absent: hybrid with a query, else typed with types, else recent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// recent, importance or most_accessed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sort_by: Option<String>,
    /// 1 to 50; 10 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// For a place that others read: nothing private is even looked at.
    pub shared: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct MemoryRecallAnswer {
    pub memories: Vec<RecalledView>,
    /// How many there were to choose from.
    pub found: usize,
    /// Older ones were not looked at.
    pub capped: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RecalledView {
    pub id: u64,
    pub title: String,
    pub preview: String,
    /// True if the preview is not the whole.
    pub cut: bool,
    #[serde(rename = "type")]
    pub kind: String,
    pub memory_type: String,
    pub project: String,
    pub topic_key: String,
    /// Faded to now.
    pub importance: f64,
    pub relevance: f64,
    pub standing: String,
    pub created_at: String,
    pub updated_at: String,
}
