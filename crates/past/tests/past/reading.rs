//! Reading on, reading anew, sources that move, vanish and are torn.

use past::{ReadScope, SessionScope};
use proptest::prelude::*;
use serde_json::json;

use crate::histories::{Scene, append, asked, contents, result, text_of, turns};

// past 22
#[test]
fn reading_twice_writes_nothing() {
    let scene = Scene::new();
    scene.claude("s1", &turns("a", 20));
    let first = scene.read();
    assert_eq!((first.sessions, first.turns, first.changed_files), (1, 20, 1));
    let (files, changes) = (scene.disk.files(), scene.disk.changes());
    let second = scene.read();
    assert_eq!(second.changed_files, 0);
    assert_eq!((scene.disk.files(), scene.disk.changes()), (files, changes));
}

// past 67: a hook, the daemon's round and a person may ask for the same at once
#[test]
fn plans_that_overlap_read_nothing_twice() {
    let scene = Scene::new();
    let mut lines = turns("first", 3);
    let path = scene.claude("s1", &lines);
    scene.read();
    // No prompt comes with it by which a turn is known again.
    let more = [result("r", 9, "first-3-t", &json!("built again"), false)];
    append(&path, &text_of(&more));
    lines.extend(more);
    let surroundings = transcripts::surroundings::PastSurroundings::of_home(scene.home.path());
    let mut world = past::ReadWorld {
        surroundings: &surroundings,
        exclusion: &scene.exclusion,
        tombstones: &scene.tombstones,
        now: crate::histories::NOW,
        progress: &mut |_, _| {},
    };
    let mut past = scene.past();
    let scope = ReadScope::default();
    let plans = [past.plan(&scope, &world).unwrap(), past.plan(&scope, &world).unwrap()];
    for mut plan in plans {
        past.read_step(&mut plan, &mut world, u64::MAX).unwrap();
    }
    let twice = contents(&past);
    let once = Scene::new();
    once.claude("s1", &lines);
    once.read();
    assert_eq!(twice, contents(&once.past()));
}

#[test]
fn a_dry_run_says_what_would_be_read() {
    let scene = Scene::new();
    scene.claude("s1", &turns("a", 3));
    let request = ReadScope { dry_run: true, ..ReadScope::default() };
    let answer = scene.read_with(&mut scene.past(), &request, &scene.tombstones).unwrap();
    assert_eq!((answer.changed_files, answer.sessions), (1, 0));
    assert!(answer.changed_bytes > 0 && scene.disk.files().is_empty());
}

// past 24
#[test]
fn a_turn_more_costs_little_however_long_the_session_is() {
    let scene = Scene::new();
    // Turns of some five kilobytes, as people have them.
    let output = |n: u32| -> String {
        let words: Vec<String> =
            (0..700).map(|word| format!("w{}", (word * 31 + n * 17) % 997)).collect();
        words.join(" ")
    };
    let mut lines = Vec::new();
    for n in 1..1_000 {
        lines.push(asked(
            &format!("u{n}"),
            n % 600,
            &format!("Question {n}: why is part{n} slow?"),
        ));
        lines.push(result(&format!("r{n}"), n % 600, "t", &json!(output(n)), false));
    }
    let path = scene.claude("s1", &lines);
    scene.read();
    let mut written = 0;
    for n in 1_000..1_020 {
        let before = scene.disk.files();
        append(
            &path,
            &text_of(&[
                asked(&format!("u{n}"), 600, "And now?"),
                result("r", 600, "t", &json!(output(n)), false),
            ]),
        );
        let answer = scene.read();
        assert_eq!(answer.turns, u64::from(n));
        assert!(answer.agents["claude-code"].bytes < 16 << 10, "only the new bytes were read");
        for (name, bytes) in scene.disk.files() {
            written += bytes.len() - before.get(&name).map_or(0, Vec::len);
        }
    }
    // The open segment and its words are written anew; now and then small parts of the index are joined.
    assert!(written / 20 <= 64 << 10, "{written} bytes were written for 20 turns");
}

// past 21
#[test]
fn what_agents_delete_is_kept() {
    let scene = Scene::new();
    let first = scene.claude("s1", &turns("a", 3));
    scene.claude("s2", &turns("b", 3));
    scene.read();
    let before = contents(&scene.past());
    std::fs::remove_file(&first).unwrap();
    scene.read();
    let past = scene.past();
    assert_eq!(contents(&past), before);
    let sessions = past.sessions(&SessionScope::default()).sessions;
    let only_here: Vec<&str> = sessions
        .iter()
        .filter(|view| view.is_kept_only_here)
        .map(|view| view.reference.as_str())
        .collect();
    assert_eq!(only_here, ["claude-code:s1"]);
    std::fs::remove_dir_all(scene.path(".claude")).unwrap();
    scene.read();
    assert_eq!(contents(&scene.past()), before);
}

