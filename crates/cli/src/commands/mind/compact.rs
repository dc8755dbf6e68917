//! `cortex compact`: shrinking what an intent has read to what it still needs.

use api::attest::Citation;
use api::compact::{COMPACT_BUDGET_DEFAULT, CompactContextRequest};
use clap::Args;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::{Output, plain};
use crate::wiring::words::MemoryRef;

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
    #[arg(long, value_name = "TOKENS", default_value_t = COMPACT_BUDGET_DEFAULT)]
    budget: u32,
}

pub(crate) fn run(args: &CompactArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let in_context = args
        .in_context
        .iter()
        .map(|memory| Ok(Citation { id: memory.of(inv.actor())?.get(), version: memory.version }));
    let load_bearing = args.load_bearing.iter().map(|memory| Ok(memory.of(inv.actor())?.get()));
    let answer = inv.ask(CompactContextRequest {
        intent: args.intent.clone(),
        step: args.step.clone(),
        in_context: in_context.collect::<CommandResult<_>>()?,
        load_bearing: load_bearing.collect::<CommandResult<_>>()?,
        budget: Some(args.budget),
    })?;
    if out.is_json() {
        return out.object(&answer);
    }
    for (mark, parts) in [("kept", &answer.kept), ("stub", &answer.stubs)] {
        for part in parts {
            out.line(format_args!("{mark}  {}  {}", part.memory, plain(&part.text)))?;
        }
    }
    out.flush()?;
    for left_out in &answer.left_out {
        out.say(format_args!("memory {} is left out: {}", left_out.id, left_out.reason));
    }
    out.say(format_args!("{} of {} tokens", answer.tokens, answer.budget));
    Ok(())
}
