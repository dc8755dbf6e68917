//! `cortex stats` and `actors`: what there is.

use api::stats::{ActorListRequest, StatsRequest};
use clap::Args;
use serde_json::json;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;

/// Counts memories, edges, sessions and snapshots, and shows size and root.
///
/// JSON: {actor, sessions, observations, archived, forgotten, erased, prompts, edges, projects, by_type: {Type: n},
/// snapshots, entries, last_entry_at, file_bytes, root}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex stats
  cortex stats --json | jq .by_type")]
pub(crate) struct StatsArgs {}

/// Lists whose memory this home holds.
///
/// JSON: [{actor, folder}]
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex actors")]
pub(crate) struct ActorsArgs {}

pub(crate) fn stats(_: &StatsArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let answer = inv.ask(StatsRequest {})?;
    if out.is_json() {
        return out.object(&answer);
    }
    let projects = answer.projects.join(", ");
    let view = json!({
        "actor": answer.actor,
        "memories": answer.observations,
        "by_type": answer.by_type,
        "archived": answer.archived,
        "forgotten": answer.forgotten,
        "erased": answer.erased,
        "edges": answer.edges,
        "sessions": answer.sessions,
        "prompts": answer.prompts,
        "projects": if projects.is_empty() { "-" } else { &projects },
        "snapshots": answer.snapshots,
        "entries": answer.entries,
        "last_entry_at": answer.last_entry_at,
        "file_bytes": answer.file_bytes,
        "root": answer.root,
    });
    out.table(&view)
}

pub(crate) fn actors(_: &ActorsArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let listed = inv.ask(ActorListRequest {})?.actors;
    if out.is_json() {
        return out.object(&listed);
    }
    listed.iter().try_for_each(|listed| out.line(&listed.actor))
}
