//! What an import did, or would do: counts, and every row that was left out with the reason.

use std::collections::BTreeMap;

use serde::Serialize;

/// Rows left out that are named one by one. The counts cover all of them.
const NAMED_MAX: usize = 1_000;

#[derive(Clone, Debug, Default, Serialize, utoipa::ToSchema)]
pub struct ImportReport {
    /// The format that was read.
    pub format: &'static str,
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
}

#[derive(Clone, Copy, Debug, Default, Serialize, utoipa::ToSchema)]
pub struct MemoryCounts {
    pub new: u64,
    pub changed: u64,
    pub unchanged: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize, utoipa::ToSchema)]
#[schema(as = Counts)]
pub struct ImportCounts {
    pub new: u64,
    pub unchanged: u64,
}

/// How the dates of new memories could be kept. A journal never runs backwards, so what is older than its last entry
/// keeps its date as the time from which it is valid.
#[derive(Clone, Copy, Debug, Default, Serialize, utoipa::ToSchema)]
pub struct Dates {
    pub as_created: u64,
    pub as_valid_from: u64,
    pub absent: u64,
    /// Prompts, sessions and edges that are dated by the import, because they have no other date.
    pub lost: u64,
}

#[derive(Clone, Debug, Default, Serialize, utoipa::ToSchema)]
#[schema(as = Skipped)]
pub struct SkipSummary {
    pub total: u64,
    pub by_reason: BTreeMap<String, u64>,
    /// The first thousand.
    pub rows: Vec<SkippedRow>,
}

#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct SkippedRow {
    /// What it was: a table and id, a line, a file.
    pub what: String,
    pub reason: String,
}

impl SkipSummary {
    pub(super) fn add(&mut self, what: impl Into<String>, reason: impl Into<String>) {
        let (what, reason) = (what.into(), reason.into());
        self.total += 1;
        *self.by_reason.entry(class_of(&reason)).or_default() += 1;
        if self.rows.len() < NAMED_MAX {
            self.rows.push(SkippedRow { what, reason });
        }
    }
}

/// A reason without its particulars: quoted names and long numbers would make each row a reason of its own.
fn class_of(reason: &str) -> String {
    let mut class = String::new();
    for (n, part) in reason.split('"').enumerate() {
        class.push_str(if n % 2 == 0 { part } else { "…" });
    }
    let word = |word: &str| {
        let long = word.bytes().filter(u8::is_ascii_digit).count() > 2;
        if long { "…".to_owned() } else { word.to_owned() }
    };
    class.split_whitespace().take(16).map(word).collect::<Vec<_>>().join(" ")
}
