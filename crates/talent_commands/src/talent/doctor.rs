//! `cortex talent doctor`: what is wrong with the logs of runs.

use std::collections::BTreeSet;

use ::runs::runner::log::doctor::{LogFinding, examine};
use ::runs::runner::log::index::RunIndex;
use ::talents::{Layout, UseId};
use api::{Error, ErrorCode, Fault};
use clap::Args;
use client::connection::DaemonClient;
use client::place::DaemonPlace;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use service::{Environment as _, SystemEnvironment};

use crate::bus::place;
use command_line::failure::{CommandResult, Failure};
use command_line::invocation::{CommandEnv, GlobalArgs};
use command_line::output::{Output, plain};

/// Checks the logs of all runs: none without an end, none torn, none missing in the index.
///
/// Exit code 1 if something is wrong. JSON: {ok, runs, findings: [{code, run, name, text}]}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex talent doctor
  cortex talent doctor --rebuild")]
pub(super) struct DoctorArgs {
    /// Make the index anew from the logs first; the daemon must not run
    #[arg(long)]
    rebuild: bool,
}

pub(super) fn run(
    args: &DoctorArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let place = place(globals, env)?;
    if args.rebuild {
        rebuild(&place)?;
    }
    let (runs, findings) = look(&place)?;
    let ok = findings.is_empty();
    if out.is_json() {
        out.object(&json!({"ok": ok, "runs": runs, "findings": findings}))?;
    } else {
        for finding in &findings {
            let run = finding.run.as_deref().unwrap_or("-");
            out.line(format_args!("{:<18} {run:<14} {}", finding.code, plain(&finding.text)))?;
        }
    }
    if ok {
        out.say(format_args!("{runs} runs, all sound"));
        return Ok(());
    }
    let message = format!("{} things are wrong with the logs of runs", findings.len());
    Err(Failure::Check { code: "run_logs", message })
}

/// How many runs have ended, and what is wrong.
pub fn look(place: &DaemonPlace) -> CommandResult<(usize, Vec<LogFinding>)> {
    let layout = Layout::new(&place.home);
    let unread = |error| Failure::Io { what: layout.runs().display().to_string(), error };
    let began = SystemEnvironment.now()?.0;
    let status = DaemonClient::connect(place)?.map(|mut client| client.status()).transpose()?;
    let before = status.as_ref().map(live).unwrap_or_default();
    let index = RunIndex::open(&layout, TimeZone::system()).map_err(unread)?;
    let findings = examine(&layout, &index, &before).map_err(unread)?;
    // A run that went on or began while its log was looked at looks wrong and is not.
    let settled = |finding: &LogFinding| {
        finding.run.as_deref().is_none_or(|run| {
            run.parse::<i64>().is_ok_and(|id| id < began)
                && !before.iter().any(|live| live.as_str() == run)
        })
    };
    Ok((index.len(), findings.into_iter().filter(settled).collect()))
}

fn live(status: &Value) -> BTreeSet<UseId> {
    let runs = ["running", "queued"].map(|key| status["hands"][key].as_array());
    let runs = runs.into_iter().flatten().flatten();
    runs.filter_map(|run| UseId::parse(run["use_id"].as_str()?).ok()).collect()
}

fn rebuild(place: &DaemonPlace) -> CommandResult {
    let layout = Layout::new(&place.home);
    let unwritten = |error| Failure::Io { what: layout.runs().display().to_string(), error };
    let Some(_lock) = place.share()? else {
        return Err(Error::new(ErrorCode::Served, Fault::Busy, "the daemon keeps the index")
            .with_hint("`cortex stop` ends it; then try again")
            .into());
    };
    let mut index = RunIndex::open(&layout, TimeZone::system()).map_err(unwritten)?;
    index.rebuild().map(drop).map_err(unwritten)
}
