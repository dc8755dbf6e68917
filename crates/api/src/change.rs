//! Changes of one memory: update, forget or erase, archive, restore, pin; and confirming rules.

use serde::{Deserialize, Serialize};

use crate::memory::Memory;

/// Rules that one request confirms.
pub const CONFIRM_MAX: usize = 256;

with_details! {
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
    #[serde(default, deny_unknown_fields)]
    pub struct UpdateRequest {
        pub id: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub title: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tags: Option<Vec<String>>,
        /// Tags that it gets besides those it has.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub add_tags: Vec<String>,
        /// Tags that it loses.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub remove_tags: Vec<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub pinned: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub archived: Option<bool>,
        /// Why, for changes that make no new version.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub reason: Option<String>,
        /// The version the caller has read; another one is a conflict.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub expected_version: Option<u32>,
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ChangeAnswer {
    #[serde(flatten)]
    pub memory: Memory,
    /// The journal entry that holds the change; the last one if nothing had to change.
    pub seq: u64,
    pub at: String,
    /// False: it was so already.
    pub changed: bool,
    /// True: an earlier request with the same idempotency key was answered again.
    pub replayed: bool,
    /// What was taken out: private blocks, secrets. Empty if nothing was.
    pub redacted: String,
    /// What was changed so that it could be kept. Empty if nothing was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cleaned: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DeleteRequest {
    /// A memory; to erase the text of a prompt, of a summary or of a late find, the entry that holds it.
    pub id: u64,
    /// Delete the content for good, in every version.
    pub hard: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The version the caller has read; another one is a conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
    /// Only say whether it could be deleted.
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct DeleteAnswer {
    pub id: u64,
    pub hard: bool,
    /// Empty for a text that is no memory.
    pub uri: String,
    pub seq: u64,
    pub at: String,
    pub changed: bool,
    /// The content is gone from the ledger; copies in the index are being removed, and `doctor` tells until they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pending: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ArchiveRequest {
    pub id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RestoreRequest {
    pub id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The version the caller has read; another one is a conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PinRequest {
    pub id: u64,
    pub pinned: bool,
}

impl Default for PinRequest {
    fn default() -> Self {
        PinRequest { id: 0, pinned: true }
    }
}

/// A person says that proposed rules and preferences hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ConfirmRequest {
    /// Rules and preferences.
    pub ids: Vec<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ConfirmAnswer {
    /// In the order in which they were named.
    pub confirmed: Vec<ConfirmationView>,
}

/// What became of one of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ConfirmationView {
    pub id: u64,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub memory_type: String,
    pub created_at: String,
    /// The version that the person vouches for.
    pub version: u32,
    /// False: a person stated or confirmed it before.
    pub changed: bool,
}
