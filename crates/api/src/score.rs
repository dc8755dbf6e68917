//! What a memory is worth now, from its kind, its age and its use.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScoreRequest {
    pub id: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ScoreAnswer {
    pub observation_id: u64,
    /// 0 to 5.
    pub score: f64,
    pub access_count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_accessed: Option<String>,
    /// The moment it was computed for: scores are never stored.
    pub updated_at: String,
    pub incoming_edges: u32,
    pub citations: u64,
    /// How often it stood in a list or a briefing; that is no access.
    #[serde(default)]
    pub shown: u64,
    /// What ranking by salience goes by, 0 to 1.
    pub salience: f64,
    pub factors: FactorsView,
    /// What time has left of the declared importance, 0 to 1.
    pub importance: f64,
}

/// What salience is made of, each 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct FactorsView {
    pub recency: f64,
    pub access: f64,
    pub citation: f64,
    pub importance: f64,
}
