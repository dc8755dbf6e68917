//! Goal: one daemon per home serves many processes, loses nothing when killed, and leaves when nobody needs it.
//! Method: the real program, real sockets, real standard streams, in temporary homes. `CORTEX_TEST_PROCESSES` and
//! `CORTEX_TEST_SAVES` make the crowd bigger.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

fn cortex(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cortex"));
    command
        .current_dir(home)
        .env("CORTEX_HOME", home)
        .env("HOME", home)
        .env_remove("CORTEX_ACTOR")
        .env("CORTEX_DAEMON_IDLE_SECONDS", "2")
        .stdin(Stdio::null());
    command
}

fn run(home: &Path, arguments: &[&str]) -> Output {
    cortex(home).args(arguments).output().unwrap()
}

fn ok(home: &Path, arguments: &[&str]) -> Value {
    let output = run(home, &[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// An agent: `cortex mcp` and its streams.
struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Agent {
    fn start(home: &Path) -> Agent {
        let mut child =
            cortex(home).arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut agent = Agent { child, input, output, next: 0 };
        let client = json!({"name": "test", "version": "1"});
        agent.ask(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client,
            }),
        );
        agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        agent
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
        assert_eq!(answer["id"], id);
        answer
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))["result"].clone()
    }

    fn save(&mut self, title: &str) -> u64 {
        let result = self.call("mem_save", &json!({"title": title, "content": title}));
        result["structuredContent"]["id"].as_u64().unwrap_or_else(|| panic!("{result}"))
    }

    fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

// agent-memory 168
#[test]
fn many_agents_save_at_once_through_one_daemon() {
    let home = TempDir::new().unwrap();
    let (agents, saves) = (number("CORTEX_TEST_PROCESSES", 6), number("CORTEX_TEST_SAVES", 8));
    let ids: Vec<u64> = std::thread::scope(|scope| {
        let crowd: Vec<_> = (0..agents)
            .map(|n| {
                let path = home.path();
                scope.spawn(move || {
                    let mut agent = Agent::start(path);
                    let ids: Vec<u64> =
                        (0..saves).map(|m| agent.save(&format!("agent {n} memory {m}"))).collect();
                    agent.end();
                    ids
                })
            })
            .collect();
        crowd.into_iter().flat_map(|agent| agent.join().unwrap()).collect()
    });
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), agents * saves);
    let stats = ok(home.path(), &["stats"]);
    assert_eq!(stats["observations"], agents * saves);
    assert_eq!(ok(home.path(), &["verify"])["clean"], true);
    ok(home.path(), &["stop"]);
}

#[test]
fn a_killed_daemon_is_replaced_and_nothing_is_lost() {
    let home = TempDir::new().unwrap();
    let mut agent = Agent::start(home.path());
    let first = agent.save("before");
    let status = ok(home.path(), &["status"]);
    let pid = status["pid"].to_string();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    // Its socket is still there, and nobody behind it; the same agent goes on.
    let second = agent.save("after");
    assert!(second > first);
    assert_ne!(ok(home.path(), &["status"])["pid"].to_string(), pid);
    let got = agent.call("mem_get_observation", &json!({"id": first}));
    assert_eq!(got["structuredContent"]["title"], "before");
    agent.end();
    ok(home.path(), &["stop"]);
    assert_eq!(ok(home.path(), &["verify"])["clean"], true);
}

