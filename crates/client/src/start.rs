//! Bringing a daemon up when there is none: one starter at a time, a detached child, ready when it says so.
//!
//! What must stay true: many processes that start at once start one daemon; the daemon outlives the process that
//! started it, and an interrupt at that process's terminal does not reach it. Nobody waits without end, neither for a
//! daemon that does not get ready nor for another process that is starting one.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::connection::DaemonClient;
use crate::place::{DaemonPlace, STEP, failed};
use api::{Error, ErrorCode, Fault, Result};

/// How long a daemon that somebody else is starting may take.
const WAIT: Duration = Duration::from_secs(10);
/// How long it may take until a daemon is ready, on the slowest of machines.
const START_WAIT: Duration = Duration::from_mins(1);
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
    let starter = take_turn(place, START_WAIT)?;
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

/// The right to start the daemon, which one process has at a time.
fn take_turn(place: &DaemonPlace, wait: Duration) -> Result<File> {
    let path = place.run_folder().join("start");
    let mut options = OpenOptions::new();
    let options = options.create(true).write(true).truncate(false);
    let starter = options.open(&path).map_err(|error| failed(&path, &error))?;
    let until = Instant::now() + wait;
    loop {
        match starter.try_lock() {
            Ok(()) => return Ok(starter),
            Err(TryLockError::Error(error)) => return Err(failed(&path, &error)),
            Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                let message = format!(
                    "another process has been starting the daemon for {} s",
                    wait.as_secs_f32()
                );
                return Err(Error::new(ErrorCode::DaemonStart, Fault::Busy, message)
                    .with_hint(format!("end the process that holds {}", path.display())));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(STEP),
        }
    }
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
    let (tell, told) = mpsc::channel();
    // A daemon that nobody waits for stays in the table of processes when it has ended, until we end ourselves.
    let watch = move || {
        let mut said = String::new();
        if let Some(out) = child.stdout.take() {
            // Reading ends with the line or with the child. A child that says nothing is told by the empty line.
            let _ = BufReader::new(out).read_line(&mut said);
        }
        // Nobody listens any more if it took too long.
        let _ = tell.send(said);
        child.wait()
    };
    std::thread::Builder::new()
        .name("daemon".into())
        .spawn(watch)
        .map_err(|error| Error::new(ErrorCode::DaemonStart, Fault::Server, error.to_string()))?;
    let Ok(said) = told.recv_timeout(START_WAIT) else {
        let message = format!("the daemon was not ready in {} s", START_WAIT.as_secs());
        return Err(Error::new(ErrorCode::DaemonStart, Fault::Busy, message)
            .with_hint(format!("its log is {}", log.display())));
    };
    match serde_json::from_str::<StartReport>(&said) {
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

#[cfg(test)]
mod tests {
    use super::*;

    // F10
    #[test]
    fn nobody_waits_without_end_for_another_that_starts_the_daemon() {
        let folder = tempfile::TempDir::new().unwrap();
        let place = DaemonPlace::new(folder.path());
        place.prepare().unwrap();
        let first = take_turn(&place, Duration::ZERO).unwrap();
        let error = take_turn(&place, Duration::from_millis(20)).unwrap_err();
        assert_eq!((error.code, error.fault), (ErrorCode::DaemonStart, Fault::Busy));
        assert!(error.hint.unwrap().contains("run/start"));
        drop(first);
        take_turn(&place, Duration::ZERO).unwrap();
    }
}
