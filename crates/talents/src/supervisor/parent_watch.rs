//! In a service that is a program: end when the supervisor is gone.
//!
//! The supervisor holds the other end of standard input for as long as it lives. When it dies, however it dies, the
//! kernel closes that end, and a thread here that waits for nothing else asks this process to end, as a supervisor
//! that stops would.

use std::io;
use std::thread;

use rustix::process::{Signal, getpid, kill_process};

/// Ties this process to the supervisor that started it.
pub fn end_with_supervisor() -> io::Result<()> {
    let watch = || {
        // An input that cannot be read any more has ended, too.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        // Nobody is left to tell if this fails.
        let _ = kill_process(getpid(), Signal::TERM);
    };
    thread::Builder::new().name("parent-watch".to_owned()).spawn(watch).map(drop)
}
