//! Who is let in, and where it listens.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Daemon, cortex, problem};

#[test]
fn pages_of_other_sites_and_other_names_are_refused_everywhere() {
    let daemon = Daemon::start(&[("CORTEX_HTTP_ALLOWED_HOSTS", "notes.example, other.example")]);
    let ask = |headers: &str| daemon.send("GET", "/api/stats", headers, b"");
    let port = daemon.address().port();
    for host in ["localhost", "127.0.0.1", "[::1]", "LOCALHOST", "notes.example"] {
        assert_eq!(ask(&format!("Host: {host}\r\n")).status, 200, "{host}");
        assert_eq!(ask(&format!("Host: {host}:{port}\r\n")).status, 200, "{host}");
    }
    for host in
        ["evil.example", "localhost.evil.example", "10.0.0.1", "localhost:x", "evil@localhost"]
    {
        problem(&ask(&format!("Host: {host}\r\n")), 421, "host_refused");
    }
    problem(&ask("Host: localhost\r\nHost: evil.example\r\n"), 421, "host_refused");
    for (host, origin) in [
        (format!("localhost:{port}"), format!("http://localhost:{port}")),
        (format!("127.0.0.1:{port}"), format!("http://127.0.0.1:{port}")),
        ("notes.example".to_owned(), "https://notes.example".to_owned()),
    ] {
        let headers = format!("Host: {host}\r\nOrigin: {origin}\r\n");
        assert_eq!(ask(&headers).status, 200, "{origin}");
    }
    // F5: another port of this machine is another origin.
    for origin in [
        "http://localhost:3000",
        "http://127.0.0.1",
        "http://evil.example",
        "null",
        "http://localhost.evil.example",
        "file://",
        "localhost",
    ] {
        let headers = format!("Host: localhost\r\nOrigin: {origin}\r\n");
        problem(&ask(&headers), 403, "origin_refused");
        for path in ["/healthz", "/metrics", "/nowhere", "/api/observations/1"] {
            problem(&daemon.send("GET", path, &headers, b""), 403, "origin_refused");
        }
    }
    let inside = "GET http://evil.example/api/stats HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    problem(&daemon.raw(inside.as_bytes()), 421, "host_refused");
}

// agent-memory 151, 152
#[test]
fn a_port_in_use_is_said_and_the_socket_is_served() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut daemon = Daemon::start(&[("CORTEX_PORT", &port)]);
    assert_eq!(daemon.said["http"], Value::Null);
    assert!(daemon.said["http_problem"].as_str().unwrap().contains(&port));
    let status = daemon.run(&["status"]);
    assert!(status["http_problem"].as_str().unwrap().contains(&port), "{status}");
    assert_eq!(daemon.run(&["save", "still", "here"])["id"], 1);
    daemon.run(&["stop"]);
    let mut log = String::new();
    daemon.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(log.contains("WARN HTTP is not served"), "{log}");

    let config = daemon.run(&["config", "show"]);
    let key = |name: &str| {
        config.as_array().unwrap().iter().find(|key| key["key"] == name).unwrap().clone()
    };
    assert_eq!(key("http.port")["variable"], "CORTEX_PORT");
    let output = Command::new(env!("CARGO_BIN_EXE_cortex"))
        .env_clear()
        .env("CORTEX_HOME", daemon.home.path())
        .args(["config", "show", "--json"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("7438"), "{text}");
}

