//! Imports from SQLite databases.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::sources::{self, CLAUDE_MEM, CLAUDE_MEM_OLD, GO_CORTEX};
use crate::support::Home;

fn import(home: &Home, path: &std::path::Path, more: &[&str]) -> Value {
    let arguments = [&["import", path.to_str().unwrap(), "--json"], more].concat();
    home.run(&arguments).ok().json()
}

/// The memories of a home by title, as `export` shows them.
fn memories(home: &Home) -> Vec<Value> {
    let out = home.run(&["export", "--all"]).ok().out;
    let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["record"] == "memory").collect()
}

fn titled<'m>(memories: &'m [Value], title: &str) -> &'m Value {
    let found = memories.iter().find(|memory| memory["versions"][0]["title"] == title);
    found.unwrap_or_else(|| panic!("no {title:?} in {memories:#?}"))
}

// agent-memory 8.4, 0.2-8; 171: dates are true
#[test]
fn engram_arrives_with_dates_marks_and_relations() {
    let home = Home::new();
    let (path, _running) = sources::engram(home.path());
    let report = import(&home, &path, &[]);
    assert_eq!(report["format"], "engram");
    assert_eq!(report["memories"], json!({"new": 6, "changed": 0, "unchanged": 0}), "{report}");
    assert_eq!(report["sessions"]["new"], 2);
    assert_eq!(report["prompts"]["new"], 1);
    assert_eq!(report["edges"]["new"], 1);
    assert_eq!(report["forgotten"], 1);
    assert_eq!(
        report["dates"],
        json!({"as_created": 6, "as_valid_from": 0, "absent": 0, "lost": 0})
    );
    // Not UTF-8, two too large, one empty, one open relation, one to nowhere.
    assert_eq!(report["skipped"]["total"], 6, "{report:#}");
    let rows = report["skipped"]["rows"].to_string();
    for part in [
        "its title is not UTF-8",
        "more than 1048576 bytes",
        "neither title nor text",
        "obs-nowhere",
    ] {
        assert!(rows.contains(part), "{part}: {rows}");
    }

    let memories = memories(&home);
    let jwt = titled(&memories, "Use JWT");
    assert_eq!(jwt["created"], "2026-03-01T10:00:00.000Z");
    assert_eq!(jwt["updated"], "2026-03-05T10:00:00.000Z");
    assert_eq!((&jwt["type"], &jwt["kind"]), (&json!("Decision"), &json!("decision")));
    assert_eq!(jwt["project"], "web");
    assert_eq!(jwt["topic_key"], "architecture/auth");
    assert_eq!(jwt["session"], "manual-save-web");
    assert_eq!(jwt["duplicates"], 2);
    assert_eq!(jwt["tags"], json!(["tool:claude"]));
    assert_eq!(jwt["origin"], "engram:obs-a");
    assert_eq!(jwt["versions"][0]["source"], "imported");
    assert_eq!(jwt["versions"][0]["origin"], "engram:obs-a");
    assert_eq!(titled(&memories, "Fixed login")["scope"], "personal");
    let gone = titled(&memories, "Gone");
    assert_eq!(gone["kind"], "weird-type");
    assert_eq!(gone["forgotten"]["reason"], "deleted in engram");
    assert_eq!(gone["forgotten"]["at"], "2026-03-03T11:00:00.000Z");
    let summary = titled(&memories, "Summary");
    assert_eq!((&summary["type"], &summary["pinned"]), (&json!("Event"), &json!(true)));
    assert_eq!(summary["versions"][0]["fields"]["happened_at"], "2026-03-02T17:00:00.000Z");
    assert_eq!(titled(&memories, "No sync id")["created"], "2026-02-01T10:00:00.000Z");
    // Nothing private came along.
    let all = home.run(&["export", "--all"]).ok().out;
    assert!(!all.contains("hidden words") && !all.contains("ghp_0123456789"), "{all}");
    assert!(report["redacted"].as_u64().unwrap() >= 2);
    home.run(&["verify"]).ok();
}

// agent-memory 2.13 (#531, #244): nothing twice
#[test]
fn importing_twice_adds_nothing() {
    let home = Home::new();
    let (path, _running) = sources::engram(home.path());
    import(&home, &path, &[]);
    let root = home.root();
    let report = import(&home, &path, &[]);
    assert_eq!(report["memories"], json!({"new": 0, "changed": 0, "unchanged": 6}));
    assert_eq!(report["edges"], json!({"new": 0, "unchanged": 1}));
    assert_eq!(report["sessions"], json!({"new": 0, "unchanged": 2}));
    assert_eq!(report["prompts"], json!({"new": 0, "unchanged": 1}));
    assert_eq!(report["forgotten"], 0);
    assert_eq!(home.root(), root);
}

