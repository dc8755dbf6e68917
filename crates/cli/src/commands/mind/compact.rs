//! `cortex compact`: shrinking what an intent has read to what it still needs.

use clap::Args;
use kernel::compact::{
    self, COMPACT_TOKENS_DEFAULT, CompactPlan, CompactRequest, CompactText, Omission,
};
use serde_json::{Value, json};
use service::parse::MemoryRef;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::{Output, plain};
use crate::views::pinned;

/// Decides which memories of an intent's context stay written out and which shrink to a line, and records it.
///
/// What is load-bearing or pinned stays in full; everything else becomes a stub that names it. Nothing is cut: if the
/// result is over the budget, this fails and nothing is recorded.
///
/// JSON: {intent, step, seq, tokens, budget, kept: [{memory, text, tokens}], stubs: [{memory, text, tokens}],
/// left_out: [{id, reason}]}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex compact fix-login --step 3 --in 12,14#2,20 --load-bearing 12 --budget 2000")]
pub(crate) struct CompactArgs {
    /// Name of the intent
    intent: String,
    /// Step of the intent
    #[arg(long, value_name = "NAME")]
    step: String,
    /// Memory in its context: 12 (as it is now) or 12#3; repeat or separate with commas
    #[arg(long = "in", value_name = "ID", value_delimiter = ',', required = true)]
    in_context: Vec<MemoryRef>,
    /// Memory it still relies on; repeat or separate with commas
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    load_bearing: Vec<MemoryRef>,
    /// Tokens at most
    #[arg(long, value_name = "TOKENS", default_value_t = COMPACT_TOKENS_DEFAULT)]
    budget: u32,
}

pub(crate) fn run(args: &CompactArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    inv.owner_only("compact")?;
    let cortex = inv.existing()?;
    let reading = cortex.read()?;
    let view = reading.view();
    let mut request = CompactRequest::new(&args.intent, &args.step);
    request.budget_tokens = args.budget;
    for memory in &args.in_context {
        let id = memory.of(inv.actor())?;
        // One that is not there is left out by the plan, with a reason.
        let current = || Ok(view.head(id)?.map_or(1, |head| head.version));
        request.in_context.push(memory.pinned(current)?);
    }
    let load_bearing = args.load_bearing.iter().map(|memory| memory.of(inv.actor()));
    request.load_bearing = load_bearing.collect::<kernel::Result<_>>()?;
    let plan = compact::plan(&view, None, &request, inv.now()?)?;
    drop(reading);
    let receipt = cortex.compact(inv.stamp()?, plan.compaction.clone())?;
    if out.is_json() {
        return out.object(&plan_view(&plan, receipt.seq));
    }
    for (mark, texts) in [("kept", &plan.kept), ("stub", &plan.stubs)] {
        for text in texts {
            out.line(format_args!("{mark}  {}  {}", pinned(&text.memory), plain(&text.text)))?;
        }
    }
    out.flush()?;
    for (id, reason) in &plan.left_out {
        out.say(format_args!("memory {id} is left out: {}", why(*reason)));
    }
    out.say(format_args!("{} of {} tokens", plan.compaction.tokens, plan.compaction.budget));
    Ok(())
}

fn why(reason: Omission) -> &'static str {
    match reason {
        Omission::NotFound => "not found",
        Omission::Forgotten => "forgotten",
        Omission::NotInContext => "load-bearing, but not in the context",
    }
}

fn plan_view(plan: &CompactPlan, seq: u64) -> Value {
    let texts = |texts: &[CompactText]| -> Vec<Value> {
        texts
            .iter()
            .map(|t| json!({"memory": pinned(&t.memory), "text": t.text, "tokens": t.tokens}))
            .collect()
    };
    let left_out: Vec<Value> = plan
        .left_out
        .iter()
        .map(|(id, reason)| json!({"id": id.get(), "reason": why(*reason)}))
        .collect();
    json!({
        "intent": plan.compaction.intent, "step": plan.compaction.step, "seq": seq,
        "tokens": plan.compaction.tokens, "budget": plan.compaction.budget,
        "kept": texts(&plan.kept), "stubs": texts(&plan.stubs), "left_out": left_out,
    })
}
