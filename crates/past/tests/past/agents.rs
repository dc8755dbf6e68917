//! What each reader makes of its agent's files.

use past::ReadScope;
use serde_json::json;

use crate::histories::{
    Scene, answered, append, asked, at, contents, line, meta, result, text, text_of, tool,
};

fn lines_of(scene: &Scene) -> Vec<String> {
    contents(&scene.past())
}

fn holding<'l>(lines: &'l [String], text: &str) -> Vec<&'l String> {
    lines.iter().filter(|line| line.contains(text)).collect()
}

// past 1, 4, 39
#[test]
fn claude_code_is_read_as_it_was_said() {
    let scene = Scene::new();
    let reminder = "<system-reminder>do not tell</system-reminder>";
    scene.claude("s1", &[
        json!({"type": "ai-title", "aiTitle": "Slow cache", "sessionId": "s1"}),
        asked("u1", 1, &format!("Why is it slow? 日本\n{reminder}")),
        answered("a1", 1, "m1", json!({"type": "thinking", "thinking": "", "signature": "x"})),
        answered("a2", 1, "m1", text("I will look.")),
        answered("a3", 1, "m1", tool("t1", "Bash", &json!({"command": "make test"}))),
        answered("a4", 1, "m1", text("And read.")),
        result("r1", 2, "t1", &json!([{"type": "text", "text": "2 failed"}]), true),
        answered("a5", 2, "m2", tool("t2", "Edit",
            &json!({"file_path": "/src/a/x.rs", "old_string": "a", "new_string": "b"}))),
        result("r2", 2, "t2", &json!("done"), false),
        json!({"type": "user", "uuid": "u2", "timestamp": at(3), "isMeta": true, "message": {"content": "meta words"}}),
        json!({"type": "user", "uuid": "u3", "timestamp": at(3), "isCompactSummary": true,
            "message": {"content": "the summary"}}),
        json!({"type": "brand-new", "uuid": "n"}),
        json!({"type": "progress"}),
    ]);
    scene.write(
        ".claude/projects/-src-a/s1/subagents/agent-c9.jsonl",
        &text_of(&[
            json!({"type": "user", "uuid": "k1", "sessionId": "s1", "agentId": "c9", "isSidechain": true,
                "timestamp": at(2), "cwd": "/src/a", "message": {"content": "Look into the cache."}}),
            answered("k2", 2, "km", text("It has no key.")),
        ]),
    );
    let answer = scene.read();
    let counts = &answer.agents["claude-code"];
    assert_eq!((counts.prompts, counts.malformed, counts.unknown["brand-new"]), (2, 0, 1));
    let lines = lines_of(&scene);
    assert_eq!(
        holding(&lines, "claude-code:"),
        [
            "claude-code:c9 Child parent Some(\"s1\") in Some(\"/src/a\") on None called None by None, 1 turns",
            "claude-code:s1 Main parent None in Some(\"/src/a\") on Some(\"main\") called Some(\"Slow cache\") by \
             Some(\"2.1.9\"), 1 turns",
        ]
    );
    assert_eq!(holding(&lines, "Prompt").len(), 2);
    assert_eq!(holding(&lines, "Prompt { text: \"Why is it slow? 日本\"").len(), 1);
    // One message over four lines is one answer.
    assert_eq!(holding(&lines, "Answer { text: \"I will look.\\n\\nAnd read.\"").len(), 1);
    assert_eq!(holding(&lines, "Command { line: \"make test\" }").len(), 1);
    assert_eq!(holding(&lines, "Output { head: \"2 failed\", tail: \"\", error: true").len(), 1);
    assert_eq!(
        holding(&lines, "Edit { path: \"/src/a/x.rs\", removed: \"a\", added: \"b\" }").len(),
        1
    );
    assert_eq!(holding(&lines, "Summary { text: \"the summary\"").len(), 1);
    assert!(!scene.disk.holds("do not tell") && !scene.disk.holds("meta words"));
}

