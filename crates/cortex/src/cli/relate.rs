//! `cortex relate` and `unrelate`: edges between memories.

use clap::Args;
use kernel::command::{Command, EdgeDraft, EdgeRemoval};
use kernel::memory::Relation;
use kernel::scope::Operation;
use serde::Serialize;

use super::failure::Outcome;
use super::open::Invocation;
use super::output::Output;
use super::parse::{self, MemoryRef};

/// Says what one memory is to another.
///
/// Relations: references, relates_to, follows, supersedes, contradicts, updates, caused_by, part_of, result_of. A memory
/// that is superseded ranks below the one that supersedes it.
///
/// JSON: {src, relation, dst, seq, at, changed, root}
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
    /// From 0 to 1
    #[arg(long, value_name = "RATIO", default_value = "1")]
    weight: String,
}

/// Takes an edge away.
///
/// JSON: {src, relation, dst, seq, at, changed, root}
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

#[derive(Debug, Serialize)]
struct EdgeChangeView {
    src: u64,
    relation: &'static str,
    dst: u64,
    seq: u64,
    at: String,
    changed: bool,
    root: String,
}

pub(crate) fn relate(args: &RelateArgs, inv: &Invocation, out: &mut Output) -> Outcome {
    let draft = EdgeDraft {
        src: args.src.of(inv.actor())?,
        relation: Relation::parse(&args.relation)?,
        dst: args.dst.of(inv.actor())?,
        weight: parse::ratio("weight", &args.weight)?,
    };
    let ends = (draft.src.get(), draft.relation, draft.dst.get());
    change(Command::AddEdge(draft), ends, "related", inv, out)
}

pub(crate) fn unrelate(args: &UnrelateArgs, inv: &Invocation, out: &mut Output) -> Outcome {
    let removal = EdgeRemoval {
        src: args.src.of(inv.actor())?,
        relation: Relation::parse(&args.relation)?,
        dst: args.dst.of(inv.actor())?,
        reason: args.reason.clone(),
    };
    let ends = (removal.src.get(), removal.relation, removal.dst.get());
    change(Command::RemoveEdge(removal), ends, "unrelated", inv, out)
}

fn change(
    command: Command,
    (src, relation, dst): (u64, Relation, u64),
    verb: &str,
    inv: &Invocation,
    out: &mut Output,
) -> Outcome {
    let cortex = inv.existing()?;
    let receipt = inv.change(&cortex, command, Some(Operation::Edge))?;
    let relation = relation.name();
    let view = EdgeChangeView {
        src,
        relation,
        dst,
        seq: receipt.seq,
        at: receipt.at.rfc3339(),
        changed: receipt.changed,
        root: cortex.root()?.to_string(),
    };
    let verb = if receipt.changed { verb } else { "unchanged:" };
    out.either(&view, format_args!("{verb} {src} {relation} {dst}"))
}
