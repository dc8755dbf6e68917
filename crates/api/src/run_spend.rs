//! What a run asks before each request to a model: may it go on, and with how much.

use serde::{Deserialize, Serialize};

/// May a run go on with so much in all, what it has spent included?
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunSpendRequest {
    pub run: String,
    pub tokens: u64,
    /// With fewer than these the next request makes no sense.
    pub tokens_min: u64,
    pub micro_dollars: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSpendAnswer {
    /// Tokens that it may have in all.
    pub granted: u64,
    /// Why it may have none of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}
