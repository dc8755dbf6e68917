//! `cortex timeline`, `sessions`, `prompts`, `projects` and `archive`: what agents left, for people to look through.

use api::archive::SweepRequest;
use api::change::ArchiveRequest;
use api::projects::{MergeRequest, SeparateRequest};
use api::prompt::PromptListRequest;
use api::render::people;
use api::session::SessionListRequest;
use api::stats::ProjectsRequest;
use api::timeline::TimelineRequest;
use clap::{Args, Subcommand};

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::wiring::words::MemoryRef;

/// Shows what was saved before and after a memory, in its session.
///
/// JSON: {session, before, focus, after: [{id, title, type, project, scope, session_id, created_at, preview}], total}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex timeline 12
  cortex timeline 12 --before 3 --after 10")]
pub(crate) struct TimelineArgs {
    /// Memory: 12 or a URI
    #[arg(value_name = "ID")]
    memory: MemoryRef,
    /// How many before it
    #[arg(long, value_name = "N", default_value_t = 5)]
    before: usize,
    /// How many after it
    #[arg(long, value_name = "N", default_value_t = 5)]
    after: usize,
}

/// Lists sessions, newest first.
///
/// JSON: {sessions: [{id, project, directory, agent, started_at, ended_at, summary, memories}], total}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex sessions
  cortex sessions --project web --live")]
pub(crate) struct SessionsArgs {
    /// Only this project
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Only those that have not ended
    #[arg(long)]
    live: bool,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

/// Lists what people asked, newest first.
///
/// JSON: {prompts: [{id, content, session_id, project, created_at}], total}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex prompts
  cortex prompts login --project web")]
pub(crate) struct PromptsArgs {
    /// Only those that contain this
    words: Option<String>,
    /// Only this project
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

/// Lists projects, latest activity first; merges two that are one.
///
/// JSON: {projects: [{name, memories, last_activity, aliases, remotes}], capped}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex projects
  cortex projects merge web-app webapp --into web
  cortex projects separate webapp")]
pub(crate) struct ProjectsArgs {
    #[command(subcommand)]
    step: Option<ProjectsStep>,
}

#[derive(Subcommand, Debug)]
enum ProjectsStep {
    /// Moves all memories of some projects to another; from now on the old names mean that one.
    /// JSON: {to, moved, aliases, dry_run}
    Merge(MergeArgs),
    /// Lets a merged name be a project of its own again; its memories stay where they are.
    ///
    /// JSON: {name}
    Separate {
        /// A name that was merged
        name: String,
    },
}

#[derive(Args, Debug)]
struct MergeArgs {
    /// Names that are given up
    #[arg(required = true)]
    from: Vec<String>,
    /// The project that stays
    #[arg(long, value_name = "NAME")]
    into: String,
    /// Only say how many memories would move
    #[arg(long)]
    dry_run: bool,
}

/// Puts a memory away, or all that is old and unimportant; `restore` brings it back.
///
/// JSON: the memory; with --stale {archived: [{id, title, score, created_at}], examined, capped, dry_run}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex archive 12
  cortex archive --stale --dry-run")]
pub(crate) struct ArchiveArgs {
    /// Memory: 12 or a URI
    #[arg(value_name = "ID", required_unless_present = "stale")]
    memory: Option<MemoryRef>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// What maintenance puts away because it is old and unimportant, now
    #[arg(long, conflicts_with = "memory")]
    stale: bool,
    /// Only say what would be put away
    #[arg(long, requires = "stale")]
    dry_run: bool,
}

pub(crate) fn timeline(args: &TimelineArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let id = args.memory.of(inv.actor())?.get();
    let (before, after) = (Some(args.before), Some(args.after));
    let request = TimelineRequest { id, before, after, ..TimelineRequest::default() };
    out.answer(&inv.ask(request)?, people::timeline)
}

pub(crate) fn sessions(args: &SessionsArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = SessionListRequest {
        project: args.project.clone(),
        live: args.live,
        limit: Some(args.limit),
        offset: 0,
    };
    out.answer(&inv.ask(request)?, people::sessions)
}

pub(crate) fn prompts(args: &PromptsArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = PromptListRequest {
        project: args.project.clone(),
        query: args.words.clone(),
        limit: Some(args.limit),
        ..PromptListRequest::default()
    };
    out.answer(&inv.ask(request)?, people::prompts)
}

pub(crate) fn projects(args: &ProjectsArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    match &args.step {
        None => list_projects(inv, out),
        Some(ProjectsStep::Merge(args)) => {
            let request = MergeRequest {
                from: args.from.clone(),
                to: args.into.clone(),
                dry_run: args.dry_run,
            };
            let answer = inv.ask(request)?;
            out.answer(&answer, people::merged)
        }
        Some(ProjectsStep::Separate { name }) => {
            let request = SeparateRequest { name: name.clone() };
            let answer = inv.ask(request)?;
            out.answer(&answer, people::separated)
        }
    }
}

fn list_projects(inv: &Invocation, out: &mut Output) -> CommandResult {
    let answer = inv.ask(ProjectsRequest {})?;
    out.answer(&answer, people::projects)?;
    if answer.projects.is_empty() && !out.is_json() {
        out.say("no memory belongs to a project yet");
    }
    Ok(())
}

pub(crate) fn archive(args: &ArchiveArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    if let Some(memory) = &args.memory {
        let id = memory.of(inv.actor())?.get();
        let request = ArchiveRequest { id, reason: args.reason.clone() };
        let answer = inv.ask(request)?;
        return out.answer(&answer, people::archived);
    }
    let request = SweepRequest { dry_run: args.dry_run };
    out.answer(&inv.ask(request)?, people::swept)
}
