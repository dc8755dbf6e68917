//! The store as a whole: checked against its journal, made again from it, fixed in a snapshot, read in a language.

use serde::{Deserialize, Serialize};

/// Problems that one check names; there may be more where there are as many.
pub const PROBLEMS_NAMED_MAX: usize = 100;
/// Snapshots of one page.
pub const SNAPSHOT_PAGE_MAX: u32 = 256;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VerifyStoreRequest {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerifyStoreAnswer {
    pub clean: bool,
    pub entries: u64,
    /// Derived rows compared.
    pub rows: u64,
    pub root: Option<String>,
    /// At most [`PROBLEMS_NAMED_MAX`].
    pub problems: Vec<StoreProblem>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreProblem {
    pub place: String,
    pub reason: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RebuildRequest {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RebuildAnswer {
    pub entries: u64,
    pub root: String,
    /// The root is the one from before.
    pub unchanged: bool,
    /// Why the store could not be opened, if that was so: then there was no root to compare with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SnapshotRequest {
    pub reason: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SnapshotListRequest {
    /// The first number that is listed.
    pub from: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotListAnswer {
    /// Oldest first, at most [`SNAPSHOT_PAGE_MAX`].
    pub snapshots: Vec<SnapshotView>,
    /// The number with which the next page begins; absent after the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotView {
    pub number: u64,
    /// Journal entries it covers.
    pub size: u64,
    pub root: String,
    pub manifest: String,
    pub previous: Option<String>,
    pub reason: String,
    pub memories: u64,
    pub forgotten: u64,
    pub edges: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LanguageRequest {
    /// The language to read memories in from now on, by name or two-letter code; absent: only look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Say what would change; change nothing.
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LanguageAnswer {
    /// The language after this.
    pub language: String,
    pub changed: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LanguageListRequest {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LanguageListAnswer {
    pub languages: Vec<String>,
}