#[test]
fn an_address_that_others_can_reach_needs_a_token() {
    let home = TempDir::new().unwrap();
    let refused = |variables: &[(&str, &str)], said: &str| {
        let output = cortex(home.path(), variables).arg("serve").output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(said), "{text}");
        assert!(!text.contains("short-secret"), "{text}");
    };
    let open = ("CORTEX_HTTP_HOST", "0.0.0.0");
    refused(&[open], "no token is set");
    refused(&[open, ("CORTEX_HTTP_TOKEN", "short-secret")], "fewer than 16 bytes");
    refused(&[("CORTEX_HTTP_HOST", "example")], "not an IP address");
    refused(&[("CORTEX_HTTP_TOKEN_ENV", "SECRET")], "must start with CORTEX_");
    refused(&[("CORTEX_HTTP_TOKEN_FILE", "/nowhere/token")], "http.token_file");

    let file = home.path().join("other-token");
    std::fs::write(&file, "a-token-of-some-length\n").unwrap();
    let daemon = Daemon::start(&[open, ("CORTEX_HTTP_TOKEN_FILE", file.to_str().unwrap())]);
    let port = daemon.address().port();
    let ask_at = |ip: IpAddr, host: &str, path: &str, headers: &str| {
        let mut stream = TcpStream::connect((ip, port)).unwrap();
        let text =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().parse::<u16>().unwrap()
    };
    let here = IpAddr::from([127, 0, 0, 1]);
    let ask = |path: &str, headers: &str| ask_at(here, "localhost", path, headers);
    assert_eq!(ask("/api/stats", ""), 401);
    assert_eq!(ask("/metrics", ""), 401);
    assert_eq!(ask("/api/stats", "Authorization: Bearer a-token-of-some-lengtH\r\n"), 401);
    assert_eq!(ask("/api/stats", "Authorization: Bearer a-token-of-some-length\r\n"), 200);
    assert_eq!(ask("/healthz", ""), 200);
    assert_eq!(ask("/api/stats", &daemon.owner()), 200, "the token of the home counts too");
    // Whoever comes by an address of this machine may call it so: no page can let that point elsewhere.
    let Some(own) = own_address() else {
        eprintln!("NOT TESTED: this machine has no address but its own for itself");
        return;
    };
    let token = "Authorization: Bearer a-token-of-some-length\r\n";
    assert_eq!(ask_at(own, &format!("{own}:{port}"), "/healthz", ""), 200);
    assert_eq!(ask_at(own, &own.to_string(), "/api/stats", token), 200);
    assert_eq!(ask_at(here, &own.to_string(), "/api/stats", token), 421, "it came another way");
    for other in ["evil.example", "192.0.2.77", "0.0.0.0"] {
        assert_eq!(ask_at(own, other, "/api/stats", token), 421, "{other}");
        assert_eq!(ask_at(own, other, "/healthz", ""), 421, "{other}");
    }
}

/// An address under which others reach this machine; nothing is sent to find it.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("198.51.100.1:9").ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|ip| !ip.is_loopback())
}

/// Ends the daemon of a home that no test holds.
struct Ended<'a>(&'a TempDir);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        // A test that failed before there was a daemon has none to end.
        let _ = cortex(self.0.path(), &[]).arg("stop").output();
    }
}

// issue 21: whoever wants the page gets it, whether no daemon runs or one that an agent started
#[test]
fn open_brings_up_what_the_page_needs() {
    for by_agent in [false, true] {
        let home = TempDir::new().unwrap();
        let _ended = Ended(&home);
        let run = |arguments: &[&str]| {
            let ran = cortex(home.path(), &[]).args(arguments).output().unwrap();
            assert!(ran.status.success(), "{ran:?}");
            String::from_utf8(ran.stdout).unwrap()
        };
        let status = || -> Value { serde_json::from_str(&run(&["status", "--json"])).unwrap() };
        if by_agent {
            run(&["mcp"]);
            assert_eq!(status()["http"], Value::Null, "nobody wanted the page yet");
            assert!(status()["ends_when_idle_for_seconds"].is_u64());
        }
        let page = run(&["open", "--print"]);
        let (address, path) = page.trim().strip_prefix("http://").unwrap().split_once('/').unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
        assert!(answer.to_lowercase().contains("set-cookie"), "{answer}");
        // The page does not go away under whoever reads it, and a second link leads to the same place.
        assert_eq!(status()["ends_when_idle_for_seconds"], Value::Null);
        assert!(run(&["open", "--print"]).starts_with(&format!("http://{address}/open/")));
    }
}
