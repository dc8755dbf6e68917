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

#[test]
fn an_agent_that_keeps_nothing_is_reminded() {
    let home = Home::new();
    let begun = jiff::Timestamp::now() - jiff::SignedDuration::from_mins(20);
    let start = ["--now", &begun.to_string(), "session", "start", "s1", "--project", "web"];
    home.run(&start).ok();
    let asked = br#"{"session_id":"s1","cwd":"/src/web","prompt":"Fix it"}"#;
    let prompt = || home.piped(&["hook", "prompt-submit"], asked).ok();
    let reminded = prompt().json()["hookSpecificOutput"]["additionalContext"].to_string();
    assert!(reminded.contains("in the last 20 minutes"), "{reminded}");
    home.save(&["Fixed it", "so", "--session", "s1"]);
    assert_eq!(prompt().out, "");
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
