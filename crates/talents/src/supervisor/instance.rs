//! One start of a service: a program in a process group of its own, or a task of the daemon.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::future::Future;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// A service that runs inside the daemon.
pub type Task = Arc<
    dyn Fn(WorkContext) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync,
>;

/// A service that is a program. Its standard input closes when the daemon is gone.
#[derive(Clone, Debug, Default)]
pub struct ServiceCommand {
    pub path: PathBuf,
    pub args: Vec<OsString>,
    pub env: BTreeMap<String, String>,
    /// Where its output is appended; thrown away if not given.
    pub log: Option<PathBuf>,
}

/// What a service does.
#[derive(Clone)]
pub enum ServiceWork {
    Command(ServiceCommand),
    Task(Task),
}

impl std::fmt::Debug for ServiceWork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ServiceWork::Command(command) => command.fmt(f),
            ServiceWork::Task(_) => f.write_str("Task"),
        }
    }
}

/// What a service inside the daemon gets.
#[derive(Clone, Debug)]
pub struct WorkContext {
    pub beat: Beat,
    /// Becomes true when the service should end.
    pub stop: watch::Receiver<bool>,
}

/// Says that a service is alive.
#[derive(Clone, Debug)]
pub struct Beat(Arc<Mutex<Instant>>);

impl Beat {
    pub(super) fn new() -> Beat {
        Beat(Arc::new(Mutex::new(Instant::now())))
    }

    pub fn beat(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(super) fn last(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn spawn(command: &ServiceCommand) -> io::Result<Instance> {
    let (out, err) = match &command.log {
        None => (Stdio::null(), Stdio::null()),
        Some(path) => {
            let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
            (file.try_clone()?.into(), file.into())
        }
    };
    let mut child = Command::new(&command.path)
        .args(&command.args)
        .envs(&command.env)
        .stdin(Stdio::piped())
        .stdout(out)
        .stderr(err)
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    // Waiting for a child closes what is left in it.
    let input = child.stdin.take();
    Ok(Instance::Process { child: Box::new(child), _input: input })
}

pub(super) enum Instance {
    Process {
        child: Box<Child>,
        /// Open for as long as this process lives, so that the service can tell.
        _input: Option<ChildStdin>,
    },
    Task {
        task: JoinHandle<Result<(), String>>,
        stop: watch::Sender<bool>,
    },
}

impl Instance {
    pub(super) fn pid(&self) -> Option<u32> {
        match self {
            Instance::Process { child, .. } => child.id(),
            Instance::Task { .. } => None,
        }
    }

    pub(super) async fn ended(&mut self) -> (Option<i32>, String) {
        match self {
            Instance::Process { child, .. } => {
                let group = group(child);
                let status = child.wait().await;
                // What it left behind goes with it.
                signal(group, Signal::KILL);
                match status {
                    Ok(status) => (status.code(), status.to_string()),
                    Err(error) => (None, error.to_string()),
                }
            }
            Instance::Task { task, .. } => match task.await {
                Ok(Ok(())) => (Some(0), "ended".to_owned()),
                Ok(Err(why)) => (None, why),
                Err(lost) => (None, lost.to_string()),
            },
        }
    }

    /// Asks it to end, and after `grace` ends it.
    pub(super) async fn stop(&mut self, grace: Duration) {
        match self {
            Instance::Process { child, .. } => {
                let group = group(child);
                signal(group, Signal::TERM);
                if tokio::time::timeout(grace, child.wait()).await.is_err() {
                    signal(group, Signal::KILL);
                    // Killed: the kernel decides how long that takes, and whether it fails is of no use to know.
                    let _ = tokio::time::timeout(grace, child.wait()).await;
                }
                signal(group, Signal::KILL);
            }
            Instance::Task { task, stop } => {
                stop.send_replace(true);
                if tokio::time::timeout(grace, &mut *task).await.is_err() {
                    task.abort();
                }
            }
        }
    }
}

fn group(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()?).ok()?)
}

/// Sends a signal to the group of a service.
fn signal(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group {
        // A group that is gone needs no signal.
        let _ = kill_process_group(group, signal);
    }
}
