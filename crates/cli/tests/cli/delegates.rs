//! Grants on the command line: a delegate sees and changes its slice and nothing else, and its file is a secret.

use std::io::{BufRead as _, BufReader, Write as _};

use crate::support::Home;

const READS: &str = "read,find,context,graph,prove";

fn home() -> Home {
    let home = Home::new();
    home.save(&["visible", "yes", "--type", "decision", "--project", "web"]);
    home.save(&["other project", "no", "--type", "decision", "--project", "ops"]);
    home.save(&[
        "hidden",
        "no",
        "--type",
        "decision",
        "--project",
        "web",
        "--visibility",
        "private",
    ]);
    home.save(&["other type", "no", "--type", "fact", "--project", "web"]);
    home.run(&["relate", "1", "references", "4"]).ok();
    home
}

fn grant(home: &Home, operations: &str, more: &[&str]) -> String {
    let arguments = [
        "scope-grant",
        "bot",
        "--new-key",
        "--type",
        "decision",
        "--project",
        "web",
        "--operation",
        operations,
        "--out",
        "bot.grant",
        "--json",
    ];
    let view = home.run(&[&arguments, more].concat()).ok().json();
    view["id"].as_str().unwrap().to_owned()
}

fn delegate(home: &Home, arguments: &[&str]) -> crate::support::Ran {
    home.run(&[&["--grant", "bot.grant", "--json"], arguments].concat())
}

