//! Archival: what is old, unimportant and unconnected is put away, softly, with its reason in the journal.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SweepRequest {
    /// Only say what would be put away.
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SweepAnswer {
    /// Oldest first.
    pub archived: Vec<SweptView>,
    pub examined: u64,
    /// There is more than one sweep puts away; the next one goes on.
    pub capped: bool,
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SweptView {
    pub id: u64,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub memory_type: String,
    pub score: f64,
    pub created_at: String,
}
