//! `cortex talent log`: runs from the index, or the events of one run from its log. Needs no daemon.

use ::runs::runner::log::index::RunIndex;
use ::runs::runner::log::read;
use ::talents::bus::{BusConnection, BusFilter};
use ::talents::{Layout, TalentName, UseId};
use api::Error;
use api::run::{RunEvent, RunEventKind, RunQuery, RunRecord};
use clap::Args;
use daemon::talents_host::event_summary::summary;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::bus::{Interrupt, follow, place, runtime};
use command_line::failure::{CommandResult, Failure};
use command_line::invocation::{CommandEnv, GlobalArgs};
use command_line::output::{Output, plain};

/// Shows runs, the newest first, or the events of one run.
///
/// JSON: {live: [{use_id, name}], runs: [{use_id, name, day, status, reason, runtime_ms, …}], total}; of one run its
/// events, one per line, as they stand in the log
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex talent log
  cortex talent log daily_brief --limit 3
  cortex talent log 1768464000123 --follow")]
pub(super) struct LogArgs {
    /// A talent's name, or the id of a run
    which: Option<String>,
    /// How many runs, at most 100
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Runs of this day, YYYYMMDD
    #[arg(long, value_name = "DAY")]
    day: Option<String>,
    /// Runs of this conversation
    #[arg(long, value_name = "ID")]
    chat: Option<String>,
    /// Of a run that goes on: show events as they come, to its end
    #[arg(long)]
    follow: bool,
}

pub(super) fn run(
    args: &LogArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let place = place(globals, env)?;
    let layout = Layout::new(&place.home);
    let unread = |error| Failure::Io { what: layout.runs().display().to_string(), error };
    let run = args.which.as_deref().and_then(|which| UseId::parse(which).ok());
    let Some(run) = run else {
        return list(args, &layout, out);
    };
    let found = read::find(&layout, &run).map_err(unread)?;
    let Some(found) = found else { return Err(Error::missing("run", &run).into()) };
    if found.active && args.follow {
        return runtime()?.block_on(async {
            let line = BusConnection::connect(&place.callosum(), "cli", &BusFilter::none()).await?;
            follow(&place, line, &run, Interrupt::Leaves, out, show).await.map(drop)
        });
    }
    let log = match read::read(&found.path) {
        // It got its other name between the look and the opening.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            read::read(&layout.ended_run(&found.name, &run))
        }
        log => log,
    };
    let log = log.map_err(unread)?;
    for event in &log.events {
        show(event, out)?;
    }
    if log.bad_lines > 0 || log.torn_bytes > 0 {
        out.say("some lines of this log cannot be read; `cortex talent doctor` says which");
    }
    Ok(())
}

/// What a run took, if a model was asked.
fn spent(row: &RunRecord) -> String {
    match tokens_and_cost(row.usage.as_ref(), row.cost) {
        spent if spent.is_empty() => spent,
        spent => format!("  {spent}"),
    }
}

fn tokens_and_cost(usage: Option<&Value>, cost: Option<f64>) -> String {
    let count = |key: &str| usage.and_then(|usage| usage[key].as_u64()).unwrap_or(0);
    let tokens = count("total_tokens").max(count("input_tokens") + count("output_tokens"));
    match (tokens, cost) {
        (0, _) => String::new(),
        (_, None) => format!("{tokens} tokens"),
        (_, Some(dollars)) => format!("{tokens} tokens, ${dollars:.4}"),
    }
}

/// What a request without words is about.
fn of_day(event: &RunEvent) -> String {
    let parts = ["day", "segment", "facet"].map(|key| (key, event.text(key).unwrap_or_default()));
    let parts: Vec<String> = parts
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| format!("{key} {value}"))
        .collect();
    parts.join(", ")
}

fn list(args: &LogArgs, layout: &Layout, out: &mut Output) -> CommandResult {
    let unread = |error| Failure::Io { what: layout.runs().display().to_string(), error };
    let name = args.which.as_deref().map(TalentName::parse).transpose();
    let name = name.map_err(|error| Failure::input(error.to_string()))?;
    let index = RunIndex::open(layout, TimeZone::system()).map_err(unread)?;
    let query = RunQuery {
        name: name.as_ref().map(ToString::to_string),
        day: args.day.clone(),
        chat_id: args.chat.clone(),
        limit: args.limit.clamp(1, 100),
        ..RunQuery::default()
    };
    let (runs, total) = index.page(&query);
    let mut live = Vec::new();
    for talent in read::talents(layout).map_err(unread)? {
        if name.as_ref().is_none_or(|name| *name == talent) {
            let active = read::runs(layout, &talent).map_err(unread)?;
            let active = active.into_iter().filter(|(_, found)| found.active);
            live.extend(active.map(|(run, _)| (run, talent.clone())));
        }
    }
    if out.is_json() {
        let live: Vec<Value> = live
            .iter()
            .map(|(run, name)| json!({"use_id": run.as_str(), "name": name.as_str()}))
            .collect();
        return out.object(&json!({"live": live, "runs": runs, "total": total}));
    }
    for (run, name) in &live {
        out.line(format_args!("{run:<14} {}  {name:<20} goes on", clock(run.as_str())))?;
    }
    for row in &runs {
        let how = match (&row.skipped, &row.error_message) {
            (Some(why), _) => format!("skipped: {}", super::run::skipped(why)),
            (None, Some(why)) => format!("failed: {why}"),
            (None, None) => "finished".to_owned(),
        };
        let facet = row.facet.as_ref().map(|facet| format!("/{facet}")).unwrap_or_default();
        let seconds = std::time::Duration::from_millis(row.runtime_ms).as_secs_f64();
        out.line(format_args!(
            "{:<14} {}  {:<20} {seconds:>7.1} s  {}{}",
            row.use_id,
            clock(&row.use_id),
            format!("{}{facet}", row.name),
            plain(&how),
            spent(row)
        ))?;
    }
    if live.is_empty() && runs.is_empty() {
        out.say("no runs yet");
    } else if total > runs.len() {
        out.say(format_args!("{} of {total} runs; --limit shows more", runs.len()));
    }
    Ok(())
}

/// When a run was asked for, from its id.
fn clock(run: &str) -> String {
    let at = run.parse().ok().and_then(|millis| Timestamp::from_millisecond(millis).ok());
    at.map_or_else(String::new, |at| {
        at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
    })
}

fn show(event: &RunEvent, out: &mut Output) -> CommandResult {
    if out.is_json() {
        out.object(event)?;
        return out.flush();
    }
    if event.kind() == RunEventKind::TextDelta {
        // Pieces of a text that comes whole in the end.
        return Ok(());
    }
    let text = |key: &str| event.text(key).unwrap_or_default();
    let at = event.get("ts").and_then(Value::as_i64).unwrap_or_default();
    let at = Timestamp::from_millisecond(at).unwrap_or_default().to_zoned(TimeZone::system());
    let says = summary(event).unwrap_or_else(|| match event.kind() {
        RunEventKind::Request => match text("prompt") {
            "" => of_day(event),
            prompt => prompt.to_owned(),
        },
        RunEventKind::Usage => {
            tokens_and_cost(event.get("usage"), event.get("cost").and_then(Value::as_f64))
        }
        RunEventKind::Finish => text("result").to_owned(),
        RunEventKind::Error => format!("{} {}", text("error"), text("reason")),
        _ => String::new(),
    });
    let says: String = plain(&says).chars().take(200).collect();
    out.line(format_args!("{} {:<12} {says}", at.strftime("%H:%M:%S"), event.name()))?;
    out.flush()
}
