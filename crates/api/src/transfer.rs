//! Everything that is remembered, out as lines and in again, also from other memory tools.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct ExportRequest {
    /// Only this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Forgotten memories too.
    pub all: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct ImportRequest {
    /// What it is, if it is not recognised: cortex, engram, go-cortex, claude-mem, server-memory or mem0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Project of what names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Count and check only; change nothing.
    pub dry_run: bool,
}

/// What was written as lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportReport {
    pub memories: u64,
    pub edges: u64,
    pub sessions: u64,
    pub prompts: u64,
    /// Memories that are damaged and were left out.
    #[serde(default)]
    pub lost: u64,
}

/// What was written as a folder of notes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderReport {
    pub memories: u64,
    pub edges: u64,
    /// Files that were written or changed.
    pub written: u64,
    pub unchanged: u64,
    /// Files of memories that are no longer exported.
    pub removed: u64,
    /// Files that somebody edited or made, left as they are; the first thousand by name.
    pub kept: u64,
    pub kept_files: Vec<String>,
}

/// What an import did, or would do: counts, and every row that was left out with the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ImportReport {
    /// The format that was read.
    pub format: String,
    pub dry_run: bool,
    /// Memories found, by kind.
    pub found: BTreeMap<String, u64>,
    pub memories: MemoryCounts,
    /// Versions after the first that were added.
    pub versions: u64,
    pub edges: ImportCounts,
    pub sessions: ImportCounts,
    pub prompts: ImportCounts,
    /// Memories that were marked as forgotten because they are at the origin.
    pub forgotten: u64,
    pub dates: Dates,
    /// Texts in which something private or secret was replaced.
    pub redacted: u64,
    /// Tags and references that did not fit or point to nothing that is here.
    pub tags_left_out: u64,
    pub references_left_out: u64,
    pub skipped: SkipSummary,
    /// The run by which all of it is taken back (`cortex mind undo`). Absent where the import has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Where the source breaks off, if it does. What comes before was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct MemoryCounts {
    pub new: u64,
    pub changed: u64,
    pub unchanged: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = Counts)]
pub struct ImportCounts {
    pub new: u64,
    pub unchanged: u64,
}

/// How the dates of new memories could be kept. A journal never runs backwards, so what is older than its last entry
/// keeps its date as the time from which it is valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Dates {
    pub as_created: u64,
    pub as_valid_from: u64,
    pub absent: u64,
    /// Prompts, sessions and edges that are dated by the import, because they have no other date.
    pub lost: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = Skipped)]
pub struct SkipSummary {
    pub total: u64,
    pub by_reason: BTreeMap<String, u64>,
    /// The first thousand.
    pub rows: Vec<SkippedRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SkippedRow {
    /// What it was: a table and id, a line, a file.
    pub what: String,
    pub reason: String,
}
