//! `cortex supervisor` alone: a daemon that is killed, hangs, only crashes, or is stopped.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;

use crate::support::{Home, until};

/// The supervisor of a home, and what it says.
struct Supervisor {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Supervisor {
    fn start(home: &Home, more: &[&str]) -> Supervisor {
        let mut command = home.command();
        command.env("CORTEX_PORT", "0").args(["supervisor", "--json"]).args(more);
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Supervisor { child, out }
    }

    /// The next event of this name.
    #[track_caller]
    fn until(&mut self, event: &str) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.out.read_line(&mut line).unwrap() > 0, "it ended before {event}");
            let said: Value = serde_json::from_str(&line).unwrap();
            if said["event"] == event {
                return said;
            }
        }
    }

    /// The process of the daemon that was just started, once it answers.
    fn daemon(&mut self, home: &Home) -> Pid {
        let pid = self.until("started")["pid"].as_u64().unwrap();
        until("the daemon answers", || {
            let ran = home.run(&["status", "--json"]);
            ran.code == 0 && ran.json()["pid"].as_u64() == Some(pid)
        });
        Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()
    }

    fn ends(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        // One that has ended needs no end.
        let _ended = self.child.kill();
        let _collected = self.child.wait();
    }
}

// execution R131, R132
#[test]
fn a_daemon_that_dies_is_started_again_and_one_that_is_stopped_is_not() {
    let home = Home::new();
    let mut supervisor = Supervisor::start(&home, &[]);
    let first = supervisor.daemon(&home);
    let known = home.save(&["Use redb", "One file per actor", "--type", "decision"]);
    kill_process(first, Signal::KILL).unwrap();
    supervisor.until("stopped");
    supervisor.until("restarting");
    let second = supervisor.daemon(&home);
    assert_ne!(first, second);
    home.run(&["get", &known.to_string()]).ok();
    // execution R133
    let status = home.run(&["supervisor", "status"]).ok().out;
    assert!(status.contains("of memory free") && status.contains("of disk free"), "{status}");
    home.run(&["stop"]).ok();
    assert_eq!(supervisor.until("stopped")["exit_code"], 0);
    assert_eq!(supervisor.ends(), Some(0));
    home.run(&["status"]).ends(3);
}

// execution 9.18: liveness by what is heard, not by the process alone; and a supervisor that dies takes the daemon
// along
#[test]
fn a_daemon_that_does_not_answer_is_started_again() {
    let home = Home::new();
    let mut supervisor = Supervisor::start(&home, &["--patience", "4"]);
    let first = supervisor.daemon(&home);
    kill_process(first, Signal::STOP).unwrap();
    supervisor.until("stale");
    let second = supervisor.daemon(&home);
    assert_ne!(first, second);
    supervisor.child.kill().unwrap();
    supervisor.ends();
    until("the daemon has ended", || test_kill_process(second).is_err());
}

// execution 9.18: a crash loop comes to an end that is told
#[test]
fn a_daemon_that_only_crashes_is_given_up() {
    let home = Home::new();
    let settings = "[supervisor]\ncrashes_max = 2\nrestart_ms_first = 1\nrestart_ms_max = 2\n";
    fs::write(home.path().join("cortex.toml"), settings).unwrap();
    // A folder where its socket should be.
    fs::create_dir_all(home.path().join("run/cortex.sock/x")).unwrap();
    let ran = home.run(&["supervisor"]).ends(1);
    assert_eq!(ran.out.matches("it starts again").count(), 2, "{ran:?}");
    assert!(ran.err.contains("given up") && ran.err.contains("its log is"), "{ran:?}");
    fs::remove_dir_all(home.path().join("run/cortex.sock")).unwrap();
}

#[test]
fn the_supervisor_takes_over_from_a_daemon_in_the_background() {
    let home = Home::new();
    // A command that needs one starts it.
    home.run(&["talent", "run", "nobody", "x"]).ends(3);
    let before = home.run(&["status", "--json"]).ok().json()["pid"].as_u64().unwrap();
    let mut supervisor = Supervisor::start(&home, &[]);
    let pid = supervisor.until("started")["pid"].as_u64().unwrap();
    home.run(&["stop"]).ok();
    until("it has taken over", || {
        let ran = home.run(&["status", "--json"]);
        ran.code == 0 && ran.json()["pid"].as_u64() == Some(pid)
    });
    assert_ne!(before, pid);
    home.run(&["stop"]).ok();
    assert_eq!(supervisor.ends(), Some(0));
}