#[test]
fn only_what_changed_at_the_origin_changes_here() {
    let home = Home::new();
    let (path, db) = sources::engram(home.path());
    import(&home, &path, &[]);
    let before = memories(&home);
    let login = titled(&before, "Fixed login")["id"].to_string();
    let jwt = titled(&before, "Use JWT")["id"].to_string();
    // Edited here: that is no reason to change it back.
    home.run(&["update", &login, "--content", "Edited here"]).ok();
    let report = import(&home, &path, &[]);
    assert_eq!(report["memories"]["changed"], 0, "{report}");

    db.execute_batch(
        "UPDATE observations SET content = 'JWT with refresh tokens',
            updated_at = '2026-04-01 10:00:00' WHERE sync_id = 'obs-a';
         UPDATE observations SET deleted_at = '2026-04-02 10:00:00' WHERE sync_id = 'obs-d';
         INSERT INTO observations (sync_id, session_id, type, title, content, project, created_at, updated_at)
           VALUES ('obs-new', 's-1', 'learning', 'New one', 'text', 'web', '2026-04-03 10:00:00',
               '2026-04-03 10:00:00');",
    )
    .unwrap();
    let report = import(&home, &path, &[]);
    assert_eq!(report["memories"], json!({"new": 1, "changed": 1, "unchanged": 5}), "{report}");
    assert_eq!(report["forgotten"], 1);
    let after = memories(&home);
    let versions = titled(&after, "Use JWT")["versions"].as_array().unwrap();
    assert_eq!(versions.len(), 2);
    assert_eq!(versions[1]["content"], "JWT with refresh tokens");
    assert_eq!(home.run(&["get", &login, "--json"]).ok().json()["content"], "Edited here");
    assert!(!titled(&after, "Summary")["forgotten"].is_null());
    // And back to what it was: that is a change too.
    db.execute_batch("UPDATE observations SET content = '**What**: JWT' WHERE sync_id = 'obs-a'")
        .unwrap();
    assert_eq!(import(&home, &path, &[])["memories"]["changed"], 1);
    assert_eq!(home.run(&["get", &jwt, "--json"]).ok().json()["content"], "**What**: JWT");
    assert_eq!(import(&home, &path, &[])["memories"]["changed"], 0);
    // Forgotten here: it stays so.
    home.run(&["forget", &jwt, "--reason", "wrong"]).ok();
    db.execute_batch("UPDATE observations SET content = 'again' WHERE sync_id = 'obs-a'").unwrap();
    let report = import(&home, &path, &[]);
    assert!(report["skipped"]["rows"].to_string().contains("forgotten here"), "{report}");
}

#[test]
fn a_dry_run_says_what_the_run_does_and_changes_nothing() {
    let home = Home::new();
    let (path, _running) = sources::engram(home.path());
    let root = home.root();
    let dry = import(&home, &path, &["--dry-run"]);
    assert_eq!(home.root(), root);
    assert_eq!(dry["dry_run"], true);
    let real = import(&home, &path, &[]);
    for part in [
        "found",
        "memories",
        "edges",
        "sessions",
        "prompts",
        "forgotten",
        "dates",
        "redacted",
        "skipped",
    ] {
        assert_eq!(dry[part], real[part], "{part}");
    }
    let text = home.run(&["import", path.to_str().unwrap(), "--dry-run"]).ok().out;
    assert!(text.contains("would import from engram") && text.contains("decision  1"), "{text}");
    assert!(text.contains("observations 7: its title is not UTF-8"), "{text}");
}

/// The tool is running and has written to its log only; another folder cannot be written to.
#[test]
fn a_database_is_read_with_its_log_and_left_as_it_is() {
    let home = Home::new();
    let (path, running) = sources::engram(home.path());
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(home.path().join("engram.db-wal").metadata().unwrap().len() > 0);
    let before = std::fs::read(&path).unwrap();
    import(&home, &path, &[]);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), size);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    // The tool was not disturbed.
    running.execute_batch("UPDATE sessions SET summary = 'x'").unwrap();
    // Closed, it is one file, and stays so.
    drop(running);
    let files = || {
        let entries = std::fs::read_dir(home.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("engram.db")).collect::<Vec<_>>()
    };
    assert_eq!(files(), ["engram.db"]);
    assert_eq!(import(&home, &path, &[])["memories"]["unchanged"], 6);
    assert_eq!(files(), ["engram.db"]);
}

