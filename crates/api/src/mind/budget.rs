//! What models cost today, what is left, and the switch that stops them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Calls of models that the ledger remembers.
pub const LEDGER_MAX: usize = 2_000;
/// Days of sums that are kept.
pub const DAYS_MAX: usize = 400;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetRequest {
    /// True refuses every call to a model from now on, false allows them again; absent changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kill_switch: Option<bool>,
    /// Lines of the ledger; 20 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// UTC days to look back on, today included; none if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct BudgetAnswer {
    /// The UTC day that is counted.
    pub day: String,
    pub kill_switch: bool,
    /// The provider that may be asked; absent if none is configured, and then every limit is zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    pub tokens: u64,
    pub tokens_limit: u64,
    pub reserved_tokens: u64,
    pub dollars: f64,
    pub dollars_limit: f64,
    pub purposes: Vec<PurposeView>,
    /// Newest first.
    pub ledger: Vec<LedgerView>,
    /// Of the days that were asked for, those on which something was spent, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub days: Vec<SpentDay>,
}

/// What a day cost, by purpose; a purpose that cost nothing is not there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SpentDay {
    /// The UTC day.
    pub day: String,
    pub purposes: BTreeMap<String, SpentSum>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SpentSum {
    pub tokens: u64,
    pub dollars: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PurposeView {
    pub purpose: String,
    pub tokens: u64,
    pub tokens_limit: u64,
    pub dollars: f64,
    #[serde(default)]
    pub dollars_limit: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct LedgerView {
    pub at: String,
    pub purpose: String,
    /// The run or channel that spent it.
    pub who: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub tokens: u64,
    pub dollars: f64,
    /// The provider never said what it took; this is the worst case.
    pub assumed: bool,
}