// past 4
#[test]
fn a_resumed_file_that_repeats_messages_adds_only_what_is_new() {
    let scene = Scene::new();
    let mut lines = crate::histories::turns("first", 10);
    scene.claude("s1", &lines);
    scene.read();
    lines.extend(crate::histories::turns("second", 2));
    scene.claude("s2", &lines);
    let answer = scene.read();
    assert_eq!((answer.sessions, answer.turns), (2, 12));
    let lines = lines_of(&scene);
    assert_eq!(holding(&lines, "Prompt").len(), 12);
    assert_eq!(holding(&lines, "Command").len(), 12);
    assert_eq!(holding(&lines, "Part 3 of first").len(), 1);
}

fn codex_legacy() -> Vec<serde_json::Value> {
    vec![
        meta("T1"),
        line(
            1,
            "response_item",
            &json!({"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "<environment_context>x</environment_context>"}]}),
        ),
        line(
            1,
            "response_item",
            &json!({"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "Why is it slow?"}]}),
        ),
        line(1, "event_msg", &json!({"type": "user_message", "message": "Why is it slow?"})),
        line(
            2,
            "response_item",
            &json!({"type": "function_call", "name": "shell",
            "arguments": "{\"command\":[\"bash\",\"-lc\",\"make test\"]}", "call_id": "c1"}),
        ),
        line(
            2,
            "response_item",
            &json!({"type": "function_call_output", "call_id": "c1",
            "output": "{\"output\":\"2 failed\",\"metadata\":{\"exit_code\":2}}"}),
        ),
        line(3, "event_msg", &json!({"type": "agent_message", "message": "Found it."})),
        line(
            3,
            "response_item",
            &json!({"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": "Found it."}]}),
        ),
    ]
}

fn codex_paginated() -> Vec<serde_json::Value> {
    let done =
        |minute, item| line(minute, "event_msg", &json!({"type": "item_completed", "item": item}));
    vec![
        meta("T1"),
        done(
            1,
            json!({"type": "UserMessage", "id": "i1", "content": [{"type": "text", "text": "Why is it slow?"}]}),
        ),
        done(
            2,
            json!({"type": "CommandExecution", "id": "c1", "command": "make test", "aggregated_output": "2 failed",
            "exit_code": 2}),
        ),
        done(
            3,
            json!({"type": "AgentMessage", "id": "i2", "content": [{"type": "Text", "text": "Found it."}]}),
        ),
    ]
}

fn codex_bare() -> Vec<serde_json::Value> {
    let item = |minute: u32, item: serde_json::Value| {
        let mut item = item;
        item["timestamp"] = json!(at(minute));
        item
    };
    vec![
        json!({"id": "T1", "timestamp": at(0), "instructions": null, "git": {"branch": "dev"}}),
        item(
            1,
            json!({"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "<environment_context>x</environment_context>"}]}),
        ),
        item(
            1,
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Why is it slow?"}]}),
        ),
        item(
            2,
            json!({"type": "function_call", "name": "shell",
                "arguments": "{\"command\":[\"bash\",\"-lc\",\"make test\"]}",
            "call_id": "c1"}),
        ),
        item(
            2,
            json!({"type": "function_call_output", "call_id": "c1",
            "output": "{\"output\":\"2 failed\",\"metadata\":{\"exit_code\":2}}"}),
        ),
        json!({"record_type": "state"}),
        item(
            3,
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Found it."}]}),
        ),
    ]
}

// past 5
#[test]
fn all_forms_of_a_rollout_give_equal_items() {
    let items = |lines: &[serde_json::Value]| {
        let scene = Scene::new();
        scene.codex("T1", lines);
        scene.read();
        lines_of(&scene).split_off(1)
    };
    let legacy = items(&codex_legacy());
    let told: Vec<&str> =
        legacy.iter().map(|line| line.split_whitespace().nth(2).unwrap()).collect();
    assert_eq!(told, ["Prompt", "Command", "Output", "Answer"]);
    assert!(legacy[2].contains("error: true") && legacy[2].contains("exit: Some(2)"));
    assert_eq!(items(&codex_paginated()), legacy);
    assert_eq!(items(&codex_bare()), legacy);
}

// past 6
#[test]
fn a_compressed_rollout_is_the_same_session() {
    let scene = Scene::new();
    let path = scene.codex("T1", &codex_legacy());
    scene.read();
    let before = lines_of(&scene);
    let packed = zstd::encode_all(std::fs::read(&path).unwrap().as_slice(), 3).unwrap();
    let packed_path = path.with_extension("jsonl.zst");
    std::fs::write(&packed_path, packed).unwrap();
    scene.read();
    assert_eq!(lines_of(&scene), before, "both are there, and the plain one wins");
    std::fs::remove_file(&path).unwrap();
    scene.read();
    assert_eq!(lines_of(&scene), before);
    // It is unpacked again before it grows.
    scene.codex("T1", &codex_legacy());
    append(
        &path,
        &text_of(&[line(9, "event_msg", &json!({"type": "user_message", "message": "And now?"}))]),
    );
    std::fs::remove_file(&packed_path).unwrap();
    let answer = scene.read();
    assert_eq!((answer.sessions, answer.turns), (1, 2));
}

#[test]
fn codex_tells_of_children_titles_compaction_and_rollbacks() {
    let scene = Scene::new();
    let mut lines = codex_legacy();
    lines.extend([
        line(4, "event_msg", &json!({"type": "user_message", "message": "A wrong turn"})),
        line(4, "event_msg", &json!({"type": "thread_rolled_back", "num_turns": 1})),
        line(5, "event_msg", &json!({"type": "user_message", "message": "A right turn"})),
        line(
            5,
            "compacted",
            &json!({"message": "what was", "replacement_history": [{"type": "message"}]}),
        ),
        line(5, "event_msg", &json!({"type": "thread_name_updated", "thread_name": "Slow cache"})),
        line(6, "new_line_type", &json!({})),
    ]);
    scene.codex("T1", &lines);
    scene.codex("T2", &[line(0, "session_meta", &json!({"id": "T2", "cwd": "/src/b", "parent_thread_id": "T1",
        "source": {"subagent": {"thread_spawn": {"parent_thread_id": "T1"}}}, "subagent_history_start_ordinal": 2})),
        json!({"timestamp": at(1), "ordinal": 1, "type": "event_msg",
            "payload": {"type": "user_message", "message": "inherited"}}),
        json!({"timestamp": at(1), "ordinal": 2, "type": "event_msg",
            "payload": {"type": "user_message", "message": "own task"}}),
    ]);
    scene.codex(
        "T3",
        &[
            line(
                0,
                "session_meta",
                &json!({"id": "T3", "source": {"subagent": "memory_consolidation"}}),
            ),
            line(1, "event_msg", &json!({"type": "user_message", "message": "never stored"})),
        ],
    );
    let answer = scene.read();
    assert_eq!(answer.agents["codex"].unknown["new_line_type"], 1);
    for _ in 0..2 {
        let held = lines_of(&scene);
        assert_eq!(holding(&held, "codex:").len(), 2);
        assert!(held.iter().any(|line| line.starts_with("codex:T2 Child parent Some(\"T1\")")));
        assert!(held.iter().any(|line| line.contains("called Some(\"Slow cache\")")));
        assert_eq!(holding(&held, "(undone)").len(), 1);
        assert!(holding(&held, "(undone)")[0].contains("A wrong turn"));
        assert_eq!(holding(&held, "Summary { text: \"what was\"").len(), 1);
        assert!(!scene.disk.holds("inherited") && !scene.disk.holds("never stored"));
        // Read from the start again, because it was put in place anew, it changes nothing.
        let path = scene.codex("T1", &[]);
        std::fs::remove_file(&path).unwrap();
        scene.codex("T1", &lines);
        scene.read();
    }
}

// past 18
#[test]
fn any_tool_can_write_our_own_lines() {
    let scene = Scene::new();
    let path = scene.write("notes.jsonl", &text_of(&[
        json!({"session": "x1", "role": "prompt", "text": "Why?", "at": at(1), "folder": "/src/c", "title": "T"}),
        json!({"session": "x2", "role": "prompt", "text": "How?", "at": 1_790_000_000}),
        json!({"session": "x1", "role": "answer", "text": "Because."}),
        json!({"session": "x1", "role": "sung", "text": "la"}),
        json!({"role": "prompt", "text": "nobody's"}),
    ]));
    let request = ReadScope { path: Some(path), ..ReadScope::default() };
    let mut past = scene.past();
    let answer = scene.read_with(&mut past, &request, &scene.tombstones).unwrap();
    let counts = &answer.agents["lines"];
    assert_eq!((counts.prompts, counts.malformed, counts.unknown["sung"]), (2, 1, 1));
    let lines = contents(&past);
    assert_eq!(holding(&lines, "lines:x1 Main parent None in Some(\"/src/c\")").len(), 1);
    assert_eq!(holding(&lines, "Because.").len(), 1);
}

// past 18, 25, 32
#[test]
fn the_same_short_id_in_two_sessions_is_two_prompts_and_a_copy_is_one() {
    fn line(session: &str, id: &str, role: &str, text: &str) -> serde_json::Value {
        json!({"session": session, "id": id, "role": role, "text": text, "at": at(1)})
    }
    let mut scene = Scene::new();
    let mut lines = vec![
        line("first", "1", "prompt", "Where is the canary?"),
        line("first", "2", "answer", "In the mine."),
        line("second", "1", "prompt", "Which port is it?"),
        line("second", "2", "answer", "Port 8123."),
        // Resumed under another name.
        line("third", "1", "prompt", "Which port is it?"),
        line("third", "2", "answer", "Port 8123."),
    ];
    let path = scene.write("notes.jsonl", &text_of(&lines));
    let request = ReadScope { path: Some(path.clone()), ..ReadScope::default() };
    let mut past = scene.past();
    let answer = scene.read_with(&mut past, &request, &scene.tombstones).unwrap();
    assert_eq!((answer.turns, answer.agents["lines"].copies), (2, 2));
    let before = contents(&past);
    assert_eq!(holding(&before, "Which port is it?").len(), 1);
    // The words of a prompt changed under its id: it is the same turn.
    lines[0] = line("first", "1", "prompt", "Where is the canary now?");
    scene.write("notes.jsonl", &text_of(&lines));
    let answer = scene.read_with(&mut past, &request, &scene.tombstones).unwrap();
    assert_eq!(answer.turns, 2);
    // To forget one leaves the other.
    let scope = past::ForgetScope {
        references: vec!["lines:first#1".to_owned()],
        ..past::ForgetScope::default()
    };
    past.forget(&scope, &mut scene.tombstones).unwrap();
    let after = contents(&past);
    assert!(holding(&after, "canary").is_empty() && holding(&after, "8123").len() == 1);
    scene.disk.delete_all();
    let mut past = scene.past();
    scene.read_with(&mut past, &request, &scene.tombstones).unwrap();
    let after = contents(&past);
    assert!(holding(&after, "mine").is_empty() && holding(&after, "8123").len() == 1);
}

// past 14, 16
#[test]
fn no_bytes_make_a_reader_panic() {
    let scene = Scene::new();
    let mut bytes = text_of(&codex_legacy()).into_bytes();
    bytes.extend(text_of(&crate::histories::turns("x", 2)).into_bytes());
    let mut state = 88_172_645_463_325_252_u64;
    for round in 0..60_usize {
        let mut broken = bytes.clone();
        for _ in 0..=round {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let at = usize::try_from(state % broken.len() as u64).unwrap();
            broken[at] = state.to_be_bytes()[0];
        }
        std::fs::create_dir_all(scene.path(".claude/projects/p")).unwrap();
        std::fs::write(scene.path(&format!(".claude/projects/p/f{round}.jsonl")), &broken).unwrap();
        std::fs::create_dir_all(scene.path(".codex/sessions")).unwrap();
        std::fs::write(scene.path(&format!(".codex/sessions/rollout-{round}.jsonl")), &broken)
            .unwrap();
    }
    let answer = scene.read();
    assert!(answer.agents["claude-code"].malformed > 0 && answer.agents["codex"].malformed > 0);
    assert!(answer.agents.values().all(|counts| counts.unreadable.is_empty()));
    assert!(scene.past().verify().unwrap().is_sound());
}

fn gemini_lines() -> Vec<serde_json::Value> {
    vec![
        json!({"sessionId": "g1", "projectHash": "h", "startTime": at(0), "lastUpdated": at(9), "kind": "main"}),
        json!({"id": "m1", "timestamp": at(1), "type": "user", "content": [{"text": "Why is it slow?"}]}),
        json!({"id": "m2", "timestamp": at(2), "type": "gemini", "content": "Draft."}),
        json!({"id": "m2", "timestamp": at(2), "type": "gemini", "content": "Found it.", "toolCalls": [
            {"id": "c1", "name": "run_shell_command", "args": {"command": "make test"}, "status": "error",
             "resultDisplay": "2 failed"}]}),
        json!({"id": "m3", "timestamp": at(3), "type": "user", "content": "/help"}),
        json!({"id": "m4", "timestamp": at(4), "type": "user", "content": "A wrong turn"}),
        json!({"$rewindTo": "m4"}),
        json!({"id": "m5", "timestamp": at(5), "type": "user", "content": [{"text": "A right turn"}]}),
        json!({"id": "m6", "timestamp": at(5), "type": "warning", "content": "no speech"}),
        json!({"id": "m7", "timestamp": at(5), "type": "prophet", "content": "unknown"}),
    ]
}

// past 7
#[test]
fn gemini_is_a_log_to_replay() {
    let scene = Scene::new();
    scene.write(".gemini/tmp/slug/.project_root", "/src/g\n");
    scene.write(
        ".gemini/tmp/slug/chats/g1/kid.jsonl",
        &text_of(&[
            json!({"sessionId": "k1", "startTime": at(0), "kind": "subagent"}),
            json!({"id": "k", "timestamp": at(1), "type": "user", "content": "Look there."}),
        ]),
    );
    let name = ".gemini/tmp/slug/chats/session-2026-g1.jsonl";
    let path = scene.write(name, &text_of(&gemini_lines()[..6]));
    scene.read();
    let numbers = |scene: &Scene| -> Vec<String> {
        lines_of(scene)
            .into_iter()
            .filter(|line| line.contains("Prompt"))
            .map(|line| line[..4].to_owned())
            .collect()
    };
    assert_eq!(numbers(&scene), ["  1 ", "  2 ", "  1 "]);
    append(&path, &text_of(&gemini_lines()[6..]));
    let answer = scene.read();
    assert_eq!(answer.agents["gemini-cli"].unknown["prophet"], 1);
    let lines = lines_of(&scene);
    assert_eq!(holding(&lines, "gemini-cli:").len(), 2);
    assert!(lines.iter().any(|line| {
        line.starts_with("gemini-cli:k1 Child parent Some(\"g1\") in Some(\"/src/g\")")
    }));
    assert_eq!(holding(&lines, "(undone)").len(), 1);
    assert!(holding(&lines, "(undone)")[0].contains("A wrong turn"));
    assert!(holding(&lines, "A right turn")[0].starts_with("  3 "));
    assert_eq!(holding(&lines, "Output { head: \"2 failed\", tail: \"\", error: true").len(), 1);
    assert_eq!((holding(&lines, "Found it.").len(), holding(&lines, "Draft.").len()), (1, 0));
    assert_eq!((holding(&lines, "/help").len(), holding(&lines, "no speech").len()), (0, 0));
}

#[test]
fn an_older_gemini_file_is_read_until_a_newer_one_takes_its_place() {
    let scene = Scene::new();
    let whole = json!({"sessionId": "g1", "startTime": at(0), "messages": gemini_lines()[1..4]});
    scene.write(".gemini/tmp/0f/chats/session-old-g1.json", &whole.to_string());
    scene.read();
    let before = lines_of(&scene);
    assert_eq!(holding(&before, "Prompt").len(), 1);
    scene.write(".gemini/tmp/0f/chats/session-old-g1.jsonl", &text_of(&gemini_lines()));
    let answer = scene.read();
    assert_eq!((answer.sessions, answer.turns), (1, 3));
    // To start over with fewer messages takes the others back.
    let mut lines = gemini_lines();
    lines.push(json!({"$set": {"messages": gemini_lines()[1..2]}}));
    scene.write(".gemini/tmp/0f/chats/session-old-g1.jsonl", &text_of(&lines));
    scene.read();
    assert_eq!(holding(&lines_of(&scene), "(undone)").len(), 2);
}

// past 8, 13
#[test]
fn opencode_has_two_generations_and_changes_rows_in_place() {
    let scene = Scene::new();
    let path = scene.write(".local/share/opencode/opencode.db", "");
    std::fs::remove_file(&path).unwrap();
    let database = rusqlite::Connection::open(&path).unwrap();
    database.pragma_update(None, "journal_mode", "WAL").unwrap();
    database
        .execute_batch(
            "CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT,
                time_created INTEGER, time_updated INTEGER);
             CREATE TABLE message (id TEXT, session_id TEXT, data TEXT);
             CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);
             CREATE TABLE session_message (id TEXT, session_id TEXT, type TEXT, seq INTEGER,
                time_updated INTEGER, data TEXT);
             INSERT INTO session VALUES ('ses_one', NULL, '/src/o', 'Slow cache', '1.2', 1790841600000, 1790841660000),
                ('ses_two', 'ses_one', '/src/o', NULL, '2.0', 1790841600000, 1790841660000);
             INSERT INTO message VALUES
                ('msg_1', 'ses_one', '{\"role\":\"user\",\"time\":{\"created\":1790841600000}}'),
                ('msg_2', 'ses_one', '{\"role\":\"assistant\",\"time\":{\"created\":1790841601000}}'),
                ('msg_3', 'ses_two', '{\"role\":\"user\"}');
             INSERT INTO part VALUES ('p1', 'msg_1', 'ses_one', '{\"type\":\"text\",\"text\":\"Why is it slow?\"}'),
                ('p2', 'msg_1', 'ses_one', '{\"type\":\"text\",\"text\":\"injected\",\"synthetic\":true}'),
                ('p3', 'msg_2', 'ses_one', '{\"type\":\"tool\",\"callID\":\"c1\",\"tool\":\"bash\",
                    \"state\":{\"status\":\"error\",
                    \"input\":{\"command\":\"make test\"},\"error\":\"2 failed\"}}'),
                ('p4', 'msg_2', 'ses_one', '{\"type\":\"text\",\"text\":\"Found it.\"}'),
                ('p5', 'msg_2', 'ses_one', '{\"type\":\"hologram\"}'),
                ('p6', 'msg_3', 'ses_two', '{\"type\":\"text\",\"text\":\"frozen copy\"}');
             INSERT INTO session_message VALUES ('m1', 'ses_two', 'user', 1, 1, '{\"text\":\"And there?\"}'),
                ('m2', 'ses_two', 'assistant', 2, 1, '{\"content\":[{\"type\":\"text\",\"text\":\"Here too.\"}]}'),
                ('m3', 'ses_two', 'shell', 3, 1, '{\"command\":\"ls\",\"output\":\"a b\"}');",
        )
        .unwrap();
    let answer = scene.read();
    assert_eq!(answer.agents["opencode"].unknown["hologram"], 1);
    let lines = lines_of(&scene);
    assert_eq!(holding(&lines, "opencode:").len(), 2);
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("opencode:ses_two Child parent Some(\"ses_one\")"))
    );
    for text in
        ["Why is it slow?", "make test", "2 failed", "Found it.", "And there?", "Here too.", "a b"]
    {
        assert_eq!(holding(&lines, text).len(), 1, "{text}");
    }
    assert!(!scene.disk.holds("frozen copy") && !scene.disk.holds("injected"));
    database
        .execute_batch(
            "INSERT INTO part VALUES ('p7', 'msg_2', 'ses_one', '{\"type\":\"text\",\"text\":\"One thing more.\"}')",
        )
        .unwrap();
    let answer = scene.read();
    assert_eq!((answer.sessions, answer.turns), (2, 2));
    assert_eq!(holding(&lines_of(&scene), "One thing more.").len(), 1);
    // When its agent is gone, reading leaves no file beside the database.
    drop(database);
    std::fs::write(path.with_extension("touched"), "").unwrap();
    let names = || -> Vec<_> {
        let entries = std::fs::read_dir(path.parent().unwrap()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    scene.disk.delete_all();
    assert_eq!(scene.read().turns, 2);
    assert_eq!(names(), before);
}
