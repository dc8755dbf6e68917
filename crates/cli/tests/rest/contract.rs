//! Sessions, edges, scores, counts, documents and proofs over HTTP, as the contract has them.

use serde_json::{Value, json};

use crate::support::{Daemon, problem};

// agent-memory 159-161, 163-167
#[test]
fn sessions_edges_and_scores_follow_the_contract() {
    let daemon = Daemon::start(&[]);
    assert_eq!(daemon.get("/api/sessions").body, "[]");
    let session = json!({"id": "s-1", "project": "demo", "directory": "/src/demo"});
    let started = daemon.post("/api/sessions", &session);
    assert_eq!(started.status, 201, "{}", started.body);
    assert_eq!(started.json()["directory"], "/src/demo");
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
    assert_eq!(daemon.get("/health").json()["service"], "cortex");
    assert_eq!(daemon.get("/healthz").json(), json!({"status": "ok"}));
    assert_eq!(daemon.get("/readyz").json()["status"], "ready");
    let id = daemon.save("see src/auth/middleware.ts", "decision");
    let path = |rest: &str| format!("/api/observations/{id}/{rest}");
    assert!(daemon.get(&path("entities")).body.contains("src/auth/middleware.ts"));
    assert_eq!(daemon.get(&path("proof")).json()["exists"], true);
    assert_eq!(daemon.get("/api/root").json()["root"], daemon.get("/api/stats").json()["root"]);
    assert_eq!(daemon.get("/api/stats").json()["observations"], 1);
    let audit = daemon.get("/api/audit?limit=1").json();
    assert_eq!(
        (&audit["memories"], &audit["findings"][0]["problem"]),
        (&json!(1), &json!("unplaced"))
    );
    problem(&daemon.get("/api/audit?limit=0"), 422, "invalid");
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
            if (method, path.as_str()) == ("GET", "/api/events") {
                // It answers for as long as somebody listens.
                continue;
            }
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
    let source = include_str!("../../../http/src/lib.rs");
    assert!(!source.contains(".route("), "routes are added with routes!");

    let page = daemon.get("/docs");
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
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
    problem(&daemon.post("/api/proofs/verify", &stale), 409, "root_mismatch");
    problem(&daemon.post("/api/proofs/verify", &json!({"proof": "AAAA"})), 422, "proof_refused");
    problem(&daemon.post("/api/proofs/verify", &json!({"proof": "?"})), 422, "invalid");
}
