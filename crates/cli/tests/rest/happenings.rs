//! What happens to memories is told as it happens, without what they say; what was told to whom can be asked; many
//! memories are changed at once, and that is taken back.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Daemon, cortex, problem};

/// Longer than anything takes, however busy the machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// A reader of `/api/events` that gives one message after the other.
struct Watcher(BufReader<TcpStream>);

impl Watcher {
    fn start(daemon: &Daemon, query: &str) -> Watcher {
        let mut socket = TcpStream::connect(daemon.address()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let (address, owner) = (daemon.address(), daemon.owner());
        write!(socket, "GET /api/events{query} HTTP/1.1\r\nHost: {address}\r\n{owner}\r\n")
            .unwrap();
        let mut reader = BufReader::new(socket);
        let mut line = String::new();
        // The first piece says that the stream is there.
        while !line.starts_with("retry:") {
            line.clear();
            assert!(reader.read_line(&mut line).unwrap() > 0, "the stream ended");
        }
        Watcher(reader)
    }

    fn until(&mut self, event: &str) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the stream ended before {event}");
            let Some(data) = line.strip_prefix("data: ") else { continue };
            let message: Value = serde_json::from_str(data).unwrap();
            if message["event"] == event {
                return message;
            }
        }
    }
}

// W2
#[test]
fn a_change_is_told_as_it_happens_and_without_what_it_says() {
    let daemon = Daemon::start(&[]);
    daemon.save("The first one wakes the actor", "fact");
    let mut watcher = Watcher::start(&daemon, "?tract=memory");
    let id = daemon.save("Secret plans of the moon base", "decision");
    let saved = loop {
        let saved = watcher.until("saved");
        if saved["id"] == id {
            break saved;
        }
    };
    assert_eq!(saved["actor"], "default");
    assert_eq!(saved["by"], "http");
    assert!(!saved.to_string().contains("moon"), "{saved}");
    daemon.send(
        "DELETE",
        &format!("/api/observations/{id}"),
        "Host: localhost\r\n",
        b"Host: localhost\r\n",
    );
    assert_eq!(watcher.until("forgotten")["id"], id);
    daemon.post(&format!("/api/observations/{id}/restore"), &json!({}));
    assert_eq!(watcher.until("restored")["id"], id);
    // A question that is not quiet tells somebody; the question itself is for those who may ask.
    daemon.get("/api/search?q=moon+base");
    let told = watcher.until("told");
    assert_eq!(told["operation"], "search");
    assert!(!told.to_string().contains("moon"), "{told}");
    let tellings = daemon.get("/api/tellings").json();
    let telling = &tellings["tellings"][0];
    assert_eq!((&telling["question"], &telling["by"]), (&json!("moon base"), &json!("http")));
    assert_eq!(telling["memories"][0]["title"], "Secret plans of the moon base");
    assert_eq!(
        daemon.get(&format!("/api/tellings?memory_id={id}")).json()["tellings"][0],
        *telling
    );
    // Looking is not telling.
    daemon.get("/api/search?q=moon&quiet=true");
    assert_eq!(daemon.get("/api/tellings").json()["newest"], tellings["newest"]);
    // What is erased is in no telling any more.
    daemon.send(
        "DELETE",
        &format!("/api/observations/{id}?hard=true&reason=test"),
        "Host: localhost\r\n",
        b"Host: localhost\r\n",
    );
    let left = daemon.get("/api/tellings").json().to_string();
    assert!(!left.contains("moon"), "{left}");
}

