//! `cortex past` and `cortex past read`.

use std::path::PathBuf;

use api::past::{PastReadRequest, PastStateRequest};
use api::render::people;
use clap::Args;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;

/// Reads what agents wrote since the last time, newest first.
///
/// JSON: {agents: {NAME: {files, bytes, records, prompts, items, copies, skipped, malformed, too_large, unknown,
/// masked, noise, echoes, forgotten, unreadable}}, drift, sessions, turns, changed_files, changed_bytes, dry_run}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex past read
  cortex past read codex --since 2026-10-01
  cortex past read --path notes.jsonl --as lines
  cortex past read --dry-run")]
pub(super) struct ReadArgs {
    /// Only these agents
    #[arg(value_name = "AGENT")]
    agents: Vec<String>,
    /// Only files that changed since this time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only this file, of the agent that is named or with --as lines
    #[arg(long, value_name = "FILE")]
    path: Option<PathBuf>,
    /// lines: a JSON object per line with session, role, text, and at, folder, id, title where they are known
    #[arg(long = "as", value_name = "FORM", requires = "path", value_parser = ["lines"])]
    form: Option<String>,
    /// Only say what would be read
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn state(inv: &Invocation, out: &mut Output) -> CommandResult {
    out.answer(&inv.ask(PastStateRequest::default())?, people::past_state)
}

pub(super) fn read(args: &ReadArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let path = args.path.as_ref().map(|path| inv.path(path).display().to_string());
    let request = PastReadRequest {
        agents: args.agents.clone(),
        since: args.since.clone(),
        path,
        dry_run: args.dry_run,
        variables: inv.variables_of_agents(),
    };
    let answer = inv.ask_watched(request, out)?;
    out.answer(&answer, people::past_read)
}
