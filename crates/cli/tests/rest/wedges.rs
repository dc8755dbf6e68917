//! Goal: no client can stop the others, and no command waits without end.
//! Method: clients that do not read, send half a request or stop the daemon, while another goes on and is timed.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal};
use serde_json::json;

use crate::support::{Daemon, cortex, problem};

/// What an answer may take at the 99th of a hundred, while somebody tries to stop everything. Without optimisation, and
/// with other tests beside this one, only who waits for the others' time-outs is told from who does not.
const P99: Duration = Duration::from_millis(if cfg!(debug_assertions) { 9_000 } else { 200 });

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
fn looks_at_everything_stop_nobody() {
    let daemon = Daemon::start(&[]);
    let text = "many words that somebody has to look at ".repeat(6_000);
    for number in 0..24 {
        let body =
            json!({"title": format!("long {number}"), "content": format!("{number} {text}")});
        assert_eq!(daemon.post("/api/observations", &body).status, 201);
    }
    let request = format!("GET /api/audit HTTP/1.1\r\nHost: localhost\r\n{}\r\n", daemon.owner());
    let unread = begun(&daemon, 60, &request);
    others_are_served(&daemon, "audits");
    drop(unread);
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

/// Connections on each of which a request begins that never goes on.
fn begun(daemon: &Daemon, how_many: usize, request: &str) -> Vec<TcpStream> {
    let open = |_| {
        let mut stream = TcpStream::connect(daemon.address()).unwrap();
        // Some are refused at once, which is as good.
        let _ = stream.write_all(request.as_bytes());
        stream
    };
    (0..how_many).map(open).collect()
}

fn half_body(path: &str, who: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: 1000\r\n{who}\r\n{{"
    )
}

fn a_tool_answers(daemon: &Daemon, what: &str) {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "mem_search", "arguments": {"query": "goes on"},
    }});
    let headers = "Host: localhost\r\nContent-Type: application/json\r\n\
                   Accept: application/json, text/event-stream\r\n";
    let tool = p99(|| {
        let answer = daemon.send("POST", "/mcp", headers, call.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{what}: {}", answer.body);
    });
    assert!(tool < P99, "{what}: a tool took {tool:?}");
    eprintln!("{what}: p99 of a tool {tool:?}");
}

// F9: a grant that fell into bad hands holds what it can hold, and the owner notices nothing
#[test]
fn what_a_delegate_holds_open_stops_nobody() {
    let daemon = Daemon::start(&[]);
    let wish = json!({
        "name": "bot", "operations": ["read", "find", "write"], "include": {"projects": ["web"]},
    });
    let token = daemon.post("/api/scopes", &wish).json()["token"].as_str().unwrap().to_owned();
    let who = format!("Authorization: Bearer {token}\r\n");
    let held = [
        begun(&daemon, 200, &half_body("/api/observations", &who)),
        begun(&daemon, 200, &half_body("/mcp", &who)),
    ];
    others_are_served(&daemon, "half bodies of a delegate");
    a_tool_answers(&daemon, "half bodies of a delegate");
    drop(held);
}

// F9
#[test]
fn bodies_that_do_not_come_and_streams_that_do_not_end_stop_nobody() {
    let daemon = Daemon::start(&[]);
    let held = begun(&daemon, 200, &half_body("/mcp", &daemon.owner()));
    others_are_served(&daemon, "half bodies");
    a_tool_answers(&daemon, "half bodies");
    drop(held);
    let listen = format!("GET /api/events HTTP/1.1\r\nHost: localhost\r\n{}\r\n", daemon.owner());
    let held = begun(&daemon, 200, &listen);
    others_are_served(&daemon, "streams of events");
    a_tool_answers(&daemon, "streams of events");
    problem(&daemon.get("/api/events"), 503, "too_many_clients");
    drop(held);
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

/// Commands that ask the daemon, of every group of the help.
const WAITING: &[&str] = &[
    "save meanwhile nobody-answers",
    "search before",
    "get 1",
    "list",
    "update 1 --title z",
    "confirm 1",
    "history 1",
    "similar 1",
    "context some words",
    "timeline 1",
    "entities",
    "graph 1",
    "score 1",
    "restore 1",
    "archive 1",
    "delete 1",
    "erase 1 --reason x --yes",
    "bulletin",
    "session start s",
    "sessions",
    "prompt x",
    "prompts",
    "projects",
    "past",
    "past read",
    "fix error",
    "how test",
    "blame a.rs",
    "friction",
    "mind jobs",
    "mind log",
    "page list",
    "budget",
    "admin what",
    "salience",
    "audit",
    "chat hi",
    "talent run default x",
    "talent log",
    "supervisor status",
    "journal",
    "root",
    "snapshot",
    "verify",
    "rebuild",
    "export",
    "scope-list",
    "language",
    "actors",
    "stats",
    "status",
    "stop",
    "open --print",
    "curl /api/stats",
    "mcp",
    "find --type fact",
    "keep x",
    "checkpoint",
    "edit 1",
    "model status",
    "backup copies",
    "salvage sound",
    "import /dev/null",
    "talent approvals",
    "talent cancel 1",
    "talent doctor",
    "bus status",
    "serve",
    "doctor",
    "init --dry-run",
];

fn ends_in_time(daemon: &Daemon, line: &str, process: &str) {
    let started = Instant::now();
    let output = cortex(daemon.home.path(), &[])
        .args(["--wait", "1"])
        .args(line.split(' '))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let took = started.elapsed();
    assert!(took < Duration::from_mins(1), "{line} took {took:?}");
    let told = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&told);
    assert!(said.contains("did not answer in 1 s") && said.contains(process), "{line}: {said}");
    assert!(!said.contains("in 10 s"), "{line} waits as long as it was told: {said}");
    let code = match line {
        "init --dry-run" => 0,
        "doctor" => 1,
        _ => 6,
    };
    assert_eq!(output.status.code(), Some(code), "{line}: {said}");
}

// F10
#[test]
fn no_command_waits_without_end_for_a_daemon_that_was_stopped() {
    let daemon = Daemon::start(&[]);
    daemon.run(&["save", "before", "it is stopped"]);
    let pid = Pid::from_raw(i32::try_from(daemon.child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::STOP).unwrap();
    let process = format!("process {}", daemon.child.id());
    // Each waits as long as it was told and no longer, so they may wait together.
    for together in WAITING.chunks(8) {
        std::thread::scope(|scope| {
            for line in together {
                scope.spawn(|| ends_in_time(&daemon, line, &process));
            }
        });
    }
    let hook = cortex(daemon.home.path(), &[]).args(["hook", "session-end"]).output().unwrap();
    assert!(hook.status.success(), "{hook:?}");
    rustix::process::kill_process(pid, Signal::CONT).unwrap();
    assert_eq!(daemon.run(&["status"])["running"], true);
}
