//! Shrinking what an intent has read to what it still needs.

use serde::{Deserialize, Serialize};

use crate::attest::Citation;

/// Tokens of the result, unless another number is named.
pub const COMPACT_BUDGET_DEFAULT: u32 = 4_000;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CompactContextRequest {
    pub intent: String,
    pub step: String,
    /// What is in the context; as it is now where no version is named.
    pub in_context: Vec<Citation>,
    /// What the intent still relies on.
    pub load_bearing: Vec<u64>,
    /// Tokens at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactContextAnswer {
    pub intent: String,
    pub step: String,
    pub seq: u64,
    pub tokens: u32,
    pub budget: u32,
    /// Written out in full.
    pub kept: Vec<ContextPart>,
    /// A line each.
    pub stubs: Vec<ContextPart>,
    pub left_out: Vec<LeftOut>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextPart {
    /// `12#3`.
    pub memory: String,
    pub text: String,
    pub tokens: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub id: u64,
    pub reason: String,
}