#[test]
fn a_daemon_that_nobody_needs_ends_and_homes_do_not_mix() {
    let (home, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut agents = (Agent::start(home.path()), Agent::start(other.path()));
    agents.0.save("only here");
    agents.1.save("only there");
    let pid = ok(home.path(), &["status"])["pid"].as_u64().unwrap();
    assert_ne!(Some(pid), ok(other.path(), &["status"])["pid"].as_u64());
    assert_eq!(ok(home.path(), &["stats"])["observations"], 1);
    agents.0.end();
    agents.1.end();
    // The lock is free when it has ended; this waits for that, not for a time.
    let place = client::place::DaemonPlace::new(home.path());
    let lock = place.own(std::time::Duration::from_secs(30)).unwrap();
    assert!(lock.is_some(), "the idle daemon did not end");
    drop(lock);
    assert_eq!(run(home.path(), &["status"]).status.code(), Some(3));
    ok(other.path(), &["stop"]);
}

#[test]
fn commands_work_with_and_without_a_daemon() {
    let home = TempDir::new().unwrap();
    // A socket that somebody left behind stops nobody.
    std::fs::create_dir_all(home.path().join("run")).unwrap();
    drop(std::os::unix::net::UnixListener::bind(home.path().join("run/cortex.sock")).unwrap());
    let first = ok(home.path(), &["save", "in process", "x"]);
    let mut agent = Agent::start(home.path());
    let second = ok(home.path(), &["save", "by the daemon", "y"]);
    assert_eq!((first["id"].as_u64(), second["id"].as_u64()), (Some(1), Some(2)));
    let mut lines = cortex(home.path())
        .args(["save", "--lines"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    lines.stdin.take().unwrap().write_all(b"{\"title\":\"a\"}\n{\"title\":\"b\"}\n").unwrap();
    let lines = lines.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(lines.stdout).unwrap().lines().count(), 2);
    assert!(run(home.path(), &["prove", "1", "--out", "one.proof"]).status.success());
    assert!(run(home.path(), &["verify-proof", "one.proof"]).status.success());
    assert_eq!(run(home.path(), &["get", "99"]).status.code(), Some(3));
    assert_eq!(run(home.path(), &["serve"]).status.code(), Some(6));
    assert!(agent.save("from the agent") > 4);
    agent.end();
    ok(home.path(), &["stop"]);
    assert!(ok(home.path(), &["stats"])["observations"].as_u64() >= Some(5));
}

// agent-memory 62-102, 131
#[test]
fn a_client_lists_and_calls_every_tool() {
    let home = TempDir::new().unwrap();
    let mut agent = Agent::start(home.path());
    let listed = agent.ask("tools/list", &json!({}));
    assert!(listed.to_string().len() < 12 * 1_024, "{}", listed.to_string().len());
    let tools = listed["result"]["tools"].as_array().unwrap().clone();
    let id = agent.save("Use redb for the store");
    let other = agent.save("The store survives kill -9");
    let arguments = |name: &str| match name {
        "mem_save" => json!({"title": "t", "content": "c", "type": "decision"}),
        "mem_search" | "mem_search_hybrid" => json!({"query": "which store"}),
        "mem_session_summary" => json!({"content": "## Goal\nShip", "project": "web"}),
        "mem_save_prompt" => json!({"content": "please"}),
        "mem_update" => json!({"id": id, "content": "new"}),
        "mem_suggest_topic_key" => json!({"type": "decision", "title": "JWT or sessions"}),
        "mem_session_start" => json!({"id": "s", "project": "web"}),
        "mem_session_end" => json!({"id": "s", "summary": "done"}),
        // Several, and each is a change of its own.
        "mem_capture_passive" => json!({
            "content": "## Key Learnings:\n1. bcrypt cost 12 is the right balance for us\n\
                        2. refresh tokens have to be rotated atomically\n",
        }),
        "mem_relate" => json!({"from_id": id, "to_id": other, "relation_type": "follows"}),
        "mem_get_observation" => json!({"id": id}),
        "mem_graph" | "mem_score" | "mem_timeline" => json!({"observation_id": id}),
        _ => json!({}),
    };
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        let mut given = arguments(name);
        if matches!(name, "mem_delete" | "mem_archive") {
            let key = if name == "mem_delete" { "id" } else { "observation_id" };
            let spare = agent.save(&format!("spare for {name}"));
            given[key] = json!(spare);
        }
        let result = agent.call(name, &given);
        assert_eq!(result["isError"], false, "{name}: {result}");
        // agent-memory 87
        if name == "mem_capture_passive" {
            assert_eq!(result["structuredContent"]["saved"], 2, "{result}");
        }
        assert!(!result["content"][0]["text"].as_str().unwrap().is_empty());
        // What the output schema promises is there.
        for promised in tool["outputSchema"]["required"].as_array().unwrap() {
            let found = &result["structuredContent"][promised.as_str().unwrap()];
            assert!(!found.is_null(), "{name} promises {promised}: {result}");
        }
    }
    for (name, wrong, said) in [
        ("mem_get_observation", json!({"id": 9_999}), "no memory 9999"),
        ("mem_get_observation", json!({}), "id"),
        ("mem_save", json!({"title": "x"}), "content"),
        ("mem_save", json!({"title": "x", "content": "y", "colour": "red"}), "colour"),
        // agent-memory 26
        ("mem_graph", json!({"observation_id": id, "depth": 0}), "between 1 and 10"),
        ("mem_graph", json!({"observation_id": id, "depth": 11}), "between 1 and 10"),
        ("mem_graph", json!({"observation_id": id, "depth": 1.5}), "depth must be a whole number"),
        ("mem_graph", json!({"observation_id": id, "depth": 10.5}), "depth must be a whole number"),
        (
            "mem_graph",
            json!({"observation_id": id, "depth": "all"}),
            "depth must be a whole number",
        ),
        ("mem_search", json!({}), "query: is required"),
        ("mem_session_start", json!({"project": "web"}), "id: is required"),
        (
            "mem_relate",
            json!({"from_id": id, "to_id": other, "relation_type": "likes"}),
            "supersedes",
        ),
        // A model has tools and no command line.
        ("mem_get_observation", json!({"id": 4_711}), "Hint: mem_search and mem_context"),
        ("mem_session_end", json!({"id": "nobody"}), "Hint: mem_session_start"),
    ] {
        let result = agent.call(name, &wrong);
        assert_eq!(result["isError"], true);
        assert!(result["content"][0]["text"].as_str().unwrap().contains(said), "{result}");
    }
    for (name, given, said) in [
        ("mem_graph", json!({"observation_id": id, "depth": 10.0}), "depth: 10"),
        // agent-memory 170
        ("mem_search", json!({"query": ""}), "these are the newest"),
        ("mem_search_hybrid", json!({"query": "*"}), "[newest]"),
        ("mem_search", json!({"query": "zzyzx qwfp"}), "no memory has a word of the question"),
        // agent-memory 85, 86: both are declared idempotent, and a project is found or not needed
        ("mem_session_start", json!({"id": "s-2"}), "Session \"s-2\" started"),
        ("mem_session_start", json!({"id": "s-2"}), "Session \"s-2\" started"),
        ("mem_session_end", json!({"id": "s-2"}), "Session \"s-2\" completed"),
        ("mem_session_end", json!({"id": "s-2"}), "Session \"s-2\" completed before"),
    ] {
        let result = agent.call(name, &given);
        assert_eq!(result["isError"], false, "{result}");
        assert!(result["content"][0]["text"].as_str().unwrap().contains(said), "{result}");
    }
    let private = agent.call(
        "mem_save",
        &json!({
            "title": "key <private>hunter2</private>", "content": "<PRIVATE>never closed",
        }),
    );
    assert!(
        !private.to_string().contains("hunter2") && !private.to_string().contains("never closed")
    );
    let read = agent.ask("resources/read", &json!({"uri": format!("cortex://memory/{id}")}));
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("redb"));
    // A URI names whose memory it is, and which version.
    let full = format!("cortex://default/Decision/{id}#1");
    let first = agent.ask("resources/read", &json!({"uri": full}));
    assert_eq!(first["result"]["contents"][0]["mimeType"], "text/markdown", "{first}");
    for wrong in
        [format!("cortex://nobody/Decision/{id}#1"), format!("cortex://default/Decision/{id}#9")]
    {
        let missing = agent.ask("resources/read", &json!({"uri": wrong}));
        assert_eq!(missing["error"]["code"], -32_002, "{missing}");
    }
    let blank = agent.ask("prompts/get", &json!({"name": "recall", "arguments": {}}));
    assert_eq!(blank["error"]["code"], -32_602, "{blank}");
    let prompts = agent.ask("prompts/list", &json!({}));
    assert_eq!(prompts["result"]["prompts"].as_array().unwrap().len(), 2);
    agent.end();
    assert_eq!(run(home.path(), &["mcp", "--tools=typo"]).status.code(), Some(2));
    ok(home.path(), &["stop"]);
}

