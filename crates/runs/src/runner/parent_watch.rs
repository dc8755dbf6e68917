//! In the talent process: end when the daemon is gone, with everything that was started.
//!
//! The daemon holds the other end of standard output for as long as a run goes on. When it dies, however it dies,
//! the kernel closes that end, and a thread here that waits for nothing else kills the whole process group. A
//! parent-death signal would reach this process alone and not the programs it started, and on Linux it is sent when
//! the *thread* that spawned ends.

use std::io;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpgrp, getpid, kill_process_group};
use talents::confine::tree;

/// Ties this process and its group to the daemon that started it. Call it first in the talent process.
///
/// Does nothing in a process that no runner started: one run by hand is not the leader of a group that is ours to kill.
pub fn end_with_daemon() -> io::Result<()> {
    if std::env::var_os("CORTEX_USE_ID").is_none() || getpgrp() != getpid() {
        return Ok(());
    }
    thread::Builder::new().name("parent-watch".to_owned()).spawn(watch).map(drop)
}

fn watch() {
    let stdout = io::stdout();
    loop {
        let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
        match poll(&mut fds, None) {
            Err(Errno::INTR | Errno::AGAIN) | Ok(0) => {}
            // An end that cannot be watched any more is no end that somebody reads.
            Ok(_) | Err(_) => break,
        }
    }
    // What left the group goes first: afterwards nobody is here to look for it.
    tree::end_children();
    // Nobody is left to tell if this fails, and then nothing was left to end.
    let _ = kill_process_group(getpgrp(), Signal::KILL);
}