#[test]
fn a_delegate_reads_its_slice_and_nothing_else() {
    let home = home();
    grant(&home, READS, &[]);
    assert_eq!(delegate(&home, &["get", "1"]).ok().json()["title"], "visible");
    for id in ["2", "3", "4", "99"] {
        // The same answer whether it is there or not.
        let ran = delegate(&home, &["get", id]).ends(5);
        assert_eq!(ran.error()["message"], "outside the grant: read is not allowed there");
    }
    let found = delegate(&home, &["find"]).ok().json();
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
    let graph = delegate(&home, &["graph", "1"]).ok().json();
    assert_eq!(graph["edges"], serde_json::json!([]));
    let hits = delegate(&home, &["search", "visible or other"]).ok().json();
    let shown: Vec<u64> =
        hits["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_u64().unwrap()).collect();
    assert_eq!(shown, [1]);
    delegate(&home, &["similar", "2"]).ends(5);
    delegate(&home, &["score", "1"]).ok();
    delegate(&home, &["score", "2"]).ends(5);
    assert_eq!(delegate(&home, &["history", "1"]).ok().json().as_array().unwrap().len(), 1);
    let context = delegate(&home, &["context"]).ok().json();
    assert!(!context["text"].as_str().unwrap().contains("other"), "{context}");
    let recent = delegate(&home, &["context", "--recent"]).ok().json();
    assert!(!recent["text"].as_str().unwrap().contains("other"), "{recent}");
    assert_eq!(delegate(&home, &["timeline", "1"]).ok().json()["total"], 1);
    delegate(&home, &["timeline", "2"]).ends(5);
    delegate(&home, &["prove", "--out", "slice", "--slice"]).ok();
    let slice = home.run(&["verify-proof", "slice", "--json"]).ok().json();
    assert_eq!((&slice["slice"]["shown"], &slice["slice"]["hidden"]), (&1.into(), &2.into()));
    for refused in [
        &["save", "x", "", "--type", "decision", "--project", "web"][..],
        &["erase", "1", "--reason", "x", "--yes"],
        &["journal"],
        &["stats"],
        &["snapshot"],
        &["rebuild"],
        &["scope-list"],
        &["prove", "1", "--out", "x"],
        &["session", "start", "s"],
        &["prompt", "x"],
        &["sessions"],
        &["prompts"],
        &["projects"],
        &["archive", "--stale"],
        &["bulletin"],
        &["mind", "jobs"],
        &["mind", "run", "maintenance", "--dry-run"],
        &["mind", "show", "x-1"],
        &["budget"],
        &["admin", "status"],
        &["delete", "1", "--hard", "--yes"],
    ] {
        let ran = delegate(&home, refused);
        assert_eq!(ran.code, 5, "{refused:?} {ran:?}");
    }
    let violations = home.run(&["journal", "--kind", "scope_violation"]).ok().out;
    assert!(violations.lines().count() >= 4, "{violations}");
    home.run(&["verify"]).ok();
}

#[test]
fn a_delegate_changes_its_slice_under_its_own_name() {
    let home = home();
    grant(&home, "read,write,update,tombstone", &[]);
    let saved = delegate(
        &home,
        &["--by", "owner", "save", "mine", "", "--type", "decision", "--project", "web"],
    );
    let id = saved.ok().json()["id"].to_string();
    assert_eq!(home.run(&["get", &id, "--json"]).ok().json()["by"], "bot");
    delegate(&home, &["save", "x", "", "--type", "fact", "--project", "web"]).ends(5);
    delegate(&home, &["update", "1", "--content", "better"]).ok();
    delegate(&home, &["update", "1", "--project", "ops"]).ends(5);
    delegate(&home, &["forget", "1", "--reason", "x"]).ok();
    delegate(&home, &["forget", "2", "--reason", "x"]).ends(5);
    delegate(&home, &["relate", "1", "references", &id]).ends(5);
}

/// Every interface goes the same way: tools that an agent calls under a grant see what the grant shows.
#[test]
fn an_agent_can_be_given_a_slice() {
    let home = home();
    grant(&home, READS, &[]);
    let call = |id: u32, name: &str, arguments: serde_json::Value| {
        let params = serde_json::json!({"name": name, "arguments": arguments});
        serde_json::json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
            .to_string()
    };
    let init = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","#,
        r#""capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
    );
    let lines = [
        init.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        call(2, "mem_get_observation", serde_json::json!({"id": 1})),
        call(3, "mem_get_observation", serde_json::json!({"id": 2})),
        call(4, "mem_search", serde_json::json!({"query": "visible other hidden"})),
        call(5, "mem_save", serde_json::json!({"title": "x", "content": "y"})),
        call(6, "mem_stats", serde_json::json!({})),
    ];
    let mut child = home
        .command()
        .args(["--grant", "bot.grant", "mcp"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for line in &lines {
        writeln!(input, "{line}").unwrap();
    }
    let mut answers = std::collections::BTreeMap::new();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    while answers.len() < 6 {
        let line: serde_json::Value = serde_json::from_str(&out.next().unwrap().unwrap()).unwrap();
        answers.insert(line["id"].as_u64().unwrap(), line["result"].clone());
    }
    drop(input);
    child.wait().unwrap();
    assert_eq!(answers[&2]["structuredContent"]["title"], "visible");
    for refused in [3, 5, 6] {
        assert_eq!(answers[&refused]["isError"], true, "{refused}: {}", answers[&refused]);
    }
    let hits = answers[&4]["structuredContent"]["hits"].as_array().unwrap();
    assert!(hits.iter().all(|hit| hit["id"] == 1) && hits.len() == 1, "{hits:?}");
}

#[test]
fn revoked_expired_used_up_and_foreign_grants_are_refused() {
    let home = home();
    let id = grant(&home, READS, &["--uses", "2"]);
    delegate(&home, &["get", "1"]).ok();
    delegate(&home, &["get", "1"]).ok();
    assert_eq!(delegate(&home, &["get", "1"]).ends(5).error()["code"], "grant_refused");
    let list = home.run(&["scope-list", "--json"]).ok().json();
    assert_eq!((&list[0]["uses"], &list[0]["use_limit"]), (&2.into(), &2.into()));

    std::fs::remove_file(home.path().join("bot.grant")).unwrap();
    let second = grant(&home, READS, &["--expires", "1h"]);
    assert_ne!(id, second);
    delegate(&home, &["get", "1"]).ok();
    delegate(&home, &["--now", "2099-01-01", "get", "1"]).ends(5);
    home.run(&["scope-revoke", &second, "--reason", "done"]).ok();
    delegate(&home, &["get", "1"]).ends(5);
    assert_eq!(
        home.run(&["scope-revoke", &second, "--reason", "done", "--json"]).ok().json()["changed"],
        false
    );

    let other = self::home();
    std::fs::copy(home.path().join("bot.grant"), other.path().join("bot.grant")).unwrap();
    delegate(&other, &["get", "1"]).ends(5);
}

#[test]
fn a_delegate_can_keep_its_key_to_itself() {
    let home = home();
    let public = home.run(&["scope-keygen", "--out", "bot.key"]).ok().out;
    let arguments = [
        "scope-grant",
        "bot",
        "--delegate-key",
        public.trim(),
        "--operation",
        "read",
        "--type",
        "decision",
        "--out",
        "bot.grant",
    ];
    home.run(&arguments).ok();
    // The grant alone is worth nothing.
    delegate(&home, &["get", "1"]).ends(2);
    home.run(&["--grant", "bot.grant", "--grant-key", "bot.key", "get", "1"]).ok();
    home.run(&["scope-keygen", "--out", "other.key"]).ok();
    home.run(&["--grant", "bot.grant", "--grant-key", "other.key", "get", "1"]).ends(5);
    // Neither file is ever overwritten.
    home.run(&["scope-keygen", "--out", "bot.key"]).ends(4);
    home.run(&arguments).ends(4);
}

#[cfg(unix)]
#[test]
fn secrets_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let home = home();
    grant(&home, READS, &[]);
    for file in ["bot.grant", "keys/default.key"] {
        let mode = std::fs::metadata(home.path().join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}
