//! All versions of one memory.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HistoryRequest {
    pub id: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HistoryAnswer {
    /// Oldest first.
    pub versions: Vec<HistoryVersion>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HistoryVersion {
    pub version: u32,
    pub uri: String,
    /// Null after erasure.
    pub title: Option<String>,
    #[serde(rename = "type")]
    pub kind: String,
    pub memory_type: String,
    pub project: String,
    pub by: String,
    /// When this version was written, not when the memory was.
    pub created_at: String,
    pub confidence: f64,
    pub source: String,
    pub valid_from: Option<String>,
    pub valid_until: Option<String>,
    pub expires: Option<String>,
    pub seq: u64,
}
