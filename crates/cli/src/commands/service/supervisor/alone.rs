//! `cortex supervisor` alone: a process that starts the daemon and starts it again when it fails (execution R131-R133).
//!
//! What must stay true: a daemon that dies or does not answer is started again, with growing waits, and given up when
//! it does nothing but crash; one that somebody stopped stays stopped; when this process ends, however it ends, the
//! daemon ends too.

use std::sync::Arc;
use std::time::Duration;

use api::{Error, ErrorCode, Fault};
use client::place::DaemonPlace;
use client::protocol::{self, Hello};
use runs::process::stop_on_signals;
use runs::runner::RunnerSettings;
use serde_json::Value;
use service::config;
use talents::bus::{BusFilter, BusMessage, BusSettings, Delivery, Hub, SUPERVISOR_TOPIC};
use talents::clock::Timing;
use talents::supervisor::{
    ServiceCommand, ServiceWork, SupervisedService, Supervisor, SupervisorSettings,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use crate::failure::{CommandResult, Failure};
use crate::invocation::{CommandEnv, GlobalArgs};
use crate::output::{Output, plain};

/// The one service of this process.
const DAEMON: &str = "daemon";
/// Between two looks at whether the daemon answers, and how long its answer may take.
const LOOK: Duration = Duration::from_secs(5);
/// A daemon that has not answered for so long is started again.
const UNHEARD: Duration = Duration::from_mins(1);
/// What a stop may take beyond the grace that runs have.
const STOP_MARGIN_MS: u64 = 15_000;

/// Why this process ends.
enum End {
    /// Somebody wants it to.
    Told,
    /// Somebody stopped the daemon.
    Stopped,
    GivenUp(Option<String>),
}

pub(super) fn run(
    patience: Option<u64>,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let place = crate::commands::service::supervisor::place(globals, env)?;
    let config = config::load(&place.home, &env.variables)?;
    let mut settings: SupervisorSettings = config.section("supervisor", &[])?;
    let runner: RunnerSettings = config.section("runner", &[])?;
    let grace = settings.stop_grace_ms.max(runner.stop_grace_ms + STOP_MARGIN_MS);
    settings.stop_grace_ms = patience.map_or(grace, |seconds| seconds * 1_000);
    place.prepare()?;
    let unheard = patience.map_or(UNHEARD, Duration::from_secs);
    let service = service(&place, unheard)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Io { what: "a runtime".to_owned(), error })?;
    runtime.block_on(attend(&place, settings, service, LOOK.min(unheard / 4), out))
}

fn service(place: &DaemonPlace, unheard: Duration) -> CommandResult<SupervisedService> {
    let path = std::env::current_exe()
        .map_err(|error| Failure::Io { what: "this program".to_owned(), error })?;
    let log = place.log_file();
    if let Some(folder) = log.parent() {
        std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
    }
    let home = place.home.clone().into_os_string();
    let args = vec!["--home".into(), home, "serve".into(), "--supervised".into()];
    let command = ServiceCommand { path, args, log: Some(log), ..ServiceCommand::default() };
    Ok(SupervisedService {
        name: DAEMON.to_owned(),
        work: ServiceWork::Command(command),
        heartbeat_ms_max: Some(u64::try_from(unheard.as_millis()).unwrap_or(u64::MAX)),
    })
}

async fn attend(
    place: &DaemonPlace,
    settings: SupervisorSettings,
    service: SupervisedService,
    look: Duration,
    out: &mut Output,
) -> CommandResult {
    let mut stop =
        stop_on_signals().map_err(|error| Failure::Io { what: "signals".to_owned(), error })?;
    let world = Timing::system();
    let hub = Hub::new(BusSettings::default(), Arc::clone(&world.clock));
    let mut told = hub.subscribe(BusFilter::topic(SUPERVISOR_TOPIC));
    let supervisor = Supervisor::start(settings, world, hub, place.home.clone());
    let failed = |error: talents::supervisor::SupervisorError| {
        Failure::Operation(Error::new(
            ErrorCode::named(error.code()),
            Fault::Server,
            error.to_string(),
        ))
    };
    supervisor.add(service).map_err(failed)?;
    let watching = tokio::spawn(watch(place.clone(), supervisor.clone(), look));
    let end = loop {
        let delivery = tokio::select! {
            _ = stop.wait_for(|stop| *stop) => break Ok(End::Told),
            delivery = told.next() => delivery,
        };
        let Delivery::Event(event) = delivery else { continue };
        let message = &event.message;
        if let Err(failure) = tell(message, out) {
            break Err(failure);
        }
        match message.event() {
            "stopped" if message.get("exit_code").and_then(Value::as_i64) == Some(0) => {
                break Ok(End::Stopped);
            }
            "given_up" => {
                let status = supervisor.status();
                break Ok(End::GivenUp(status.into_iter().find_map(|status| status.last_end)));
            }
            _ => {}
        }
    };
    watching.abort();
    supervisor.stop().await;
    match end? {
        End::Told | End::Stopped => Ok(()),
        End::GivenUp(why) => {
            let why = why.map(|why| format!(": {}", plain(&why))).unwrap_or_default();
            let log = place.log_file();
            let message = format!("the daemon was given up{why}; its log is {}", log.display());
            Err(Failure::Check { code: "given_up", message })
        }
    }
}

/// Says what happens to the daemon.
fn tell(message: &BusMessage, out: &mut Output) -> CommandResult {
    if message.event() == "status" {
        return Ok(());
    }
    if out.is_json() {
        out.object(message.fields())?;
        return out.flush();
    }
    let number = |key: &str| message.get(key).and_then(Value::as_u64);
    let line = match message.event() {
        "started" => match number("pid") {
            Some(pid) => format!("the daemon started (process {pid}); Ctrl-C ends it and this"),
            None => "the daemon started".to_owned(),
        },
        "stopped" => format!("the daemon ended: {}", plain(message.text("how").unwrap_or("-"))),
        "restarting" => {
            let delay = Duration::from_millis(number("delay_ms").unwrap_or_default());
            format!("it starts again in {:.1} s", delay.as_secs_f64())
        }
        "stale" => "the daemon does not answer; it is ended".to_owned(),
        _ => return Ok(()),
    };
    out.line(line)?;
    out.flush()
}

/// Asks the daemon again and again; its answers are its heartbeat.
async fn watch(place: DaemonPlace, supervisor: Supervisor, look: Duration) {
    loop {
        if matches!(tokio::time::timeout(look, answers(&place)).await, Ok(Ok(true))) {
            // The service is there for as long as this task is.
            let _ = supervisor.beat(DAEMON);
        }
        tokio::time::sleep(look).await;
    }
}

/// Whether somebody at the socket says a word when greeted.
async fn answers(place: &DaemonPlace) -> std::io::Result<bool> {
    let mut stream = UnixStream::connect(place.socket()).await?;
    let hello = protocol::line(&Hello::ours()).map_err(std::io::Error::other)?;
    stream.write_all(&hello).await?;
    Ok(stream.read(&mut [0; 64]).await? > 0)
}