// past 25
#[test]
fn a_source_that_is_replaced_keeps_the_numbers_of_its_turns_and_marks_those_it_lacks() {
    let scene = Scene::new();
    let all = turns("a", 4);
    let path = scene.claude("s1", &all);
    scene.read();
    let before = contents(&scene.past());
    // Truncated, then grown to something else.
    std::fs::write(&path, text_of(&all[..5])).unwrap();
    scene.read();
    let undone = |scene: &Scene| -> Vec<u32> {
        let scope = past::TurnScope { reference: "claude-code:s1".into(), around: 0, work: false };
        let turns = scene.past().show(&scope).unwrap().turns;
        turns.iter().filter(|turn| turn.is_undone).map(|turn| turn.turn).collect()
    };
    let unmarked = |lines: Vec<String>| -> Vec<String> {
        lines.iter().map(|line| line.replacen(" (undone)", "", 1)).collect()
    };
    assert_eq!(undone(&scene), [2, 3, 4]);
    assert_eq!(unmarked(contents(&scene.past())), before);
    let mut other = all[..10].to_vec();
    other.push(asked("new-u", 50, "Something else?"));
    std::fs::write(&path, text_of(&other)).unwrap();
    let answer = scene.read();
    assert_eq!(answer.turns, 5);
    assert_eq!(undone(&scene), [3, 4], "the second turn is there again");
    let after = unmarked(contents(&scene.past()));
    assert!(
        after.last().unwrap().starts_with("  5 ")
            && after.last().unwrap().contains("Something else?")
    );
    assert_eq!(after[1..before.len()], before[1..]);
    // Moved to another folder it is the same session.
    std::fs::create_dir_all(scene.path(".claude/projects/-elsewhere")).unwrap();
    std::fs::rename(&path, scene.path(".claude/projects/-elsewhere/s1.jsonl")).unwrap();
    scene.read();
    assert_eq!(unmarked(contents(&scene.past())), after);
}

// past 15, 16
#[test]
fn torn_long_and_strange_lines_cost_themselves() {
    let scene = Scene::new();
    let all = turns("a", 2);
    let mut text = text_of(&all[..5]);
    text.push_str("{\"type\":\"user\",\"torn\n");
    text.extend(["{\"type\":\"user\",\"x\":\"", &"y".repeat(17 << 20), "\"}\n"]);
    text.push_str("\r\n");
    text.push_str(&text_of(&all[5..]).replace('\n', "\r\n"));
    text.push_str("{\"type\":\"user\",\"uuid\":\"z\",\"message\":{\"content\":\"still being wri");
    let path = scene.write(".claude/projects/p/s1.jsonl", &text);
    let answer = scene.read();
    let counts = &answer.agents["claude-code"];
    assert_eq!((counts.malformed, counts.too_large, answer.turns), (1, 1, 2));
    append(&path, "tten\"}}\n");
    let answer = scene.read();
    assert_eq!((answer.turns, answer.agents["claude-code"].prompts), (3, 1));
}

// past 16
#[cfg(unix)]
#[test]
fn links_and_pipes_are_named_and_not_followed() {
    let scene = Scene::new();
    let path = scene.claude("s1", &turns("a", 1));
    let folder = path.parent().unwrap();
    std::os::unix::fs::symlink(folder, folder.join("loop")).unwrap();
    std::os::unix::fs::symlink(&path, folder.join("again.jsonl")).unwrap();
    let answer = scene.read();
    assert_eq!(answer.sessions, 1);
    let named = &answer.agents["claude-code"].unreadable;
    assert!(named.len() == 1 && named[0].contains("again.jsonl"), "{named:?}");
}

// past 35
#[test]
fn excluded_sessions_are_not_read() {
    let mut scene = Scene::new();
    scene.claude("s1", &turns("canary", 2));
    scene.exclusion.folders.push("/src/a".to_owned());
    let answer = scene.read();
    assert_eq!((answer.sessions, answer.turns), (0, 0));
    assert!(!scene.disk.holds("canary"));
}

// past 3
#[test]
fn variables_move_the_roots_and_missing_ones_are_no_error() {
    use transcripts::readers;
    use transcripts::surroundings::{HostSystem, PastSurroundings};
    let mut surroundings = PastSurroundings {
        home: "/home/a".into(),
        system: HostSystem::Linux,
        variables: std::collections::BTreeMap::new(),
    };
    let roots = |surroundings: &PastSurroundings, name: &str| -> Vec<String> {
        let reader =
            readers::all().into_iter().find(|reader| reader.agent().name() == name).unwrap();
        reader.roots(surroundings).iter().map(|path| path.display().to_string()).collect()
    };
    assert_eq!(roots(&surroundings, "claude-code"), ["/home/a/.claude/projects"]);
    assert_eq!(
        roots(&surroundings, "codex"),
        ["/home/a/.codex/sessions", "/home/a/.codex/archived_sessions"]
    );
    surroundings.variables.insert("CLAUDE_CONFIG_DIR".to_owned(), "/x".to_owned());
    surroundings.variables.insert("CODEX_HOME".to_owned(), String::new());
    assert_eq!(roots(&surroundings, "claude-code"), ["/x/projects"]);
    assert_eq!(roots(&surroundings, "codex")[0], "/home/a/.codex/sessions");
    let answer = Scene::new().read();
    assert_eq!((answer.sessions, answer.drift.len()), (0, 0));
}