// serving S32
#[test]
fn what_an_agent_saves_belongs_to_the_session_that_it_started() {
    let home = TempDir::new().unwrap();
    let (mut one, mut other) = (Agent::start(home.path()), Agent::start(home.path()));
    one.call("mem_session_start", &json!({"id": "s-one", "project": "web"}));
    other.call("mem_session_start", &json!({"id": "s-other", "project": "web"}));
    let session_of = |agent: &mut Agent, title: &str| {
        let saved = json!({"title": title, "content": title, "project": "web"});
        let id = agent.call("mem_save", &saved)["structuredContent"]["id"].clone();
        agent.call("mem_get_observation", &json!({"id": id}))["structuredContent"]["session_id"]
            .clone()
    };
    assert_eq!(session_of(&mut one, "from the first"), "s-one");
    assert_eq!(session_of(&mut other, "from the other"), "s-other");
    one.call("mem_session_end", &json!({"id": "s-one"}));
    assert_eq!(session_of(&mut one, "after the end"), "s-other");
    one.end();
    other.end();
    ok(home.path(), &["stop"]);
}

// serving S19
#[test]
fn an_agent_that_started_us_at_home_is_asked_where_it_works() {
    let home = TempDir::new().unwrap();
    let work = home.path().join("work/My Shop");
    std::fs::create_dir_all(&work).unwrap();
    let mut child = cortex(home.path())
        .arg("mcp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut lines = BufReader::new(output).lines();
    let uri = format!("file://{}", work.display().to_string().replace(' ', "%20"));
    let mut ask = |id: u64, method: &str, params: &Value| {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(input, "{message}").unwrap();
        loop {
            let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            if line["method"] == "roots/list" {
                let roots = json!({"roots": [{"uri": uri}]});
                let answer = json!({"jsonrpc": "2.0", "id": line["id"], "result": roots});
                writeln!(input, "{answer}").unwrap();
            } else if line["id"] == id {
                if method == "initialize" {
                    let heard = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
                    writeln!(input, "{heard}").unwrap();
                }
                return line["result"].clone();
            }
        }
    };
    let client = json!({"name": "test", "version": "1"});
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {"roots": {}}, "clientInfo": client,
    });
    ask(1, "initialize", &hello);
    let saved = json!({"title": "Prices", "content": "are in cents"});
    let saved = ask(2, "tools/call", &json!({"name": "mem_save", "arguments": saved}));
    let id = json!({"id": saved["structuredContent"]["id"]});
    let got = ask(3, "tools/call", &json!({"name": "mem_get_observation", "arguments": id}));
    assert_eq!(got["structuredContent"]["project"], "my shop", "{got}");
    drop(input);
    child.wait().unwrap();
    ok(home.path(), &["stop"]);
}
