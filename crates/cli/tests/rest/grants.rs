//! Grants as tokens: a delegate sees and changes its slice and nothing else.

use base64::Engine as _;
use serde_json::{Value, json};

use crate::support::{Daemon, problem};

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
    // F6: the token stands for the grant; it holds no key, and neither does what is kept of it.
    let token = daemon.run(&["scope-token", file.to_str().unwrap()])["token"].clone();
    let token = token.as_str().unwrap().to_owned();
    let held: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let secret = held["secret_key"].as_str().unwrap();
    assert!(!token.contains(secret), "{token}");
    for kept in std::fs::read_dir(daemon.home.path().join("keys/bearers")).unwrap() {
        let text = std::fs::read_to_string(kept.unwrap().path()).unwrap();
        assert!(!text.contains(secret) && !text.contains(&token), "{text}");
    }
    // The file itself, which held the key, is no token any more.
    let whole = base64::engine::general_purpose::STANDARD.encode(std::fs::read(&file).unwrap());
    let whole = format!("Host: localhost\r\nAuthorization: Bearer {whole}\r\n");
    problem(&daemon.send("GET", "/api/observations", &whole, b""), 401, "token_refused");
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
        ("GET", "/api/audit"),
        ("GET", "/api/export"),
        ("GET", "/api/scopes"),
        ("GET", "/api/graph/1"),
        ("GET", "/metrics"),
        ("GET", "/openapi.json"),
        ("GET", "/api/briefing"),
        ("GET", "/api/logs"),
        ("GET", "/api/talents/default"),
        ("GET", "/api/agents"),
        ("POST", "/api/agents/claude-code"),
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

/// The owner of a daemon that wants a token, as headers.
const OWNER: &str = "Host: localhost\r\nAuthorization: Bearer the-token-of-the-owner\r\n\
    Content-Type: application/json\r\n";

fn bearer(token: &Value) -> String {
    let token = token.as_str().unwrap();
    format!(
        "Host: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
    )
}

#[test]
fn a_grant_can_be_made_over_http_by_the_owner_alone() {
    let daemon = Daemon::start(&[("CORTEX_HTTP_TOKEN", "the-token-of-the-owner")]);
    let grant = |who: &str, body: &Value| {
        daemon.send("POST", "/api/scopes", who, body.to_string().as_bytes())
    };
    let wish = json!({
        "name": "reviewer", "operations": ["read", "find"], "include": {"projects": ["Web"]},
        "exclude": {"types": ["Fact"]}, "expires": "2h", "use_limit": 50,
    });
    let made = grant(OWNER, &wish);
    assert_eq!(made.status, 201, "{}", made.body);
    let made = made.json();
    assert_eq!((&made["delegate"], &made["use_limit"]), (&json!("reviewer"), &json!(50)), "{made}");
    assert_eq!(made["file"]["id"], made["id"]);
    let who = bearer(&made["token"]);
    let list = daemon.send("GET", "/api/observations", &who, b"");
    assert_eq!((list.status, list.body.as_str()), (200, "[]"));
    assert_eq!(grant(&who, &wish).status, 403);
    let scopes = daemon.send("GET", "/api/scopes", OWNER, b"").json();
    assert_eq!(scopes[0]["id"], made["id"]);
    assert!(scopes[0]["include"].as_str().unwrap().contains("web"), "{scopes}");
    assert_eq!(made["file"].get("secret_key"), None, "no key goes over the wire");

    // Who has a key keeps the secret; the answer then holds none, and so no token.
    let own = json!({"name": "other", "operations": ["read"], "delegate_key": made["public_key"]});
    let own = grant(OWNER, &own).json();
    assert_eq!((&own["token"], &own["file"]["secret_key"]), (&Value::Null, &Value::Null), "{own}");

    let entries = daemon.send("GET", "/api/stats", OWNER, b"").json()["entries"].clone();
    for (field, value) in [
        ("operations", json!([])),
        ("operations", json!(["fly"])),
        ("expires", json!("yesterday")),
        ("expires", json!("400d")),
        ("delegate_key", json!("12")),
        ("include", json!({"types": ["Dream"]})),
        ("budget_tokens", json!(0)),
        ("surprise", json!(1)),
    ] {
        let mut wrong = wish.clone();
        wrong[field] = value.clone();
        let answer = grant(OWNER, &wrong);
        assert_eq!(answer.status, 422, "{field} {value}: {}", answer.body);
    }
    let after = daemon.send("GET", "/api/stats", OWNER, b"").json()["entries"].clone();
    assert_eq!(entries, after, "a refused grant leaves nothing behind");
}

