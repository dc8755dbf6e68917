//! `cortex mind` and `cortex budget`: what tends the memory by itself, and what that may cost.

use std::fmt::Write as _;

use api::mind::{
    BudgetRequest, DueRequest, JobsRequest, KeepRequest, PauseJobRequest, ProcessEventsRequest,
    ResetRequest, RunJobRequest, RunsRequest, ShowRunRequest, UndoRequest,
};
use api::render::people;
use clap::{Args, Subcommand};
use serde_json::Value;

use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::{Output, plain};

/// Shows and steers what tends the memory by itself: jobs, their runs, and undoing them.
///
/// Jobs: bulletin (what matters now), maintenance (forgets what was captured and has faded, archives what is over,
/// joins what says the same), patterns (what repeats becomes an observation), pages (questions that stand). The daemon
/// runs them when they are due; everything they change is in the journal with its reason and can be undone. What is
/// about to be put away is announced first: `mind log --due` names it and `mind keep` keeps it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex mind jobs
  cortex mind run maintenance --dry-run
  cortex mind run maintenance
  cortex mind pause patterns
  cortex mind log
  cortex mind log --due
  cortex mind keep 12 40
  cortex mind reset
  cortex mind show maintenance-1767323045000-1
  cortex mind undo maintenance-1767323045000-1")]
pub(crate) struct MindArgs {
    #[command(subcommand)]
    step: MindStep,
}

