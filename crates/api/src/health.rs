//! Whether every actor of the home can be opened and its newest entries read.

use serde::{Deserialize, Serialize};

use crate::Error;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HealthRequest {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthAnswer {
    pub actors: Vec<ActorHealth>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActorHealth {
    pub actor: String,
    pub entries: u64,
    pub memories: u64,
    pub file_bytes: u64,
    pub root: String,
    /// What is wrong with the store. None: what was looked at is sound, and the search index is the current one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Error>,
    /// What is wrong with the table of merged project names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projects_problem: Option<Error>,
    /// Repositories of one name that are kept apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projects_apart: Vec<String>,
}
