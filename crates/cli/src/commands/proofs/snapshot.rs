//! `cortex snapshot`: fixing the state, so that proofs can speak of it later.

use api::upkeep::{SnapshotListRequest, SnapshotRequest, SnapshotView};
use clap::Args;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::{Output, plain};

/// Records the state as it is now; proofs can be given for it for as long as the store lives.
///
/// Each snapshot names the one before, so a list of them is a chain.
///
/// JSON: {number, size, root, manifest, previous, reason, memories, forgotten, edges}; with --list an array of these
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex snapshot --reason \"before the migration\"
  cortex snapshot --list")]
pub(crate) struct SnapshotArgs {
    /// Why
    #[arg(long, value_name = "TEXT", default_value = "snapshot")]
    reason: String,
    /// List the snapshots, oldest first, instead of taking one
    #[arg(long, conflicts_with = "reason")]
    list: bool,
}

pub(crate) fn run(args: &SnapshotArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    if !args.list {
        let view = inv.ask(SnapshotRequest { reason: args.reason.clone() })?;
        return out.either(&view, line(&view));
    }
    let mut snapshots = Vec::new();
    let mut next = Some(1);
    while let Some(from) = next {
        let mut page = inv.ask(SnapshotListRequest { from })?;
        snapshots.append(&mut page.snapshots);
        next = page.next;
    }
    if out.is_json() {
        return out.object(&snapshots);
    }
    snapshots.iter().try_for_each(|snapshot| out.line(line(snapshot)))
}

fn line(view: &SnapshotView) -> String {
    format!(
        "snapshot {} of {} entries, root {}, {}",
        view.number,
        view.size,
        view.root,
        plain(&view.reason)
    )
}
