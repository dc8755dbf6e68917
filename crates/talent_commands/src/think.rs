//! `cortex think`: works through a day with the talents that are scheduled for it.

use std::sync::Arc;

use api::outputs::OutputPutRequest;
use clap::Args;
use client::place::DaemonPlace;
use client::start::connect_or_start;
use daemon::talents_host;
use daemon::talents_host::bus_runs::BusRuns;
use daemon::talents_host::memory::MemoryHandle;
use llm::providers::BoxFuture;
use runs::process::stop_on_signals;
use serde_json::Value;
use talents::think::{
    self, ThinkHooks, ThinkPhase, ThinkPlan, ThinkReport, ThinkRequest, ThinkWork, UnitReport,
    UnitState,
};
use talents::{Day, Facet, Segment, TalentName};

use command_line::failure::{CommandResult, Failure};
use command_line::invocation::{CommandEnv, GlobalArgs, caller, wait};
use command_line::output::{Output, Talk, plain};
use command_line::process;

/// The tract on which think tells what it does.
const TRACT: &str = "think";

/// Works through a day: each of its segments, then the day as a whole, with the talents that are scheduled for it.
///
/// Talents of a lower priority number come first; those of one number run beside each other. What is there already is
/// left alone unless its sources have changed since, or --refresh says otherwise. `cortex search --outputs` finds what
/// was written. The daemon runs the talents; it is started if it is not there. Exit code 1 if a run failed. JSON: {day,
/// units: [{talent, facet, segment, priority, use_id, state, reason, output_path, indexed, seconds}], skipped:
/// [{talent, facet, reason}], problems, seconds}; with --dry-run {day, phases, problems}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex think --dry-run
  cortex think --day 20260109
  cortex think --day 20260109 --segment 140000_3600 --refresh
  cortex think --day 20260109 --talent daily_brief --refresh
  cortex think --facet work --json | jq '.units[] | select(.state != \"finished\")'")]
pub struct ThinkArgs {
    /// YYYYMMDD [default: yesterday]
    #[arg(long, value_name = "DAY")]
    day: Option<String>,
    /// Only this segment, HHMMSS_SECONDS
    #[arg(long, value_name = "KEY")]
    segment: Option<String>,
    /// Only for this facet; talents that are not for single facets are left out
    #[arg(long, value_name = "NAME")]
    facet: Option<String>,
    /// Only this talent
    #[arg(long, value_name = "NAME")]
    talent: Option<String>,
    /// Do again what has been done
    #[arg(long)]
    refresh: bool,
    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Runs at a time inside a group; 0: all
    #[arg(long, short, value_name = "N", default_value_t = 2)]
    jobs: usize,
}

pub fn run(
    args: &ThinkArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let hands = crate::talent::hands(globals, env)?;
    let caller = caller(globals, &env.variables, &env.cwd, None)?;
    let now = talents_host::now(caller.environment.as_ref(), &hands.zone)?;
    let day = match &args.day {
        Some(text) => Day::parse(text)?,
        None => Day::from(now.date().yesterday().unwrap_or_else(|_| now.date())),
    };
    let asked = ThinkRequest {
        day,
        work: match &args.segment {
            Some(text) => ThinkWork::Segment(Segment::parse(text)?),
            None => ThinkWork::All,
        },
        facet: args.facet.as_deref().map(Facet::parse).transpose()?,
        talent: args.talent.as_deref().map(TalentName::parse).transpose()?,
        refresh: args.refresh,
    };
    if let Some(facet) = &asked.facet {
        // A name typed wrong would be a day without work.
        talents::chronicle::read_facet(&hands.layout, facet)?;
    }
    let plan = think::plan(&hands.layout, &hands.catalog, &asked)?;
    if args.dry_run {
        return show_plan(&plan, out);
    }
    let place = DaemonPlace::new(hands.layout.home()).waiting(wait(globals));
    // Held to the end: a daemon that nobody is connected to ends by itself.
    let _daemon_guard = connect_or_start(&place)?;
    let own = process::own_environment();
    let memory = MemoryHandle::new(place.clone(), caller, env.variables.clone(), own);
    let failed = |error: std::io::Error| Failure::Io { what: "think".into(), error };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(failed)?;
    let talk = out.talk().clone();
    let report: CommandResult<ThinkReport> = runtime.block_on(async {
        let stop = stop_on_signals().map_err(failed)?;
        let runs = Arc::new(BusRuns::connect(&place.callosum()).await?);
        let hooks = Arc::new(Watcher { runs: Arc::clone(&runs), memory, talk });
        let (layout, shelf) = (&hands.layout, &hands.catalog);
        Ok(think::run(layout, shelf, &asked, args.jobs, runs, hooks, stop).await?)
    });
    let report = report?;
    show_report(&report, out)?;
    if report.is_well() {
        return Ok(());
    }
    let failed: Vec<String> = report.failed().map(UnitReport::label).collect();
    let message = format!("{} of {} runs failed", failed.len(), report.units.len());
    Err(Failure::Check { code: "think_failed", message })
}

