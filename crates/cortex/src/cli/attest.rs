//! `cortex attest`: how an intent ended and what it relied on.

use clap::Args;
use kernel::Digest;
use kernel::command::{Attestation, Command};
use kernel::memory::{Outcome as Ended, Pinned};
use kernel::scope::Operation;
use serde_json::json;

use super::failure::Outcome;
use super::open::Invocation;
use super::output::Output;
use super::parse::MemoryRef;

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

pub(crate) fn run(args: &AttestArgs, inv: &Invocation, out: &mut Output) -> Outcome {
    let outcome = Ended::parse(&args.outcome)?;
    let bundle = args.bundle.as_deref().map(str::parse::<Digest>).transpose()?;
    let cortex = inv.existing()?;
    let reading = cortex.read()?;
    let view = reading.view();
    let mut cited = Vec::new();
    for memory in &args.cite {
        let id = memory.of(inv.actor())?;
        // One that is not there is the kernel's to skip, with a reason.
        let current = view.head(id)?.map_or(1, |head| head.version);
        cited.push(Pinned { id, version: memory.version.unwrap_or(current) });
    }
    let retrieved = args.retrieved.iter().map(|memory| memory.of(inv.actor()));
    let attestation = Attestation {
        intent: args.intent.clone(),
        outcome,
        reason: args.reason.clone(),
        cited,
        retrieved: retrieved.collect::<kernel::Result<_>>()?,
        bundle,
    };
    let before = view.weights()?;
    drop(reading);
    let receipt = inv.change(&cortex, Command::Attest(attestation), Some(Operation::Attest))?;
    let learned = cortex.read()?.view().weights()? != before;
    let skipped: Vec<_> = receipt
        .skipped
        .iter()
        .map(|(id, reason)| json!({"id": id.get(), "reason": reason}))
        .collect();
    let view = json!({
        "intent": args.intent, "outcome": outcome.name(), "seq": receipt.seq,
        "at": receipt.at.rfc3339(), "cited": args.cite.len() - skipped.len(),
        "skipped": skipped, "learned": learned,
    });
    for (id, reason) in &receipt.skipped {
        out.say(format_args!("memory {id} is not cited: {reason}"));
    }
    let lesson = if learned { "the weights moved" } else { "nothing was learned" };
    out.either(&view, format_args!("attested {} {}; {lesson}", args.intent, outcome.name()))
}
