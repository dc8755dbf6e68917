//! Edges between memories, and walks along them.

use serde::{Deserialize, Serialize};

use crate::memory::EdgeView;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RelateRequest {
    #[serde(alias = "from_id")]
    pub from_obs_id: u64,
    #[serde(alias = "to_id")]
    pub to_obs_id: u64,
    pub relation_type: String,
    /// Above 0, at most 10; 1 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RelateAnswer {
    #[serde(flatten)]
    pub edge: EdgeView,
    pub seq: u64,
    pub at: String,
    /// False: the same edge was there already.
    pub changed: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UnrelateRequest {
    /// The number that relating returned; or the edge itself, by its ends.
    pub edge_id: u64,
    #[serde(alias = "from_id")]
    pub from_obs_id: u64,
    #[serde(alias = "to_id")]
    pub to_obs_id: u64,
    pub relation_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct UnrelateAnswer {
    /// 0 if the edge was named by its ends.
    pub edge_id: u64,
    pub from_obs_id: u64,
    pub to_obs_id: u64,
    pub relation_type: String,
    pub seq: u64,
    pub at: String,
    /// False: it was not there.
    pub changed: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GraphRequest {
    pub id: u64,
    /// 1 to 10; 1 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Any if empty.
    pub relations: Vec<String>,
    /// out, in or both; both if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<String>,
    /// Through forgotten memories too.
    pub include_forgotten: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct GraphAnswer {
    pub id: u64,
    pub depth: u32,
    /// Where the walk starts, at hop 0.
    pub start: NodeView,
    /// Nearest first, then by id.
    pub nodes: Vec<NodeView>,
    pub edges: Vec<EdgeView>,
    /// There is more than a walk may reach.
    pub capped: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct NodeView {
    pub id: u64,
    pub hop: u32,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub memory_type: String,
    pub created_at: String,
    pub uri: String,
    pub project: String,
    pub preview: String,
    /// In one line, with what its type says of it.
    pub text: String,
    pub superseded: bool,
}
