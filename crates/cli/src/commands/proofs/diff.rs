//! `cortex diff`: which memories and edges differ between two states.

use api::auditor::{DiffRequest, DifferenceKind};
use clap::Args;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;

/// Shows which memories and edges differ between two roots that this memory had.
///
/// The roots are any that were ever printed, in any order; the journal is replayed to find them.
///
/// JSON: {from: {root, size}, to: {root, size}, memories: [{id, difference}], edges: [{src, relation, dst,
/// difference}], capped}; difference is added, changed or removed
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex diff $(cat trusted-root.txt) $(cortex root)
  cortex diff ROOT ROOT --json")]
pub(crate) struct DiffArgs {
    /// Root of one state
    #[arg(value_name = "ROOT")]
    one: String,
    /// Root of the other
    #[arg(value_name = "ROOT")]
    other: String,
}

pub(crate) fn run(args: &DiffArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = DiffRequest { roots: [args.one.clone(), args.other.clone()] };
    let answer = inv.ask_watched(request, out)?;
    if out.is_json() {
        return out.object(&answer);
    }
    for memory in &answer.memories {
        out.line(format_args!("{} memory {}", mark(memory.difference), memory.id))?;
    }
    for edge in &answer.edges {
        let sign = mark(edge.difference);
        out.line(format_args!("{sign} edge {} {} {}", edge.src, edge.relation, edge.dst))?;
    }
    out.flush()?;
    out.say(format_args!(
        "entries {} to {}: {} memories and {} edges differ{}",
        answer.from.size + 1,
        answer.to.size,
        answer.memories.len(),
        answer.edges.len(),
        if answer.capped { ", and more that are not named" } else { "" },
    ));
    Ok(())
}

fn mark(difference: DifferenceKind) -> char {
    match difference {
        DifferenceKind::Added => '+',
        DifferenceKind::Changed => '~',
        DifferenceKind::Removed => '-',
    }
}
