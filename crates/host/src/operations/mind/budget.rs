//! What models cost today, what is left, and the switch that stops them.

use kernel::memory::Millis;
use mind::budget::BudgetStatus as Spent;
use service::caller::Caller;
use service::error::Result;

use crate::home::Host;

pub(super) use api::mind::{
    BudgetAnswer, BudgetRequest, LedgerView, PurposeView, SpentDay, SpentSum,
};

impl Host {
    pub fn budget(&self, caller: &Caller, request: BudgetRequest) -> Result<BudgetAnswer> {
        let actor_mind = self.actor_mind(caller)?;
        if let Some(on) = request.kill_switch {
            actor_mind.slot().mind.budget.killed = on;
            actor_mind.persist()?;
        }
        let slot = actor_mind.slot();
        let mind = &slot.mind;
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
        let days = mind.budget.spent_days(request.days.unwrap_or(0), caller.now()?);
        let days = days.map(|(day, purposes)| SpentDay {
            day: day.date(),
            purposes: purposes
                .iter()
                .map(|(purpose, cost)| {
                    let sum =
                        SpentSum { tokens: cost.tokens, dollars: dollars(cost.micro_dollars) };
                    (purpose.name().to_owned(), sum)
                })
                .collect(),
        });
        Ok(BudgetAnswer {
            days: days.collect(),
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
