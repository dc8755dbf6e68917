//! `cortex serve`, `status` and `stop`: the daemon, and how commands find it.

use crate::logging::LogFormat;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use api::{Error, ErrorCode, Fault};
use clap::Args;
use client::connection::DaemonClient;
use client::place::DaemonPlace;
use client::protocol::CommandLine;
use client::start::StartReport;
use daemon::cluster_settings;
use daemon::server::command::CommandContext;
use daemon::server::owner::OwnerKeys;
use daemon::server::{self, ServeOptions, ServeOutcome};
use daemon::talents_host::TalentsSettings;
use runs::runner::TalentProgram;
use serde_json::{Value, json};
use service::config::{self, Config};
use talents::supervisor::end_with_supervisor;

use crate::failure::{CommandResult, Failure};
use crate::invocation::{CommandEnv, GlobalArgs, home_folder};
use crate::output::Output;
use crate::process;

/// Between two looks at whether another daemon has ended.
const LOOK: Duration = Duration::from_secs(1);

/// Runs the daemon of this home in the foreground, until it is interrupted.
///
/// Serves HTTP too: http://127.0.0.1:7438, or the port that CORTEX_PORT names. If another program has the port, the
/// daemon says so and serves its socket alone.
///
/// Agents and hooks start one in the background by themselves; it ends when nobody is connected for a while. While a
/// daemon runs, every command is answered by it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex serve
  cortex --home /srv/cortex serve
  CORTEX_PORT=8080 cortex serve
  cortex serve --ledger postgres://cortex@db/cortex")]
pub(crate) struct ServeArgs {
    /// Be a node of a cluster: the memories are in this PostgreSQL database, made by `cortex ledger init`
    /// [env: CORTEX_LEDGER_URL]
    #[arg(long, value_name = "URL")]
    ledger: Option<String>,
    // For agents and hooks: say when ready, end when idle.
    #[arg(long, hide = true)]
    background: bool,
    // For the supervisor: waits until the home is free, ends when standard input does.
    #[arg(long, hide = true, conflicts_with = "background")]
    supervised: bool,
    // For tests: end after this long without a connection.
    #[arg(long, hide = true, value_name = "SECONDS")]
    idle: Option<u64>,
}

/// Shows whether a daemon runs for this home. Exit code 3 if none does.
///
/// JSON: {running, pid, version, home, socket, http, http_problem, page, uptime_seconds, connections, requests,
/// open_actors, ends_when_idle_for_seconds, hands: {callosum, running, queued, ended, services, schedule, …}}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex status
  cortex status --json")]
pub(crate) struct StatusArgs {}

/// Ends the daemon of this home, when all it was asked to write is on disk.
///
/// JSON: {stopped, pid}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex stop")]
pub(crate) struct StopArgs {}

/// How a command gets at the home.
#[derive(Debug)]
pub(crate) enum HomeAccess {
    /// Nobody owns it: this process may open it, for as long as it holds this.
    Free(Option<File>),
    Served(DaemonClient),
}

/// Finds the daemon, or takes the right to do without one.
pub(crate) fn enter(folder: &Path, wait: Duration) -> CommandResult<HomeAccess> {
    let place = DaemonPlace::new(folder).waiting(wait);
    let until = Instant::now() + wait;
    loop {
        if let Some(client) = DaemonClient::connect(&place)? {
            return Ok(HomeAccess::Served(client));
        }
        match place.share() {
            Ok(Some(lock)) => return Ok(HomeAccess::Free(Some(lock))),
            // A daemon is about to be there, or about to be gone.
            Ok(None) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Ok(None) => return Err(Failure::home_busy()),
            Err(error) if error.code == ErrorCode::HomeFolder => return Err(error.into()),
            // A home that cannot be written to: opening it says why, better than we could.
            Err(_) => return Ok(HomeAccess::Free(None)),
        }
    }
}

/// Has the daemon run this very command line.
pub(crate) fn forward(mut client: DaemonClient, env: CommandContext, json: bool) -> ExitCode {
    let arguments: Option<Vec<String>> =
        std::env::args_os().skip(1).map(|argument| argument.into_string().ok()).collect();
    let CommandContext { cwd, variables, mut input, mut out, mut talk, .. } = env;
    let Some(arguments) = arguments else {
        // Nobody is left to be told when standard error is closed.
        let _ = writeln!(talk, "error: an argument is not UTF-8");
        return ExitCode::from(api::error::exit::BAD_INPUT);
    };
    let body = CommandLine {
        arguments,
        cwd,
        variables,
        input_is_terminal: env.input_is_terminal,
        talk_is_terminal: env.talk_is_terminal,
    };
    match client.run(body, &mut input, &mut out, &mut talk) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let code = error.exit_code();
            let output = Output::new(json, out, talk, env.talk_is_terminal);
            output.failure(&Failure::Operation(error));
            ExitCode::from(code)
        }
    }
}

