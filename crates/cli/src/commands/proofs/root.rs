//! `cortex root`: one digest over everything.

use clap::Args;
use serde::Serialize;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;

/// Prints the root: one digest over the journal and the current state.
///
/// Two stores with the same root hold the same memories. Keep a root somewhere safe and no later change of the past can
/// go unnoticed.
///
/// JSON: {root, size, journal_root, memories_root, edges_root, actor}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex root
  cortex root > trusted-root.txt")]
pub(crate) struct RootArgs {}

#[derive(Debug, Serialize)]
struct RootView {
    root: String,
    /// Journal entries it covers.
    size: u64,
    journal_root: String,
    memories_root: String,
    edges_root: String,
    actor: String,
}

pub(crate) fn run(_: &RootArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let cortex = inv.existing()?;
    let reading = cortex.read()?;
    let roots = reading.roots()?;
    let root = roots.overall(inv.actor().as_str());
    let view = RootView {
        root: root.to_string(),
        size: roots.size,
        journal_root: roots.journal.to_string(),
        memories_root: roots.heads.to_string(),
        edges_root: roots.edges.to_string(),
        actor: inv.actor().to_string(),
    };
    out.either(&view, root)
}
