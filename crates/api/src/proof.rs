//! Proofs: a file that convinces somebody who has nothing but a root, and the root itself.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProveRequest {
    pub id: u64,
    /// For the state of this snapshot instead of now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ProveAnswer {
    pub id: u64,
    /// False: it proves that no memory has this id.
    pub exists: bool,
    pub root: String,
    /// Journal entries the root covers.
    pub size: u64,
    /// The file, in base64; `cortex verify-proof` checks it.
    pub proof: String,
    pub bytes: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RootRequest {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RootAnswer {
    pub actor: String,
    pub root: String,
    pub size: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VerifyRequest {
    /// The file, in base64.
    pub proof: String,
    /// The root that is trusted; any if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct VerifyAnswer {
    /// Always true: what does not hold is refused.
    pub valid: bool,
    pub actor: String,
    pub root: String,
    /// Journal entries the root covers.
    pub size: u64,
    /// memory, no_memory, edge, no_edge, append_only or slice.
    pub claim: String,
    /// What a memory says, if that is what is proved and its text is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<ProvedMemory>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ProvedMemory {
    pub id: u64,
    pub version: u32,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub memory_type: String,
    pub content: String,
    pub forgotten: bool,
    pub created_at: String,
    pub by: String,
}
