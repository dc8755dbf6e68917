//! Names that mean another project: kept in a file beside the actor's store, used by every read and write.

use serde::{Deserialize, Serialize};

use crate::change_many::ChangeManyRequest;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MergeRequest {
    /// Names that are given up. From now on they mean the project that stays.
    pub from: Vec<String>,
    pub to: String,
    /// Only say how much would move.
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct MergeAnswer {
    pub to: String,
    /// Memories that changed their project.
    pub moved: u64,
    /// All names that mean this project.
    pub aliases: Vec<String>,
    pub dry_run: bool,
    /// Names that meant a project of their own until now. To take the merge back, each is separated first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given_up: Vec<String>,
    /// The requests that then move the memories back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undo: Vec<ChangeManyRequest>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SeparateRequest {
    /// A name that was merged and shall be a project of its own again. Its memories stay where they are.
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SeparateAnswer {
    pub name: String,
}
