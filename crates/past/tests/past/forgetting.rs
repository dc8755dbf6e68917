//! What was forgotten is in no byte of the past, and does not come back.

use past::{ForgetScope, Tombstones, TurnScope};

use crate::histories::{Scene, asked, contents, text_of, turns};

const CANARY: &str = "zanzibarcanary";

fn forget(scene: &mut Scene, references: &[&str]) -> past::ForgetOutcome {
    let request = ForgetScope {
        references: references.iter().map(|reference| (*reference).to_owned()).collect(),
        reason: "test".to_owned(),
        ..ForgetScope::default()
    };
    scene.past().forget(&request, &mut scene.tombstones).unwrap()
}

/// Two sessions; the canary is in turn 2 of the first, in its title, and in a fork.
fn with_canary() -> Scene {
    let scene = Scene::new();
    let mut lines = turns("a", 1);
    lines.push(asked("canary-u", 20, &format!("Where is {CANARY}?")));
    lines.push(crate::histories::answered(
        "canary-a",
        20,
        "canary-m",
        crate::histories::text(&format!("{CANARY} is there.")),
    ));
    lines.push(serde_json::json!({"type": "ai-title", "aiTitle": format!("About {CANARY}")}));
    lines.extend(turns("b", 2));
    scene.claude("session1", &lines);
    let mut fork = lines.clone();
    fork.extend(turns("forked", 1));
    scene.claude("session2", &fork);
    scene.claude("session3", &turns("c", 2));
    scene.read();
    assert!(scene.disk.holds(CANARY));
    scene
}

fn owner_of_canary(scene: &Scene) -> String {
    let request =
        past::TurnQuestion { question: CANARY.to_owned(), ..past::TurnQuestion::default() };
    scene.past().search(&request).unwrap().hits[0].reference.clone()
}

fn stays_forgotten(scene: &mut Scene) {
    assert!(!scene.disk.holds(CANARY), "at once");
    scene.read();
    assert!(!scene.disk.holds(CANARY), "after reading");
    scene.past().rebuild(&scene.tombstones, true).unwrap();
    assert!(!scene.disk.holds(CANARY), "after a rebuild");
    assert!(scene.past().verify().unwrap().is_sound());
    scene.disk.delete_all();
    scene.read();
    assert!(!scene.disk.holds(CANARY), "after deleting everything and reading anew");
}

// past 32
#[test]
fn a_turn_is_forgotten_everywhere_and_the_others_keep_their_numbers() {
    let mut scene = with_canary();
    let turn = owner_of_canary(&scene);
    let (session, _) = turn.split_once('#').unwrap();
    let session = session.to_owned();
    let numbers = |scene: &Scene| -> Vec<u32> {
        let request = TurnScope { reference: session.clone(), around: 0, work: false };
        scene.past().show(&request).unwrap().turns.iter().map(|turn| turn.turn).collect()
    };
    let before = numbers(&scene);
    let answer = forget(&mut scene, &[&turn]);
    assert_eq!(answer.turns, std::slice::from_ref(&turn));
    let after = numbers(&scene);
    assert_eq!(after.len(), before.len() - 1);
    assert!(after.iter().all(|number| before.contains(number)));
    stays_forgotten(&mut scene);
}

// past 32
#[test]
fn a_session_is_forgotten_with_its_copies() {
    let mut scene = with_canary();
    let turn = owner_of_canary(&scene);
    let session = turn.split_once('#').unwrap().0.to_owned();
    forget(&mut scene, &[&session]);
    assert!(!contents(&scene.past()).iter().any(|line| line.starts_with(&session)));
    stays_forgotten(&mut scene);
    assert!(contents(&scene.past()).iter().any(|line| line.contains("Question 1 of c")));
}