#[test]
fn dates_that_the_journal_cannot_hold_become_valid_from() {
    let home = Home::new();
    home.save(&["Something is here already"]);
    let (path, _running) = sources::engram(home.path());
    let report = import(&home, &path, &[]);
    assert_eq!(
        report["dates"],
        json!({"as_created": 0, "as_valid_from": 6, "absent": 0, "lost": 4}),
        "{report}"
    );
    let memories = memories(&home);
    let login = titled(&memories, "Fixed login");
    assert_eq!(login["versions"][0]["valid_from"], "2026-03-02T10:00:00.000Z");
}

// agent-memory 13.12: upgrade path from the Go program
#[test]
fn go_cortex_arrives_with_edges_and_uses() {
    let home = Home::new();
    let (path, db) = sources::database(home.path(), "cortex.db", GO_CORTEX);
    db.execute_batch(
        "
INSERT INTO sessions VALUES ('s', 'demo', '/src', '2026-01-01 00:00:00', NULL, NULL);
INSERT INTO observations (session_id, type, title, content, project, created_at, updated_at) VALUES
  ('s', 'decision', 'One', 'first', 'demo', '2026-01-01 01:00:00', '2026-01-01 01:00:00'),
  ('s', 'bugfix', 'Two', 'second', 'demo', '2026-01-01 02:00:00', '2026-01-01 02:00:00');
INSERT INTO edges (from_obs_id, to_obs_id, relation_type, weight, created_at) VALUES
  (2, 1, 'supersedes', 1.0, '2026-01-01 03:00:00'), (1, 2, 'follows', 0.25, '2026-01-01 03:00:00'), (1, 99,
      'follows', 1, '2026-01-01 03:00:00');
INSERT INTO importance_scores VALUES (1, 1.5, 7, '2026-01-05 00:00:00', NULL), (2, 0, 0, NULL, NULL);
",
    )
    .unwrap();
    let report = import(&home, &path, &[]);
    assert_eq!((&report["format"], &report["edges"]["new"]), (&json!("go-cortex"), &json!(2)));
    assert_eq!(report["skipped"]["total"], 1);
    let memories = memories(&home);
    let one = titled(&memories, "One");
    assert_eq!(
        (&one["accesses"], &one["last_access"]),
        (&json!(7), &json!("2026-01-05T00:00:00.000Z"))
    );
    let out = home.run(&["export"]).ok().out;
    assert!(out.contains("\"relation\":\"follows\"") && out.contains("\"weight\":0.25"), "{out}");
    import(&home, &path, &[]);
    assert_eq!(titled(&self::memories(&home), "One")["accesses"], 7);
}

// serving S29, S32: a session that another tool never closed is one of the past, with its own date
#[test]
fn what_is_saved_after_an_import_belongs_to_no_imported_session() {
    let home = Home::new();
    home.run(&["save", "Before all", "There was a home before.", "--project", "demo"]).ok();
    let (path, db) = sources::database(home.path(), "cortex.db", GO_CORTEX);
    db.execute_batch(
        "
INSERT INTO sessions VALUES ('s', 'demo', '/src', '2026-01-01 00:00:00', NULL, NULL);
INSERT INTO observations (session_id, type, title, content, project, created_at, updated_at) VALUES
  ('s', 'decision', 'One', 'first', 'demo', '2026-01-01 01:00:00', '2026-01-01 01:00:00');
",
    )
    .unwrap();
    for _ in 0..2 {
        import(&home, &path, &[]);
        let saved = home.run(&["save", "Later", "Of today.", "--project", "demo", "--json"]).ok();
        assert_eq!(saved.json()["session_id"], "", "{saved:?}");
    }
    let listed = home.run(&["sessions", "--project", "all", "--json"]).ok().json();
    let session = &listed["sessions"][0];
    assert!(session["ended_at"].is_string(), "{session}");
    assert_eq!(session["started_at"], "2026-01-01T01:00:00.000Z", "{session}");
    let all = home.run(&["list", "--project", "all", "--json"]).ok().json();
    assert_eq!(all["total"], 3, "all means every project: {all}");
}