impl ServeArgs {
    /// In the background nobody looks on: the log is for programs.
    pub(crate) fn log_format(&self) -> LogFormat {
        if self.background { LogFormat::Json } else { LogFormat::Text }
    }
}

pub(crate) fn serve(
    args: &ServeArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let outcome = serve_home(args, globals, env, out);
    if args.background
        && let Err(failure) = &outcome
    {
        // Whoever started us waits for this line.
        let error = match failure {
            Failure::Operation(error) => error.clone(),
            other => Error::new(ErrorCode::named(other.code()), Fault::Server, other.to_string()),
        };
        out.object(&StartReport::Error(error))?;
        out.flush()?;
    }
    outcome
}

fn serve_home(
    args: &ServeArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let folder = home_folder(globals, &env.variables, &env.cwd)?;
    let config = match config::load(&folder, &env.variables) {
        Ok(config) => config,
        // A typo must not switch an agent's memory off: defaults hold, and its session is told (S31).
        Err(error) if args.background => {
            tracing::warn!("{error}; defaults hold");
            Config::parse("", &config::path(&folder, &env.variables), &BTreeMap::new())?
        }
        Err(error) => return Err(error.into()),
    };
    let idle = args.background.then(|| config.idle());
    let idle = args.idle.map(Duration::from_secs).or(idle);
    let cluster = cluster_settings::options(&config, args.ledger.as_deref(), &env.variables)?;
    let http = (!args.background || config.http_in_background())
        .then(|| match &cluster {
            None => config.http(&env.variables),
            Some(_) => config.http_of_node(&env.variables),
        })
        .transpose()?;
    // What an agent started opens no port until its owner wants the page.
    let http_on_request = match &cluster {
        None if http.is_none() => config.http(&env.variables).ok(),
        _ => None,
    };
    // Callers over HTTP come and go; whoever wants them served wants a daemon that stays.
    let idle = idle.filter(|_| !args.background || http.is_none());
    let variables = env.variables.clone();
    let talents = TalentsSettings::of(&config, talent_program()?, process::own_environment())?;
    let life = ServeOptions {
        settings: config.settings(),
        variables,
        idle,
        cluster,
        http,
        http_on_request,
        talents,
        run_command: crate::run_for,
        serve_http: |parts| Box::pin(http::serve(parts)),
    };
    let place = DaemonPlace::new(&folder).waiting(crate::invocation::wait(globals));
    if args.supervised {
        end_with_supervisor()
            .map_err(|error| Failure::Io { what: "a thread".to_owned(), error })?;
    }
    let mut said: CommandResult = Ok(());
    let mut told = false;
    let served = loop {
        let ready = |web: &server::HttpState, owner: &OwnerKeys| {
            said = tell_ready(args, &place, web, owner, out);
        };
        match server::serve(&place, &life, ready)? {
            ServeOutcome::ByAnother(pid) if args.supervised => {
                if !told {
                    let pid = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
                    out.say(format_args!(
                        "another daemon{pid} serves this home; waiting for its end"
                    ));
                }
                told = true;
                std::thread::sleep(LOOK);
            }
            served => break served,
        }
    };
    match served {
        ServeOutcome::Here if args.background => Ok(()),
        ServeOutcome::Here => said,
        // Somebody else was faster; whoever started us can connect all the same.
        ServeOutcome::ByAnother(Some(pid)) if args.background => {
            out.object(&StartReport::Ready(pid))
        }
        ServeOutcome::ByAnother(pid) => {
            let who =
                pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
            let message = format!("{who} already owns {}", place.home.display());
            Err(Error::new(ErrorCode::Served, Fault::Busy, message)
                .with_hint("`cortex stop` ends it")
                .into())
        }
    }
}

