//! `cortex graph`: what a memory is connected to.

use api::graph::GraphRequest;
use api::render::people;
use clap::Args;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::wiring::words::MemoryRef;

/// Shows what a memory is connected to, as a tree.
///
/// JSON: {id, depth, start, nodes: [{id, hop, title, type, memory_type, uri, project, preview, text, superseded}],
/// edges: [{id, from_obs_id, to_obs_id, relation_type, weight, created_at, by}], capped}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex graph 12
  cortex graph 12 --depth 3 --direction both --relation supersedes,caused_by")]
pub(crate) struct GraphArgs {
    /// Memory: 12 or a URI
    #[arg(value_name = "ID")]
    pub(crate) memory: MemoryRef,
    /// Steps from the memory, 1 to 10
    #[arg(long, value_name = "N", default_value_t = 2)]
    depth: u32,
    /// out, in or both
    #[arg(long, default_value = "both")]
    direction: String,
    /// Only along this relation; repeat or separate with commas
    #[arg(long = "relation", value_name = "RELATION", value_delimiter = ',')]
    relations: Vec<String>,
    /// Through forgotten memories too
    #[arg(long)]
    forgotten: bool,
}

pub(crate) fn run(args: &GraphArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = GraphRequest {
        id: args.memory.of(inv.actor())?.get(),
        depth: Some(args.depth),
        relations: args.relations.clone(),
        direction: Some(args.direction.clone()),
        include_forgotten: args.forgotten,
    };
    let answer = inv.ask(request)?;
    out.answer(&answer, people::tree)?;
    out.flush()?;
    if answer.capped && !out.is_json() {
        out.say("there is more than is shown; walk fewer steps or along fewer relations");
    }
    Ok(())
}