#[test]
fn claude_mem_arrives_with_summaries_prompts_and_rules() {
    let home = Home::new();
    let (path, db) = sources::database(home.path(), "claude-mem.db", CLAUDE_MEM);
    db.execute_batch(
        "
INSERT INTO sdk_sessions (content_session_id, memory_session_id, project, started_at, started_at_epoch,
    completed_at_epoch, status)
  VALUES ('content-1', 'memory-1', 'Homelab', '2026-05-01T00:00:00Z', 1777593600000, 1777597200000, 'completed');
INSERT INTO observations (memory_session_id, project, type, title, subtitle, narrative, facts, concepts,
    files_modified, generated_by_model, created_at, created_at_epoch)
  VALUES ('memory-1', 'homelab', 'bugfix', 'Worker restart loop', 'A port stayed bound', 'The parent died.',
      '[\"port 37777 stayed bound\"]', '[\"gotcha\",\"worker lifecycle\"]', '[\"src/worker.ts\"]',
      'small-model', '2026-05-01T00:10:00Z', 1777594200000);
INSERT INTO session_summaries (memory_session_id, project, request, learned, next_steps, created_at, created_at_epoch)
  VALUES ('memory-1', 'homelab', 'Fix the worker', 'Ports leak', 'Watch it', '2026-05-01T00:50:00Z', 1777596600000);
INSERT INTO session_summaries (memory_session_id, project, created_at, created_at_epoch)
    VALUES ('memory-1', 'homelab', 'x', 1777596600001);
INSERT INTO user_prompts (content_session_id, prompt_number, prompt_text, created_at, created_at_epoch)
  VALUES ('content-1', 1, 'Why does it restart?', '2026-05-01T00:00:01Z', 1777593601000);
INSERT INTO directives (scope, content, created_at, created_at_epoch, updated_at_epoch)
    VALUES ('global', 'Never force push', 'x', 1777593602000, 1777593602000);
INSERT INTO directives (scope, project, content, status, created_at, created_at_epoch, updated_at_epoch)
    VALUES ('project', 'homelab', 'Old rule', 'disabled', 'x', 1777593603000, 1777593603000);
",
    )
    .unwrap();
    let report = import(&home, &path, &[]);
    assert_eq!(report["format"], "claude-mem");
    assert_eq!(report["found"], json!({"bugfix": 1, "rule": 2, "session_summary": 1}));
    assert_eq!(report["prompts"]["new"], 1);
    assert_eq!(report["skipped"]["rows"][0]["reason"], "the summary is empty");
    let memories = memories(&home);
    let worker = titled(&memories, "Worker restart loop");
    assert_eq!(worker["session"], "content-1");
    assert_eq!(worker["tags"], json!(["gotcha", "worker lifecycle"]));
    assert_eq!(worker["created"], "2026-05-01T00:10:00.000Z");
    assert_eq!(worker["versions"][0]["model"], "small-model");
    let content = worker["versions"][0]["content"].as_str().unwrap();
    for part in
        ["A port stayed bound", "The parent died.", "- port 37777 stayed bound", "- src/worker.ts"]
    {
        assert!(content.contains(part), "{content}");
    }
    let rule = titled(&memories, "Never force push");
    assert_eq!((&rule["type"], &rule["scope"]), (&json!("Constraint"), &json!("personal")));
    assert_eq!(titled(&memories, "Old rule")["archived"], true);
    assert_eq!(
        import(&home, &path, &[])["memories"],
        json!({"new": 0, "changed": 0, "unchanged": 4})
    );
}

#[test]
fn an_old_claude_mem_without_later_tables_is_read() {
    let home = Home::new();
    let (path, db) = sources::database(home.path(), "claude-mem.db", CLAUDE_MEM_OLD);
    db.execute_batch(
        "INSERT INTO sdk_sessions (claude_session_id, sdk_session_id, project, started_at, started_at_epoch)
            VALUES ('c', 'm', 'p', 'x', 1777593600000);
         INSERT INTO observations (sdk_session_id, project, text, type, created_at, created_at_epoch)
             VALUES ('m', 'p', 'The build needs clang. More.', 'discovery', 'x', 1777593600500);",
    )
    .unwrap();
    let report = import(&home, &path, &[]);
    assert_eq!(report["memories"]["new"], 1);
    let memories = memories(&home);
    assert_eq!(titled(&memories, "The build needs clang. More.")["session"], "c");
}

#[test]
fn what_is_no_source_is_refused_by_name() {
    let home = Home::new();
    let other = home.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE songs (id INTEGER)").unwrap();
    let ran = home.run(&["import", other.to_str().unwrap(), "--json"]).ends(2);
    assert!(ran.error()["message"].as_str().unwrap().contains("songs"), "{ran:?}");
    home.run(&["import", other.to_str().unwrap(), "--from", "engram"]).ends(2);
    home.run(&["import", "nothing-here.db"]).ends(3);
    std::fs::write(home.path().join("x.db"), b"SQLite format 3\0 and then nothing").unwrap();
    home.run(&["import", "x.db"]).ends(2);
}
