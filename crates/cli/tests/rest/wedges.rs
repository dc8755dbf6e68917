//! Goal: no client can stop the others, and no command waits without end.
//! Method: clients that do not read, send half a request or stop the daemon, while another goes on and is timed.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal};
use serde_json::json;

use crate::support::{Daemon, cortex};

/// What an answer may take at the 99th of a hundred, while somebody tries to stop everything. Without optimisation, and
/// with other tests beside this one, more is allowed.
const P99: Duration = Duration::from_millis(if cfg!(debug_assertions) { 2_000 } else { 200 });

/// Asks a hundred times and gives the slowest but one.
fn p99(mut ask: impl FnMut()) -> Duration {
    let mut took: Vec<Duration> = (0..100)
        .map(|_| {
            let started = Instant::now();
            ask();
            started.elapsed()
        })
        .collect();
    took.sort_unstable();
    took[98]
}

/// Others are served meanwhile: they read, they write, and health says so.
fn others_are_served(daemon: &Daemon, what: &str) {
    let read = p99(|| assert_eq!(daemon.get("/api/observations?limit=1&type=note").status, 200));
    assert!(read < P99, "{what}: a read took {read:?}");
    let mut number = 0;
    let write = p99(|| {
        number += 1;
        let body = json!({"title": format!("{what} {number}"), "content": "goes on"});
        assert_eq!(daemon.post("/api/observations", &body).status, 201);
    });
    assert!(write < P99, "{what}: a write took {write:?}");
    assert_eq!(daemon.get("/healthz").status, 200, "{what}");
    let started = Instant::now();
    assert_eq!(daemon.run(&["status"])["running"], true);
    daemon.run(&["save", what, "over the socket"]);
    let took = started.elapsed();
    assert!(took < 4 * P99, "{what}: two commands took {took:?}");
    eprintln!("{what}: p99 of a read {read:?}, of a write {write:?}");
}

// F9
#[test]
fn exports_that_nobody_reads_stop_nobody() {
    let daemon = Daemon::start(&[]);
    let text = "many words that nobody will ever read ".repeat(12_000);
    for number in 0..24 {
        let body =
            json!({"title": format!("long {number}"), "content": format!("{number} {text}")});
        assert_eq!(daemon.post("/api/observations", &body).status, 201);
    }
    let request = format!("GET /api/export HTTP/1.1\r\nHost: localhost\r\n{}\r\n", daemon.owner());
    let unread: Vec<TcpStream> = (0..140)
        .map(|_| {
            let mut stream = TcpStream::connect(daemon.address()).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            stream
        })
        .collect();
    others_are_served(&daemon, "unread exports");
    drop(unread);
    // Whoever does read gets everything, to the last line.
    let deadline = Instant::now() + Duration::from_mins(1);
    let whole = loop {
        let whole = daemon.get("/api/export");
        if whole.status == 200 || Instant::now() > deadline {
            break whole;
        }
    };
    assert_eq!(whole.status, 200, "{}", whole.body);
    assert!(whole.body.len() > 24 * 400_000);
}

// F9
#[test]
fn half_requests_stop_nobody_even_where_files_are_few() {
    const FILES: u64 = 1_024;
    const HALVES: u64 = 1_008;
    let own = rustix::process::getrlimit(Resource::Nofile);
    if own.maximum.is_some_and(|most| most < 2 * FILES) {
        eprintln!("NOT TESTED: this process may not have {HALVES} connections of its own");
        return;
    }
    let more = Rlimit { current: own.maximum.map(|most| most.min(4 * FILES)), ..own };
    rustix::process::setrlimit(Resource::Nofile, more).unwrap();
    let daemon = Daemon::start_limited(FILES);
    let halves: Vec<TcpStream> = (0..HALVES)
        .map(|number| {
            let mut stream = TcpStream::connect(daemon.address()).unwrap();
            // Some are refused at once, which is as good.
            let _ = write!(stream, "GET /api/stats HTTP/1.1\r\nHost: localhost\r\nX-{number}: ");
            stream
        })
        .collect();
    others_are_served(&daemon, "half requests");
    drop(halves);
}

// F9
#[test]
fn a_request_that_never_ends_is_cut_off_and_a_slow_body_is_answered() {
    let daemon = Daemon::start(&[]);
    let mut stream = TcpStream::connect(daemon.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let head = format!(
        "POST /api/observations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: 100\r\n{}\r\n{{",
        daemon.owner()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut half = TcpStream::connect(daemon.address()).unwrap();
    half.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    half.write_all(b"GET /api/stats HT").unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");
    let mut rest = Vec::new();
    // Whatever it says, it ends; the read would time out otherwise.
    half.read_to_end(&mut rest).unwrap();
}

// F10
#[test]
fn no_command_waits_without_end_for_a_daemon_that_was_stopped() {
    let daemon = Daemon::start(&[]);
    daemon.run(&["save", "before", "it is stopped"]);
    let pid = Pid::from_raw(i32::try_from(daemon.child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::STOP).unwrap();
    let process = format!("process {}", daemon.child.id());
    for arguments in [
        &["save", "meanwhile", "nobody answers"][..],
        &["search", "before"],
        &["status"],
        &["stop"],
        &["open", "--print"],
        &["curl", "/api/stats"],
        &["export"],
        &["get", "1"],
        &["mcp"],
        &["doctor"],
    ] {
        let started = Instant::now();
        let output = cortex(daemon.home.path(), &[])
            .args(["--wait", "1"])
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let took = started.elapsed();
        assert!(took < Duration::from_secs(20), "{arguments:?} took {took:?}");
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(said.contains("did not answer"), "{arguments:?}: {said}");
        assert!(said.contains(&process), "{arguments:?}: {said}");
        if arguments != ["doctor"] {
            assert_eq!(output.status.code(), Some(6), "{arguments:?}: {said}");
        }
    }
    let hook = cortex(daemon.home.path(), &[]).args(["hook", "session-end"]).output().unwrap();
    assert!(hook.status.success(), "{hook:?}");
    rustix::process::kill_process(pid, Signal::CONT).unwrap();
    assert_eq!(daemon.run(&["status"])["running"], true);
}
