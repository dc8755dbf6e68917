//! Shrinking what an intent has read to what it still needs, and journaling the decision.

use api::compact::{CompactContextAnswer, CompactContextRequest, ContextPart, LeftOut};
use kernel::compact::{self, CompactRequest, CompactText, Omission};
use kernel::memory::PinnedVersion;

use crate::Service;
use crate::access::only_owner;
use crate::caller::Caller;
use crate::error::Result;
use crate::read::memory_id;
use crate::views::pinned;

impl Service {
    pub fn compact(
        &self,
        caller: &Caller,
        request: CompactContextRequest,
    ) -> Result<CompactContextAnswer> {
        only_owner(caller, "compact")?;
        let cortex = self.opened(caller)?;
        let reading = cortex.read()?;
        let view = reading.view();
        let mut asked = CompactRequest::new(&request.intent, &request.step);
        asked.budget_tokens = request.budget.unwrap_or(asked.budget_tokens);
        for memory in &request.in_context {
            let id = memory_id(memory.id)?;
            let version = match memory.version {
                Some(version) => version,
                // One that is not there is left out by the plan, with a reason.
                None => view.head(id)?.map_or(1, |head| head.version),
            };
            asked.in_context.push(PinnedVersion { id, version });
        }
        let load_bearing = request.load_bearing.iter().map(|id| memory_id(*id));
        asked.load_bearing = load_bearing.collect::<Result<_>>()?;
        let plan = compact::plan(&view, None, &asked, caller.now()?)?;
        drop(reading);
        let receipt = cortex.compact(caller.plain_stamp()?, plan.compaction.clone())?;
        let left_out = plan.left_out.iter();
        Ok(CompactContextAnswer {
            intent: plan.compaction.intent,
            step: plan.compaction.step,
            seq: receipt.seq,
            tokens: plan.compaction.tokens,
            budget: plan.compaction.budget,
            kept: plan.kept.into_iter().map(part).collect(),
            stubs: plan.stubs.into_iter().map(part).collect(),
            left_out: left_out
                .map(|(id, reason)| LeftOut { id: id.get(), reason: why(*reason).to_owned() })
                .collect(),
        })
    }
}

fn part(text: CompactText) -> ContextPart {
    ContextPart { memory: pinned(&text.memory), text: text.text, tokens: text.tokens }
}

fn why(reason: Omission) -> &'static str {
    match reason {
        Omission::NotFound => "not found",
        Omission::Forgotten => "forgotten",
        Omission::NotInContext => "load-bearing, but not in the context",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_budget_that_is_told_is_the_one_that_holds() {
        let told = api::compact::COMPACT_BUDGET_DEFAULT;
        assert_eq!(told, kernel::compact::COMPACT_TOKENS_DEFAULT);
    }
}
