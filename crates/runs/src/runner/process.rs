//! Processes of runs: starting one in a group of its own with a clean environment, telling it from another with the
//! same number, ending it with all that it started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use api::run::{RunEvent, RunEventKind, SpawnPayload};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{Child, Command};

use talents::confine::tree::{Stat, end_below, processes, stat};

/// What is started for a run; in the product, this binary with `talent exec`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TalentProgram {
    pub path: PathBuf,
    pub args: Vec<OsString>,
    /// Set for every run, under the variables of the talent and of the request.
    pub env: BTreeMap<String, String>,
    /// Where it starts; the home if not given.
    pub folder: Option<PathBuf>,
}

/// Starts a program as the leader of a new process group, with pipes for all three streams and no variables but
/// those given: what the daemon was started with is none of its business.
pub(super) fn spawn(
    program: &TalentProgram,
    home: &Path,
    env: &BTreeMap<String, Option<String>>,
) -> io::Result<Child> {
    let mut command = Command::new(&program.path);
    command
        .args(&program.args)
        .env_clear()
        .envs(&program.env)
        .current_dir(program.folder.as_deref().unwrap_or(home))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    for (name, value) in env {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.spawn()
}

/// Which process it was: a number alone is given to another process sooner or later.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Identity {
    pub(super) pid: i32,
    /// When it started, in the kernel's ticks since the machine started; unknown where the system does not tell.
    pub(super) started: Option<u64>,
    /// Which start of the machine.
    pub(super) boot: Option<String>,
}

impl Identity {
    pub(super) fn of(pid: u32) -> Option<Identity> {
        let pid = i32::try_from(pid).ok()?;
        Some(Identity { pid, started: stat(pid).map(|stat| stat.started), boot: boot() })
    }

    /// The event that says which process does the run. What the system does not tell is null.
    pub(super) fn event(&self) -> RunEvent {
        let mut event = RunEvent::new(RunEventKind::Spawned);
        event.set("pid", self.pid);
        event.set("pgid", self.pid);
        event.set("started", self.started);
        event.set("boot", self.boot.clone());
        event
    }

    pub(super) fn read(event: &RunEvent) -> Option<Identity> {
        let spawn = event.payload::<SpawnPayload>()?;
        Some(Identity { pid: spawn.pid?, started: spawn.started, boot: spawn.boot })
    }

    /// Whether the group of this process may still be signalled without hitting somebody else.
    ///
    /// A number is not given away while a group has it. So if its process is there with another start, the group is
    /// gone; if there is no such process, whatever is in the group was started by it.
    pub(super) fn is_ours(&self) -> bool {
        if self.started.is_none() || self.boot.is_none() || self.boot != boot() {
            return false;
        }
        stat(self.pid).is_none_or(|stat| Some(stat.started) == self.started)
    }
}

/// Sends a signal to a group; a group that is gone is no error.
pub(super) fn signal(pgid: i32, signal: Signal) -> io::Result<()> {
    let Some(pid) = Pid::from_raw(pgid) else { return Ok(()) };
    match kill_process_group(pid, signal) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        // Darwin says so of a group that has only processes that have ended.
        Err(Errno::PERM) if group(pgid).is_empty() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Kills a process that leads a run, with all that descends from it. It is stopped first, so that it starts nothing
/// more and what its children leave behind stays below it. May block for `patience`.
pub(super) fn kill_tree(leader: i32, patience: Duration) -> io::Result<()> {
    let Some(pid) = Pid::from_raw(leader) else { return Ok(()) };
    // One that has ended meanwhile needs no stop.
    let _ = kill_process(pid, Signal::STOP);
    end_below(leader, patience);
    signal(leader, Signal::KILL)
}

/// Kills a group and waits until it is gone; `false` if it is still there after `patience`.
pub(super) async fn end(pgid: i32, patience: Duration) -> io::Result<bool> {
    let Some(pid) = Pid::from_raw(pgid) else { return Ok(true) };
    if kill_process_group(pid, Signal::KILL) == Err(Errno::SRCH) {
        return Ok(true);
    }
    // Processes that have ended and that nobody has collected still count as a group for the kernel, but not here.
    signal(pgid, Signal::KILL)?;
    let until = Instant::now() + patience;
    while !group(pgid).is_empty() {
        if Instant::now() >= until {
            return Ok(false);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(true)
}

fn boot() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

/// The processes of a group that have not ended.
fn group(pgid: i32) -> Vec<i32> {
    let alive = |pid: &i32| stat(*pid).is_some_and(|stat| stat.group == pgid && !stat.has_ended());
    processes().into_iter().filter(alive).collect()
}

/// Processes that were started for a run of this home, by the variables they have: for a daemon that died before it
/// could write the number down, and for what left its group and lost its parent.
pub(super) fn find_by_run(home: &Path, run: &str) -> Vec<i32> {
    let own = ancestors();
    let marks = [
        format!("CORTEX_USE_ID={run}").into_bytes(),
        [b"CORTEX_HOME=", std::os::unix::ffi::OsStrExt::as_bytes(home.as_os_str())].concat(),
    ];
    let is_ours = |pid: &i32| {
        if own.contains(pid) || stat(*pid).is_none_or(Stat::has_ended) {
            return false;
        }
        let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
        marks.iter().all(|mark| environment.split(|byte| *byte == 0).any(|have| have == mark))
    };
    processes().into_iter().filter(is_ours).collect()
}

/// Kills what is left of a run, wherever it is; gives how many there were. May block for `patience`.
pub(super) fn end_by_run(home: &Path, run: &str, patience: Duration) -> usize {
    let until = Instant::now() + patience;
    let mut ended = 0;
    loop {
        let found = find_by_run(home, run);
        if found.is_empty() || Instant::now() >= until {
            return ended;
        }
        ended = ended.max(found.len());
        for pid in found {
            end_below(pid, until.saturating_duration_since(Instant::now()));
            if let Some(pid) = Pid::from_raw(pid) {
                // It may have ended since it was seen.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// This process and those it descends from: a run may have started the daemon that looks for it.
fn ancestors() -> Vec<i32> {
    let mut found = Vec::new();
    let mut next = i32::try_from(std::process::id()).ok();
    while let Some(pid) = next.filter(|pid| *pid > 0 && !found.contains(pid)) {
        found.push(pid);
        next = stat(pid).map(|stat| stat.parent);
    }
    found
}

/// Whether anything of a group has not ended.
pub(super) fn exists(pgid: i32) -> bool {
    !group(pgid).is_empty()
}
