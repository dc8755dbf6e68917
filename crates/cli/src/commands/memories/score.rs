//! `cortex score`: what a memory is worth now, and why.

use api::render::people;
use api::score::ScoreRequest;
use clap::Args;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::wiring::words::MemoryRef;

/// Shows what a memory is worth now: how it ranks, what its use says, and what is left of its importance.
///
/// All three are computed from the memory, its use and the clock when they are asked for; looking changes nothing.
///
/// JSON: {observation_id, score, access_count, last_accessed, updated_at, incoming_edges, citations, shown,
/// salience, factors: {recency, access, citation, importance}, importance}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex score 12")]
pub(crate) struct ScoreArgs {
    /// Memory: 12 or a URI
    #[arg(value_name = "ID")]
    pub(crate) memory: MemoryRef,
}

pub(crate) fn run(args: &ScoreArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let id = args.memory.of(inv.actor())?.get();
    out.answer(&inv.ask(ScoreRequest { id })?, people::scored)
}
