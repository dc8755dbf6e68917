//! Memories over HTTP: made, read, changed, found, deleted; what is wrong with a request is said.

use serde_json::json;

use crate::support::{Daemon, problem};

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
    assert_eq!(daemon.get("/api/observations?type=Decision").header("x-total-count"), Some("1"));

    let hits = daemon.get("/api/search?q=which%20note%20on%20caches&limit=2").json();
    assert_eq!(hits.as_array().unwrap().len(), 2);
    assert!(hits[0]["rank"].as_f64().unwrap() > 0.0 && hits[0]["content"].is_string(), "{hits}");
    // Nothing to search by: the newest.
    assert_eq!(daemon.get("/api/search?q=*&limit=1").json()[0]["id"], notes[2]);
    assert_eq!(daemon.get("/api/search?q=%20&type=decision").json()[0]["id"], 1);
    for odd in ["%20", "*", "%22", "(", "AND", "%F0%9F%A6%80", &"x".repeat(10_000)] {
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
    for body in
        [json!({"content": "c"}), json!({"title": " ", "content": "c"}), json!({"title": "t"})]
    {
        problem(&daemon.post("/api/observations", &body), 422, "invalid");
    }
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
