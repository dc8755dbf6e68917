//! Turns are found by what was asked, answered and done; filters and forgetting hold.

use past::{TurnQuestion, TurnScope};
use serde_json::json;
use transcripts::session::PastAgent;

use crate::histories::{Scene, answered, asked, line, meta, result, text, tool, turns};

fn references(scene: &Scene, request: &TurnQuestion) -> Vec<String> {
    scene.past().search(request).unwrap().hits.into_iter().map(|hit| hit.reference).collect()
}

fn ask(question: &str) -> TurnQuestion {
    TurnQuestion { question: question.to_owned(), ..TurnQuestion::default() }
}

fn scene() -> Scene {
    let scene = Scene::new();
    scene.claude("s1", &[
        asked("u1", 1, "Why does the login page flicker?"),
        answered("a1", 1, "m1", text("The session cookie is written twice by the middleware.")),
        answered("a2", 1, "m1", tool("t1", "Edit",
                &json!({"file_path": "/src/a/cookies.rs", "old_string": "a", "new_string": "b"}))),
        answered("a3", 1, "m1", tool("t2", "Bash", &json!({"command": "cargo nextest run quagmire"}))),
        result("r1", 2, "t2", &json!("error: linker exploded"), true),
        asked("u2", 200, "Rename the flag to verbose."),
    ]);
    scene.codex("T1", &[
        meta("T1"),
        line(1, "event_msg", &json!({"type": "user_message", "message": "Which database do we use for sessions?"})),
        line(1, "event_msg", &json!({"type": "agent_message", "message": "Sessions are in redb, one file per actor."})),
    ]);
    for n in 0..6 {
        scene.claude(&format!("noise{n}"), &turns(&format!("noise{n}"), 20));
    }
    scene.read();
    scene
}

// past 43
#[test]
fn a_turn_is_found_by_what_was_said_and_done() {
    let scene = scene();
    assert_eq!(references(&scene, &ask("flickering login"))[0], "claude-code:s1#1");
    assert_eq!(references(&scene, &ask("cookie middleware"))[0], "claude-code:s1#1");
    assert_eq!(references(&scene, &ask("cookies.rs"))[0], "claude-code:s1#1");
    assert_eq!(references(&scene, &ask("which database for sessions"))[0], "codex:T1#1");
    assert_eq!(references(&scene, &ask("quagmire")), Vec::<String>::new());
    let work = TurnQuestion { work: true, ..ask("linker exploded quagmire") };
    assert_eq!(references(&scene, &work), ["claude-code:s1#1"]);
    let hit = scene.past().search(&ask("redb file")).unwrap().hits.remove(0);
    assert_eq!(
        (hit.role, hit.preview.as_str()),
        ("answer", "Sessions are in redb, one file per actor.")
    );
    assert_eq!(hit.prompt.as_deref(), Some("Which database do we use for sessions?"));
}

// past 47
#[test]
fn filters_apply_before_the_best_are_taken() {
    let scene = scene();
    let of = |agent| TurnQuestion { agent: Some(agent), ..ask("sessions database slow index") };
    assert_eq!(references(&scene, &of(PastAgent::Codex)), ["codex:T1#1"]);
    assert!(
        references(&scene, &of(PastAgent::ClaudeCode))
            .iter()
            .all(|hit| hit.starts_with("claude-code:"))
    );
    let in_folder = TurnQuestion { folder: Some("/src/b".to_owned()), ..ask("sessions slow") };
    assert_eq!(references(&scene, &in_folder), ["codex:T1#1"]);
    let session = TurnQuestion { session: Some("claude-code:noise3".to_owned()), ..ask("slow") };
    let hits = references(&scene, &session);
    assert!(hits.len() == 10 && hits.iter().all(|hit| hit.starts_with("claude-code:noise3#")));
    let since =
        past::TurnScope { reference: "claude-code:s1#2".to_owned(), around: 0, work: false };
    let late = scene.past().show(&since).unwrap().turns[0].at;
    assert_eq!(
        references(&scene, &TurnQuestion { since: Some(late), ..ask("verbose flag login") }),
        ["claude-code:s1#2"]
    );
    assert_eq!(
        references(&scene, &TurnQuestion { until: Some(late), ..ask("verbose flicker") }),
        ["claude-code:s1#1"]
    );
}