#[test]
fn a_delegate_sees_its_slice_in_every_view_and_nothing_of_the_rest() {
    let daemon = Daemon::start(&[("CORTEX_HTTP_TOKEN", "the-token-of-the-owner")]);
    let post = |path: &str, body: &Value| {
        let answer = daemon.send("POST", path, OWNER, body.to_string().as_bytes());
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.json()
    };
    post("/api/sessions", &json!({"id": "s", "project": "web", "directory": "/w"}));
    post("/api/prompts", &json!({"content": "a secret wish", "project": "web"}));
    let mut ids = Vec::new();
    for (title, project, pinned) in [
        ("first of web", "web", false),
        ("hidden in api", "api", true),
        ("second of web", "web", true),
    ] {
        let saved = post(
            "/api/observations",
            &json!({
                "title": title, "content": format!("{title}: caches in src/{project}/cache.rs"),
                "type": "decision", "project": project, "session_id": "s", "pinned": pinned,
            }),
        );
        ids.push(saved["id"].as_u64().unwrap());
    }
    let grant = |operations: &[&str], budget: Option<u32>| {
        let made = post(
            "/api/scopes",
            &json!({
                "name": "bot", "operations": operations, "budget_tokens": budget,
                "include": {"projects": ["web"]},
            }),
        );
        bearer(&made["token"])
    };
    let who = grant(&["read", "find", "context"], None);
    let ask = |who: &str, path: &str| daemon.send("GET", path, who, b"");
    let (first, hidden, second) = (ids[0], ids[1], ids[2]);

    let timeline = ask(&who, &format!("/api/timeline?observation_id={second}"));
    assert_eq!(timeline.status, 200, "{}", timeline.body);
    let shown = timeline.json();
    assert_eq!(shown["before"][0]["id"], first);
    assert_eq!((shown["total"].as_u64(), &shown["session"]), (Some(2), &Value::Null), "{shown}");
    let context = ask(&who, "/api/context").json();
    assert_eq!(context["pinned"][0]["id"], second, "{context}");
    assert_eq!((&context["sessions"], &context["prompts"]), (&json!([]), &json!([])));
    let similar = ask(&who, &format!("/api/observations/{first}/similar")).json();
    let near: Vec<_> = similar.as_array().unwrap().iter().map(|hit| hit["id"].as_u64()).collect();
    assert_eq!(near, [Some(second)], "{similar}");
    let named = ask(&who, &format!("/api/observations/{first}/entities"));
    assert!(named.body.contains("src/web/cache.rs"), "{}", named.body);
    let all = ask(&who, "/api/entities");
    for answer in [&timeline.body, &context.to_string(), &similar.to_string(), &all.body] {
        assert!(!answer.contains("api") && !answer.contains("wish"), "{answer}");
    }
    for path in [
        format!("/api/timeline?observation_id={hidden}"),
        format!("/api/observations/{hidden}/similar"),
        format!("/api/observations/{hidden}/entities"),
        format!("/api/scores/{hidden}"),
        "/api/stats".to_owned(),
        "/api/projects".to_owned(),
        "/api/sessions".to_owned(),
        "/api/prompts".to_owned(),
    ] {
        problem(&ask(&who, &path), 403, "outside_grant");
    }
    // Each view has its operation: who may only read finds nothing.
    let reader = grant(&["read"], None);
    for path in [
        format!("/api/timeline?observation_id={first}"),
        "/api/context".into(),
        "/api/search?q=caches".into(),
    ] {
        assert_eq!(ask(&reader, &path).status, 403, "{path}");
    }
    assert_eq!(ask(&reader, &format!("/api/observations/{first}/entities")).status, 200);
    // A budget holds in all of them.
    let poor = grant(&["find", "context"], Some(16));
    assert_eq!(ask(&poor, "/api/search?q=caches").json().as_array().unwrap().len(), 1);
    assert_eq!(ask(&poor, "/api/observations").json().as_array().unwrap().len(), 1);
    assert_eq!(ask(&poor, "/api/context").json()["memories"], json!([]));
    // The owner sees everything there.
    let whole = ask(OWNER, &format!("/api/timeline?observation_id={second}")).json();
    assert_eq!((whole["total"].as_u64(), &whole["session"]["id"]), (Some(3), &json!("s")));
}
