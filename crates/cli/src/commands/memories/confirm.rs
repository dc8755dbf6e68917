//! `cortex confirm`: a person says that proposed rules hold.

use api::change::ConfirmRequest;
use api::render::people;
use clap::Args;
use service::parse::MemoryRef;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;

/// Confirms rules and preferences that an agent, an import or a web page proposed.
///
/// What others write as a rule or a preference is shown to agents as proposed, until a person confirms it. A
/// confirmation is a new version with the same words, by you; what an agent changes later is proposed again. Agents
/// have no tool for this. The setting trust.agents_may_rule makes rules of all that agents and imports write.
///
/// JSON: {confirmed: [{id, title, type, memory_type, created_at, version, changed}]}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex confirm 12
  cortex confirm 12 15 16 --json")]
pub(crate) struct ConfirmArgs {
    /// Rules and preferences: 12 or a URI
    #[arg(value_name = "ID", required = true)]
    memories: Vec<MemoryRef>,
}

pub(crate) fn run(args: &ConfirmArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let mut ids = Vec::with_capacity(args.memories.len());
    for memory in &args.memories {
        ids.push(memory.of(inv.actor())?.get());
    }
    let answer = inv.ops().service.confirm(inv.caller(), ConfirmRequest { ids })?;
    out.answer(&answer, people::confirmed)
}