#[test]
fn one_session_does_not_fill_the_list_and_prefixes_and_exclusions_work() {
    let scene = scene();
    let hits = references(&scene, &ask("slow"));
    for n in 0..6 {
        assert!(hits.iter().filter(|hit| hit.contains(&format!(":noise{n}#"))).count() <= 2);
    }
    assert_eq!(hits.len(), 10);
    assert_eq!(references(&scene, &ask("flick*"))[0], "claude-code:s1#1");
    assert!(
        !references(&scene, &ask("login sessions -cookie"))
            .contains(&"claude-code:s1#1".to_owned())
    );
    assert!(scene.past().search(&ask(" ")).is_err());
    assert!(scene.past().search(&TurnQuestion { limit: Some(0), ..ask("a") }).is_err());
}

// past 45
#[test]
fn of_single_turns_among_thousands_nearly_all_are_found() {
    let scene = Scene::new();
    for n in 0..40 {
        scene.claude(&format!("s{n}"), &turns(&format!("project{n}"), 50));
    }
    scene.read();
    let past = scene.past();
    let found = (0..200_u32).filter(|n| {
        let (session, turn) = (n % 40, n * 7 % 50 + 1);
        let question = format!("why was part{turn} of project{session} slow");
        let hits = past.search(&ask(&question)).unwrap().hits;
        hits.iter().any(|hit| hit.reference == format!("claude-code:s{session}#{turn}"))
    });
    assert!(found.count() >= 180);
}

// past 64
#[test]
fn a_session_is_resumed_where_it_was() {
    let scene = scene();
    let past = scene.past();
    assert_eq!(past.resume("claude-code:s1").unwrap().line, "cd /src/a && claude --resume s1");
    assert_eq!(past.resume("codex:T1#1").unwrap().line, "cd /src/b && codex resume T1");
    for (reference, code) in [
        ("codex:T9", "past_unknown"),
        ("codex", "past_reference"),
        ("claude-code:noise", "past_unknown"),
        ("nobody:s1", "past_unknown"),
    ] {
        assert_eq!(past.resume(reference).unwrap_err().code(), code, "{reference}");
    }
    assert_eq!(past.resume("claude-code:noise3").unwrap().reference, "claude-code:noise3");
    let show = |reference: &str| {
        past.show(&TurnScope { reference: reference.to_owned(), around: 1, work: false })
    };
    assert_eq!(show("claude-code:s1#2").unwrap().turns.len(), 2);
    assert_eq!(show("claude-code:s1#9").unwrap_err().code(), "past_unknown");
}

// past 43
#[test]
fn a_turn_is_found_by_its_meaning_and_says_so() {
    let scene = Scene::new();
    let texts = [
        ("The dog keeps barking at night.", "Puppies settle once they have a routine."),
        ("How do I file the quarterly tax report?", "Send the form to the office before April."),
        ("Replace the bicycle chain.", "Use a chain tool and count the links."),
    ];
    for (n, (prompt, answer)) in texts.iter().enumerate() {
        let id = |part: &str| format!("m{n}{part}");
        scene.claude(
            &format!("m{n}"),
            &[
                asked(&id("u"), 1, prompt),
                answered(&id("a"), 1, &id("m"), crate::histories::text(answer)),
            ],
        );
    }
    scene.read();
    let found = scene.past().search(&ask("a hound howls in the evening")).unwrap();
    let first = &found.hits[0];
    assert_eq!(first.reference, "claude-code:m0#1");
    assert!(first.arms.iter().any(|arm| arm.arm == "meaning" && arm.rank == 1));
    // What has nothing to do with anything is not answered.
    assert!(scene.past().search(&ask("zygomorphic quaternions")).unwrap().hits.is_empty());
}

// past 44
#[test]
fn a_turn_beside_one_that_has_the_words_is_found_too() {
    let scene = scene();
    scene.claude(
        "boats",
        &[
            asked("boats-1", 1, "Which boats did we rent in Bergen?"),
            asked("boats-2", 2, "Mostly sloops."),
        ],
    );
    scene.read();
    let hits = references(&scene, &ask("boats rented in Bergen"));
    assert_eq!(hits[0], "claude-code:boats#1");
    assert!(hits.contains(&"claude-code:boats#2".to_owned()), "{hits:?}");
    // What holds a word that was ruled out is no hit, whatever stands beside it.
    assert!(references(&scene, &ask("boats Bergen -boats")).is_empty());
}
