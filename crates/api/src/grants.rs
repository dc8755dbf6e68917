//! Grants as their owner sees them: giving them, which there are, and taking them back.

use serde::{Deserialize, Serialize};

/// Memories that fit every list that is not empty, each by one of its items.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Slice {
    pub types: Vec<String>,
    pub tags: Vec<String>,
    pub projects: Vec<String>,
    pub ids: Vec<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GrantRequest {
    /// The delegate's name, for the journal.
    pub name: String,
    /// Its public key, 64 hexadecimal digits. Without it a key is made, and the answer holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegate_key: Option<String>,
    /// read, find, context, graph, prove, write, update, tombstone, edge, attest.
    pub operations: Vec<String>,
    /// What it covers; everything if all lists are empty.
    pub include: Slice,
    /// What it leaves out of that.
    pub exclude: Slice,
    /// 90s, 15m, 12h, 7d, 2w, or a time; 7d if absent, at most 366 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// How often it may be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub use_limit: Option<u32>,
    /// Tokens of one answer that lists memories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct GrantAnswer {
    pub id: String,
    pub delegate: String,
    pub operations: Vec<String>,
    pub expires: String,
    pub use_limit: Option<u32>,
    pub budget_tokens: Option<u32>,
    pub public_key: String,
    /// The state that the grant speaks of.
    pub root: String,
    /// All of it in one line, for people.
    pub line: String,
    /// What the delegate gets. With a secret key inside it is like a password.
    pub file: GrantFile,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GrantListRequest {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct GrantListAnswer {
    /// Oldest first.
    pub grants: Vec<GrantView>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct GrantView {
    pub id: String,
    /// The name it was given.
    pub delegate: String,
    pub operations: Vec<String>,
    /// What it covers, in words.
    pub include: String,
    /// What it leaves out of that. Empty if nothing.
    pub exclude: String,
    pub issued: String,
    pub expires: String,
    pub expired: bool,
    pub revoked: bool,
    pub uses: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub use_limit: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<u32>,
    /// The entry that journaled it.
    pub seq: u64,
    /// All of it in one line, for people.
    pub line: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RevokeRequest {
    /// 64 hexadecimal digits.
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RevokeAnswer {
    pub id: String,
    /// False: it was revoked before.
    pub changed: bool,
    pub seq: u64,
    /// False: the journal does not hold this grant. It may be one that a delegate made from its own.
    pub known: bool,
}

/// What a delegate holds. With the secret inside, the file is all it needs.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantFile {
    /// Version of this file's format.
    pub cortex_grant: u32,
    pub id: String,
    pub actor: String,
    pub delegate: String,
    /// Signed grants, the owner's first.
    pub chain: Vec<String>,
    pub public_key: String,
    /// Absent if the delegate has its key elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key: Option<String>,
}

// The key is a secret.
impl std::fmt::Debug for GrantFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GrantFile").field("id", &self.id).finish_non_exhaustive()
    }
}
