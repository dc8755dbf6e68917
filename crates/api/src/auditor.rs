//! The auditor's kit: the journal as it is, which state a root was of, what changed between two, signed checkpoints.

use serde::{Deserialize, Serialize};

/// Entries of one page of raw entries.
pub const RAW_PAGE_MAX: u32 = 1_024;
/// Memories and edges that one comparison names, each.
pub const DIFFERENCES_MAX: usize = 10_000;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RawJournalRequest {
    /// The first entry.
    pub from: u64,
    /// Entries at most; a page holds no more than [`RAW_PAGE_MAX`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawJournalAnswer {
    /// Oldest first.
    pub entries: Vec<RawEntry>,
    /// Where the next page begins; absent after the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// Entries of the journal in all.
    pub size: u64,
}

/// An entry as it is hashed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawEntry {
    pub seq: u64,
    /// Its bytes, in base64.
    pub bytes: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SinceRootRequest {
    /// A root that this actor is said to have had.
    pub root: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinceRootAnswer {
    pub root: String,
    /// Entries that the root covers.
    pub size: u64,
    /// The root now, and the entries it covers: the first are those of the old one.
    pub current_root: String,
    pub current_size: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DiffRequest {
    /// Two roots that this actor had, in any order.
    pub roots: [String; 2],
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffAnswer {
    /// The earlier state, and the later one.
    pub from: RootedState,
    pub to: RootedState,
    /// By id, at most [`DIFFERENCES_MAX`].
    pub memories: Vec<MemoryDifference>,
    /// By source, relation and target; as many.
    pub edges: Vec<EdgeDifference>,
    /// True: there are more than are named.
    pub capped: bool,
}

/// A root and the number of entries it covers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootedState {
    pub root: String,
    pub size: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceKind {
    #[default]
    Added,
    Changed,
    Removed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryDifference {
    pub id: u64,
    pub difference: DifferenceKind,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeDifference {
    pub src: u64,
    pub relation: String,
    pub dst: u64,
    pub difference: DifferenceKind,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckpointRequest {}

/// A state of the journal, signed with the key of the home.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointAnswer {
    /// The note: what is signed, an empty line, and the signature.
    pub note: String,
    /// The key to check it with, as `name+hash+base64`.
    pub key: String,
    pub actor: String,
    pub size: u64,
    pub root: String,
    pub journal_root: String,
}
