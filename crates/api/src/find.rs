//! Typed questions: memories by type, tag and conditions.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FindRequest {
    /// Any of the nine types.
    pub memory_types: Vec<String>,
    /// Any of the callers' own words.
    #[serde(rename = "types")]
    pub kinds: Vec<String>,
    /// All of these tags.
    pub tags: Vec<String>,
    /// Conditions such as `tag:auth importance>=0.7`; each must hold.
    pub conditions: Vec<String>,
    /// salience, created, updated, importance, similarity, hop or id, with - before it for downwards.
    pub order: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Tokens at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
    /// short, medium or full; short if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
    /// What was known and true at this time instead of now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
    pub forgotten: bool,
    pub archived: bool,
    /// Only what is near this text in meaning; how near counts in the salience.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Where an earlier find ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Journal the find and count its results as used.
    pub late: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FoundMemories {
    pub items: Vec<FindItem>,
    pub tokens: u64,
    /// Items that did not fit the budget.
    pub trimmed: u32,
    pub next: Option<String>,
    pub explain: FindAccount,
    /// True: no type and no tag was named, so memories of all types were looked through.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all_types: bool,
    /// The journal entry of a late find.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FindItem {
    pub id: u64,
    pub uri: String,
    pub version: u32,
    #[serde(rename = "type")]
    pub kind: String,
    pub memory_type: String,
    /// In the form that was asked for.
    pub text: String,
    pub tokens: u32,
    pub score: f64,
    /// current, superseded, contradicted …
    pub standing: String,
    pub superseded_by: Vec<u64>,
    pub contradicted_by: Vec<u64>,
    pub tags: Vec<String>,
    /// Empty if it belongs to none, as in every answer about a memory.
    pub project: String,
    pub session_id: String,
    pub created_at: String,
    pub updated_at: String,
}

/// How a find was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindAccount {
    pub index: String,
    pub rows_examined: u32,
    /// True: not every row was looked through.
    pub capped: bool,
    pub matched: u32,
}
