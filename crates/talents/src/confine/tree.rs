//! What descends from a process, whatever group or session it has made itself, and its end.
//!
//! A process that calls `setsid` leaves its group and outlives the group's end. Here descent counts: the process of a
//! run adopts what its children leave behind (`adopt_orphans`), so all that it started stays below it until it ends.
//! On systems without `/proc` there is nothing to see, and the group is all there is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpgrp, getuid, kill_process, kill_process_group};

/// Between two looks at what is left.
const STEP: Duration = Duration::from_millis(2);
/// How often the processes of a run are counted.
const COUNT_EVERY: Duration = Duration::from_millis(100);
/// How long ending them may take.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// What the kernel says about a process.
#[derive(Clone, Copy, Debug)]
pub struct Stat {
    pub state: u8,
    pub parent: i32,
    pub group: i32,
    pub started: u64,
    threads: u64,
}

impl Stat {
    /// It has ended, and only its number is left until somebody collects it.
    pub fn has_ended(self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }
}

/// `None` if there is no such process, or no `/proc`.
pub fn stat(pid: i32) -> Option<Stat> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program stands in parentheses and may contain anything, parentheses included.
    let after = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(text.get(after + 1..)?).ok()?;
    let parts: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Stat {
        state: *parts.first()?.as_bytes().first()?,
        parent: parts.get(1)?.parse().ok()?,
        group: parts.get(2)?.parse().ok()?,
        threads: parts.get(17)?.parse().ok()?,
        started: parts.get(19)?.parse().ok()?,
    })
}

pub fn processes() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Tasks that this user has now: the bound of processes counts them.
pub(super) fn tasks_of_user() -> u64 {
    use std::os::unix::fs::MetadataExt;
    let own = getuid().as_raw();
    let is_own =
        |pid: &i32| fs::metadata(format!("/proc/{pid}")).is_ok_and(|meta| meta.uid() == own);
    processes().into_iter().filter(is_own).filter_map(stat).map(|stat| stat.threads).sum()
}

/// All that descends from a process and has not ended, with their groups.
pub fn descendants(root: i32) -> BTreeMap<i32, i32> {
    let mut children: BTreeMap<i32, Vec<(i32, Stat)>> = BTreeMap::new();
    for pid in processes() {
        if let Some(stat) = stat(pid) {
            children.entry(stat.parent).or_default().push((pid, stat));
        }
    }
    let mut found = BTreeMap::new();
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for (pid, stat) in children.remove(&parent).unwrap_or_default() {
            if !stat.has_ended() {
                found.insert(pid, stat.group);
            }
            open.push(pid);
        }
    }
    found
}

/// Kills everything below a process, and not the process itself; `false` if something is left after `patience`.
pub fn end_below(root: i32, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    let spared = [stat(root).map(|stat| stat.group), Some(getpgrp().as_raw_nonzero().get())];
    loop {
        let found = descendants(root);
        if found.is_empty() {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
        // A group ends as a whole, so that what multiplies cannot run ahead. It is a run's own only if its first
        // process is: another would be somebody else's.
        let groups: BTreeSet<i32> =
            found.values().copied().filter(|group| found.contains_key(group)).collect();
        for group in groups.into_iter().filter(|group| !spared.contains(&Some(*group))) {
            if let Some(group) = Pid::from_raw(group) {
                // It may have ended since it was seen.
                let _ = kill_process_group(group, Signal::KILL);
            }
        }
        for pid in found.keys().filter_map(|pid| Pid::from_raw(*pid)) {
            // The same.
            let _ = kill_process(pid, Signal::KILL);
        }
        thread::sleep(STEP);
    }
}

/// Gives this process a group of its own.
pub fn lead_group() -> std::io::Result<()> {
    rustix::process::setpgid(None, None).map_err(Into::into)
}

/// Makes this process the parent of what its descendants leave behind.
#[cfg(target_os = "linux")]
pub fn adopt_orphans() -> std::io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(Into::into)
}

#[cfg(not(target_os = "linux"))]
pub fn adopt_orphans() -> std::io::Result<()> {
    Ok(())
}

/// Kills everything that this process has started; for its end.
pub fn end_children() -> bool {
    i32::try_from(std::process::id()).is_ok_and(|own| end_below(own, END_PATIENCE))
}

/// Ends all that this process has started when there is more of it than `most`, and says so with `tell`. The kernel
/// does not hold the superuser to a number of processes, and others only together with all else they run.
pub fn bound_children(most: u64, tell: impl Fn(usize) + Send + 'static) -> std::io::Result<()> {
    let Ok(own) = i32::try_from(std::process::id()) else { return Ok(()) };
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let watch = move || {
        loop {
            thread::sleep(COUNT_EVERY);
            if has_children() && descendants(own).len() > most {
                let there = descendants(own).len();
                end_below(own, END_PATIENCE);
                tell(there);
            }
        }
    };
    thread::Builder::new().name("process-count".to_owned()).spawn(watch).map(drop)
}

/// A cheap look before a thorough one: most runs start no process at all.
fn has_children() -> bool {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return false };
    tasks.flatten().any(|task| {
        // A kernel without this file leaves it to the thorough look.
        fs::read(task.path().join("children")).map_or(true, |children| !children.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // F8: a session of its own does not hide a process
    #[test]
    fn what_left_its_session_is_found_and_ended() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "setsid sleep 300 & setsid sh -c 'sleep 301; true' & echo up; wait"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("a shell");
        let root = i32::try_from(child.id()).expect("a number");
        let until = Instant::now() + Duration::from_secs(20);
        while descendants(root).len() < 3 && Instant::now() < until {
            thread::sleep(STEP);
        }
        let below = descendants(root);
        assert_eq!(below.len(), 3, "{below:?}");
        assert!(below.values().any(|group| *group != root), "one has a group of its own");
        assert!(end_below(root, END_PATIENCE));
        assert!(descendants(root).is_empty());
        assert!(child.wait().expect("it ends").code().is_some());
        assert!(tasks_of_user() > 0);
    }
}
