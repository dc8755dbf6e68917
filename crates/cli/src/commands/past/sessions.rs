//! `cortex past sessions`, `show` and `resume`.

use api::past::{PastResumeRequest, PastSessionsRequest, PastShowRequest};
use api::render::people;
use clap::Args;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::{Output, plain};

/// Lists sessions, newest first.
///
/// JSON: {sessions: [{ref, agent, session, title, folder, branch, version, parent, child, started_at, updated_at,
/// turns, items, bytes, kept_only_here}], left_out}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex past sessions
  cortex past sessions --here --children
  cortex past sessions --agent codex --since 2026-10-01 --limit 5")]
pub(super) struct SessionsArgs {
    /// Only of this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only in this folder or below; * and ** stand for any
    #[arg(long, value_name = "FOLDER")]
    folder: Option<String>,
    /// Only of the project of this name: the last part of its folder
    #[arg(long, value_name = "NAME", conflicts_with = "folder")]
    project: Option<String>,
    /// Only in the folder where you are, or below
    #[arg(long, conflicts_with_all = ["folder", "project"])]
    here: bool,
    /// Only those that went on after this time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Those that other agents led, too
    #[arg(long)]
    children: bool,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

/// Shows a session or a turn.
///
/// JSON: {session, turns: [{ref, turn, at, undone, kept?, items: [{role, text, path, removed, tail, exit, error,
/// bytes}]}], left_out}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex past show codex:0199c0de
  cortex past show codex:0199c0de#12 --around 2 --work")]
pub(super) struct ShowArgs {
    /// AGENT:SESSION or AGENT:SESSION#TURN
    #[arg(value_name = "REF")]
    reference: String,
    /// Turns before and after the one that is named
    #[arg(long, value_name = "N", default_value_t = 0)]
    around: u32,
    /// Every turn of a long session
    #[arg(long)]
    whole: bool,
    /// Commands, reads, edits and outputs, too
    #[arg(long)]
    work: bool,
}

/// Prints the command that goes on with a session, or runs it.
///
/// JSON: {ref, folder, words, line}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex past resume codex:0199c0de
  cortex past resume claude-code:5f2a9c --run")]
pub(super) struct ResumeArgs {
    /// AGENT:SESSION or AGENT:SESSION#TURN
    #[arg(value_name = "REF")]
    reference: String,
    /// Run it, in the folder of the session
    #[arg(long)]
    run: bool,
}

pub(super) fn sessions(args: &SessionsArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let here = args.here.then(|| inv.path(std::path::Path::new("")).display().to_string());
    let here = here.map(|folder| folder.trim_end_matches('/').to_owned());
    let project = args.project.as_ref().map(|name| format!("**/{name}"));
    let answer = inv.ask(PastSessionsRequest {
        agent: args.agent.clone(),
        folder: args.folder.clone().or(here).or(project),
        since: args.since.clone(),
        children: args.children,
        limit: Some(args.limit),
    })?;
    out.answer(&answer, people::past_sessions)
}

pub(super) fn show(args: &ShowArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let answer = inv.ask(PastShowRequest {
        reference: args.reference.clone(),
        around: args.around,
        work: args.work,
        whole: args.whole,
    })?;
    out.answer(&answer, people::past_shown)
}

pub(super) fn resume(args: &ResumeArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let answer = inv.ask(PastResumeRequest { reference: args.reference.clone() })?;
    if !args.run {
        return out.either(&answer, plain(&answer.line));
    }
    super::started(&answer.words, answer.folder.as_deref(), inv)
}
