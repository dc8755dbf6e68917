//! `cortex relate` and `unrelate`: edges between memories.

use api::graph::{RelateRequest, UnrelateRequest};
use api::render::people;
use clap::Args;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::views;
use crate::wiring::words::MemoryRef;

/// Says what one memory is to another.
///
/// Relations: references, relates_to, follows, supersedes, contradicts, updates, caused_by, part_of, result_of. A
/// memory that is superseded ranks below the one that supersedes it.
///
/// JSON: {id, from_obs_id, to_obs_id, relation_type, weight, created_at, by, seq, at, changed, root}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex relate 14 supersedes 12
  cortex relate 3 caused_by 9 --weight 0.5")]
pub(crate) struct RelateArgs {
    /// Memory: 12 or a URI
    src: MemoryRef,
    /// What SRC is to DST
    relation: String,
    /// Memory: 12 or a URI
    dst: MemoryRef,
    /// How much it counts: above 0, at most 10
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0)]
    weight: f64,
}

/// Takes an edge away.
///
/// JSON: {edge_id, from_obs_id, to_obs_id, relation_type, seq, at, changed, root}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex unrelate 14 supersedes 12 --reason \"both hold\"")]
pub(crate) struct UnrelateArgs {
    /// Memory: 12 or a URI
    src: MemoryRef,
    /// What SRC is to DST
    relation: String,
    /// Memory: 12 or a URI
    dst: MemoryRef,
    /// Why
    #[arg(long, value_name = "TEXT", default_value = "removed")]
    reason: String,
}

pub(crate) fn relate(args: &RelateArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = RelateRequest {
        from_obs_id: args.src.of(inv.actor())?.get(),
        relation_type: args.relation.clone(),
        to_obs_id: args.dst.of(inv.actor())?.get(),
        weight: Some(args.weight),
    };
    let answer = inv.ask(request)?;
    views::changed(&answer, inv, out, people::related)
}

pub(crate) fn unrelate(args: &UnrelateArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = UnrelateRequest {
        from_obs_id: args.src.of(inv.actor())?.get(),
        relation_type: args.relation.clone(),
        to_obs_id: args.dst.of(inv.actor())?.get(),
        reason: Some(args.reason.clone()),
        ..UnrelateRequest::default()
    };
    let answer = inv.ask(request)?;
    views::changed(&answer, inv, out, people::unrelated)
}