// past 32
#[test]
fn a_folder_and_everything_before_a_time_are_forgotten() {
    for request in [
        ForgetScope { folder: Some("/src/*".to_owned()), ..ForgetScope::default() },
        ForgetScope { before: Some(crate::histories::NOW), ..ForgetScope::default() },
        ForgetScope {
            agent: Some(transcripts::session::PastAgent::ClaudeCode),
            ..ForgetScope::default()
        },
    ] {
        let mut scene = with_canary();
        let dry = ForgetScope { dry_run: true, ..request.clone() };
        let named = scene.past().forget(&dry, &mut scene.tombstones).unwrap();
        // The fork and its origin share their turns, and one of them has some of its own.
        assert!(scene.disk.holds(CANARY) && named.sessions.len() >= 2);
        scene.past().forget(&request, &mut scene.tombstones).unwrap();
        assert_eq!(contents(&scene.past()), Vec::<String>::new());
        stays_forgotten(&mut scene);
    }
}

// past 33
#[test]
fn a_kill_during_forgetting_is_completed_at_the_next_start() {
    let mut met = 0;
    for at in 1.. {
        let mut scene = with_canary();
        let turn = owner_of_canary(&scene);
        let request = ForgetScope {
            references: vec![turn],
            reason: "test".to_owned(),
            ..ForgetScope::default()
        };
        let mut past = scene.past();
        scene.disk.die_at(at);
        let outcome = past.forget(&request, &mut scene.tombstones);
        drop(past);
        scene.disk.revive();
        if outcome.is_ok() {
            break;
        }
        met += 1;
        let is_journaled = !scene.tombstones.all().is_empty();
        scene.past().recover(&scene.tombstones).unwrap();
        assert_eq!(scene.disk.holds(CANARY), !is_journaled, "killed at change {at}");
        assert!(scene.past().verify().unwrap().is_sound(), "killed at change {at}");
    }
    assert!(met >= 6, "only {met} changes were met");
}

// past 34
#[test]
fn what_is_restored_comes_back_from_its_source() {
    let mut scene = with_canary();
    let before = contents(&scene.past());
    let turn = owner_of_canary(&scene);
    let session = turn.split_once('#').unwrap().0.to_owned();
    forget(&mut scene, &[&session]);
    scene.read();
    let mut past = scene.past();
    assert!(past.restore(&session, &mut scene.tombstones).unwrap());
    assert!(!past.restore(&session, &mut scene.tombstones).unwrap());
    drop(past);
    scene.read();
    assert!(scene.disk.holds(CANARY));
    let after = contents(&scene.past());
    assert_eq!(
        after.iter().filter(|line| line.contains("Prompt")).count(),
        before.iter().filter(|line| line.contains("Prompt")).count()
    );
}

// past 31
#[test]
fn masking_again_rewrites_what_newer_rules_mask() {
    let scene = Scene::new();
    scene.claude("s1", &turns("a", 2));
    scene.read();
    let before = (contents(&scene.past()), scene.disk.files().len());
    let counts = scene.past().rebuild(&scene.tombstones, true).unwrap();
    assert!(counts.masked.is_empty());
    assert_eq!((contents(&scene.past()), scene.disk.files().len()), before);
}

// past 29
#[test]
fn no_secret_reaches_a_byte_of_the_past() {
    let scene = Scene::new();
    let secret = format!("{}_{}", "ghp", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let mut lines = turns("a", 1);
    lines.push(asked(
        "u",
        9,
        &format!("Use {secret} and <private>nobody's business</private> here"),
    ));
    lines.push(crate::histories::result(
        "r",
        9,
        "t",
        &serde_json::json!(format!("{}{secret}", "x ".repeat(3_000))),
        false,
    ));
    lines
        .push(serde_json::json!({"type": "custom-title", "customTitle": format!("with {secret}")}));
    scene.write(".claude/projects/p/s1.jsonl", &text_of(&lines));
    let answer = scene.read();
    assert_eq!(answer.agents["claude-code"].masked["github-token"], 3);
    assert!(!scene.disk.holds(&secret[4..20]) && !scene.disk.holds("nobody's business"));
}
