//! Export and import over HTTP.

use serde_json::{Value, json};

use crate::support::{Daemon, problem};

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

// web W18: what the page brought in, the page takes back
#[test]
fn an_import_is_taken_back_by_its_run_and_brought_again_by_undoing_that() {
    let (daemon, other) = (Daemon::start(&[]), Daemon::start(&[]));
    let (first, second) = (daemon.save("The first", "fact"), daemon.save("The second", "fact"));
    let forgotten = daemon.save("The third", "fact");
    let edge = json!({"from_obs_id": second, "to_obs_id": first, "relation_type": "follows"});
    assert_eq!(daemon.post("/api/graph/edges", &edge).status, 201);
    daemon.with("PUT", &format!("/api/observations/{first}"), &json!({"content": "Said better."}));
    daemon.with("DELETE", &format!("/api/observations/{forgotten}"), &json!({}));
    let lines = dechunked(&daemon.get("/api/export?all=true").body);
    let own = other.save("Of this home", "fact");
    let send = |path: &str| {
        let headers = "Host: localhost\r\nContent-Type: application/x-ndjson\r\n";
        other.send("POST", path, headers, lines.as_bytes()).json()
    };
    assert_eq!(send("/api/import?dry_run=true")["run"], Value::Null);
    let report = send("/api/import");
    let run = report["run"].as_str().unwrap_or_else(|| panic!("{report}"));
    assert_eq!(other.get("/api/stats").json()["observations"], 3, "{report}");
    let titles = || {
        let list = other.get("/api/observations").json();
        let mut titles: Vec<String> = list
            .as_array()
            .unwrap()
            .iter()
            .map(|memory| memory["title"].as_str().unwrap().to_owned())
            .collect();
        titles.sort();
        titles
    };
    let undone = other.post("/api/mind/undo", &json!({"run": run})).json();
    assert_eq!(undone["left_alone"], json!([]), "{undone}");
    assert_eq!(titles(), ["Of this home"]);
    let again = other.post("/api/mind/undo", &json!({"run": undone["run"]})).json();
    assert_eq!(again["left_alone"], json!([]), "{again}");
    assert_eq!(titles(), ["Of this home", "The first", "The second"]);
    problem(&other.post("/api/mind/undo", &json!({"run": run})), 409, "already_undone");
    assert_eq!(other.get(&format!("/api/observations/{own}")).json()["title"], "Of this home");
}

#[test]
fn a_backup_is_made_where_a_person_says() {
    let daemon = Daemon::start(&[]);
    daemon.save("Kept", "fact");
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("copy").display().to_string();
    let made = daemon.post("/api/backup", &json!({"folder": to})).json();
    assert_eq!(made["actors"][0]["actor"], "default", "{made}");
    assert!(made["actors"][0]["copied_bytes"].as_u64().unwrap() > 0, "{made}");
    assert!(folder.path().join("copy/default").is_dir());
    problem(&daemon.post("/api/backup", &json!({"folder": "here"})), 422, "invalid");
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
