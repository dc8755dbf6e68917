//! `cortex mind` and `cortex budget`: what tends the memory by itself, and what that may cost.

use std::fmt::Write as _;

use api::mind::{
    BudgetRequest, ChangeView, JobsRequest, PauseJobRequest, ProcessEventsRequest, RunJobRequest,
    RunsRequest, ShowRunRequest, SuggestionView, UndoRequest,
};
use clap::{Args, Subcommand};

use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::{Output, plain, plain_lines};

/// Shows and steers what tends the memory by itself: jobs, their runs, and undoing them.
///
/// Jobs: bulletin (what matters now), maintenance (forgets what has faded, archives what is over or stale, joins what
/// says the same), patterns (what repeats becomes an observation). The daemon runs them when they are due; everything
/// they change is in the journal with its reason and can be undone.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex mind jobs
  cortex mind run maintenance --dry-run
  cortex mind run maintenance
  cortex mind pause patterns
  cortex mind log
  cortex mind show maintenance-1767323045000-1
  cortex mind undo maintenance-1767323045000-1")]
pub(crate) struct MindArgs {
    #[command(subcommand)]
    step: MindStep,
}

#[derive(Subcommand, Debug)]
enum MindStep {
    /// The jobs, when they run next and what came of the last run. JSON: {jobs: [{name, about, every_seconds, paused,
    /// running, next_at, runs, failures, breaker, last}], warmup: {state, ready_for_work, last_refresh_unix_ms,
    /// bulletin_age_secs, last_error}, breakers}
    Jobs,
    /// Runs a job now and waits for it. JSON: {job, dry_run, report: {run, cause, started_at, ended_at, ending,
    /// summary}, changes: [{action, about, title, reason}], suggestions: [{about, reason}], examined, left, text}
    Run {
        /// bulletin, maintenance or patterns
        job: String,
        /// Only say what would be changed
        #[arg(long)]
        dry_run: bool,
    },
    /// Lets a job wait until it is resumed. JSON: the job
    Pause {
        /// bulletin, maintenance or patterns
        job: String,
    },
    /// Lets a paused job go on. JSON: the job
    Resume {
        /// bulletin, maintenance or patterns
        job: String,
    },
    /// Runs, newest first: those that changed memories, and the reports of all. JSON: {runs: [{run, job, started_at,
    /// planned, done, undone}], reports}
    Log {
        /// How many
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Everything that a run changed, with its reasons. JSON: {run, job, started_at, finished_at, undone, changes}
    Show {
        /// A run that `mind log` names
        run: String,
    },
    /// What happened to channels, branches and workers, newest last. JSON: {events: [{seq, at_unix_ms, event, ...}]}
    Events {
        /// How many
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Takes back what a run changed; what somebody changed since is left alone. JSON: {undone, run, dry_run, changes,
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
        MindStep::Log { limit } => log(*limit, inv, out),
        MindStep::Show { run } => show(run, inv, out),
        MindStep::Events { limit } => events(*limit, inv, out),
        MindStep::Undo { run, dry_run } => undo(run, *dry_run, inv, out),
    }
}

fn jobs(inv: &Invocation, out: &mut Output) -> CommandResult {
    let answer = inv.ask(JobsRequest {})?;
    if out.is_json() {
        return out.object(&answer);
    }
    for job in &answer.jobs {
        let state = match (&job.running, job.paused, &job.next_at) {
            (Some(run), _, _) => format!("runs as {run}"),
            (None, true, _) => "paused".to_owned(),
            (None, false, Some(at)) => format!("next {at}"),
            (None, false, None) => String::new(),
        };
        let breaker = match job.breaker.as_str() {
            "closed" => String::new(),
            other => format!(", breaker {other} after {} failures", job.failures),
        };
        out.line(format_args!(
            "{:<12} every {} s, {} runs, {state}{breaker}: {}",
            job.name, job.every_seconds, job.runs, job.about
        ))?;
        if let Some(last) = &job.last {
            let summary = plain(&last.summary);
            out.line(format_args!("{:<12} last {} {}: {summary}", "", last.ended_at, last.ending))?;
        }
    }
    let error = answer.warmup.last_error.as_deref().map(|why| format!(" ({})", plain(why)));
    out.line(format_args!("warm-up      {}{}", answer.warmup.state, error.unwrap_or_default()))?;
    for breaker in &answer.breakers {
        let name = plain(&breaker.name);
        out.line(format_args!("breaker      {name} {}, {} trips", breaker.state, breaker.trips))?;
    }
    Ok(())
}

fn run_job(job: &str, dry_run: bool, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = RunJobRequest { job: job.to_owned(), dry_run };
    let answer = inv.ask(request)?;
    let failed = answer.report.as_ref().filter(|report| report.ending != "succeeded");
    let failed =
        failed.map(|report| format!("{} {}: {}", report.run, report.ending, report.summary));
    if out.is_json() {
        out.object(&answer)?;
    } else {
        out.line(plain_lines(answer.text.trim_end()))?;
        if !dry_run {
            changes(&answer.changes, out)?;
        }
    }
    match failed {
        Some(message) => Err(Failure::Check { code: "job_failed", message }),
        None => Ok(()),
    }
}

fn pause(job: &str, paused: bool, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = PauseJobRequest { job: job.to_owned(), paused };
    let answer = inv.ask(request)?;
    let verb = if answer.paused { "is paused" } else { "goes on" };
    out.either(&answer, format_args!("{} {verb}", answer.name))
}

fn log(limit: usize, inv: &Invocation, out: &mut Output) -> CommandResult {
    let answer = inv.ask(RunsRequest { limit: Some(limit) })?;
    if out.is_json() {
        return out.object(&answer);
    }
    for run in &answer.runs {
        let undone = if run.undone { " (undone)" } else { "" };
        let done = run.done.as_deref().unwrap_or("not finished");
        let (planned, done) = (plain(&run.planned), plain(done));
        out.line(format_args!(
            "{}  {}  {planned}: {done}{undone}",
            run.started_at,
            plain(&run.run)
        ))?;
    }
    let known: Vec<&str> = answer.runs.iter().map(|run| run.run.as_str()).collect();
    for report in answer.reports.iter().filter(|report| !known.contains(&report.run.as_str())) {
        let summary = plain(&report.summary);
        let (at, run) = (&report.started_at, plain(&report.run));
        out.line(format_args!("{at}  {run}  {}: {summary}", report.ending))?;
    }
    if answer.runs.is_empty() && answer.reports.is_empty() {
        return out.line("no job has run yet");
    }
    Ok(())
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
        let name = event["event"].as_str().or(event["record"].as_str()).unwrap_or("?");
        let mut line = format!("{}  {name}", at.rfc3339());
        for key in [
            "channel_id",
            "branch_id",
            "worker_id",
            "tool_name",
            "task",
            "description",
            "status",
            "result",
            "error",
            "why",
        ] {
            if let Some(text) = event[key].as_str() {
                // Writing to a string cannot fail.
                let _ = write!(line, "  {key}={}", plain(text));
            }
        }
        if let Some(id) = event["process"]["id"].as_str() {
            let kind = event["process"]["kind"].as_str().unwrap_or("process");
            // Writing to a string cannot fail.
            let _ = write!(line, "  {kind}={}", plain(id));
        }
        out.line(line)?;
    }
    Ok(())
}

fn show(run: &str, inv: &Invocation, out: &mut Output) -> CommandResult {
    let answer = inv.ask(ShowRunRequest { run: run.to_owned() })?;
    if out.is_json() {
        return out.object(&answer);
    }
    let time = |at: &Option<String>| at.clone().unwrap_or_else(|| "never".to_owned());
    let undone = if answer.undone { ", undone" } else { "" };
    let (started, finished) = (time(&answer.started_at), time(&answer.finished_at));
    out.line(format_args!(
        "{} ({}) started {started}, finished {finished}{undone}",
        plain(&answer.run),
        plain(&answer.job)
    ))?;
    changes(&answer.changes, out)
}

fn undo(run: &str, dry_run: bool, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = UndoRequest { run: run.to_owned(), dry_run };
    let answer = inv.ask(request)?;
    if out.is_json() {
        return out.object(&answer);
    }
    changes(&answer.changes, out)?;
    for SuggestionView { about, reason } in &answer.left_alone {
        out.line(format_args!("left alone {}: {}", ids(about), plain(reason)))?;
    }
    let (count, undone) = (answer.changes.len(), plain(&answer.undone));
    match &answer.run {
        Some(by) => out.line(format_args!("{undone}: {count} changes taken back by {by}")),
        None => out.line(format_args!("{undone}: {count} changes would be taken back")),
    }
}

fn changes(changes: &[ChangeView], out: &mut Output) -> CommandResult {
    changes.iter().try_for_each(|change| {
        let reason = match plain(&change.reason) {
            reason if reason.is_empty() => reason,
            reason => format!(": {reason}"),
        };
        let title = match plain(&change.title) {
            title if title.is_empty() => title,
            title => format!(" {title:?}"),
        };
        out.line(format_args!("  {} {}{title}{reason}", change.action, ids(&change.about)))
    })
}

fn ids(about: &[u64]) -> String {
    let ids: Vec<String> = about.iter().map(|id| format!("#{id}")).collect();
    ids.join(", ")
}

pub(crate) fn budget(args: &BudgetArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let kill_switch = (args.stop || args.allow).then_some(args.stop);
    let request = BudgetRequest { kill_switch, limit: Some(args.limit) };
    let answer = inv.ask(request)?;
    if out.is_json() {
        return out.object(&answer);
    }
    let provider = answer.provider.as_deref().map_or_else(|| "none".to_owned(), plain);
    let switch = if answer.kill_switch { "on: no model is asked" } else { "off" };
    out.line(format_args!("day          {} (UTC)", answer.day))?;
    out.line(format_args!("provider     {provider}"))?;
    out.line(format_args!("kill switch  {switch}"))?;
    out.line(format_args!(
        "tokens       {} of {}, {} reserved",
        answer.tokens, answer.tokens_limit, answer.reserved_tokens
    ))?;
    out.line(format_args!("dollars      {:.6} of {:.6}", answer.dollars, answer.dollars_limit))?;
    for purpose in &answer.purposes {
        out.line(format_args!(
            "{:<12} {} of {} tokens, {:.6} of {:.6} dollars",
            purpose.purpose,
            purpose.tokens,
            purpose.tokens_limit,
            purpose.dollars,
            purpose.dollars_limit
        ))?;
    }
    for line in &answer.ledger {
        let assumed = if line.assumed { " (assumed)" } else { "" };
        let model = line.model.as_deref().map(plain).unwrap_or_default();
        out.line(format_args!(
            "{}  {:<11} {:>8} tokens  {:.6}  {}  {model}{assumed}",
            line.at,
            line.purpose,
            line.tokens,
            line.dollars,
            plain(&line.who)
        ))?;
    }
    Ok(())
}
