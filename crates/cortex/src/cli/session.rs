//! `cortex session` and `prompt`: the frame around an agent's saves.

use clap::{Args, Subcommand};
use kernel::command::{Command, PromptDraft, SessionClose, SessionDraft};
use serde_json::json;

use super::failure::Outcome;
use super::open::Invocation;
use super::output::{Output, plain};
use super::save;

/// Starts or ends a session.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex session start s-2026-11-14 --project web --agent reviewer
  cortex session end s-2026-11-14 --summary \"Fixed the login\"")]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    step: SessionStep,
}

#[derive(Subcommand, Debug)]
enum SessionStep {
    /// Starts a session; starting it again while it lives changes nothing. JSON: {session, seq, at, changed}
    Start(StartArgs),
    /// Ends a session. JSON: {session, seq, at, changed}
    End(EndArgs),
}

#[derive(Args, Debug)]
struct StartArgs {
    /// Name of the session
    session: String,
    /// Project it is about
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Folder it works in
    #[arg(long, value_name = "DIR")]
    directory: Option<String>,
    /// Who works
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
}

#[derive(Args, Debug)]
struct EndArgs {
    /// Name of the session
    session: String,
    /// What was done; - reads standard input
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
}

/// Keeps what a person asked, as it was said.
///
/// JSON: {seq, at, session, project}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex prompt \"Please fix the login\" --session s-2026-11-14")]
pub(crate) struct PromptArgs {
    /// What was said; - reads standard input
    text: String,
    /// Session it was said in
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Project it is about
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
}

pub(crate) fn run(args: &SessionArgs, inv: &Invocation, out: &mut Output) -> Outcome {
    let (command, session, verb) = match &args.step {
        SessionStep::Start(start) => {
            let draft = SessionDraft {
                session: start.session.clone(),
                project: start.project.clone(),
                directory: start.directory.clone(),
                agent: start.agent.clone(),
            };
            (Command::SessionStart(draft), &start.session, "started")
        }
        SessionStep::End(end) => {
            let summary = end.summary.as_deref().map(|text| save::content(inv, out, Some(text)));
            let close = SessionClose {
                session: end.session.clone(),
                summary: summary.transpose()?.map(|text| inv.ops().screened(&text)),
                salt: inv.salt()?,
            };
            (Command::SessionEnd(close), &end.session, "ended")
        }
    };
    let cortex = inv.cortex()?;
    let receipt = inv.change(&cortex, command, None)?;
    let verb = if receipt.changed { verb } else { "unchanged:" };
    let view = json!({
        "session": session, "seq": receipt.seq, "at": receipt.at.rfc3339(),
        "changed": receipt.changed,
    });
    out.either(&view, format_args!("{verb} {}", plain(session)))
}

pub(crate) fn prompt(args: &PromptArgs, inv: &Invocation, out: &mut Output) -> Outcome {
    let draft = PromptDraft {
        session: args.session.clone(),
        project: args.project.clone(),
        text: inv.ops().screened(&save::content(inv, out, Some(&args.text))?),
        salt: inv.salt()?,
    };
    let cortex = inv.cortex()?;
    let receipt = inv.change(&cortex, Command::Prompt(draft), None)?;
    let view = json!({
        "seq": receipt.seq, "at": receipt.at.rfc3339(), "session": args.session,
        "project": args.project,
    });
    out.either(&view, format_args!("kept as entry {}", receipt.seq))
}
