//! What `cortex doctor` says of the hands: the logs of runs, what holds them in, the files of talents, the providers,
//! the work of days.
//!
//! What must stay true: it asks no provider anything and shows no key; a home that uses no talents has nothing to mend
//! here.

use std::collections::BTreeSet;

use api::{Error, Result};
use client::place::DaemonPlace;
use daemon::talents_host::TalentContext;
use daemon::talents_host::settings::unused;
use host::confinement::exec_settings;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use runs::runner::RunnerSettings;
use runs::runner::log::doctor::LogFinding;
use service::config::Config;
use service::{Environment as _, SystemEnvironment};
use talents::confine::{self, ConfineMode};
use talents::supervisor::{Calendar, ScheduleState, SupervisorSettings};
use talents::{Day, Layout};

use crate::commands::setup::doctor::DoctorReport;
use crate::process::own_environment;
use talent_commands::talent::doctor::look;

/// Findings of one kind that are named.
const NAMED_MAX: usize = 3;

/// Reads what the settings say of the mind, by the code that the mind reads them with.
pub(super) fn judge_mind(config: &Config) -> service::Result<()> {
    host::mind_host::read_settings(config).map(drop)
}

pub(super) fn examine(place: &DaemonPlace, config: &Config, report: &mut DoctorReport) {
    runs(place, report);
    confinement(config, report);
    match TalentContext::open(&place.home, config, own_environment()) {
        Ok(hands) => {
            talents(&hands, report);
            providers(&hands, report);
            schedule(&hands, config, report);
        }
        Err(error) => report.refused("providers", &error),
    }
}

fn runs(place: &DaemonPlace, report: &mut DoctorReport) {
    let (count, findings) = match look(place) {
        Ok(found) => found,
        Err(failure) => return report.fail("runs", failure.to_string(), failure.hint()),
    };
    if findings.is_empty() {
        return report.ok("runs", format!("{count} runs have ended, all logs are sound"));
    }
    let codes: BTreeSet<&str> = findings.iter().map(|finding| finding.code).collect();
    for code in codes {
        let same: Vec<&LogFinding> =
            findings.iter().filter(|finding| finding.code == code).collect();
        let named: Vec<&str> =
            same.iter().take(NAMED_MAX).filter_map(|finding| finding.run.as_deref()).collect();
        let more = if same.len() > NAMED_MAX { ", …" } else { "" };
        let named =
            if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) };
        let says = format!("{} ({code}, {} times{named}{more})", same[0].text, same.len());
        match code {
            // Whoever owned them is gone; a daemon that starts ends them.
            "orphan_active" => report.warn("runs", says, "`cortex serve` ends them"),
            "not_in_index" | "index_without_log" | "index_bad_lines" => {
                let remedy = "`cortex talent doctor --rebuild` makes the index anew";
                report.fail("runs", says, Some(remedy.to_owned()));
            }
            _ => {
                let remedy = "`cortex talent doctor` names all of them; move those files away";
                report.fail("runs", says, Some(remedy.to_owned()));
            }
        }
    }
}

/// What holds a run in on this system, and whether the settings ask for more.
fn confinement(config: &Config, report: &mut DoctorReport) {
    let settings = match exec_settings(config) {
        Ok(settings) => settings,
        Err(error) => return report.refused("confinement", &error),
    };
    let there = confine::available();
    match settings.confine {
        ConfineMode::Off => {
            let remedy = "`confine = \"try\"` in [exec] of cortex.toml switches it on";
            report.warn("confinement", "runs are not confined: exec.confine is \"off\"", remedy);
        }
        ConfineMode::Require if !there.is_enough() => {
            let remedy = "a kernel with Landlock (Linux 5.13 or later), or exec.confine = \"try\"";
            let says =
                "no run can begin: exec.confine is \"require\" and this system has no Landlock";
            report.fail("confinement", says.to_owned(), Some(remedy.to_owned()));
        }
        ConfineMode::Try if !there.is_enough() => {
            let remedy = "Linux 5.13 or later has Landlock; exec.confine = \"require\" refuses runs without it";
            report.warn(
                "confinement",
                "runs are not confined: this system has no Landlock",
                remedy,
            );
        }
        ConfineMode::Try | ConfineMode::Require => {
            report.ok(
                "confinement",
                format!("runs are confined by Landlock: {there}; and by limits"),
            );
        }
    }
}

fn talents(hands: &TalentContext, report: &mut DoctorReport) {
    let problems = hands.catalog.problems();
    for problem in problems {
        let says = problem.to_string();
        let remedy = "correct the file; `cortex talent check` tells all";
        if problem.is_error() {
            report.fail("talents", says, Some(remedy.to_owned()));
        } else {
            report.warn("talents", says, remedy);
        }
    }
    if problems.is_empty() {
        report.ok("talents", format!("{} can be used", hands.catalog.all().count()));
    }
}

