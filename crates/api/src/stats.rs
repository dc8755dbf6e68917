//! What there is: counts, projects, entities.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::save::EntityView;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StatsRequest {}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct StatsAnswer {
    pub actor: String,
    pub sessions: u64,
    /// In sight: neither archived nor forgotten.
    pub observations: u64,
    pub archived: u64,
    pub forgotten: u64,
    pub erased: u64,
    pub prompts: u64,
    pub edges: u64,
    pub projects: Vec<String>,
    pub by_type: BTreeMap<String, u64>,
    pub snapshots: u64,
    pub entries: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_entry_at: Option<String>,
    pub file_bytes: u64,
    pub root: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectsRequest {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ProjectsAnswer {
    /// Latest activity first.
    pub projects: Vec<ProjectView>,
    /// There are more than are listed.
    pub capped: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ProjectView {
    pub name: String,
    pub memories: u64,
    pub last_activity: String,
    /// Names that mean it, too.
    pub aliases: Vec<String>,
    /// Repositories whose memories it has, as `host/owner/name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remotes: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EntitiesRequest {
    pub id: u64,
}

/// What all memories name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct EntityListRequest {
    /// file, url, package …
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// 50 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct EntityListAnswer {
    /// The most named first.
    pub entities: Vec<NamedEntityView>,
    pub total: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct NamedEntityView {
    #[serde(rename = "type")]
    pub kind: String,
    pub value: String,
    /// How many memories name it.
    pub memories: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct EntitiesAnswer {
    pub id: u64,
    pub entities: Vec<EntityView>,
}

/// Whose memory the home holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ActorListRequest {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ActorListAnswer {
    pub actors: Vec<ActorFolder>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ActorFolder {
    pub actor: String,
    pub folder: String,
}