// W2, W12
#[test]
fn entries_name_their_memories_and_nothing_waits_for_an_approval() {
    let daemon = Daemon::start(&[]);
    let (first, second) = (daemon.save("The first", "fact"), daemon.save("The second", "fact"));
    let edge = json!({"from_obs_id": second, "to_obs_id": first, "relation_type": "follows"});
    assert_eq!(daemon.post("/api/graph/edges", &edge).status, 201);
    let entries = daemon.get("/api/activity?limit=3").json()["entries"].clone();
    assert_eq!(entries[0]["title"], "The second", "{entries}");
    assert_eq!(entries[0]["other"], json!({"id": first, "title": "The first"}), "{entries}");
    let hard = format!("/api/observations/{first}?hard=true&reason=test");
    daemon.send("DELETE", &hard, "Host: localhost\r\n", b"Host: localhost\r\n");
    let left = daemon.get("/api/activity?limit=10").json().to_string();
    assert!(!left.contains("The first"), "{left}");
    // What is near is looked at without telling anybody.
    daemon.get(&format!("/api/observations/{second}/similar?quiet=true"));
    assert_eq!(daemon.get("/api/tellings").json()["newest"], 0);

    assert_eq!(daemon.get("/api/approvals").json(), json!({"approvals": []}));
    problem(&daemon.post("/api/approvals/nothing", &json!({"approve": true})), 404, "not_found");
    problem(&daemon.post("/api/approvals/nothing", &json!({"sure": true})), 422, "invalid");
}

// W3
#[test]
fn many_are_changed_at_once_and_the_answer_takes_it_back() {
    let daemon = Daemon::start(&[]);
    let ids: Vec<u64> = (0..3).map(|n| daemon.save(&format!("Number {n}"), "fact")).collect();
    daemon.post(&format!("/api/observations/{}/archive", ids[1]), &json!({}));
    let states = || -> Vec<Value> {
        let read = |id: &u64| {
            daemon.get(&format!("/api/observations/{id}?include_put_away=true&quiet=true")).json()
        };
        let state = |memory: Value| {
            json!([
                memory["archived"],
                memory["deleted_at"].is_null(),
                memory["tags"],
                memory["project"],
                memory["pinned"]
            ])
        };
        ids.iter().map(read).map(state).collect()
    };
    let before = states();
    let actions = [
        json!({"action": "archive"}),
        json!({"action": "forget"}),
        json!({"action": "restore"}),
        json!({"action": "pin"}),
        json!({"action": "add_tag", "value": "reviewed"}),
        json!({"action": "move", "value": "harbor"}),
    ];
    for action in actions {
        let mut request = action.clone();
        request["ids"] = json!([ids[0], ids[1], ids[2], 99_999]);
        let answer = daemon.post("/api/observations/bulk", &request).json();
        assert!(answer["changed"].as_u64().unwrap() > 0, "{action}: {answer}");
        assert_eq!(answer["refused"][0]["id"], 99_999, "{action}: {answer}");
        assert_ne!(states(), before, "{action}");
        for undo in answer["undo"].as_array().unwrap() {
            assert_eq!(daemon.post("/api/observations/bulk", undo).status, 200);
        }
        assert_eq!(states(), before, "{action}");
    }
    for wrong in [json!({"action": "archive", "ids": []}), json!({"action": "add_tag", "ids": [1]})]
    {
        problem(&daemon.post("/api/observations/bulk", &wrong), 422, "invalid");
    }
}