/// Shows progress, tells the bus, and has outputs found.
#[derive(Debug)]
struct Watcher {
    runs: Arc<BusRuns>,
    memory: MemoryHandle,
    talk: Talk,
}

impl ThinkHooks for Watcher {
    fn tell(&self, event: Value) {
        let text = |key: &str| event[key].as_str().map(str::to_owned);
        match event["event"].as_str() {
            Some("group_started") => {
                let part = text("segment").unwrap_or_else(|| "the day".to_owned());
                let (priority, units) = (&event["priority"], &event["units"]);
                self.talk.say(format_args!("{part}, priority {priority}: {units} to run"));
            }
            Some("talent_completed") => {
                let name = text("name").unwrap_or_default();
                let facet = text("facet").map(|facet| format!("/{facet}")).unwrap_or_default();
                let why = text("reason").map(|why| format!(": {}", plain(&why)));
                let state = text("state").unwrap_or_default().replace('_', " ");
                self.talk.say(format_args!("  {name}{facet} {state}{}", why.unwrap_or_default()));
            }
            _ => {}
        }
        self.runs.tell(TRACT, event);
    }

    fn index<'a>(&'a self, output: &'a think::UnitOutput) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let request = OutputPutRequest { path: output.path.clone() };
            let put = self.memory.ask(output.talent.as_str(), request).await;
            put.map(drop).map_err(|error| error.message)
        })
    }
}

fn show_plan(plan: &ThinkPlan, out: &mut Output) -> CommandResult {
    for problem in &plan.problems {
        out.say(format_args!("warning: {}", plain(problem)));
    }
    if out.is_json() {
        return out.object(plan);
    }
    for phase in &plan.phases {
        show_phase(plan, phase, out)?;
    }
    let count = plan.units().count();
    out.line(format_args!("{count} run{} would be started", if count == 1 { "" } else { "s" }))
}

fn show_phase(plan: &ThinkPlan, phase: &ThinkPhase, out: &mut Output) -> CommandResult {
    match phase.segment {
        Some(segment) => out.line(format_args!("segment {segment} of {}", plan.day))?,
        None => out.line(format_args!("the day {}", plan.day))?,
    }
    for group in &phase.groups {
        let priority = group.priority;
        for unit in &group.units {
            let facet = unit.facet.as_ref().map(|f| format!("/{f}")).unwrap_or_default();
            let state = if unit.exists { "again" } else { "new" };
            let path = unit.output_path.as_ref().map(|path| format!(" -> {}", path.display()));
            let (talent, kind) = (&unit.talent, unit.kind);
            let path = path.unwrap_or_default();
            out.line(format_args!("  {priority:>3}  {talent}{facet}  {kind}, {state}{path}"))?;
        }
        for skip in &group.skipped {
            let facet = skip.facet.as_ref().map(|f| format!("/{f}")).unwrap_or_default();
            let (talent, reason) = (&skip.talent, skip.reason);
            out.line(format_args!("  {priority:>3}  {talent}{facet}  left out: {reason}"))?;
        }
        for talent in &group.later {
            out.line(format_args!(
                "  {priority:>3}  {talent}  for the facets that the facets talent will find"
            ))?;
        }
    }
    Ok(())
}

fn show_report(report: &ThinkReport, out: &mut Output) -> CommandResult {
    for problem in &report.problems {
        out.say(format_args!("warning: {}", plain(problem)));
    }
    if out.is_json() {
        return out.object(report);
    }
    for unit in &report.units {
        let state = match unit.state {
            UnitState::Finished => "finished",
            UnitState::Skipped => "skipped",
            UnitState::Failed => "failed",
            UnitState::TimedOut => "timed out",
            UnitState::NotStarted => "not started",
            UnitState::Cancelled => "cancelled",
        };
        let part = unit.segment.as_deref().unwrap_or("day");
        let path = unit.output_path.as_ref().map(|path| format!(" -> {path}")).unwrap_or_default();
        out.line(format_args!("{state:<11}  {part}  {}{path}", plain(&unit.label())))?;
    }
    let done = report.skipped.iter().filter(|skip| skip.reason == "already_complete").count();
    if done > 0 {
        out.say(format_args!("{done} outputs are there already; --refresh writes them anew"));
    }
    let skipped = report.units.iter().filter(|unit| unit.state == UnitState::Skipped).count();
    out.line(format_args!(
        "{} finished, {} failed, {} left out, {:.1} s",
        report.finished(),
        report.failed().count(),
        report.skipped.len() + skipped,
        report.seconds,
    ))
}
