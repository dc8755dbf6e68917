//! Calls to models that are made elsewhere, by runs of talents: admitted before, paid for after.

use kernel::memory::Millis;

use super::Mind;
use crate::budget::{BudgetRefusal, Cost, Purpose};

impl Mind {
    /// Admits a call in the name of `who` that costs at most `worst`, until `until` at the latest.
    pub fn admit(
        &mut self,
        (purpose, who): (Purpose, &str),
        worst: Cost,
        times: (Millis, Millis),
    ) -> Result<(), BudgetRefusal> {
        let id = self.budget.reserve(&self.settings.budget, true, (purpose, who), worst, times)?;
        self.calls.insert(who.to_owned(), id);
        Ok(())
    }

    /// May anything be spent for this purpose? For calls whose size nobody knows before.
    pub fn may_spend(&mut self, purpose: Purpose, now: Millis) -> Result<(), BudgetRefusal> {
        let least = Cost { tokens: 1, micro_dollars: 0 };
        let id = self.budget.reserve(
            &self.settings.budget,
            true,
            (purpose, "a look"),
            least,
            (now, now),
        )?;
        self.budget.release(id);
        Ok(())
    }

    /// A call that was admitted was never made.
    pub fn not_called(&mut self, who: &str) {
        if let Some(id) = self.budget.held_by(who) {
            self.budget.release(id);
        }
    }
}
