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

/// What a proof file is to claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "claim", rename_all = "snake_case", deny_unknown_fields)]
pub enum ClaimRequest {
    /// A memory is there and says what it says, or there is none with this id.
    Memory {
        id: u64,
        /// For the state of this snapshot instead of now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        snapshot: Option<u64>,
    },
    /// An edge is there, or is not.
    Edge {
        src: u64,
        relation: String,
        dst: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        snapshot: Option<u64>,
    },
    /// The journal only grew since this snapshot.
    Since { snapshot: u64 },
    /// These are all memories of these types, or of all types if none is named. A grant says itself which slice it
    /// proves, so a delegate names neither types nor a snapshot.
    Slice {
        types: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        snapshot: Option<u64>,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimAnswer {
    pub root: String,
    /// Journal entries the root covers.
    pub size: u64,
    /// memory, no_memory, edge, no_edge, append_only or slice.
    pub claim: String,
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
    /// The roots that it is made of.
    #[serde(default)]
    pub journal_root: String,
    #[serde(default)]
    pub memories_root: String,
    #[serde(default)]
    pub edges_root: String,
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
