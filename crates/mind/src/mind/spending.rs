//! Calls to models that are made elsewhere, by runs of talents: admitted before, paid for after.

use kernel::memory::Millis;

use super::Mind;
use crate::budget::{BudgetRefusal, Cost, ModelCall, Purpose};

impl Mind {
    /// Admits a call that a run of a talent is about to make.
    pub fn admit(&mut self, call: ModelCall<'_>) -> Result<(), BudgetRefusal> {
        let id = self.budget.reserve(&self.settings.budget, true, call)?;
        self.calls.insert(call.who.to_owned(), id);
        Ok(())
    }

    /// May anything be spent for this purpose? For calls whose size nobody knows before.
    pub fn may_spend(&mut self, purpose: Purpose, now: Millis) -> Result<(), BudgetRefusal> {
        let worst = Cost { tokens: 1, micro_dollars: 0 };
        let call = ModelCall { purpose, who: "a look", worst, at: now, until: now };
        let id = self.budget.reserve(&self.settings.budget, true, call)?;
        self.budget.release(id);
        Ok(())
    }

    /// Replaces what a run may spend in all with more, or with what is left if that is at least `least`. Gives the
    /// tokens that it may have in all; what it had stays if it gets no more.
    pub fn extend(&mut self, call: ModelCall<'_>, least: u64) -> Result<u64, BudgetRefusal> {
        let before = self.budget.lift(call.who);
        let wanted = call.worst;
        let Err(refusal) = self.budget.reserve(&self.settings.budget, true, call) else {
            return Ok(wanted.tokens);
        };
        let left = match refusal {
            BudgetRefusal::Tokens { left, .. } | BudgetRefusal::Purpose { left, .. } => left,
            _ => 0,
        };
        if left >= least && left > 0 {
            let worst = Cost { tokens: left, ..wanted };
            let smaller =
                self.budget.reserve(&self.settings.budget, true, ModelCall { worst, ..call });
            if smaller.is_ok() {
                return Ok(left);
            }
        }
        if let Some(before) = before {
            self.budget.put_back(before);
        }
        Err(refusal)
    }

    /// A call that was admitted was never made.
    pub fn not_called(&mut self, who: &str) {
        if let Some(id) = self.budget.held_by(who) {
            self.budget.release(id);
        }
    }
}
