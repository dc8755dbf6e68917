//! What of the past must not come back, what is not read at all, and the state of its files.

use serde::{Deserialize, Serialize};

/// What is to be forgotten: everything that is named, and every session to which all of the conditions apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PastForgetRequest {
    /// `AGENT:SESSION` or `AGENT:SESSION#TURN`.
    pub refs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// A pattern of folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Sessions whose last record is older.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    pub reason: String,
    pub dry_run: bool,
    /// Also forget the memories that were made of it.
    pub with_memories: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastForgetAnswer {
    pub sessions: Vec<String>,
    pub turns: Vec<String>,
    /// Memories that were made of it; they stay unless they were to go too.
    pub memories: Vec<u64>,
    pub memories_forgotten: bool,
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PastRestoreRequest {
    #[serde(rename = "ref")]
    pub reference: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastRestoreAnswer {
    #[serde(rename = "ref")]
    pub reference: String,
    /// False: it was not forgotten.
    pub lifted: bool,
    /// True if its source was still there and was read again.
    pub is_back: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PastTombstonesRequest {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastTombstonesAnswer {
    pub tombstones: Vec<PastTombstone>,
}

/// That something was forgotten; what it was nobody can tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastTombstone {
    /// The entry of the journal.
    pub seq: u64,
    pub at: String,
    pub by: String,
    pub reason: String,
}

/// Which folders and agents are not read, and what had been read of them: it is removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PastExcludeRequest {
    /// A pattern of folders, or the name of an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add: Option<String>,
    /// One that is to be read again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remove: Option<String>,
    /// Only says what would be removed.
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastExcludeAnswer {
    /// Patterns and agents that are not read.
    pub excluded: Vec<String>,
    /// Sessions that had been read before; they are removed, or would be.
    pub sessions: Vec<String>,
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PastCheckRequest {}

/// Whether the files of the past are what their names say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastCheckAnswer {
    pub sound: bool,
    pub segments: u64,
    pub parts: u64,
    pub damaged: Vec<String>,
    pub missing: Vec<String>,
    pub unreferenced: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PastRebuildRequest {
    /// Also look for secrets again, with the rules of this build.
    pub mask: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PastRebuildAnswer {
    pub sessions: u64,
    pub turns: u64,
    /// Secrets that were found and taken out now.
    pub masked: u64,
}
