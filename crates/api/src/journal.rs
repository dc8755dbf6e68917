//! The journal, entry by entry: what happened, in the order in which it did.
//!
//! A journal has no bound, so it is read in pages: `next` is where the next one begins. Entries are never changed,
//! hence pages that were read at different times belong together.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Entries of one page.
pub const JOURNAL_PAGE_MAX: u32 = 256;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JournalRequest {
    /// The first entry that may be shown.
    pub from: u64,
    /// Entries to show at most; a page holds no more than [`JOURNAL_PAGE_MAX`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only entries of this kind: write, update …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Only entries of this background run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Each with a line for people.
    pub summaries: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct JournalAnswer {
    /// Oldest first.
    pub entries: Vec<JournalEntry>,
    /// Where the next page begins; absent after the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// Entries of the journal in all.
    pub size: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JournalEntryRequest {
    pub seq: u64,
}

/// An entry with everything it carries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct JournalEntry {
    pub seq: u64,
    /// The kind of the entry; what its payload calls `type` is that of a memory.
    pub kind: String,
    pub at: String,
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// What it says, without what is not set.
    #[schema(value_type = Object)]
    pub payload: Map<String, Value>,
    /// One line for people; empty unless asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
}
