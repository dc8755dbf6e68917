//! Goal: the HTTP interface answers as its contract says, whatever is sent, and only those who may ask.
//! Method: the real program on a port of its own, and a client of a few lines that writes what it likes to the socket.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use serde_json::{Value, json};
use tempfile::TempDir;

fn cortex(home: &Path, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cortex"));
    command
        .current_dir(home)
        .env("CORTEX_HOME", home)
        .env("HOME", home)
        .env("CORTEX_PORT", "0")
        .env_remove("CORTEX_ACTOR")
        .envs(variables.iter().copied())
        .stdin(Stdio::null());
    command
}

struct Daemon {
    child: Child,
    home: TempDir,
    said: Value,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {:?}", self.body))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

impl Daemon {
    fn start(variables: &[(&str, &str)]) -> Daemon {
        let home = TempDir::new().unwrap();
        let mut child = cortex(home.path(), variables)
            .args(["serve", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
        Daemon { child, home, said }
    }

    fn address(&self) -> SocketAddr {
        self.said["http"].as_str().unwrap().strip_prefix("http://").unwrap().parse().unwrap()
    }

    /// Sends bytes and reads the answer to its end.
    fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(bytes).unwrap();
        let mut text = Vec::new();
        stream.read_to_end(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    fn send(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
        let length = body.len();
        let mut bytes = format!(
            "{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
        )
        .into_bytes();
        bytes.extend_from_slice(body);
        self.raw(&bytes)
    }

    fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "Host: localhost\r\n", b"")
    }

    fn with(&self, method: &str, path: &str, body: &Value) -> Answer {
        let headers = "Host: localhost\r\nContent-Type: application/json\r\n";
        self.send(method, path, headers, body.to_string().as_bytes())
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        self.with("POST", path, body)
    }

    fn save(&self, title: &str, kind: &str) -> u64 {
        let body = json!({"title": title, "content": format!("about {title}"), "type": kind});
        let answer = self.post("/api/observations", &body);
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.json()["id"].as_u64().unwrap()
    }

    fn run(&self, arguments: &[&str]) -> Value {
        let output = cortex(self.home.path(), &[]).args(arguments).arg("--json").output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _stopped = cortex(self.home.path(), &[]).arg("stop").output();
        let _gone = self.child.kill();
        let _waited = self.child.wait();
    }
}

fn problem(answer: &Answer, status: u16, code: &str) {
    assert_eq!(answer.status, status, "{}", answer.body);
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    let body = answer.json();
    assert_eq!((&body["status"], &body["code"]), (&json!(status), &json!(code)), "{body}");
    assert_eq!(body["error"], body["detail"]);
    assert!(body["type"].is_string() && body["title"].is_string(), "{body}");
}

// agent-memory 154-158, 162, 168
#[test]
fn memories_are_made_read_changed_found_and_deleted() {
    let daemon = Daemon::start(&[]);
    let empty = daemon.get("/api/observations");
    assert_eq!((empty.status, empty.body.as_str()), (200, "[]"));
    assert_eq!(daemon.get("/api/search?q=nothing").body, "[]");

    let made = daemon.post(
        "/api/observations",
        &json!({
            "id": 99, "created_at": "2001-01-01T00:00:00Z", "title": "JWT auth middleware",
            "content": "**What**: tokens, not cookies", "type": "decision", "project": "demo",
            "topic_key": "architecture/auth-model",
        }),
    );
    assert_eq!(made.status, 201, "{}", made.body);
    let memory = made.json();
    let id = memory["id"].as_u64().unwrap();
    assert_eq!(id, 1);
    assert_eq!(made.header("location"), Some("/api/observations/1"));
    for (name, value) in [
        ("title", "JWT auth middleware"),
        ("type", "decision"),
        ("project", "demo"),
        ("scope", "project"),
        ("session_id", ""),
        ("topic_key", "architecture/auth-model"),
    ] {
        assert_eq!(memory[name], value, "{name}: {memory}");
    }
    assert!(memory["created_at"].as_str().unwrap() > "2026");

    let read = daemon.get("/api/observations/1").json();
    assert_eq!(read["content"], "**What**: tokens, not cookies");
    // What was read can be sent back whole, with one thing changed.
    let mut whole = read.clone();
    whole["title"] = json!("JWT and sessions");
    let changed = daemon.with("PUT", "/api/observations/1", &whole);
    assert_eq!(changed.status, 200, "{}", changed.body);
    assert_eq!(changed.json()["title"], "JWT and sessions");
    assert_eq!(changed.json()["content"], read["content"]);
    whole["pinned"] = json!(true);
    assert_eq!(daemon.with("PUT", "/api/observations/1", &whole).json()["pinned"], true);
    whole["memory_type"] = json!("Goal");
    problem(&daemon.with("PUT", "/api/observations/1", &whole), 422, "invalid");
    let history = daemon.get("/api/observations/1?history=true").json();
    assert_eq!(history["history"].as_array().unwrap().len(), 2);

    // The same topic again is a new version of the same memory.
    let again = daemon.post(
        "/api/observations",
        &json!({
            "title": "JWT", "content": "new words", "type": "decision", "project": "demo",
            "topic_key": "architecture/auth-model",
        }),
    );
    assert_eq!((again.status, again.json()["id"].as_u64()), (200, Some(1)), "{}", again.body);

    let notes = [0, 1, 2].map(|n| daemon.save(&format!("note {n} on caches"), "manual"));
    let page = daemon.get("/api/observations?limit=2&offset=1");
    assert_eq!(page.header("x-total-count"), Some("4"));
    let ids: Vec<u64> =
        page.json().as_array().unwrap().iter().map(|m| m["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [notes[1], notes[0]]);
    assert_eq!(daemon.get("/api/observations?project=demo").json()[0]["id"], 1);
    assert_eq!(daemon.get("/api/observations?type=decision").header("x-total-count"), Some("1"));

    let hits = daemon.get("/api/search?q=which%20note%20on%20caches&limit=2").json();
    assert_eq!(hits.as_array().unwrap().len(), 2);
    assert!(hits[0]["rank"].as_f64().unwrap() > 0.0 && hits[0]["content"].is_string(), "{hits}");
    for odd in ["*", "%22", "(", "AND", "%F0%9F%A6%80", &"x".repeat(10_000)] {
        assert_eq!(daemon.get(&format!("/api/search?q={odd}")).status, 200, "{odd:.20}");
    }

    let path = format!("/api/observations/{}", notes[0]);
    let delete = || daemon.send("DELETE", &path, "Host: localhost\r\n", b"");
    let gone = delete();
    assert_eq!((gone.status, &gone.json()["status"]), (200, &json!("deleted")));
    problem(&daemon.get(&path), 404, "not_found");
    problem(&delete(), 404, "not_found");
    // The command line sees the same.
    assert_eq!(daemon.run(&["stats"])["observations"], 3);
}

#[test]
fn what_is_wrong_is_said_and_the_daemon_goes_on() {
    let daemon = Daemon::start(&[]);
    let id = daemon.save("one", "manual");
    problem(&daemon.get("/api/observations/x"), 400, "bad_id");
    problem(&daemon.get("/api/observations/0"), 400, "bad_id");
    problem(&daemon.get("/api/observations/99"), 404, "not_found");
    problem(&daemon.get("/api/observations?limit=0"), 422, "invalid");
    problem(&daemon.get("/api/observations?limit=1001"), 422, "invalid");
    problem(&daemon.get("/api/observations?limit=many"), 422, "invalid");
    problem(&daemon.get("/api/observations?colour=red"), 422, "invalid");
    problem(&daemon.get("/api/search"), 400, "no_query");
    problem(&daemon.get("/api/search?q="), 400, "no_query");
    problem(&daemon.get("/nowhere"), 404, "no_route");
    problem(&daemon.with("PUT", "/api/stats", &json!({})), 405, "method_not_allowed");
    problem(&daemon.post("/api/observations", &json!({})), 422, "invalid");
    problem(
        &daemon.post("/api/observations", &json!({"title": "x", "content": "y", "z": 1})),
        422,
        "invalid",
    );
    problem(&daemon.with("PUT", "/api/observations/99", &json!({"title": "x"})), 404, "not_found");
    let json = "Host: localhost\r\nContent-Type: application/json\r\n";
    let post = |headers: &str, body: &[u8]| daemon.send("POST", "/api/observations", headers, body);
    problem(&post(json, b"{\"title\": "), 400, "bad_json");
    problem(&post(json, b"{\"title\": \"\xff\xfe\"}"), 400, "bad_json");
    problem(&post(json, b"[1]"), 400, "bad_json");
    problem(&post("Host: localhost\r\nContent-Type: text/plain\r\n", b"{}"), 415, "not_json");
    let huge = format!("{{\"title\":\"x\",\"content\":\"{}\"}}", "a".repeat(10 * 1_048_576));
    problem(&post(json, huge.as_bytes()), 413, "too_large");
    let long = format!("{{\"title\":\"x\",\"content\":\"{}\"}}", "a".repeat(2 * 1_048_576));
    problem(&post(json, long.as_bytes()), 413, "too_large");
    problem(
        &daemon.send("GET", "/api/stats", "Host: localhost\r\nX-Cortex-Actor: nobody\r\n", b""),
        404,
        "not_found",
    );
    assert_eq!(daemon.get(&format!("/api/observations/{id}")).status, 200);
}

#[test]
fn a_retry_with_the_same_key_saves_once() {
    let daemon = Daemon::start(&[]);
    let headers = "Host: localhost\r\nContent-Type: application/json\r\nIdempotency-Key: k1\r\n";
    let body = json!({"title": "once", "content": "only"}).to_string();
    let first = daemon.send("POST", "/api/observations", headers, body.as_bytes());
    let second = daemon.send("POST", "/api/observations", headers, body.as_bytes());
    assert_eq!((first.status, second.status), (201, 201), "{}", second.body);
    assert_eq!(first.json()["id"], second.json()["id"]);
    assert_eq!(second.json()["status"], "replayed");
}

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
    for origin in ["http://localhost:3000", "http://127.0.0.1", "https://notes.example"] {
        assert_eq!(
            ask(&format!("Host: localhost\r\nOrigin: {origin}\r\n")).status,
            200,
            "{origin}"
        );
    }
    for origin in
        ["http://evil.example", "null", "http://localhost.evil.example", "file://", "localhost"]
    {
        let headers = format!("Host: localhost\r\nOrigin: {origin}\r\n");
        problem(&ask(&headers), 403, "origin_refused");
        for path in ["/health", "/metrics", "/nowhere", "/api/observations/1"] {
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
    assert!(log.contains("warning: HTTP is not served"), "{log}");

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

    let file = home.path().join("token");
    std::fs::write(&file, "a-token-of-some-length\n").unwrap();
    let daemon = Daemon::start(&[open, ("CORTEX_HTTP_TOKEN_FILE", file.to_str().unwrap())]);
    let port = daemon.address().port();
    let ask = |path: &str, headers: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let text =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().parse::<u16>().unwrap()
    };
    assert_eq!(ask("/api/stats", ""), 401);
    assert_eq!(ask("/metrics", ""), 401);
    assert_eq!(ask("/api/stats", "Authorization: Bearer a-token-of-some-lengtH\r\n"), 401);
    assert_eq!(ask("/api/stats", "Authorization: Bearer a-token-of-some-length\r\n"), 200);
    assert_eq!(ask("/health", ""), 200);
}

// agent-memory 159-161, 163-167
#[test]
fn sessions_edges_and_scores_follow_the_contract() {
    let daemon = Daemon::start(&[]);
    assert_eq!(daemon.get("/api/sessions").body, "[]");
    let session = json!({"id": "s-1", "project": "demo", "directory": "/work/demo"});
    let started = daemon.post("/api/sessions", &session);
    assert_eq!(started.status, 201, "{}", started.body);
    assert_eq!(started.json()["directory"], "/work/demo");
    assert!(started.json().get("ended_at").is_none());
    assert_eq!(daemon.post("/api/sessions", &session).status, 200);
    problem(&daemon.post("/api/sessions", &json!({"project": "x"})), 422, "invalid");
    let prompt = daemon.post("/api/prompts", &json!({"content": "why?", "session_id": "s-1"}));
    assert_eq!(prompt.status, 201, "{}", prompt.body);
    assert_eq!(daemon.get("/api/prompts?session_id=s-1").header("x-total-count"), Some("1"));
    let summary = daemon.post("/api/sessions/s-1/summary", &json!({"content": "## Goal\nShip"}));
    assert_eq!(summary.status, 201, "{}", summary.body);
    let ended = daemon.post("/api/sessions/s-1/end", &json!({"summary": "done"}));
    assert_eq!((ended.status, &ended.json()["status"]), (200, &json!("ended")));
    assert_eq!(daemon.get("/api/sessions/s-1").json()["summary"], "done");
    problem(&daemon.post("/api/sessions/s-1/end", &json!({})), 409, "session_ended");
    problem(&daemon.post("/api/sessions", &session), 409, "session_ended");
    problem(&daemon.post("/api/sessions/none/end", &json!({})), 404, "not_found");
    problem(&daemon.get("/api/sessions/none"), 404, "not_found");
    assert_eq!(daemon.get("/api/sessions?project=demo").json()[0]["id"], "s-1");

    let (a, b) = (daemon.save("first", "decision"), daemon.save("second", "bugfix"));
    let edge = json!({"from_obs_id": a, "to_obs_id": b, "relation_type": "follows", "weight": 0.5});
    let made = daemon.post("/api/graph/edges", &edge);
    assert_eq!(made.status, 201, "{}", made.body);
    let made = made.json();
    assert_eq!((&made["from_obs_id"], &made["weight"]), (&json!(a), &json!(0.5)));
    assert!(made["created_at"].as_str().unwrap() > "2026");
    problem(&daemon.post("/api/graph/edges", &edge), 409, "exists");
    let edge_to = |to: u64, relation: &str| {
        let edge = json!({"from_obs_id": a, "to_obs_id": to, "relation_type": relation});
        daemon.post("/api/graph/edges", &edge).status
    };
    assert_eq!(
        (edge_to(a, "follows"), edge_to(b, "likes"), edge_to(999, "follows")),
        (422, 422, 404)
    );
    let related = daemon.get(&format!("/api/graph/{b}/related?depth=2")).json();
    assert_eq!((&related[0]["id"], &related[0]["hop"]), (&json!(a), &json!(1)), "{related}");
    problem(&daemon.get(&format!("/api/graph/{a}/related?depth=11")), 422, "invalid");
    assert_eq!(daemon.get(&format!("/api/graph/{a}")).json()["edges"][0]["id"], made["id"]);
    let score = daemon.get(&format!("/api/scores/{b}")).json();
    assert_eq!(score["observation_id"], b);
    assert!(score["score"].as_f64().unwrap() > 0.9, "{score}");
    assert_eq!((&score["access_count"], &score["last_accessed"]), (&json!(0), &Value::Null));
    daemon.get(&format!("/api/observations/{b}"));
    let better = daemon.post(&format!("/api/scores/{b}/recalculate"), &json!({})).json();
    assert!(better["score"].as_f64() > score["score"].as_f64(), "{better}");
    problem(&daemon.get("/api/scores/999"), 404, "not_found");
    let path = format!("/api/graph/edges/{}", made["id"]);
    let gone = daemon.send("DELETE", &path, "Host: localhost\r\n", b"");
    assert_eq!((gone.status, &gone.json()["status"]), (200, &json!("deleted")));
    problem(&daemon.send("DELETE", &path, "Host: localhost\r\n", b""), 404, "not_found");
    assert_eq!(daemon.get(&format!("/api/graph/{b}/related")).body, "[]");
}

// agent-memory 153
#[test]
fn the_state_of_things_can_be_asked() {
    let daemon = Daemon::start(&[]);
    assert_eq!(daemon.get("/health").json()["status"], "ok");
    assert_eq!(daemon.get("/healthz").json()["service"], "cortex");
    assert_eq!(daemon.get("/readyz").json()["status"], "ready");
    let id = daemon.save("see src/auth/middleware.ts", "decision");
    let path = |rest: &str| format!("/api/observations/{id}/{rest}");
    assert!(daemon.get(&path("entities")).body.contains("src/auth/middleware.ts"));
    assert_eq!(daemon.get(&path("proof")).json()["exists"], true);
    assert_eq!(daemon.get("/api/root").json()["root"], daemon.get("/api/stats").json()["root"]);
    assert_eq!(daemon.get("/api/stats").json()["observations"], 1);
    assert!(daemon.get("/api/context").json()["text"].as_str().unwrap().contains("middleware"));
    let timeline = daemon.get(&format!("/api/timeline?observation_id={id}")).json();
    assert_eq!((&timeline["focus"]["id"], &timeline["before"]), (&json!(id), &json!([])));
    assert_eq!(daemon.get("/api/projects").json()["projects"], json!([]));
    let key = daemon.post("/api/topic-keys/suggest", &json!({"type": "decision", "title": "JWT"}));
    assert!(key.json()["topic_key"].as_str().unwrap().starts_with("decision/"), "{}", key.body);
    let learned = "## Key Learnings:\n1. bcrypt cost 12 is the right balance for us\n";
    let captured = daemon.post("/api/observations/passive", &json!({"content": learned}));
    assert_eq!(captured.json()["saved"], 1, "{}", captured.body);
    assert_eq!(daemon.with("PUT", &path("pin"), &json!({})).json()["pinned"], true);
    assert_eq!(daemon.with("DELETE", &path("pin"), &json!({})).json()["pinned"], false);
    assert_eq!(daemon.post(&path("archive"), &json!({})).json()["archived"], true);
    assert_eq!(daemon.get("/api/observations").header("x-total-count"), Some("1"));
    assert_eq!(daemon.post(&path("restore"), &json!({})).json()["archived"], false);
    let metrics = daemon.get("/metrics");
    assert!(metrics.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    let line = "cortex_http_requests_total{method=\"GET\",route=\"/api/stats\",status=\"200\"} 2";
    assert!(metrics.body.contains(line), "{}", metrics.body);
}

/// One message over `/mcp`, as a client of a revision sends it.
fn rpc(daemon: &Daemon, more: &str, message: &Value) -> Answer {
    let headers = format!(
        "Host: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{more}"
    );
    daemon.send("POST", "/mcp", &headers, message.to_string().as_bytes())
}

#[test]
fn agents_find_their_tools_over_http() {
    let daemon = Daemon::start(&[]);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }});
    problem(&rpc(&daemon, "Origin: http://evil.example\r\n", &hello), 403, "origin_refused");
    let said = rpc(&daemon, "Origin: http://localhost:3000\r\n", &hello);
    assert_eq!((said.status, said.header("mcp-session-id")), (200, None), "{}", said.body);
    assert_eq!(said.header("content-type"), Some("application/json"));
    let info = &said.json()["result"];
    assert_eq!(info["protocolVersion"], "2025-11-25");
    assert!(info["instructions"].as_str().unwrap().contains("mem_session_summary"), "{info}");

    let send = |id: u64, method: &str, params: &Value| {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answer = rpc(&daemon, "Mcp-Protocol-Version: 2025-11-25\r\n", &message);
        assert_eq!(answer.status, 200, "{method}: {}", answer.body);
        answer.json()["result"].clone()
    };
    let heard = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(rpc(&daemon, "Mcp-Protocol-Version: 2025-11-25\r\n", &heard).status, 202);
    let tools = send(2, "tools/list", &json!({}))["tools"].clone();
    assert!(tools.as_array().unwrap().iter().any(|tool| tool["name"] == "mem_search_hybrid"));
    let save = json!({
        "name": "mem_save", "arguments": {"title": "over http", "content": "works"},
    });
    let saved = send(3, "tools/call", &save);
    assert_eq!(saved["isError"], false, "{saved}");
    let id = saved["structuredContent"]["id"].as_u64().unwrap();
    // What an agent cannot do is said in words it can read, and the connection goes on.
    let wrong = send(4, "tools/call", &json!({"name": "mem_save", "arguments": {"title": "x"}}));
    assert_eq!(wrong["isError"], true, "{wrong}");
    let uri = format!("cortex://memory/{id}");
    let read = send(5, "resources/read", &json!({"uri": uri}));
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("works"), "{read}");
    let topic = json!({"name": "recall", "arguments": {"topic": "caches"}});
    assert!(send(6, "prompts/get", &topic).to_string().contains("caches"));
    // Programs see what agents saved.
    assert_eq!(daemon.get("/api/observations").json()[0]["title"], "over http");
    assert_eq!(daemon.get("/mcp").status, 405);
}

#[test]
fn agents_of_the_revision_without_sessions_find_the_same_tools() {
    let daemon = Daemon::start(&[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let send = |method: &str, name: Option<&str>, mut params: Value| {
        params["_meta"] = meta.clone();
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let name = name.map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
        let headers = format!("Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}");
        rpc(&daemon, &headers, &message)
    };
    let found = send("server/discover", None, json!({}));
    assert_eq!(found.status, 200, "{}", found.body);
    assert!(found.body.contains("2026-07-28") && found.body.contains("mem_save"), "{}", found.body);
    let listed = send("tools/list", None, json!({}));
    assert_eq!(listed.json()["result"]["tools"].as_array().unwrap().len(), 22);
    let save = json!({"name": "mem_save", "arguments": {"title": "no session", "content": "fine"}});
    let saved = send("tools/call", Some("mem_save"), save);
    assert_eq!(saved.json()["result"]["isError"], false, "{}", saved.body);
    assert_eq!(daemon.get("/api/observations").json()[0]["title"], "no session");
}

/// The document is made from the list that the router is built of; this is what callers see of it.
#[test]
fn the_document_and_the_routes_are_the_same() {
    let daemon = Daemon::start(&[]);
    daemon.save("something", "manual");
    let document = daemon.get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().unwrap();
    // agent-memory 153-167
    for (method, path) in [
        ("get", "/health"),
        ("get", "/api/observations"),
        ("post", "/api/observations"),
        ("get", "/api/observations/{id}"),
        ("put", "/api/observations/{id}"),
        ("delete", "/api/observations/{id}"),
        ("get", "/api/sessions"),
        ("post", "/api/sessions"),
        ("post", "/api/sessions/{id}/end"),
        ("get", "/api/search"),
        ("post", "/api/graph/edges"),
        ("get", "/api/graph/{id}/related"),
        ("delete", "/api/graph/edges/{id}"),
        ("get", "/api/scores/{id}"),
        ("post", "/api/scores/{id}/recalculate"),
    ] {
        assert!(paths[path][method].is_object(), "{method} {path}");
    }
    for (path, described) in paths {
        let address = path.replace("{id}", "7");
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let answer = daemon.with(method, &address, &json!({}));
            let is_described = described.get(method.to_lowercase()).is_some();
            let code = serde_json::from_str(&answer.body)
                .map_or(Value::Null, |body: Value| body["code"].clone());
            assert_ne!(code, "no_route", "{method} {path}");
            assert_eq!(code != "method_not_allowed", is_described, "{method} {path}");
            if !is_described {
                let allowed = answer.header("allow").unwrap_or_default().to_owned();
                for name in described.as_object().unwrap().keys() {
                    assert!(allowed.contains(&name.to_uppercase()), "{path}: {allowed}");
                }
            }
        }
    }
    // A route can only be added where its description is.
    let source = include_str!("../src/rest/mod.rs");
    assert!(!source.contains(".route("), "routes are added with routes!");

    let page = daemon.get("/docs");
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
    assert!(page.body.contains("/api/scores/{id}/recalculate"));
}

#[test]
fn what_is_exported_can_be_imported_elsewhere_once() {
    let daemon = Daemon::start(&[]);
    daemon.post("/api/sessions", &json!({"id": "s-1", "project": "demo"}));
    for n in 0..50 {
        let body = json!({
            "title": format!("note {n}"), "content": "long ".repeat(2_000), "project": "demo",
            "session_id": "s-1",
        });
        assert_eq!(daemon.post("/api/observations", &body).status, 201);
    }
    daemon.save("elsewhere", "manual");
    let export = daemon.get("/api/export?project=demo");
    assert_eq!(export.header("content-type"), Some("application/x-ndjson"));
    assert_eq!(export.header("transfer-encoding"), Some("chunked"));
    let lines = dechunked(&export.body);
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!((&last["record"], &last["memories"]), (&json!("end"), &json!(50)), "{last}");

    let other = Daemon::start(&[]);
    let send = |path: &str, kind: &str, body: &str| {
        let headers = format!("Host: localhost\r\nContent-Type: {kind}\r\n");
        other.send("POST", path, &headers, body.as_bytes())
    };
    let kind = "application/x-ndjson";
    let dry = send("/api/import?dry_run=true", kind, &lines);
    assert_eq!(dry.json()["memories"]["new"], 50, "{}", dry.body);
    assert_eq!(other.get("/api/stats").json()["observations"], 0);
    let report = send("/api/import", kind, &lines).json();
    assert_eq!((&report["memories"]["new"], &report["skipped"]["total"]), (&json!(50), &json!(0)));
    let again = send("/api/import", kind, &lines).json();
    assert_eq!(
        (&again["memories"]["new"], &again["memories"]["unchanged"]),
        (&json!(0), &json!(50))
    );
    assert_eq!(other.get("/api/observations?project=demo").header("x-total-count"), Some("50"));
    assert_eq!(other.get("/api/sessions/s-1").json()["memories"], 50);

    problem(&send("/api/import", "text/plain", &lines), 415, "unknown_type");
    let unknown = send("/api/import", kind, "no such thing");
    problem(&unknown, 422, "bad_source");
    assert!(!unknown.body.contains("upload-"), "{}", unknown.body);
    problem(&send("/api/import?from=markdown", kind, &lines), 422, "invalid");
    let left = std::fs::read_dir(other.home.path().join("run")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("upload-")), "{left:?}");
}

/// The text inside the chunks of an answer.
fn dechunked(body: &str) -> String {
    let (mut text, mut rest) = (String::new(), body);
    loop {
        let (size, after) = rest.split_once("\r\n").unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return text;
        }
        text.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
}

#[test]
fn a_proof_convinces_whoever_has_the_root() {
    let daemon = Daemon::start(&[]);
    let id = daemon.save("proved", "decision");
    let made = daemon.get(&format!("/api/observations/{id}/proof")).json();
    let root = daemon.get("/api/root").json()["root"].clone();
    assert_eq!(made["root"], root);
    let checked = daemon.post("/api/proofs/verify", &json!({"proof": made["proof"], "root": root}));
    assert_eq!(checked.json()["memory"]["title"], "proved", "{}", checked.body);
    let absent = daemon.get("/api/observations/99/proof").json();
    let checked = daemon.post("/api/proofs/verify", &json!({"proof": absent["proof"]}));
    assert_eq!(checked.json()["claim"], "no_memory", "{}", checked.body);
    daemon.save("later", "decision");
    let root = daemon.get("/api/root").json()["root"].clone();
    let stale = json!({"proof": made["proof"], "root": root});
    assert_eq!(daemon.post("/api/proofs/verify", &stale).json()["code"], "root_mismatch");
    problem(&daemon.post("/api/proofs/verify", &json!({"proof": "AAAA"})), 422, "proof_refused");
    problem(&daemon.post("/api/proofs/verify", &json!({"proof": "?"})), 422, "invalid");
}

#[test]
fn a_grant_as_a_token_shows_and_changes_its_slice_and_nothing_else() {
    let owner = "Host: localhost\r\nAuthorization: Bearer the-token-of-the-owner\r\n";
    let json = "Content-Type: application/json\r\n";
    let daemon = Daemon::start(&[("CORTEX_HTTP_TOKEN", "the-token-of-the-owner")]);
    let save = |who: &str, title: &str, project: &str| {
        let body = json!({
            "title": title, "content": "about caches", "type": "decision", "project": project,
        });
        let headers = format!("{who}{json}");
        daemon.send("POST", "/api/observations", &headers, body.to_string().as_bytes())
    };
    assert_eq!(save(owner, "in the slice", "web").json()["id"], 1);
    assert_eq!(save(owner, "outside", "api").json()["id"], 2);
    let file = daemon.home.path().join("reviewer.grant");
    let granted = daemon.run(&[
        "scope-grant",
        "reviewer",
        "--new-key",
        "--operation",
        "read,find,write",
        "--type",
        "Decision",
        "--project",
        "web",
        "--out",
        file.to_str().unwrap(),
    ]);
    let token = base64::engine::general_purpose::STANDARD.encode(std::fs::read(&file).unwrap());
    let who = format!("Host: localhost\r\nAuthorization: Bearer {token}\r\n");
    let ask = |method: &str, path: &str| daemon.send(method, path, &who, b"");

    let list = ask("GET", "/api/observations");
    assert_eq!(list.header("x-total-count"), Some("1"), "{}", list.body);
    assert_eq!(list.json()[0]["title"], "in the slice");
    let hits = ask("GET", "/api/search?q=caches").json();
    assert_eq!((hits.as_array().unwrap().len(), &hits[0]["id"]), (1, &json!(1)), "{hits}");
    assert_eq!(ask("GET", "/api/observations/1").json()["content"], "about caches");
    // A refusal does not tell whether the memory is there.
    let (there, nowhere) = (ask("GET", "/api/observations/2"), ask("GET", "/api/observations/99"));
    problem(&there, 403, "outside_grant");
    assert_eq!(there.body, nowhere.body);
    let made = save(&who, "by the delegate", "web");
    assert_eq!((made.status, &made.json()["by"]), (201, &json!("reviewer")), "{}", made.body);
    problem(&save(&who, "elsewhere", "api"), 403, "outside_grant");
    for (method, path) in [
        ("DELETE", "/api/observations/1"),
        ("GET", "/api/sessions"),
        ("GET", "/api/stats"),
        ("GET", "/api/export"),
        ("GET", "/api/scopes"),
        ("GET", "/api/graph/1"),
        ("GET", "/metrics"),
        ("GET", "/openapi.json"),
    ] {
        assert_eq!(ask(method, path).status, 403, "{method} {path}");
    }
    let tool = |name: &str, arguments: Value| {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": name, "arguments": arguments,
        }});
        let headers = format!(
            "{who}{json}Accept: application/json, text/event-stream\r\n\
             Mcp-Protocol-Version: 2025-11-25\r\n"
        );
        daemon.send("POST", "/mcp", &headers, message.to_string().as_bytes()).json()["result"]
            .clone()
    };
    let found = tool("mem_search", json!({"query": "caches"}));
    let hits = found["structuredContent"]["hits"].as_array().unwrap().clone();
    assert!(!hits.is_empty() && hits.iter().all(|hit| hit["project"] == "web"), "{found}");
    assert_eq!(tool("mem_stats", json!({}))["isError"], true);

    // A token that is neither the owner's nor a grant that counts gets nothing.
    let other = "Host: localhost\r\nAuthorization: Bearer something-else-altogether\r\n";
    problem(&daemon.send("GET", "/api/observations", other, b""), 401, "token_refused");
    let id = granted["id"].as_str().unwrap();
    let revoked = daemon.send("DELETE", &format!("/api/scopes/{id}?reason=done"), owner, b"");
    assert_eq!(revoked.json()["changed"], true, "{}", revoked.body);
    problem(&ask("GET", "/api/observations"), 403, "grant_refused");
    problem(&ask("POST", "/api/topic-keys/suggest"), 403, "grant_refused");
    let scopes = daemon.send("GET", "/api/scopes", owner, b"").json();
    assert_eq!((&scopes[0]["delegate"], &scopes[0]["revoked"]), (&json!("reviewer"), &json!(true)));
}
