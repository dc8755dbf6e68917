//! `cortex hook` as agents run it: with whatever input, it answers, and never with an exit code that stops them.

use std::fs;

use crate::support::Home;

#[test]
fn a_session_is_recorded_and_told_what_is_known() {
    let home = Home::new();
    home.save(&["Use tabs", "We indent with tabs.", "--kind", "decision", "--project", "web"]);
    let input = br#"{"session_id":"s1","cwd":"/src/web","hook_event_name":"SessionStart","source":"startup"}"#;
    let ran = home.piped(&["hook", "session-start"], input).ok();
    let context = &ran.json()["hookSpecificOutput"]["additionalContext"];
    assert!(context.as_str().unwrap().contains("Use tabs"), "{context}");
    let input = br#"{"session_id":"s1","cwd":"/src/web","prompt":"Fix it"}"#;
    let ran = home.piped(&["hook", "prompt-submit", "--agent", "gemini-cli"], input).ok();
    assert_eq!(ran.out, "{}\n");
    let input = br#"{"session_id":"s1","reason":"exit"}"#;
    assert_eq!(home.piped(&["hook", "session-end"], input).ok().out, "");
    let journal = home.run(&["journal", "--json"]).ok().out;
    for kind in ["session_start", "prompt", "session_end"] {
        assert!(journal.contains(&format!("\"kind\":\"{kind}\"")), "{journal}");
    }
    assert!(!home.path().join("logs/hooks.log").exists());
}

// An agent hears of its own project, and of others when it asks.
#[test]
fn a_session_starts_with_its_own_project() {
    let home = Home::new();
    home.save(&["Use tabs", "We indent with tabs.", "--kind", "decision", "--project", "web"]);
    home.save(&["Use spaces", "In the other one.", "--kind", "decision", "--project", "other"]);
    home.save(&["Speak plainly", "Always.", "--project", "other", "--scope", "personal"]);
    let input = br#"{"session_id":"s1","cwd":"/src/web","source":"startup"}"#;
    let ran = home.piped(&["hook", "session-start"], input).ok();
    let context = ran.json()["hookSpecificOutput"]["additionalContext"].to_string();
    assert!(context.contains("Use tabs") && context.contains("Speak plainly"), "{context}");
    assert!(!context.contains("Use spaces"), "{context}");
}

// S31: a typo in the settings switches no memory off, and the session is told.
#[test]
fn a_typo_in_the_settings_is_told_in_the_session() {
    let home = Home::new();
    home.save(&["Use tabs", "We indent with tabs.", "--kind", "decision", "--project", "web"]);
    fs::write(home.path().join("cortex.toml"), "[memory]\ndedup_minuts = 5\n").unwrap();
    let input = br#"{"session_id":"s1","cwd":"/src/web","source":"startup"}"#;
    let ran = home.piped(&["hook", "session-start"], input).ok();
    let context = ran.json()["hookSpecificOutput"]["additionalContext"].to_string();
    assert!(context.contains("settings cannot be read"), "{context}");
    assert!(context.contains("dedup_minuts") && context.contains("Use tabs"), "{context}");
}

// S12, S15: what a session came to is listed by `mind log` and undone by one command.
#[test]
fn what_is_captured_is_listed_and_undone_by_one_command() {
    let home = Home::new();
    let project = home.path().join("web");
    fs::create_dir_all(&project).unwrap();
    let record = |role: &str, content: serde_json::Value| {
        let record = serde_json::json!({
            "type": role, "uuid": role, "sessionId": "s1", "cwd": "/src/web",
            "timestamp": "2026-03-04T10:00:00.000Z", "message": {"role": role, "content": content},
        });
        format!("{record}\n")
    };
    let call = serde_json::json!([
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make check"}}
    ]);
    let said = serde_json::json!([{"type": "text", "text": "Done. Next steps: write the docs"}]);
    let transcript = home.path().join("s1.jsonl");
    let text = [
        record("user", "Tidy up. From now on use pnpm in this repo.".into()),
        record("assistant", call),
        record("assistant", said),
    ];
    fs::write(&transcript, text.concat()).unwrap();
    let input = serde_json::json!({
        "session_id": "s1", "cwd": "/src/web", "transcript_path": transcript,
    });
    let input = input.to_string();
    for event in ["stop", "stop", "session-end"] {
        assert_eq!(home.piped(&["hook", event], input.as_bytes()).ok().out, "");
    }
    let listed = || home.run(&["search", "*", "--project", "web", "--json"]).ok().out;
    let before = listed();
    assert!(
        before.contains("From now on use pnpm") && before.contains("write the docs"),
        "{before}"
    );
    let log = home.run(&["mind", "log"]).ok().out;
    assert_eq!(log.matches("capture-").count(), 1, "{log}");
    let run = log.split_whitespace().find(|word| word.starts_with("capture-")).unwrap();
    home.run(&["mind", "undo", run.trim_end_matches([':', ','])]).ok();
    let after = listed();
    assert!(!after.contains("pnpm") && !after.contains("write the docs"), "{after}");
    // What was undone stays so.
    home.piped(&["hook", "stop"], input.as_bytes()).ok();
    assert_eq!(listed(), after);
    assert!(!home.path().join("logs/hooks.log").exists());
}

#[test]
fn no_input_stops_an_agent() {
    let home = Home::new();
    let inputs: [&[u8]; 4] = [b"", b"{", b"\xff\xfe", b"{\"session_id\": 7}"];
    for input in inputs {
        let ran = home.piped(&["hook", "prompt-submit", "--agent", "cursor"], input).ok();
        assert_eq!(ran.out, "{\"continue\":true}\n");
    }
    // Settings from another version, and what people mistype.
    for words in [&["hook", "some-new-event"][..], &["hook"], &["hook", "stop", "--new-option"]] {
        assert_eq!(home.piped(words, b"{}").ok().out, "");
    }
    let log = fs::read_to_string(home.path().join("logs/hooks.log")).unwrap();
    assert_eq!(log.lines().count(), 4, "{log}");
    assert!(log.contains("cursor prompt-submit: the event"), "{log}");
}

#[test]
fn a_home_that_cannot_be_used_stops_nobody() {
    let home = Home::new();
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    let folder = file.join("home");
    let words = ["hook", "session-start", "--home", folder.to_str().unwrap()];
    let ran = home.piped(&words, b"{\"session_id\":\"s\"}").ok();
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("claude-code session-start: "), "{ran:?}");
}