// W1
#[test]
fn days_tags_and_entries_are_counted_and_settings_are_set_and_taken_back() {
    let daemon = Daemon::start(&[]);
    for n in 0..4 {
        let tags = if n % 2 == 0 { json!(["even", "all"]) } else { json!(["all"]) };
        let title = format!("Number {n}");
        let body = json!({"title": title, "content": "text", "type": "fact", "project": "p", "tags": tags});
        assert_eq!(daemon.post("/api/observations", &body).status, 201);
    }
    let counts = daemon.get("/api/counts?days=7&project=p").json();
    assert_eq!(counts["days"].as_array().unwrap().len(), 7);
    assert_eq!((&counts["total"], &counts["before"]), (&json!(4), &json!(0)));
    assert_eq!(counts["last_day"][0]["saved"], 4);
    problem(&daemon.get("/api/counts?days=0"), 422, "invalid");
    let tags = daemon.get("/api/tags").json();
    assert_eq!(tags["tags"][0], json!({"tag": "all", "memories": 4}));
    assert_eq!(tags["tags"][1], json!({"tag": "even", "memories": 2}));
    assert_eq!(daemon.get("/api/observations?tag=even").json().as_array().unwrap().len(), 2);
    assert_eq!(daemon.get("/api/search?q=number&tag=even").json().as_array().unwrap().len(), 2);
    let journal = daemon.get("/api/journal?kind=write&limit=2").json();
    assert_eq!(journal["entries"].as_array().unwrap().len(), 2);
    assert!(journal["next"].as_u64().unwrap() > 0);
    let seq = journal["entries"][0]["seq"].as_u64().unwrap();
    assert_eq!(daemon.get(&format!("/api/journal/{seq}")).json()["kind"], "write");
    assert_eq!(daemon.get("/api/actors").json()["actors"][0]["actor"], "default");
    let set = |body: &Value| daemon.with("PUT", "/api/settings", body);
    let answer = set(&json!({"key": "memory.dedup_minutes", "value": "7"})).json();
    assert_eq!((&answer["setting"]["value"], &answer["changed"]), (&json!(7), &json!(true)));
    assert!(answer["before"].is_null());
    set(&json!({"key": "memory.dedup_minutes"}));
    let settings = daemon.get("/api/settings").json();
    let of = |key: &str| {
        settings["settings"].as_array().unwrap().iter().find(|s| s["key"] == key).cloned().unwrap()
    };
    assert_eq!(of("memory.dedup_minutes")["origin"], "default");
    problem(&set(&json!({"key": "memory.dedup_minutes", "value": "soon"})), 422, "config");
}

// web W2, W5: hooks tell most of what agents are told
#[test]
fn what_a_hook_told_is_listed_and_what_it_would_tell_is_seen_without_telling() {
    let daemon = Daemon::start(&[]);
    let id = daemon.save("Never push on Fridays", "rule");
    let seen = daemon.get("/api/briefing?agent=claude-code").json();
    assert_eq!(seen["memories"], json!([id]), "{seen}");
    assert!(seen["context"].as_str().unwrap().contains("Never push on Fridays"), "{seen}");
    assert_eq!(daemon.get("/api/tellings").json()["newest"], 0, "looking is not telling");
    assert_eq!(daemon.get("/api/sessions").json(), json!([]), "and begins no session");

    let started = json!({
        "session_id": "s-1", "cwd": daemon.home.path(), "hook_event_name": "SessionStart", "source": "startup",
    });
    let mut hook = cortex(daemon.home.path(), &[])
        .args(["hook", "session-start", "--agent", "claude-code"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    hook.stdin.take().unwrap().write_all(started.to_string().as_bytes()).unwrap();
    let said = hook.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&said.stdout).contains("Never push on Fridays"), "{said:?}");
    let told = daemon.get("/api/tellings").json()["tellings"].clone();
    assert_eq!(told[0]["operation"], "session_start", "{told}");
    assert_eq!(
        (&told[0]["by"], &told[0]["memories"][0]["id"]),
        (&json!("claude-code"), &json!(id))
    );
    // What is seen is what a session that begins now is told, whatever others were.
    assert_eq!(daemon.get("/api/briefing?agent=claude-code").json()["memories"], json!([id]));
    problem(&daemon.get("/api/briefing?moment=noon"), 422, "invalid");
}

// web W19
#[test]
fn the_log_is_for_the_owner_and_has_what_was_written() {
    let daemon = Daemon::start(&[]);
    let log = daemon.get("/api/logs?limit=50").json();
    assert!(log["lines"].to_string().contains("serving"), "{log}");
    assert!(log["total"].as_u64() >= Some(1), "{log}");
    problem(&daemon.get("/api/logs?limit=0"), 422, "invalid");
}
