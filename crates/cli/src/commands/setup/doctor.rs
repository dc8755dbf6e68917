//! `cortex doctor`: looks at everything that has to be right, and says what to do where it is not.
//!
//! What must stay true: it changes no memory, makes no home, and works where nothing else does.

mod hands;
mod past;

use std::path::Path;
use std::sync::Arc;

use agent_sessions::AgentSessions;
use api::ErrorCode;
use api::health::{ActorHealth, HealthAnswer, HealthRequest};

use api::past::PastStateRequest;
use api::upkeep::StoreProblem;
use clap::Args;
use client::connection::DaemonClient;
use client::place::DaemonPlace;
use embed::settings::EmbedderChoice;
use serde::Serialize;
use service::Service;
use service::config::{self, Config};
use service::embedders::{ChosenEmbedder, EmbedError};
use service::safekeeping::newest_backup;

use crate::commands::service::serve::{self, HomeAccess};
use crate::commands::setup::agent_setup;
use crate::commands::setup::version::BuildInfo;
use crate::failure::{CommandResult, Failure};
use crate::invocation::{CommandEnv, GlobalArgs, caller, home_folder, told_of_renewals, wait};
use crate::output::{Output, plain};

/// Checks the home, the daemon, the stores, the talents and their runs, the model, the settings and the agents, and
/// says what to do.
///
/// It looks at the newest part of each store; `cortex verify` checks every byte. Exit code 1 if something fails; a
/// warning is no failure.
///
/// JSON: {ok, checks: [{check, state, says, remedy}]}, state is ok, warn or fail
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex doctor
  cortex doctor --json")]
pub(crate) struct DoctorArgs {}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Ok,
    Warn,
    Fail,
}

#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    state: State,
    says: String,
    /// What to do. Nothing if all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

#[derive(Debug, Serialize)]
struct DoctorReport {
    ok: bool,
    checks: Vec<Finding>,
}

impl DoctorReport {
    fn ok(&mut self, check: &'static str, says: impl Into<String>) {
        self.checks.push(Finding { check, state: State::Ok, says: says.into(), remedy: None });
    }

    fn warn(&mut self, check: &'static str, says: impl Into<String>, remedy: &str) {
        let remedy = Some(remedy.to_owned());
        self.checks.push(Finding { check, state: State::Warn, says: says.into(), remedy });
    }

    fn fail(&mut self, check: &'static str, says: impl Into<String>, remedy: Option<String>) {
        self.ok = false;
        self.checks.push(Finding { check, state: State::Fail, says: says.into(), remedy });
    }

    fn refused(&mut self, check: &'static str, error: &api::Error) {
        self.fail(check, error.message.clone(), error.hint.clone());
    }
}

pub(crate) fn run(
    _: &DoctorArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let mut report = DoctorReport { ok: true, checks: Vec::new() };
    report.ok("program", BuildInfo::of_this_program().line());
    let folder = home_folder(globals, &env.variables, &env.cwd)?;
    // The same code that the program judges them by: what `cortex mind` refuses is not right.
    let judged = config::load(&folder, &env.variables).and_then(|config| {
        hands::judge_mind(&config)?;
        Ok(config)
    });
    let config = match judged {
        Ok(config) => {
            let path = config::path(&folder, &env.variables);
            let state = if path.exists() { "is right" } else { "is not there; defaults hold" };
            report.ok("settings", format!("{} {state}", path.display()));
            Some(config)
        }
        Err(error) => {
            let remedy = "correct the file or the variable; `cortex config check` says the same";
            report.fail("settings", error.to_string(), Some(remedy.to_owned()));
            None
        }
    };
    let place = DaemonPlace::new(&folder).waiting(wait(globals));
    if home(&place, &mut report) {
        stores(globals, env, &place, config.as_ref(), &mut report)?;
        if let Some(config) = &config {
            let caller = caller(globals, &env.variables, &env.cwd, None)?;
            backups(config, caller.now()?.get(), &mut report);
            hands::examine(&place, config, &mut report);
        }
    }
    if let Some(config) = &config {
        model(config, &folder, &mut report);
    }
    agents(&mut report);
    show(&report, out)
}

/// True if there is a home to look into.
fn home(place: &DaemonPlace, report: &mut DoctorReport) -> bool {
    let shown = place.home.display();
    match std::fs::metadata(&place.home) {
        Ok(about) if !about.is_dir() => {
            report.fail("home", format!("{shown} is no folder"), Some("give --home DIR".into()));
            return false;
        }
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let remedy = "nothing to do: the first `cortex save` makes it";
            report.warn("home", format!("{shown} is not there yet"), remedy);
            return false;
        }
        Err(error) => {
            report.fail("home", format!("{shown}: {error}"), Some("give --home DIR".into()));
            return false;
        }
    }
    // The lock file is opened for writing by every command that changes something.
    match place.prepare().and_then(|()| writable(&place.home)) {
        Ok(()) => report.ok("home", format!("{shown} can be written to")),
        Err(error) => {
            let remedy = "give the folder back to yourself, or make room on the disk";
            report.fail("home", error.message, Some(remedy.to_owned()));
        }
    }
    true
}