#[derive(Subcommand, Debug)]
enum MindStep {
    /// The jobs, when they run next and what came of the last run.
    ///
    /// JSON: {jobs: [{name, about, every_seconds, paused,
    /// running, next_at, runs, failures, breaker, last}], warmup: {state, ready_for_work, last_refresh_unix_ms,
    /// bulletin_age_secs, last_error}, breakers}
    Jobs,
    /// Runs a job now and waits for it.
    ///
    /// JSON: {job, dry_run, report: {run, cause, started_at, ended_at, ending,
    /// summary}, changes: [{action, about, title, reason}], suggestions: [{about, reason}], examined, left, due?: [{id,
    /// title, project, type, days_left, reason}], text}
    Run {
        /// bulletin, maintenance or patterns
        job: String,
        /// Only say what would be changed
        #[arg(long)]
        dry_run: bool,
    },
    /// Lets a job wait until it is resumed.
    ///
    /// JSON: the job
    Pause {
        /// bulletin, maintenance or patterns
        job: String,
    },
    /// Lets a paused job go on.
    ///
    /// JSON: the job
    Resume {
        /// bulletin, maintenance or patterns
        job: String,
    },
    /// Runs, newest first: those that changed memories, and the reports of all.
    ///
    /// JSON: {runs: [{run, job, started_at,
    /// planned, done, undone}], reports}; with --due {due: [{id, title, project, type, days_left, reason}], more}
    Log {
        /// Instead: what is about to be put away, the next first
        #[arg(long)]
        due: bool,
        /// How many
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Keeps memories: they are not put away by themselves, and are brought back if they were.
    ///
    /// JSON: {kept, restored}
    Keep {
        /// Memories that `mind log --due` or a search names
        #[arg(value_name = "ID", required = true)]
        ids: Vec<u64>,
    },
    /// Tries again whatever was left alone because it failed: providers, tools, jobs.
    ///
    /// JSON: {closed}
    Reset,
    /// Everything that a run changed, with its reasons.
    ///
    /// JSON: {run, job, started_at, finished_at, undone, changes}
    Show {
        /// A run that `mind log` names
        run: String,
    },
    /// What happened to channels, branches and workers, newest last.
    ///
    /// JSON: {events: [{seq, at_unix_ms, event, ...}]}
    Events {
        /// How many
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Takes back what a run changed; what somebody changed since is left alone.
    ///
    /// JSON: {undone, run, dry_run, changes,
    /// left_alone}
    Undo {
        /// A run that `mind log` names
        run: String,
        /// Only say what would be taken back
        #[arg(long)]
        dry_run: bool,
    },
}

/// Shows what models cost today, in total and per purpose, and what is left.
///
/// Without a provider in the configuration every limit is zero and nothing is ever asked. The limits are in
/// [defaults.budget].
///
/// JSON: {day, kill_switch, provider, tokens, tokens_limit, reserved_tokens, dollars, dollars_limit, purposes:
/// [{purpose, tokens, tokens_limit, dollars, dollars_limit}], ledger: [{at, purpose, who, model, tokens, dollars,
/// assumed}]}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex budget
  cortex budget --stop
  cortex budget --allow")]
pub(crate) struct BudgetArgs {
    /// Refuse every call to a model from now on
    #[arg(long, conflicts_with = "allow")]
    stop: bool,
    /// Allow calls again
    #[arg(long)]
    allow: bool,
    /// Lines of the ledger
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

pub(crate) fn run(args: &MindArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    match &args.step {
        MindStep::Jobs => jobs(inv, out),
        MindStep::Run { job, dry_run } => run_job(job, *dry_run, inv, out),
        MindStep::Pause { job } => pause(job, true, inv, out),
        MindStep::Resume { job } => pause(job, false, inv, out),
        MindStep::Log { due: true, .. } => out.answer(&inv.ask(DueRequest {})?, people::due),
        MindStep::Log { limit, .. } => log(*limit, inv, out),
        MindStep::Keep { ids } => {
            let request = KeepRequest { ids: ids.clone() };
            out.answer(&inv.ask(request)?, people::kept)
        }
        MindStep::Reset => out.answer(&inv.ask(ResetRequest {})?, people::reset),
        MindStep::Show { run } => show(run, inv, out),
        MindStep::Events { limit } => events(*limit, inv, out),
        MindStep::Undo { run, dry_run } => undo(run, *dry_run, inv, out),
    }
}

fn jobs(inv: &Invocation, out: &mut Output) -> CommandResult {
    out.answer(&inv.ask(JobsRequest {})?, people::jobs)
}

fn run_job(job: &str, dry_run: bool, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = RunJobRequest { job: job.to_owned(), dry_run };
    let answer = inv.ask(request)?;
    let failed = answer.report.as_ref().filter(|report| report.ending != "succeeded");
    let failed =
        failed.map(|report| format!("{} {}: {}", report.run, report.ending, report.summary));
    out.answer(&answer, people::ran)?;
    match failed {
        Some(message) => Err(Failure::Check { code: "job_failed", message }),
        None => Ok(()),
    }
}

fn pause(job: &str, paused: bool, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = PauseJobRequest { job: job.to_owned(), paused };
    out.answer(&inv.ask(request)?, people::paused)
}

fn log(limit: usize, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = RunsRequest { limit: Some(limit) };
    out.answer(&inv.ask(request)?, people::runs)
}

fn events(limit: usize, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = ProcessEventsRequest { limit: Some(limit) };
    let answer = inv.ask(request)?;
    if out.is_json() {
        return out.object(&answer);
    }
    if answer.events.is_empty() {
        out.say("nothing happened to channels, branches or workers yet");
    }
    for event in &answer.events {
        let at = proof::memory::Millis(event["at_unix_ms"].as_i64().unwrap_or_default());
        out.line(format_args!("{}  {}", at.rfc3339(), happened(event)))?;
    }
    Ok(())
}

/// "worker 12 status: asks tiny".
fn happened(event: &Value) -> String {
    let kinds = [("branch_id", "branch"), ("worker_id", "worker"), ("channel_id", "channel")];
    let process = event["process"]["id"]
        .as_str()
        .map(|id| (event["process"]["kind"].as_str().unwrap_or("process"), id));
    let subject = process
        .or_else(|| kinds.into_iter().find_map(|(key, kind)| Some((kind, event[key].as_str()?))));
    let name = event["event"].as_str().or(event["record"].as_str()).unwrap_or("event");
    let mut text = String::new();
    let mut verb = name.replace('_', " ");
    if let Some((kind, id)) = subject {
        // Writing to a string cannot fail.
        let _ = write!(text, "{} {} ", plain(kind), plain(id));
        verb = verb.strip_prefix(kind).unwrap_or(&verb).trim().to_owned();
    }
    text.push_str(&plain(&verb));
    let said: Vec<String> =
        ["tool_name", "task", "description", "status", "result", "error", "why"]
            .iter()
            .filter_map(|key| event[*key].as_str())
            .filter(|said| !said.is_empty())
            .map(plain)
            .collect();
    if !said.is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(text, ": {}", said.join("; "));
    }
    text
}

fn show(run: &str, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = ShowRunRequest { run: run.to_owned() };
    out.answer(&inv.ask(request)?, people::run)
}

fn undo(run: &str, dry_run: bool, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = UndoRequest { run: run.to_owned(), dry_run };
    out.answer(&inv.ask(request)?, people::undone)
}

pub(crate) fn budget(args: &BudgetArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let kill_switch = (args.stop || args.allow).then_some(args.stop);
    let request = BudgetRequest { kill_switch, limit: Some(args.limit), days: None };
    out.answer(&inv.ask(request)?, people::budget)
}
