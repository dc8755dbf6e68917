//! Parts of grants, handed on by a delegate; and what delegates cannot do.

use serde_json::{Value, json};

use crate::support::{Daemon, cortex, problem};

fn saved(daemon: &Daemon, title: &str, project: &str) {
    let body =
        json!({"title": title, "content": "about caches", "type": "decision", "project": project});
    assert_eq!(daemon.post("/api/observations", &body).status, 201);
}

// F6
#[test]
fn a_delegate_hands_on_less_than_it_has_and_never_more() {
    let daemon = Daemon::start(&[]);
    saved(&daemon, "of web", "web");
    saved(&daemon, "of api", "api");
    let folder = daemon.home.path();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    daemon.run(&[
        "scope-grant",
        "reviewer",
        "--new-key",
        "--operation",
        "read,find",
        "--project",
        "web,api",
        "--out",
        &path("reviewer.grant"),
    ]);
    let made = daemon.run(&[
        "scope-attenuate",
        &path("reviewer.grant"),
        "helper",
        "--new-key",
        "--operation",
        "find",
        "--project",
        "web",
        "--expires",
        "1h",
        "--out",
        &path("helper.grant"),
    ]);
    assert_eq!((&made["delegate"], &made["operations"]), (&json!("helper"), &json!(["find"])));
    let token = daemon.run(&["scope-token", &path("helper.grant")])["token"].clone();
    let who = format!("Host: localhost\r\nAuthorization: Bearer {}\r\n", token.as_str().unwrap());
    let found = daemon.send("GET", "/api/search?q=caches", &who, b"").json();
    let titles: Vec<&Value> = found.as_array().unwrap().iter().map(|hit| &hit["title"]).collect();
    assert_eq!(titles, ["of web"], "{found}");
    problem(&daemon.send("GET", "/api/observations/1", &who, b""), 403, "grant_refused");
    for more in [
        &["--operation", "write"][..],
        &["--project", "elsewhere"],
        &["--type", "Decision", "--project", "web,elsewhere"],
    ] {
        let output = cortex(folder, &[])
            .args(["scope-attenuate", &path("helper.grant"), "other", "--new-key"])
            .args(more)
            .args(["--out", &path("more.grant")])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(5), "{more:?}: {output:?}");
        assert!(!folder.join("more.grant").exists());
    }
    // Who revokes the first has revoked what was made of it.
    let id = daemon.run(&["scope-list"])[0]["id"].as_str().unwrap().to_owned();
    daemon.run(&["scope-revoke", &id, "--reason", "done"]);
    problem(&daemon.send("GET", "/api/search?q=caches", &who, b""), 403, "grant_refused");
}

// F6
#[test]
fn delegates_teach_nothing_make_no_actors_and_fill_no_journal() {
    let daemon = Daemon::start(&[]);
    for number in 0..4 {
        saved(&daemon, &format!("memory {number}"), "web");
    }
    let wish = json!({"name": "bot", "operations": ["read", "find", "attest"], "include": {"projects": ["web"]}});
    let made = daemon.post("/api/scopes", &wish).json();
    let token = made["token"].as_str().unwrap();
    assert!(token.starts_with("cg_"), "{token}");
    let who = format!("Host: localhost\r\nAuthorization: Bearer {token}\r\n");
    let entries = || daemon.get("/api/stats").json()["entries"].as_u64().unwrap();
    let before = entries();
    for id in 100..130 {
        let answer = daemon.send("GET", &format!("/api/observations/{id}"), &who, b"");
        assert!([403, 429].contains(&answer.status), "{}", answer.body);
    }
    assert_eq!(entries(), before + 1, "thirty violations, one entry");
    // Another actor that is there is refused like one that is not.
    daemon.run(&["--actor", "there", "save", "somebody", "else"]);
    let of = |actor: &str| {
        let headers = format!("{who}X-Cortex-Actor: {actor}\r\n");
        daemon.send("GET", "/api/observations", &headers, b"")
    };
    let (there, nowhere) = (of("there"), of("nowhere"));
    problem(&there, 403, "grant_refused");
    assert_eq!((nowhere.status, nowhere.body), (there.status, there.body));
    assert_eq!(daemon.run(&["actors"]).as_array().unwrap().len(), 2);
    let file = daemon.home.path().join("bot.grant").to_str().unwrap().to_owned();
    daemon.run(&[
        "scope-grant",
        "bot",
        "--new-key",
        "--operation",
        "attest,read",
        "--project",
        "web",
        "--out",
        &file,
    ]);
    let weights = daemon.run(&["salience"])["weights"].clone();
    let attested = daemon.run(&[
        "--grant",
        &file,
        "attest",
        "intent-1",
        "--outcome",
        "success",
        "--cite",
        "1",
        "--retrieved",
        "2,3,4",
    ]);
    assert_eq!(attested["learned"], false, "{attested}");
    assert_eq!(daemon.run(&["salience"])["weights"], weights);
}

// F9
#[test]
fn a_list_of_long_memories_ends_and_says_where_to_go_on() {
    let daemon = Daemon::start(&[]);
    let text = "a long memory ".repeat(70_000);
    for number in 0..12 {
        let body = json!({"title": format!("{number}"), "content": format!("{number} {text}")});
        assert_eq!(daemon.post("/api/observations", &body).status, 201);
    }
    let mut seen = Vec::new();
    let mut offset = Some("0".to_owned());
    while let Some(from) = offset {
        let page = daemon.get(&format!("/api/observations?limit=50&offset={from}"));
        assert!(page.body.len() <= 9 * 1_048_576, "{}", page.body.len());
        assert_eq!(page.header("x-total-count"), Some("12"));
        let items = page.json();
        seen.extend(items.as_array().unwrap().iter().map(|item| item["id"].as_u64().unwrap()));
        offset = page.header("x-next-offset").map(str::to_owned);
    }
    seen.sort_unstable();
    assert_eq!(seen, (1..=12).collect::<Vec<u64>>());
}
