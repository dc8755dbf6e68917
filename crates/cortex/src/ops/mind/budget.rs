//! What models cost today, what is left, and the switch that stops them.

use kernel::memory::Millis;
use mind::budget::BudgetStatus as Spent;
use serde::{Deserialize, Serialize};

use super::super::Ops;
use super::super::caller::Caller;
use super::super::error::Result;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetRequest {
    /// True refuses every call to a model from now on, false allows them again; absent changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kill_switch: Option<bool>,
    /// Lines of the ledger; 20 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
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

impl Ops {
    pub fn budget(&self, caller: &Caller, request: BudgetRequest) -> Result<BudgetAnswer> {
        let tended = self.tended(caller)?;
        if let Some(on) = request.kill_switch {
            tended.part().mind.budget.killed = on;
            tended.persist()?;
        }
        let part = tended.part();
        let mind = &part.mind;
        let provider = mind.provider.as_ref();
        let spent: Spent =
            mind.budget.view(&mind.settings.budget, provider.is_some(), caller.now()?);
        let purposes = spent.purposes.iter().map(|purpose| PurposeView {
            purpose: purpose.purpose.name().to_owned(),
            tokens: purpose.spent.tokens,
            tokens_limit: purpose.tokens_limit,
            dollars: dollars(purpose.spent.micro_dollars),
            dollars_limit: dollars(purpose.micro_dollars_limit),
        });
        let ledger = mind.budget.ledger().rev().take(request.limit.unwrap_or(20));
        let ledger = ledger.map(|line| LedgerView {
            at: Millis(line.at_unix_ms).rfc3339(),
            purpose: line.purpose.name().to_owned(),
            who: line.who.clone(),
            model: line.model.clone(),
            tokens: line.cost.tokens,
            dollars: dollars(line.cost.micro_dollars),
            assumed: line.assumed,
        });
        Ok(BudgetAnswer {
            kill_switch: spent.kill_switch,
            provider: provider.map(|provider| provider.name.clone()),
            tokens: spent.spent.tokens,
            tokens_limit: spent.tokens_limit,
            reserved_tokens: spent.reserved.tokens,
            dollars: dollars(spent.spent.micro_dollars),
            dollars_limit: dollars(spent.micro_dollars_limit),
            purposes: purposes.collect(),
            ledger: ledger.collect(),
            day: spent.day,
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "sums of a day are far below 2^52")]
fn dollars(micro: u64) -> f64 {
    micro as f64 / 1e6
}
