//! `cortex root`: one digest over everything.

use api::proof::RootRequest;
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
    let answer = inv.ask(RootRequest {})?;
    let view = RootView {
        root: answer.root,
        size: answer.size,
        journal_root: answer.journal_root,
        memories_root: answer.memories_root,
        edges_root: answer.edges_root,
        actor: answer.actor,
    };
    out.either(&view, &view.root)
}