fn providers(hands: &TalentContext, report: &mut DoctorReport) {
    let notes = match unused(&hands.layout) {
        Ok(notes) => notes,
        Err(error) => {
            let remedy = "correct the file; until then no model is asked".to_owned();
            return report.fail("providers", error.message, Some(remedy));
        }
    };
    let named = hands.providers();
    for provider in &named {
        match &provider.problem {
            None => report.ok("providers", format!("{} can be asked", provider.name)),
            Some(why) => {
                let remedy = "set the key where the daemon sees it, or name another provider";
                report.warn("providers", why.clone(), remedy);
            }
        }
    }
    if named.is_empty() {
        report.ok("providers", "none is set up; talents need one, the memory does not");
    }
    for note in notes {
        report.warn("providers", note, "docs/configuration.md has the keys there are");
    }
}

fn schedule(hands: &TalentContext, config: &Config, report: &mut DoctorReport) {
    let path = hands.layout.schedule();
    let aside = path.with_extension("json.unreadable");
    if aside.exists() {
        let says = format!("{} could not be read and was put aside", aside.display());
        report.warn("schedule", says, "look which days it had done, then remove it");
    }
    let state = match read(&hands.layout) {
        Ok(Some(state)) => state,
        Ok(None) => return report.ok("schedule", "no day has been worked on yet"),
        Err(error) => return report.refused("schedule", &error),
    };
    let mut waiting = 0;
    for (day, record) in state.waiting() {
        waiting += 1;
        if waiting <= NAMED_MAX {
            let why = record.error.as_deref().unwrap_or("it failed");
            let tries = match record.attempts {
                1 => "1 try".to_owned(),
                tries => format!("{tries} tries"),
            };
            let says = format!("{day} is not done after {tries}: {why}");
            let tries = format!(
                "the model did not answer as it was asked to, so it rests until the day's data or the model changes; \
                 `cortex think --day {day}` tries now"
            );
            let remedy = "it is tried again while the daemon runs, at once when a provider or the budget is back; \
                          `cortex talent log` shows the runs";
            report.warn("schedule", says, if record.rests { tries.as_str() } else { remedy });
        }
    }
    if waiting > NAMED_MAX {
        let says = format!("{} more days are not done", waiting - NAMED_MAX);
        report.warn("schedule", says, "`cortex supervisor status` shows all of them");
    }
    if !state.left_out.is_empty() {
        let named: Vec<&str> =
            state.left_out.keys().rev().take(NAMED_MAX).map(String::as_str).collect();
        let more = if state.left_out.len() > NAMED_MAX { ", …" } else { "" };
        let says =
            format!("{} days were left out: {}{more}", state.left_out.len(), named.join(", "));
        report.warn("schedule", says, "`cortex think --day DAY` does one of them");
    }
    let missing = match missing(hands, config, &state) {
        Ok(missing) => missing,
        Err(error) => return report.refused("schedule", &error),
    };
    if let (Some(first), true) = (missing.first(), hands.can_think()) {
        let says = match missing.len() {
            1 => format!("{first} waits for its work"),
            count => format!("{count} days wait for their work, from {first} on"),
        };
        report.warn(
            "schedule",
            says,
            "`cortex serve` does it; `cortex supervisor status` shows how far",
        );
    } else if waiting == 0 {
        let done = state.done_until().unwrap_or("-");
        report.ok("schedule", format!("days are done until {done}"));
    }
}

fn read(layout: &Layout) -> Result<Option<ScheduleState>> {
    let path = layout.schedule();
    let wrong = |why: String| Error::invalid("schedule", format!("{}: {why}", path.display()));
    match std::fs::read(&path) {
        Ok(bytes) => ScheduleState::read(&bytes).map(Some).map_err(wrong),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// Days that are over, have something in them and were never worked on.
fn missing(hands: &TalentContext, config: &Config, state: &ScheduleState) -> Result<Vec<Day>> {
    let runner: RunnerSettings = config.section("runner", &[])?;
    let supervisor: SupervisorSettings = config.section("supervisor", &[])?;
    let name = if supervisor.zone.is_empty() { runner.zone } else { supervisor.zone };
    let zone = if name.is_empty() {
        TimeZone::system()
    } else {
        TimeZone::get(&name).map_err(|_| {
            Error::invalid("schedule", format!("the time zone {name:?} is not known"))
        })?
    };
    let Some(since) = state.since.as_deref().and_then(|day| Day::parse(day).ok()) else {
        return Ok(Vec::new());
    };
    let now = Timestamp::from_millisecond(SystemEnvironment.now()?.0)
        .map_err(|error| Error::internal(format!("the clock: {error}")))?;
    let calendar = Calendar { zone, catch_up_days_max: supervisor.catch_up_days_max };
    let today = calendar.today(now);
    let all = talents::chronicle::days(&hands.layout)
        .map_err(|error| Error::internal(error.to_string()))?;
    let is_missing = |day: &Day| {
        let name = day.to_string();
        let known = state.days.contains_key(&name) || state.left_out.contains_key(&name);
        *day >= since && *day < today && !known
    };
    Ok(all.into_iter().filter(is_missing).collect())
}