fn writable(folder: &Path) -> api::Result<()> {
    let probe = folder.join("run").join(format!("doctor-{}", std::process::id()));
    let written = std::fs::write(&probe, b"written by cortex doctor\n");
    let removed = std::fs::remove_file(&probe);
    written.and(removed).map_err(|error| {
        let message = format!("{}: {error}", folder.display());
        api::Error::new(ErrorCode::Io, api::Fault::Server, message)
    })
}

/// The daemon, and through it or without it every actor's store.
fn stores(
    globals: &GlobalArgs,
    env: &CommandEnv,
    place: &DaemonPlace,
    config: Option<&Config>,
    report: &mut DoctorReport,
) -> CommandResult {
    let folder = place.home.as_path();
    let caller = caller(globals, &env.variables, &env.cwd, None)?;
    let answer = match serve::enter(folder, wait(globals)) {
        Ok(HomeAccess::Served(mut client)) => {
            daemon(&client, report);
            if past::is_there(folder) {
                past::examine(client.ask(&caller.info(), PastStateRequest {}), report);
            }
            client.ask(&caller.info(), HealthRequest {})
        }
        Ok(HomeAccess::Free(_lock)) => {
            if place.socket().exists() {
                let remedy = "nothing to do: the next daemon takes it over";
                let says = "none runs, but one that was killed left its socket";
                report.warn("daemon", says, remedy);
            } else {
                report.ok("daemon", "none runs; agents start one when they need it");
            }
            let settings = config.map(Config::settings).unwrap_or_default();
            let service = Service::new(folder, settings, wait(globals));
            let service = Arc::new(service.telling(told_of_renewals(env.talk.clone())));
            if past::is_there(folder) {
                let agents = AgentSessions::new(Arc::clone(&service));
                let state = agents.past_state(&caller, PastStateRequest {});
                past::examine(state.map_err(api::Error::from), report);
            }
            let answer = service.health(&caller, HealthRequest {});
            service.close(caller.now()?)?;
            answer.map_err(api::Error::from)
        }
        Err(failure) => {
            report.fail("daemon", failure.to_string(), failure.hint());
            return Ok(());
        }
    };
    match answer {
        Ok(HealthAnswer { actors }) if actors.is_empty() => {
            report.ok("store", "no memory yet");
        }
        Ok(HealthAnswer { actors }) => actors.iter().for_each(|actor| store(actor, report)),
        Err(error) => report.refused("store", &error),
    }
    Ok(())
}

fn daemon(client: &DaemonClient, report: &mut DoctorReport) {
    let welcome = client.welcome();
    let says = format!("process {} of version {} serves this home", welcome.pid, welcome.version);
    if welcome.version == env!("CARGO_PKG_VERSION") {
        report.ok("daemon", says);
    } else {
        report.warn("daemon", says, "`cortex stop` ends it; the next command starts the new one");
    }
}

fn store(health: &ActorHealth, report: &mut DoctorReport) {
    let ActorHealth { actor, memories, entries, file_bytes, .. } = health;
    match &health.problem {
        None => report.ok(
            "store",
            format!("{actor}: {memories} memories, {entries} entries, {file_bytes} bytes"),
        ),
        Some(error) => {
            let says = format!("{actor}: {}", error.message);
            report.fail("store", says, error.hint.clone());
        }
    }
    kept_safe(health, report);
    if let Some(error) = &health.projects_problem {
        report.fail("projects", format!("{actor}: {}", error.message), error.hint.clone());
    }
    for apart in &health.projects_apart {
        report.ok("projects", format!("{actor}: {apart} are repositories of one name, kept apart"));
    }
}