/// Says that callers can connect.
fn tell_ready(
    args: &ServeArgs,
    place: &DaemonPlace,
    web: &server::HttpState,
    owner: &OwnerKeys,
    out: &mut Output,
) -> CommandResult {
    if args.background {
        return out.object(&StartReport::Ready(std::process::id())).and_then(|()| out.flush());
    }
    let page = web.page(&owner.link()?);
    let view = json!({
        "pid": std::process::id(), "home": place.home.display().to_string(),
        "socket": place.socket().display().to_string(),
        "http": web.address(), "http_problem": web.problem(), "page": page,
    });
    let http = match (web.address(), web.problem()) {
        (Some(address), _) => format!(" at {address}"),
        (None, Some(why)) => format!(", without HTTP ({why})"),
        (None, None) => String::new(),
    };
    let mut line = format!(
        "cortex serves {}{http} (process {}); Ctrl-C ends it",
        place.home.display(),
        std::process::id()
    );
    if let Some(page) = page {
        line.push_str("\nThe page, for one click of yours (`cortex open` gives another): ");
        line.push_str(&page);
    }
    out.either(&view, line).and_then(|()| out.flush())
}

/// What a talent runs in: this program, in a process of its own.
fn talent_program() -> CommandResult<TalentProgram> {
    let path = std::env::current_exe()
        .map_err(|error| Failure::Io { what: "this program".to_owned(), error })?;
    let args = ["talent", "exec"].map(Into::into).to_vec();
    Ok(TalentProgram { path, args, ..TalentProgram::default() })
}

pub(crate) fn status(
    _: &StatusArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let folder = home_folder(globals, &env.variables, &env.cwd)?;
    let place = DaemonPlace::new(&folder).waiting(crate::invocation::wait(globals));
    let Some(mut client) = DaemonClient::connect(&place)? else {
        if out.is_json() {
            let home = place.home.display().to_string();
            out.object(&json!({"running": false, "home": home}))?;
        }
        let message = format!("no daemon runs for {}", place.home.display());
        return Err(Error::new(ErrorCode::NotRunning, Fault::Missing, message)
            .with_hint("`cortex serve` starts one; agents start one by themselves")
            .into());
    };
    let view = client.status()?;
    if out.is_json() {
        return out.object(&view);
    }
    out.table(&for_people(&view))
}

/// The same in words that need no explanation, what matters most first.
fn for_people(view: &Value) -> Value {
    let number = |name: &str| view[name].as_u64().unwrap_or_default();
    let text = |name: &str| view[name].as_str().map(str::to_owned);
    let hands = &view["hands"];
    let count = |name: &str| hands[name].as_array().map_or(0, Vec::len);
    let up = match number("uptime_seconds") {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ ..7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    };
    let ends = match view["ends_when_idle_for_seconds"].as_u64() {
        Some(seconds) => format!("after {seconds} s without a connection"),
        None => "when it is told to: `cortex stop`".to_owned(),
    };
    let page = text("page").or_else(|| text("http_problem").map(|why| format!("none: {why}")));
    json!({
        "daemon": format!(
            "cortex {}, process {}, up {up}", text("version").unwrap_or_default(), number("pid")
        ),
        "home": view["home"],
        "page": page.unwrap_or_else(|| "none yet; `cortex open` opens it".to_owned()),
        "http": view["http"],
        "socket": view["socket"],
        "work": format!(
            "{} connections, {} requests so far, {} open actors",
            number("connections"), number("requests"), number("open_actors")
        ),
        "talents": hands["problem"].as_str().map_or_else(
            || format!(
                "{} runs go on, {} wait; `cortex supervisor status` says more",
                count("running"), count("queued")
            ),
            |why| format!("cannot run: {why}"),
        ),
        "ends": ends,
    })
}

pub(crate) fn stop(
    _: &StopArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let folder = home_folder(globals, &env.variables, &env.cwd)?;
    let place = DaemonPlace::new(&folder).waiting(crate::invocation::wait(globals));
    let Some(client) = DaemonClient::connect(&place)? else {
        return out.either(&json!({"stopped": false, "pid": null}), "no daemon runs");
    };
    let pid = client.welcome().pid;
    client.stop()?;
    if !ended(&place, pid, crate::invocation::wait(globals))? {
        return Err(Error::new(ErrorCode::Busy, Fault::Busy, "the daemon has not ended yet").into());
    }
    out.either(&json!({"stopped": true, "pid": pid}), format_args!("stopped process {pid}"))
}

/// Whether the daemon has let go of the home: nobody has it now, or one that waited for it.
fn ended(place: &DaemonPlace, pid: u32, patience: Duration) -> CommandResult<bool> {
    let until = Instant::now() + patience;
    loop {
        // The lock is the last thing a daemon lets go of.
        if place.own(LOOK)?.is_some() {
            return Ok(true);
        }
        if DaemonClient::connect(place)?.is_some_and(|other| other.welcome().pid != pid) {
            return Ok(true);
        }
        if Instant::now() >= until {
            return Ok(false);
        }
    }
}
