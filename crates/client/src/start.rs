//! Bringing a daemon up when there is none: one starter at a time, a detached child, ready when it says so.
//!
//! What must stay true: many processes that start at once start one daemon; the daemon outlives the process that
//! started it, and an interrupt at that process's terminal does not reach it.

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::connection::DaemonClient;
use crate::place::{DaemonPlace, failed};
use api::{Error, ErrorCode, Fault, Result};

/// How long a daemon that somebody else is starting may take.
const WAIT: Duration = Duration::from_secs(10);
/// Bytes of the log after which it starts anew.
const LOG_BYTES_MAX: u64 = 1_048_576;

/// What a daemon in the background says on its standard output, once.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartReport {
    Ready(u32),
    Error(Error),
}

/// A connection to the daemon, which is started in the background if it is not there.
pub fn connect_or_start(place: &DaemonPlace) -> Result<DaemonClient> {
    if let Some(client) = DaemonClient::connect(place)? {
        return Ok(client);
    }
    place.prepare()?;
    // Twenty agents that start at once start one daemon: the others wait here and then find it.
    let path = place.run_folder().join("start");
    let mut options = OpenOptions::new();
    let options = options.create(true).write(true).truncate(false);
    let starter = options.open(&path).map_err(|error| failed(&path, &error))?;
    starter.lock().map_err(|error| failed(&path, &error))?;
    if let Some(client) = DaemonClient::connect(place)? {
        return Ok(client);
    }
    spawn(place)?;
    drop(starter);
    DaemonClient::connect_soon(place, WAIT)?.ok_or_else(|| {
        Error::new(ErrorCode::DaemonStart, Fault::Server, "the daemon started but does not answer")
            .with_hint(format!("its log is {}", place.log_file().display()))
    })
}

/// Starts a daemon that outlives this process, and waits until it is ready or says why not.
fn spawn(place: &DaemonPlace) -> Result<()> {
    let program = std::env::current_exe().map_err(|error| {
        Error::new(ErrorCode::Io, Fault::Server, format!("this program: {error}"))
    })?;
    let log = place.log_file();
    if let Some(folder) = log.parent() {
        std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    }
    let fresh = log.metadata().is_ok_and(|metadata| metadata.len() > LOG_BYTES_MAX);
    let mut options = OpenOptions::new();
    let options = options.create(true).append(!fresh).write(true).truncate(fresh);
    let talk = options.open(&log).map_err(|error| failed(&log, &error))?;
    let mut command = Command::new(program);
    command
        .arg("--home")
        .arg(&place.home)
        .args(["serve", "--background"])
        .current_dir(&place.home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(talk);
    // A group of its own: an interrupt at the terminal is for the agent, not for everybody's memory.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command
        .spawn()
        .map_err(|error| Error::new(ErrorCode::DaemonStart, Fault::Server, error.to_string()))?;
    let mut said = String::new();
    if let Some(out) = child.stdout.take() {
        // Reading ends with the line or with the child. A child that says nothing is told by the empty line below.
        let _ = BufReader::new(out).read_line(&mut said);
    }
    let answer = serde_json::from_str::<StartReport>(&said);
    // Without a thread that waits for it, an ended daemon stays in the table of processes until we end ourselves; that
    // is no reason to do without the daemon, so a thread that cannot be started is ignored.
    let _ = std::thread::Builder::new().name("daemon".into()).spawn(move || child.wait());
    match answer {
        Ok(StartReport::Ready(_)) => Ok(()),
        Ok(StartReport::Error(error)) => Err(error),
        Err(_) => Err(Error::new(
            ErrorCode::DaemonStart,
            Fault::Server,
            "the daemon could not be started",
        )
        .with_hint(format!("its log is {}", log.display()))),
    }
}