// past 68
#[test]
fn a_form_that_nobody_knows_is_told_and_harms_nothing() {
    let scene = Scene::new();
    let path = scene.claude("s1", &turns("a", 2));
    scene.read();
    let before = contents(&scene.past());
    let renamed: Vec<_> =
        (0..900).map(|n| json!({"kind": "human", "n": n, "words": "x".repeat(100)})).collect();
    scene.claude("s2", &renamed);
    std::fs::write(&path, text_of(&renamed)).unwrap();
    let answer = scene.read();
    assert_eq!(answer.drift, ["claude-code"]);
    assert_eq!(contents(&scene.past()), before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Wherever a source is cut, and however often it is read, the past is what one reading gives.
    #[test]
    fn reading_in_steps_is_reading_at_once(
        cuts in prop::collection::vec(0.0_f64..1.0, 0..6), count in 1_u32..30, long in 0_usize..40_000,
    ) {
        let mut lines = turns("a", count);
        lines.push(asked("long", 55, &"word ".repeat(long / 5 + 1)));
        lines.extend(turns("b", 3));
        let text = text_of(&lines);
        let once = Scene::new();
        once.write(".claude/projects/p/s1.jsonl", &text);
        once.read();
        let steps = Scene::new();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let mut places: Vec<usize> = cuts.iter().map(|cut| (text.len() as f64 * cut) as usize).collect();
        places.sort_unstable();
        places.push(text.len());
        let path = steps.write(".claude/projects/p/s1.jsonl", "");
        let mut from = 0;
        for place in places {
            append(&path, &text[from..place]);
            from = place;
            steps.read();
        }
        prop_assert_eq!(contents(&steps.past()), contents(&once.past()));
    }
}

// past 6, 25: a log that was compressed is the same source, and nothing is kept only here
#[test]
fn a_compressed_log_is_the_same_source() {
    let scene = Scene::new();
    let lines = [
        crate::histories::meta("0199c0de"),
        crate::histories::line(
            1,
            "event_msg",
            &json!({"type": "user_message", "message": "Which port?"}),
        ),
    ];
    let plain = scene.codex("0199c0de", &lines);
    scene.read();
    let packed = zstd::encode_all(&std::fs::read(&plain).unwrap()[..], 3).unwrap();
    std::fs::write(plain.with_extension("jsonl.zst"), packed).unwrap();
    std::fs::remove_file(&plain).unwrap();
    let answer = scene.read();
    assert_eq!((answer.sessions, answer.turns), (1, 1));
    let sessions = scene.past().sessions(&SessionScope::default()).sessions;
    assert!(!sessions[0].is_kept_only_here);
}

// past 54: who follows finds a new session in a known folder, and in a new one, without looking through all
#[test]
fn a_new_session_is_found_by_the_time_of_its_folder() {
    let scene = Scene::new();
    scene.claude("s1", &turns("a", 1));
    scene.read();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let now = i64::try_from(now.as_millis()).unwrap();
    let follow = |now: i64| {
        let surroundings = transcripts::surroundings::PastSurroundings::of_home(scene.home.path());
        let mut world = past::ReadWorld {
            surroundings: &surroundings,
            exclusion: &scene.exclusion,
            tombstones: &scene.tombstones,
            now,
            progress: &mut |_, _| {},
        };
        let scope = ReadScope { known_since: Some(now - 86_400_000), ..ReadScope::default() };
        scene.past().read(&scope, &mut world).unwrap().changed_files
    };
    assert_eq!(follow(now), 0);
    scene.claude("s2", &turns("b", 1));
    scene.write(".claude/projects/-src-new/s3.jsonl", &text_of(&turns("c", 1)));
    assert_eq!(follow(now + 3_600_000), 0, "a folder that rested is not looked through");
    assert_eq!(follow(now), 2);
    assert_eq!(follow(now), 0);
}

// past 41: whoever resumed every session twice has as many turns as without
#[test]
fn sessions_that_were_resumed_twice_add_no_turn() {
    let (once, thrice) = (Scene::new(), Scene::new());
    for session in ["s1", "s2", "s3"] {
        let lines = turns(session, 4);
        once.claude(session, &lines);
        thrice.claude(session, &lines);
        thrice.claude(&format!("{session}-resumed"), &lines);
        let mut last = lines.clone();
        last.extend(turns(&format!("{session}-later"), 1));
        thrice.claude(&format!("{session}-again"), &last);
    }
    assert_eq!(once.read().turns, 12);
    assert_eq!(thrice.read().turns, 12 + 3, "only what came after the copies");
}
