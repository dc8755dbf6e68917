//! Coding agents of this machine, connected and disconnected over HTTP.

use serde_json::{Value, json};

use crate::support::{Daemon, problem};

fn of<'a>(agents: &'a Value, name: &str) -> &'a Value {
    agents.as_array().unwrap().iter().find(|each| each["agent"] == name).unwrap()
}

// W1, serving S25: what would change is told before, done to the letter, tried, and taken back to the byte
#[test]
fn an_agent_is_connected_tried_and_disconnected() {
    let daemon = Daemon::start(&[]);
    let folder = daemon.home.path().join(".claude");
    // What the agent itself left says that it is here.
    std::fs::create_dir_all(folder.join("projects")).unwrap();
    let settings = folder.join("settings.json");
    let before = "{\n  \"model\": \"opus\",\n  \"permissions\": {\"allow\": [\"Bash(ls)\"]}\n}\n";
    std::fs::write(&settings, before).unwrap();
    let state = || of(&daemon.get("/api/agents").json(), "claude-code").clone();
    let change = |body: &Value| daemon.with("POST", "/api/agents/claude-code", body);
    let there = || std::fs::read_to_string(&settings).unwrap();

    let found = state();
    assert_eq!(found["title"], "Claude Code");
    assert_eq!((&found["installed"], &found["configured"]), (&json!(true), &json!(false)));

    let plan = change(&json!({"dry_run": true})).json();
    let file = |outcome: &Value| {
        let files = outcome["files"].as_array().unwrap().clone();
        files.into_iter().find(|file| file["path"] == settings.display().to_string()).unwrap()
    };
    let diff = file(&plan)["diff"].as_str().unwrap().to_owned();
    assert!(diff.contains("hook session-start --agent claude-code"), "{diff}");
    assert!(plan.get("tools").is_none(), "nothing was started: {plan}");
    assert_eq!((there(), state()), (before.to_owned(), found));

    let done = change(&json!({})).json();
    assert_eq!(done["tools"], 8, "{done}");
    assert!(done.get("problem").is_none(), "{done}");
    assert!(done["notes"][0].as_str().unwrap().contains("Start a new session"), "{done}");
    assert_eq!(file(&done)["action"], "changed");
    for line in diff.lines().filter(|line| line.starts_with('+') && !line.starts_with("+++")) {
        assert!(there().contains(&line[1..]), "{line}");
    }
    let connected = state();
    assert_eq!((&connected["complete"], &connected["state"]), (&json!(true), &json!("ready")));
    // Once more changes nothing.
    let again = change(&json!({})).json();
    assert_eq!(file(&again)["action"], "unchanged");

    let removed = change(&json!({"remove": true})).json();
    assert_eq!(file(&removed)["action"], "changed");
    assert_eq!(there(), before);
    assert_eq!(state()["configured"], false);
}

#[test]
fn an_agent_that_nobody_knows_and_settings_that_cannot_be_read_are_refused() {
    let daemon = Daemon::start(&[]);
    let unknown = daemon.with("POST", "/api/agents/nobody", &json!({}));
    problem(&unknown, 404, "not_found");
    assert!(unknown.body.contains("cortex setup --list"), "{}", unknown.body);
    let wrong = daemon.with("POST", "/api/agents/codex", &json!({"dryrun": true}));
    assert_eq!(wrong.status / 100, 4, "a typo must not change settings: {}", wrong.body);
    let folder = daemon.home.path().join(".cursor");
    std::fs::create_dir(&folder).unwrap();
    let settings = folder.join("mcp.json");
    std::fs::write(&settings, "{ broken").unwrap();
    problem(&daemon.with("POST", "/api/agents/cursor", &json!({})), 409, "settings_broken");
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), "{ broken");
    assert!(of(&daemon.get("/api/agents").json(), "cursor")["problem"].is_string());
    assert!(!daemon.home.path().join(".codex").exists());
}
