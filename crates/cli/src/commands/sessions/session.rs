//! `cortex session` and `prompt`: the frame around an agent's saves.

use api::prompt::PromptSaveRequest;
use api::render::people;
use api::session::{SessionEndRequest, SessionStartRequest, SessionView};
use clap::{Args, Subcommand};

use crate::commands::memories::save;
use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;

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
    /// Starts a session; starting it again changes nothing.
    ///
    /// JSON: {id, project, directory, agent, started_at, ended_at,
    /// summary, memories, changed}
    Start(StartArgs),
    /// Ends a session.
    ///
    /// JSON: as for start
    End(EndArgs),
}

#[derive(Args, Debug)]
struct StartArgs {
    /// Name of the session
    session: String,
    /// Project it is about
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Folder it works in [default: this one]
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
/// JSON: {id, content, session_id, project, created_at, redacted}
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

pub(crate) fn run(args: &SessionArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let (session, render): (_, fn(&SessionView) -> String) = match &args.step {
        SessionStep::Start(start) => {
            let request = SessionStartRequest {
                id: start.session.clone(),
                project: start.project.clone(),
                directory: start.directory.clone(),
                agent: start.agent.clone(),
            };
            (inv.ask(request)?, people::session_started)
        }
        SessionStep::End(end) => {
            let summary = end.summary.as_deref().map(|text| save::content(inv, out, Some(text)));
            let request =
                SessionEndRequest { id: end.session.clone(), summary: summary.transpose()? };
            (inv.ask(request)?, people::session_ended)
        }
    };
    out.answer(&session, render)
}

pub(crate) fn prompt(args: &PromptArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = PromptSaveRequest {
        content: save::content(inv, out, Some(&args.text))?,
        session_id: args.session.clone(),
        project: args.project.clone(),
        default_session: false,
    };
    let prompt = inv.ask(request)?;
    if !prompt.redacted.is_empty() {
        out.say(&prompt.redacted);
    }
    out.answer(&prompt, people::prompt_kept)
}
