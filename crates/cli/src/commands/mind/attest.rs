//! `cortex attest`: how an intent ended and what it relied on.

use api::attest::{AttestRequest, Citation, SkippedCitation};
use clap::Args;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::wiring::words::MemoryRef;

/// Says how an intent ended and which memories it relied on; salience learns from it.
///
/// JSON: {intent, outcome, seq, at, cited, skipped: [{id, reason}], learned}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex attest fix-login --outcome success --cite 12 --cite 14#2 --retrieved 12,14,20")]
pub(crate) struct AttestArgs {
    /// Name of the intent
    intent: String,
    /// success, failure or partial
    #[arg(long, value_name = "HOW")]
    outcome: String,
    /// Memory it relied on: 12 (as it is now) or 12#3; repeat or separate with commas
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    cite: Vec<MemoryRef>,
    /// Memory it was shown; repeat or separate with commas
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    retrieved: Vec<MemoryRef>,
    /// Why it ended so
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Digest of the context it started from
    #[arg(long, value_name = "HEX")]
    bundle: Option<String>,
}

pub(crate) fn run(args: &AttestArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let cite = args
        .cite
        .iter()
        .map(|memory| Ok(Citation { id: memory.of(inv.actor())?.get(), version: memory.version }));
    let retrieved = args.retrieved.iter().map(|memory| Ok(memory.of(inv.actor())?.get()));
    let request = AttestRequest {
        intent: args.intent.clone(),
        outcome: args.outcome.clone(),
        cite: cite.collect::<CommandResult<_>>()?,
        retrieved: retrieved.collect::<CommandResult<_>>()?,
        reason: args.reason.clone(),
        bundle: args.bundle.clone(),
    };
    let answer = inv.ask(request)?;
    for SkippedCitation { id, reason } in &answer.skipped {
        out.say(format_args!("memory {id} is not cited: {reason}"));
    }
    let lesson = if answer.learned { "the weights moved" } else { "nothing was learned" };
    let said = format!("attested {} {}; {lesson}", answer.intent, answer.outcome);
    out.either(&answer, said)
}
