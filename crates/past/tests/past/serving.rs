//! What hooks, the chronicle and people ask about work: a transcript since a place, the work of a stretch of time, a
//! command that keeps failing, what fixed it.

use past::{WorkScope, read_transcript};
use serde_json::json;
use transcripts::cleaner::PastEvent;
use transcripts::session::{ItemBody, PastAgent, PastItem};

use crate::histories::{NOW, Scene, answered, asked, result, text, tool};

#[test]
fn the_agent_of_a_transcript_is_known_by_its_folder() {
    let scene = Scene::new();
    let path = scene.codex("T1", &[]);
    let surroundings = transcripts::surroundings::PastSurroundings::of_home(scene.home.path());
    assert_eq!(past::agent_of(&path, &surroundings), Some(PastAgent::Codex));
    assert_eq!(past::agent_of(&scene.path("notes.jsonl"), &surroundings), None);
}

fn ran(id: &str, minute: u32, line: &str, said: &str, fails: bool) -> Vec<serde_json::Value> {
    let part = |name: &str| format!("{id}{name}");
    vec![
        asked(&part("u"), minute, &format!("Please run {line} ({id})")),
        answered(
            &part("a"),
            minute,
            &part("m"),
            tool(&part("t"), "Bash", &json!({"command": line})),
        ),
        result(&part("r"), minute, &part("t"), &json!(said), fails),
        answered(&part("e"), minute, &part("n"), text("Done.")),
    ]
}

// past 61
#[test]
fn a_command_that_failed_twice_the_same_way_is_told_until_it_goes_well() {
    let scene = Scene::new();
    let scope = WorkScope { limit: 1, ..WorkScope::default() };
    let failure = || scene.past().failure("make  deploy", &scope).unwrap();
    let error = |n: u32| format!("error: host {n} refused the connection");
    scene.claude("s1", &ran("a", 1, "make deploy", &error(1), true));
    scene.read();
    assert_eq!(failure(), None);
    scene.claude("s2", &ran("b", 2, "make deploy", &error(2), true));
    scene.read();
    let told = failure().unwrap();
    assert_eq!((told.times, told.sessions), (2, 2));
    assert_eq!((told.error, told.reference), (error(2), "claude-code:s2#1".to_owned()));
    assert_eq!(scene.past().failure("make test", &scope).unwrap(), None);
    scene.claude("s3", &ran("c", 3, "make deploy", "deployed", false));
    scene.read();
    assert_eq!(failure(), None);
}

// past 57
#[test]
fn a_fix_ends_where_the_command_that_failed_is_run_again() {
    let scene = Scene::new();
    let error = "error: package tokio-util not found";
    for (session, quiet) in [("s1", "make lint"), ("s2", "make docs")] {
        let id = |part: &str| format!("{session}{part}");
        let lines = [
            ran(&id("a"), 1, "cargo build", error, true),
            ran(&id("b"), 2, "cargo add tokio-util", "added", false),
            ran(&id("c"), 3, "cargo build", "Finished", false),
            ran(&id("d"), 4, quiet, "ok", false),
        ];
        scene.claude(session, &lines.concat());
    }
    scene.read();
    let fixes = scene.past().fixes(error, &WorkScope { limit: 3, ..WorkScope::default() }).unwrap();
    assert_eq!(fixes[0].steps, ["cargo add tokio-util"], "{fixes:?}");
    assert_eq!((fixes[0].sessions, fixes[0].is_confirmed), (2, true));
    assert_eq!(fixes[0].references.len(), 2);
}

// past 57
#[test]
fn some_words_of_an_error_are_enough_and_words_of_any_error_are_not() {
    let scene = Scene::new();
    let error = "error: linker `cc` not found (os error 2)";
    for session in ["s1", "s2"] {
        let id = |part: &str| format!("{session}{part}");
        let lines = [
            ran(&id("a"), 1, "make test", error, true),
            ran(&id("b"), 2, "apt-get install gcc", "done", false),
            ran(&id("c"), 3, "make test", "12 passed", false),
        ];
        scene.claude(session, &lines.concat());
    }
    scene.read();
    let steps = |asked: &str| {
        let scope = WorkScope { limit: 3, ..WorkScope::default() };
        let fixes = scene.past().fixes(asked, &scope).unwrap();
        fixes.into_iter().flat_map(|fix| fix.steps).collect::<Vec<_>>()
    };
    for asked in [error, "error: linker cc not found", "linker not found", "linker"] {
        assert_eq!(steps(asked), ["apt-get install gcc"], "{asked}");
    }
    for asked in ["not found", "error", "linker exploded", "error: loader cc not found"] {
        assert!(steps(asked).is_empty(), "{asked}");
    }
}

// past 29
#[test]
fn a_transcript_is_masked_like_everything_else() {
    let scene = Scene::new();
    let token = format!("{}_{}", "ghp", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let path = scene.claude("s1", &[asked("u", 1, &format!("Use {token} to push"))]);
    let reading = read_transcript(PastAgent::ClaudeCode, &path, None, NOW, u64::MAX).unwrap();
    let prompts = reading.events.iter().filter_map(|event| match event {
        PastEvent::Item(PastItem { body: ItemBody::Prompt { text, .. }, .. }) => Some(text),
        _ => None,
    });
    let [text] = prompts.collect::<Vec<_>>()[..] else { panic!("{reading:?}") };
    assert!(!text.contains(&token) && text.contains("[REDACTED"));
}
