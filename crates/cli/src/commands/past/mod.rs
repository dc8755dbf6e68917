//! `cortex past`: what coding agents wrote down on this disk.
//!
//! `reading`: what is there and what is new. `sessions`: sessions, turns, and going on with one. `forgetting`: what
//! must not come back, what is not read, and the state of the files. `search`: `cortex search --in past`. `work`: what
//! was done.

mod forgetting;
mod reading;
pub(crate) mod search;
mod sessions;
pub(crate) mod work;

use std::path::Path;

use clap::{Args, Subcommand};

use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::Output;

/// Reads, keeps, shows and forgets what coding agents wrote down: Claude Code, Codex, Gemini CLI and others.
///
/// Nothing leaves this machine. Secrets are masked before anything is stored, files of agents are only ever read, and
/// what agents delete stays here until it is forgotten. Without a step it says what there is. A session is named
/// AGENT:SESSION, a turn AGENT:SESSION#TURN; the first six characters of a session are enough if no other has them.
///
/// JSON: {agents: {NAME: {sessions, children, turns, bytes, sources, kept_only_here, masked, newest}}, sessions, turns,
/// segments, bytes, kept_only_here, forgotten, drift: [{agent, version, files, records, unknown, silent_files}],
/// excluded}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex past read
  cortex past sessions --here
  cortex search --in past why is the cache slow
  cortex past show codex:0199c0de#12 --work
  cortex past resume codex:0199c0de
  cortex past forget claude-code:5f2a9c --reason 'a customer asked'")]
pub(crate) struct PastArgs {
    #[command(subcommand)]
    step: Option<PastStep>,
}

#[derive(Subcommand, Debug)]
enum PastStep {
    Read(reading::ReadArgs),
    Sessions(sessions::SessionsArgs),
    Show(sessions::ShowArgs),
    Resume(sessions::ResumeArgs),
    Forget(forgetting::ForgetArgs),
    Restore(forgetting::RestoreArgs),
    /// Lists that something was forgotten, when, by whom and why; what it was nobody can tell.
    /// JSON: {tombstones: [{seq, at, by, reason}]}
    Forgotten,
    Exclude(forgetting::ExcludeArgs),
    /// Compares every file of the past with its name; exit code 1 if one differs.
    /// JSON: {sound, segments, parts, damaged, missing, unreferenced}
    Verify,
    Rebuild(forgetting::RebuildArgs),
    Removed(work::RemovedArgs),
    HandOver(work::HandOverArgs),
    Card(work::CardArgs),
    Report(work::ReportArgs),
}

pub(crate) fn run(args: &PastArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    match &args.step {
        None => reading::state(inv, out),
        Some(PastStep::Read(args)) => reading::read(args, inv, out),
        Some(PastStep::Sessions(args)) => sessions::sessions(args, inv, out),
        Some(PastStep::Show(args)) => sessions::show(args, inv, out),
        Some(PastStep::Resume(args)) => sessions::resume(args, inv, out),
        Some(PastStep::Forget(args)) => forgetting::forget(args, inv, out),
        Some(PastStep::Restore(args)) => forgetting::restore(args, inv, out),
        Some(PastStep::Forgotten) => forgetting::forgotten(inv, out),
        Some(PastStep::Exclude(args)) => forgetting::exclude(args, inv, out),
        Some(PastStep::Verify) => forgetting::verify(inv, out),
        Some(PastStep::Rebuild(args)) => forgetting::rebuild(args, inv, out),
        Some(PastStep::Removed(args)) => work::removed(args, inv, out),
        Some(PastStep::HandOver(args)) => work::hand_over(args, inv, out),
        Some(PastStep::Card(args)) => work::card(args, inv, out),
        Some(PastStep::Report(args)) => work::report(args, inv, out),
    }
}

/// Starts another program in a folder and waits for it.
fn started(words: &[String], folder: Option<&str>, inv: &Invocation) -> CommandResult {
    if !inv.is_own() {
        return Err(Failure::input(
            "a daemon runs this command and has no terminal; run the command without --run and type what it prints",
        ));
    }
    let [program, words @ ..] = words else {
        return Err(Failure::input("there is no command for this session"));
    };
    let mut command = std::process::Command::new(program);
    command.args(words);
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    let status = command.status().map_err(|error| Failure::file(Path::new(program), error))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::Check { code: "started", message: format!("{program} ended with {status}") })
}