/// Damage, erased bytes that are still there, wrong clocks, and the last read of the ledger.
fn kept_safe(health: &ActorHealth, report: &mut DoctorReport) {
    const NAMED_MAX: usize = 5;
    let actor = &health.actor;
    let mut damaged = |check, problems: &[StoreProblem], remedy: &str| {
        let named = problems.iter().take(NAMED_MAX);
        let named: Vec<_> =
            named.map(|p| format!("{}: {}", plain(&p.place), plain(&p.reason))).collect();
        let more = problems.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        report.fail(check, format!("{actor}: {}{more}", named.join("; ")), Some(remedy.to_owned()));
    };
    if !health.damage.is_empty() {
        let remedy = "everything else is served; `cortex verify` names all of it, `cortex salvage DIR` copies what is \
                      sound, `cortex restore` brings back a backup";
        damaged("damage", &health.damage, remedy);
    }
    match &health.checked {
        Some(check) if !check.problems.is_empty() => {
            damaged(
                "ledger",
                &check.problems,
                "`cortex verify` looks again; `cortex salvage DIR` copies what is sound",
            );
        }
        Some(check) => {
            report.ok(
                "ledger",
                format!("{actor}: {} entries read and sound on {}", check.entries, check.at),
            );
        }
        None => {}
    }
    if let Some(reason) = &health.scrub {
        let says = format!("{actor}: what was erased is gone; old copies in the index are not yet");
        let remedy = if reason.is_empty() {
            "nothing to do: they are being removed"
        } else {
            reason.as_str()
        };
        report.warn("erased", says, remedy);
    }
    for jump in &health.clock_jumps {
        let says = format!(
            "{actor}: the clock was set back before entry {}, from {} to {}",
            jump.seq, jump.from, jump.to
        );
        report.warn(
            "clock",
            says,
            "nothing to do: order is the journal's; dates around it may be wrong",
        );
    }
    if let Some(ahead) = &health.ahead {
        let says = format!("{actor}: the last entry is dated {ahead}, which has not come yet");
        report.warn("clock", says, "set the clock right; later entries follow it again");
    }
}

/// Backups by schedule: whether the newest is as old as it may be.
fn backups(config: &Config, now_ms: i64, report: &mut DoctorReport) {
    const HOUR_MS: i64 = 3_600_000;
    let Some(plan) = config.safety_plan().backup else { return };
    let folder = plan.folder.display();
    let remedy =
        "a running daemon makes them; `cortex backup DIR` makes one now, and says what is wrong";
    match newest_backup(&plan.folder) {
        Err(error) => report.fail("backup", error.to_string(), Some(remedy.to_owned())),
        Ok(None) => report.warn("backup", format!("{folder} has none yet"), remedy),
        Ok(Some(at)) if now_ms - at.get() > 2 * HOUR_MS * plan.every_hours => {
            report.warn(
                "backup",
                format!("the last one in {folder} is of {}", at.rfc3339()),
                remedy,
            );
        }
        Ok(Some(at)) => report.ok("backup", format!("{folder}, of {}", at.rfc3339())),
    }
}

fn model(config: &Config, folder: &Path, report: &mut DoctorReport) {
    let choice = match service::embedders::choice(config) {
        Ok(choice) => choice,
        Err(error) => {
            let failure = Failure::from(EmbedError::from(error));
            report.fail("model", failure.to_string(), failure.hint());
            return;
        }
    };
    if choice == EmbedderChoice::Static {
        return report.ok("model", "the built-in one");
    }
    match ChosenEmbedder::open(&choice, folder, &crate::process::own_variable) {
        Ok(Some(chosen)) => report.ok("model", chosen.model().to_owned()),
        Ok(None) => report.ok("model", "the built-in one"),
        Err(error) => {
            let failure = Failure::from(error);
            report.fail("model", failure.to_string(), failure.hint());
        }
    }
}

fn agents(report: &mut DoctorReport) {
    let states = match agent_setup::all_states() {
        Ok(states) => states,
        Err(failure) => return report.fail("agents", failure.to_string(), failure.hint()),
    };
    let mut known = 0;
    for state in &states {
        let says = format!("{}: {}", state.agent, agent_setup::words(state));
        let again = format!("`cortex setup {}` writes it anew", state.agent);
        if let Some(problem) = &state.problem {
            let remedy = "correct the file; Cortex leaves it alone until then";
            report.fail("agents", format!("{}: {problem}", state.agent), Some(remedy.to_owned()));
        } else if !state.configured {
            if state.installed {
                let remedy = format!("`cortex setup {}` connects it", state.agent);
                report.warn("agents", says, &remedy);
            }
            continue;
        } else if state.healthy == Some(false) {
            report.fail("agents", says, Some(again));
        } else if !state.complete {
            report.warn("agents", says, &again);
        } else {
            report.ok("agents", says);
        }
        known += 1;
    }
    if known == 0 && states.iter().all(|state| !state.installed) {
        let remedy = "`cortex setup AGENT` connects one; `cortex setup --list` shows which";
        report.warn("agents", "none knows Cortex", remedy);
    }
}

fn show(report: &DoctorReport, out: &mut Output) -> CommandResult {
    if out.is_json() {
        out.object(report)?;
    } else {
        for Finding { check, state, says, remedy } in &report.checks {
            let mark = match state {
                State::Ok => "ok",
                State::Warn => "warn",
                State::Fail => "FAIL",
            };
            out.line(format_args!("{mark:<5} {check:<9} {}", plain(says)))?;
            if let Some(remedy) = remedy {
                out.line(format_args!("{:<16}{}", "", plain(remedy)))?;
            }
        }
    }
    if report.ok {
        return Ok(());
    }
    let failed = report.checks.iter().filter(|check| check.state == State::Fail).count();
    Err(Failure::Check { code: "unwell", message: format!("{failed} checks failed") })
}
