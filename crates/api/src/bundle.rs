//! What an intent should know before it starts: three tiers of memories as one text within a budget of tokens.

use serde::{Deserialize, Serialize};

/// Tokens of a bundle, unless another number is named.
pub const BUNDLE_TOKENS_DEFAULT: u32 = 3_000;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BundleRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    pub tags: Vec<String>,
    /// What the intent is about, in its own words: what is near in meaning counts more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Types among the relevant; all if empty.
    pub memory_types: Vec<String>,
    /// pinned, relevant, outcomes; all if empty.
    pub tiers: Vec<String>,
    /// Events at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcomes: Option<u32>,
    /// Tokens at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
    /// short, medium or full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct BundleAnswer {
    pub text: String,
    /// Of the text: the same state and question give the same.
    pub digest: String,
    pub root: String,
    /// Journal entries of that root.
    pub size: u64,
    pub now: String,
    pub tokens: u32,
    pub pinned: Vec<BundleItemView>,
    pub relevant: Vec<BundleItemView>,
    pub outcomes: Vec<BundleItemView>,
    /// What is pinned but did not fit.
    pub overflow: Vec<String>,
    pub trimmed: u32,
    /// How many of them are rules.
    #[serde(default)]
    pub rules_missing: u32,
    pub rows_examined: u32,
    pub capped: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct BundleItemView {
    pub uri: String,
    pub score: f64,
    pub standing: String,
    /// A rule or preference that no person stated or confirmed.
    #[serde(default)]
    pub proposed: bool,
    pub text: String,
    pub tokens: u32,
}
