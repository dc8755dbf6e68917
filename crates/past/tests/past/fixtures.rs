//! A made-up history of every agent, and all that its reader makes of it, as a golden file.
//!
//! Each tree has two sessions, a child where the agent has them, a compaction, a call that works and one that fails, an
//! edit, injected noise, a prompt that is not ASCII, a torn last line and a record of an unknown type, as far as the
//! form allows. A changed golden file is a changed reader: raise its version. No history claims a newer version of its
//! agent than docs/past.md says was looked at (past 75).

use serde_json::json;

use crate::histories::{Scene, append, at, contents, text_of};

/// Reads the scene twice and compares: a second reading, of touched sources too, changes nothing.
fn golden(name: &str, scene: &Scene) {
    let answer = scene.read();
    let mut lines = contents(&scene.past());
    let counts = &answer.agents[name];
    lines.push(format!(
        "{} prompts, {} malformed, unknown {:?}, noise {}",
        counts.prompts, counts.malformed, counts.unknown, counts.noise
    ));
    assert!(counts.unreadable.is_empty(), "{:?}", counts.unreadable);
    let before = contents(&scene.past());
    scene.read();
    assert_eq!(contents(&scene.past()), before);
    insta::assert_snapshot!(name, lines.join("\n"));
    // From the sources alone, without what was known of them.
    scene.disk.delete_all();
    scene.read();
    assert_eq!(contents(&scene.past()), before);
}

fn database(scene: &Scene, name: &str) -> rusqlite::Connection {
    let path = scene.write(name, "");
    std::fs::remove_file(&path).unwrap();
    rusqlite::Connection::open(&path).unwrap()
}

const NOISE: &str = "<system-reminder>injected</system-reminder>";

// past 1, 2, 9
#[test]
fn cursor_is_ordered_by_headers_and_the_database_wins() {
    let scene = Scene::new();
    let user = ".config/Cursor/User";
    let db = database(&scene, &format!("{user}/globalStorage/state.vscdb"));
    db.execute_batch(
        "CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
         CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);",
    )
    .unwrap();
    let put = |table: &str, key: &str, value: serde_json::Value| {
        let sql = format!("INSERT INTO {table} VALUES (?1, ?2)");
        db.execute(&sql, [key, &value.to_string()]).unwrap();
    };
    put(
        "cursorDiskKV",
        "composerData:k1",
        json!({"composerId": "k1", "name": "Slow cache",
        "createdAt": 1_790_000_000_000_i64, "lastUpdatedAt": 1_790_000_009_000_i64, "subComposerIds": ["k2"],
        "fullConversationHeadersOnly": [{"bubbleId": "b9", "type": 1}, {"bubbleId": "b1", "type": 2},
            {"bubbleId": "b2", "type": 2}, {"bubbleId": "b3", "type": 2}, {"bubbleId": "b4", "type": 7}]}),
    );
    put(
        "cursorDiskKV",
        "bubbleId:k1:b9",
        json!({"type": 1, "text": format!("Why is it slow? 日本\n{NOISE}"),
        "createdAt": at(0), "workspaceProjectDir": "/src/a"}),
    );
    put(
        "cursorDiskKV",
        "bubbleId:k1:b1",
        json!({"type": 2, "text": "Found it.", "createdAt": at(1)}),
    );
    put(
        "cursorDiskKV",
        "bubbleId:k1:b2",
        json!({"type": 2, "text": "", "createdAt": at(1), "toolFormerData": {
        "name": "run_terminal_cmd", "toolCallId": "t1", "status": "error",
        "rawArgs": "{\"command\":\"make test\"}", "result": "{\"output\":\"2 failed\",\"exitCode\":2}"}}),
    );
    put(
        "cursorDiskKV",
        "bubbleId:k1:b3",
        json!({"type": 2, "text": "", "createdAt": at(2), "toolFormerData": {
        "name": "search_replace", "toolCallId": "t2", "status": "completed",
        "rawArgs": "{\"file_path\":\"a.rs\",\"old_string\":\"x\",\"new_string\":\"y\"}", "result": "{}"}}),
    );
    put("cursorDiskKV", "bubbleId:k1:b4", json!({"type": 7, "text": "unknown"}));
    put(
        "cursorDiskKV",
        "composerData:k2",
        json!({"composerId": "k2", "lastUpdatedAt": 1,
        "conversationMap": {"c1": {"type": 1, "text": "Look into the cache."}},
        "fullConversationHeadersOnly": [{"bubbleId": "c1", "type": 1}]}),
    );
    put(
        "ItemTable",
        "workbench.panel.aichat.view.aichat.chatdata",
        json!({"tabs": [{"tabId": "tab1",
        "lastSendTime": 1_780_000_000_000_i64,
        "bubbles": [{"type": "user", "text": "An old question"}, {"type": "ai", "text": "An old answer"}]}]}),
    );
    drop(db);
    let said = |role: &str, text: &str| json!({"role": role, "message": {"content": [{"type": "text", "text": text}]}});
    let lines = [
        said("user", "<user_query>\nOnly in the transcript\n</user_query>"),
        json!({"role": "assistant", "message": {"content": [{"type": "text", "text": "Yes."},
            {"type": "tool_use", "name": "Shell", "input": {"command": "ls"}}]}}),
        json!({"role": "oracle", "message": {"content": "unknown"}}),
    ];
    let folder = ".cursor/projects/src-a/agent-transcripts";
    let path = scene.write(&format!("{folder}/c7/c7.jsonl"), &text_of(&lines));
    append(&path, "{\"role\":\"user\",\"mess");
    // The same session as in the database, in the older place.
    let both = [said("user", "<user_query>\nLook into the cache.\n</user_query>")];
    scene.write(&format!("{folder}/k2.jsonl"), &text_of(&both));
    golden("cursor", &scene);
}

// past 1, 2, 10
#[test]
fn copilot_cli_has_children_by_their_agent() {
    let scene = Scene::new();
    let mut n = 0;
    let mut event = |kind: &str, minute: u32, data: serde_json::Value| {
        n += 1;
        json!({"type": kind, "data": data, "id": format!("e{n}"), "timestamp": at(minute), "parentId": null})
    };
    let mut lines = vec![
        event(
            "session.start",
            0,
            json!({"sessionId": "p1", "version": 1, "copilotVersion": "1.0.90",
            "context": {"cwd": "/src/a", "branch": "main"}}),
        ),
        event(
            "user.message",
            1,
            json!({"content": format!("Why is it slow? 日本\n{NOISE}"), "transformedContent": "no"}),
        ),
        event("assistant.message", 2, json!({"content": "I will look."})),
        event(
            "tool.execution_start",
            2,
            json!({"toolCallId": "c1", "toolName": "bash",
            "arguments": {"command": "make test"}}),
        ),
        event(
            "tool.execution_complete",
            2,
            json!({"toolCallId": "c1", "success": false, "result": {"content": "2 failed"}}),
        ),
        event("user.message", 3, json!({"content": "Look into the cache."})),
        event(
            "tool.execution_start",
            4,
            json!({"toolCallId": "c2", "toolName": "edit",
            "arguments": {"path": "a.rs", "old_str": "x", "new_str": "y"}}),
        ),
        event(
            "tool.execution_complete",
            4,
            json!({"toolCallId": "c2", "success": true, "result": {"content": "done"}}),
        ),
        event("session.compaction_complete", 5, json!({"summaryContent": "what was"})),
        event("brand.new", 5, json!({})),
        event("assistant.message", 6, json!({"content": "Found it."})),
    ];
    lines[5]["agentId"] = json!("kid");
    let path = scene.write(".copilot/session-state/p1/events.jsonl", &text_of(&lines));
    append(&path, "{\"type\":\"user.mess");
    scene.write(".copilot/session-state/p1/files/events.jsonl", &text_of(&lines));
    let old = json!({"sessionId": "p0", "startTime": at(0), "chatMessages": [
        {"role": "user", "content": "An old question"},
        {"role": "assistant", "content": "An old answer", "tool_calls": [{"id": "o1",
            "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}}]},
        {"role": "tool", "tool_call_id": "o1", "content": "a b"}]});
    scene.write(".copilot/history-session-state/p0.json", &old.to_string());
    golden("copilot-cli", &scene);
}

// past 1, 2, 10
#[test]
fn copilot_chat_is_a_document_or_a_log_of_changes() {
    let scene = Scene::new();
    let storage = ".config/Code/User/workspaceStorage/0f";
    scene.write(&format!("{storage}/workspace.json"), r#"{"folder": "file:///src/a%20b"}"#);
    let request = |id: &str, text: &str, answer: &str| {
        json!({"requestId": id, "message": {"text": text}, "timestamp": 1_790_000_000_000_i64, "response": [
            {"value": answer},
            {"kind": "toolInvocationSerialized", "toolId": "run_in_terminal", "toolCallId": format!("{id}-t"),
             "toolSpecificData": {"kind": "terminal", "commandLine": {"original": "make test"},
                "terminalCommandState": {"exitCode": 2}, "terminalCommandOutput": {"text": "2 failed"}}},
            {"kind": "textEditGroup", "uri": {"path": "/src/a/x.rs"}, "edits": [[{"text": "new line"}]]},
            {"kind": "brandNew"}]})
    };
    let whole = json!({"version": 3, "sessionId": "v1", "creationDate": 1_790_000_000_000_i64,
        "customTitle": "Slow cache",
        "requests": [request("r1", "Why is it slow? 日本", "Found it.")]});
    scene.write(&format!("{storage}/chatSessions/v1.json"), &whole.to_string());
    let log = [
        json!({"kind": 0, "v": {"sessionId": "v2", "requests": []}}),
        json!({"kind": 2, "k": ["requests"], "v": [request("r2", "And now?", "Part one.")]}),
        json!({"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": " Part two."}]}),
        json!({"kind": 1, "k": ["customTitle"], "v": "Second"}),
        json!({"kind": 2, "k": ["requests"], "v": [request("r3", "Taken back", "never said")]}),
        json!({"kind": 3, "k": ["requests", 1]}),
        json!({"kind": 9}),
    ];
    let path = scene.write(&format!("{storage}/chatSessions/v2.jsonl"), &text_of(&log));
    append(&path, "{\"kind\":1,\"k\":[");
    let events = [
        json!({"type": "session.start", "id": "e1", "timestamp": at(0), "data": {"sessionId": "v3"}}),
        json!({"type": "user.message", "id": "e2", "timestamp": at(1), "data": {"content": "In a transcript"}}),
    ];
    for id in ["v1", "v3"] {
        let name = format!("{storage}/GitHub.copilot-chat/transcripts/{id}.jsonl");
        scene.write(&name, &text_of(&events));
    }
    golden("copilot-chat", &scene);
}

// past 1, 2, 11
#[test]
fn cline_and_roo_are_read_in_all_forms() {
    let scene = Scene::new();
    let folder = ".cline/data/sessions/c1";
    scene.write(
        &format!("{folder}/c1.json"),
        &json!({"version": 1, "session_id": "c1", "cwd": "/src/a", "started_at": at(0)})
            .to_string(),
    );
    let messages = json!({"version": 1, "agent": "lead", "sessionId": "c1", "messages": [
        {"id": "m1", "role": "user", "ts": 1_790_000_000_000_i64, "content": [
            {"type": "text", "text": format!("Why is it slow? 日本\n{NOISE}")}]},
        {"id": "m2", "role": "assistant", "content": [{"type": "text", "text": "I will look."},
            {"type": "tool_use", "id": "t1", "name": "execute_command", "input": {"command": "make test"}}]},
        {"id": "m3", "role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "2 failed",
            "is_error": true}]},
        {"id": "m4", "role": "assistant", "content": [{"type": "tool_use", "id": "t2", "name": "replace_in_file",
            "input": {"path": "a.rs", "old_string": "x", "new_string": "y"}}]},
        {"id": "m5", "role": "oracle", "content": "unknown"}]});
    scene.write(&format!("{folder}/c1.messages.json"), &messages.to_string());
    let child = json!({"sessionId": "c1", "messages": [
        {"id": "k1", "role": "user", "content": "Look into the cache."}]});
    scene.write(&format!("{folder}/helper__1.messages.json"), &child.to_string());
    let cline = ".config/Code/User/globalStorage/saoudrizwan.claude-dev";
    scene.write(
        &format!("{cline}/state/taskHistory.json"),
        &json!([{"id": "1790000000000", "task": "Old task", "cwdOnTaskInitialization": "/src/b"}])
            .to_string(),
    );
    let old = json!([
        {"role": "user", "content": [{"type": "text", "text": "<task>\nAn old question\n</task>"},
            {"type": "text", "text": "<environment_details>\nnoise\n</environment_details>"}]},
        {"role": "assistant", "content": [{"type": "text",
            "text": "Let me see.\n<execute_command>\n<command>ls -l</command>\n</execute_command>"}]},
        {"role": "user", "content": [{"type": "text", "text": "[execute_command for 'ls -l'] Result:\na b"}]}]);
    scene.write(
        &format!("{cline}/tasks/1790000000000/api_conversation_history.json"),
        &old.to_string(),
    );
    scene.write(&format!("{cline}/tasks/1790000000000/claude_messages.json"), "[]");
    let roo = ".config/VSCodium/User/globalStorage/rooveterinaryinc.roo-cline/tasks/1790000001000";
    scene.write(
        &format!("{roo}/history_item.json"),
        &json!({"task": "Roo's task", "workspace": "/src/c", "parentTaskId": "1790000000000"})
            .to_string(),
    );
    let messages = json!([
        {"role": "user", "content": "First", "ts": 1_790_000_001_000_i64, "condenseParent": "s"},
        {"role": "assistant", "content": "Summary of it", "isSummary": true, "condenseId": "s"},
        {"role": "user", "content": "Second", "ts": 1_790_000_002_000_i64}]);
    scene.write(&format!("{roo}/api_conversation_history.json"), &messages.to_string());
    golden("cline", &scene);
}

// past 1, 2, 11
#[test]
fn goose_has_a_database_and_older_files() {
    let scene = Scene::new();
    let db = database(&scene, ".local/share/goose/sessions/sessions.db");
    db.execute_batch(
        "CREATE TABLE sessions (id TEXT, name TEXT, session_type TEXT, working_dir TEXT, created_at TEXT,
            updated_at TEXT);
         CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id TEXT, session_id TEXT, role TEXT,
            content_json TEXT, created_timestamp INTEGER, metadata_json TEXT);
         INSERT INTO sessions VALUES ('20261001_1', 'Slow cache', 'user', '/src/a', '2026-10-01 08:00:00', NULL),
            ('20261001_2', NULL, 'sub_agent', '/src/a', '2026-10-01 08:01:00', NULL),
            ('20261001_3', NULL, 'hidden', '/src/a', '2026-10-01 08:01:00', NULL);",
    )
    .unwrap();
    let rows = [
        (
            "20261001_1",
            "user",
            json!([{"type": "text", "text": format!("Why is it slow? 日本\n{NOISE}")}]),
            None,
        ),
        (
            "20261001_1",
            "assistant",
            json!([{"type": "text", "text": "I will look."}, {"type": "toolRequest", "id": "c1",
            "toolCall": {"status": "success", "value": {"name": "developer__shell",
                "arguments": {"command": "make test"}}}}]),
            None,
        ),
        (
            "20261001_1",
            "user",
            json!([{"type": "toolResponse", "id": "c1",
            "toolResult": {"status": "error", "error": "2 failed"}}]),
            None,
        ),
        (
            "20261001_1",
            "assistant",
            json!([{"type": "toolRequest", "id": "c2", "toolCall": {"status": "success",
            "value": {"name": "developer__text_editor",
                "arguments": {"path": "a.rs", "old_str": "x", "new_str": "y"}}}}]),
            None,
        ),
        (
            "20261001_1",
            "user",
            json!([{"type": "toolResponse", "id": "c2", "toolResult": {"status": "success",
            "value": [{"type": "text", "text": "done"}]}}, {"type": "brandNew"}]),
            None,
        ),
        (
            "20261001_1",
            "user",
            json!([{"type": "text", "text": "what was"}]),
            Some(r#"{"userVisible":false,"agentVisible":true}"#),
        ),
        ("20261001_2", "user", json!([{"type": "text", "text": "Look into the cache."}]), None),
        ("20261001_3", "user", json!([{"type": "text", "text": "never stored"}]), None),
    ];
    let fill = |from: u32| {
        for (at, (session, role, content, metadata)) in rows.iter().enumerate() {
            let sql = "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp,
                metadata_json) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let id = format!("msg{}", from + u32::try_from(at).unwrap());
            let content = content.to_string();
            db.execute(
                sql,
                (
                    id,
                    session,
                    role,
                    content,
                    1_790_000_000 + i64::try_from(at).unwrap() * 60,
                    metadata,
                ),
            )
            .unwrap();
        }
    };
    fill(0);
    let line = |session: &str, text: &str| {
        scene.write(&format!(".local/share/goose/sessions/{session}.jsonl"), &text_of(&[
            json!({"working_dir": "/src/b", "description": "Older"}),
            json!({"role": "user", "created": 1_780_000_000, "content": [{"type": "text", "text": text}]}),
        ]))
    };
    let path = line("20250101_9", "An old question");
    append(&path, "{\"role\":\"assist");
    line("20261001_1", "imported already");
    golden("goose", &scene);
    let before = contents(&scene.past());
    assert!(!before.iter().any(|line| line.contains("imported already")));
    // A conversation that is rewritten gets new rows and ids, and keeps its numbers.
    db.execute_batch("DELETE FROM messages").unwrap();
    fill(100);
    db.execute_batch(
        "UPDATE messages SET content_json = content_json || ' ' WHERE message_id = 'msg104'",
    )
    .unwrap();
    scene.read();
    assert_eq!(contents(&scene.past()), before);
}

// past 1, 2, 12
#[test]
fn qwen_marks_what_a_rewind_left_and_knows_copies() {
    let scene = Scene::new();
    let record = |uuid: &str, parent: &str, minute: u32, kind: &str, parts: serde_json::Value| {
        json!({"uuid": uuid, "parentUuid": parent, "sessionId": "q1", "timestamp": at(minute), "type": kind,
            "cwd": "/src/a", "version": "0.9.0", "message": {"role": kind, "parts": parts}})
    };
    let mut lines = vec![
        record("u1", "", 1, "user", json!([{"text": format!("Why is it slow? 日本\n{NOISE}")}])),
        record(
            "a1",
            "u1",
            2,
            "assistant",
            json!([{"text": "thinking", "thought": true}, {"text": "I will look."},
            {"functionCall": {"id": "c1", "name": "run_shell_command", "args": {"command": "make test"}}}]),
        ),
        record(
            "t1",
            "a1",
            2,
            "tool_result",
            json!([{"functionResponse": {"id": "c1", "response": {"error": "2 failed"}}}]),
        ),
        record(
            "a2",
            "t1",
            3,
            "assistant",
            json!([
            {"functionCall": {"id": "c2", "name": "edit",
                "args": {"file_path": "a.rs", "old_string": "x", "new_string": "y"}}}]),
        ),
        record(
            "t2",
            "a2",
            3,
            "tool_result",
            json!([{"functionResponse": {"id": "c2", "response": {"output": "done"}}}]),
        ),
        record("u2", "t2", 4, "user", json!([{"text": "A wrong turn"}])),
        record("a3", "u2", 4, "assistant", json!([{"text": "Oh."}])),
        record("s1", "t2", 5, "system", json!([])),
        record("u3", "s1", 6, "user", json!([{"text": "A right turn"}])),
        record("s2", "u3", 6, "system", json!([])),
        record("x1", "s2", 6, "prophet", json!([])),
    ];
    lines[7]["subtype"] = json!("rewind");
    lines[9]["subtype"] = json!("custom_title");
    lines[9]["systemPayload"] = json!({"customTitle": "Slow cache"});
    let path = scene.write(".qwen/projects/-src-a/chats/q1.jsonl", &text_of(&lines));
    append(&path, "{\"uuid\":\"u9\"");
    // A branch keeps the ids of what it copies.
    let mut branch: Vec<_> = lines[..5].to_vec();
    branch.push(record("u8", "t2", 7, "user", json!([{"text": "On the branch"}])));
    for line in &mut branch {
        line["sessionId"] = json!("q2");
    }
    scene.write(".qwen/projects/-src-a/chats/q2.jsonl", &text_of(&branch));
    let child = record("k1", "", 2, "user", json!([{"text": "Look into the cache."}]));
    scene.write(".qwen/projects/-src-a/subagents/q1/agent-kid.jsonl", &text_of(&[child]));
    // The order of copies follows from times of files; the original is older.
    let older = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(2_000_000_000);
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(older).unwrap();
    golden("qwen-code", &scene);
}

// past 1, 2, 12, 13
#[test]
fn zed_has_two_shapes_packed_or_not() {
    let scene = Scene::new();
    let db = database(&scene, ".local/share/zed/threads/threads.db");
    db.execute_batch(
        "CREATE TABLE threads (id TEXT, summary TEXT, updated_at TEXT, data_type TEXT, data BLOB, parent_id TEXT)",
    )
    .unwrap();
    let newer = json!({"version": "0.3.0", "title": "Slow cache", "updated_at": at(9), "messages": [
        {"User": {"id": "u1", "content": [{"Text": format!("Why is it slow? 日本\n{NOISE}")}]}},
        {"Agent": {"content": [{"Text": "I will look."}, {"Thinking": {"text": "no"}},
            {"ToolUse": {"id": "t1", "name": "terminal", "input": {"command": "make test"}}},
            {"ToolUse": {"id": "t2", "name": "edit_file",
                "input": {"path": "a.rs", "old_string": "x", "new_string": "y"}}}],
            "tool_results": {"t1": {"tool_use_id": "t1", "is_error": true, "content": {"Text": "2 failed"}},
                "t2": {"tool_use_id": "t2", "is_error": false, "content": {"Text": "done"}}}}},
        "Resume", {"Compaction": {"Summary": "what was"}}, {"Oracle": {}}]});
    let older = json!({"version": "0.1.0", "summary": "Old", "messages": [
        {"id": 0, "role": "user", "segments": [{"type": "text", "text": "An old question"}]},
        {"id": 1, "role": "assistant", "segments": [{"type": "thinking", "text": "no"},
            {"type": "text", "text": "An old answer"}],
            "tool_uses": [{"id": "o1", "name": "terminal", "input": {"command": "ls"}}]},
        {"id": 2, "role": "user", "segments": [], "tool_results": [
            {"tool_use_id": "o1", "is_error": false, "content": "a b"}]}]});
    let packed = zstd::encode_all(newer.to_string().as_bytes(), 3).unwrap();
    let add = |id: &str, kind: &str, data: &[u8], parent: Option<&str>| {
        let sql = "INSERT INTO threads VALUES (?1, 'A title', ?2, ?3, ?4, ?5)";
        db.execute(sql, (id, at(9), kind, data, parent)).unwrap();
    };
    add("z1", "zstd", &packed, None);
    add("z2", "json", older.to_string().as_bytes(), None);
    let child = json!({"messages": [{"User": {"id": "k1", "content": [{"Text": "Look into the cache."}]}}]});
    add("z3", "json", child.to_string().as_bytes(), Some("z1"));
    add("z4", "zstd", b"torn", None);
    golden("zed", &scene);
}

// past 1, 2, 12
#[test]
fn pi_reads_all_branches_and_the_first_version() {
    let scene = Scene::new();
    let message = |id: &str, parent: Option<&str>, minute: u32, message: serde_json::Value| {
        json!({"type": "message", "id": id, "parentId": parent, "timestamp": at(minute),
            "message": message})
    };
    let lines = [
        json!({"type": "session", "version": 3, "id": "p1", "cwd": "/src/a", "timestamp": at(0)}),
        message(
            "a1",
            None,
            1,
            json!({"role": "user", "content": format!("Why is it slow? 日本\n{NOISE}")}),
        ),
        message(
            "a2",
            Some("a1"),
            2,
            json!({"role": "assistant", "content": [{"type": "text", "text": "I will look."},
            {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "make test"}}]}),
        ),
        message(
            "a3",
            Some("a2"),
            2,
            json!({"role": "toolResult", "toolCallId": "c1", "isError": true,
            "content": [{"type": "text", "text": "2 failed"}]}),
        ),
        message(
            "a4",
            Some("a3"),
            3,
            json!({"role": "assistant", "content": [{"type": "toolCall", "id": "c2", "name": "edit",
            "arguments": {"path": "a.rs", "oldText": "x", "newText": "y"}}]}),
        ),
        message("b1", Some("a4"), 4, json!({"role": "user", "content": "A wrong turn"})),
        json!({"type": "branch_summary", "id": "s1", "parentId": "a4", "timestamp": at(5), "summary": "what was"}),
        message(
            "b2",
            Some("s1"),
            6,
            json!({"role": "user", "content": [{"type": "text", "text": "A right turn"}]}),
        ),
        message(
            "b3",
            Some("b2"),
            6,
            json!({"role": "bashExecution", "command": "ls", "output": "a b", "exitCode": 0}),
        ),
        json!({"type": "session_info", "id": "i1", "parentId": "b3", "timestamp": at(6), "name": "Slow cache"}),
        json!({"type": "brand_new", "id": "n1", "parentId": "i1", "timestamp": at(6)}),
    ];
    let path = scene.write(".pi/agent/sessions/--src-a--/2026_p1.jsonl", &text_of(&lines));
    append(&path, "{\"type\":\"mess");
    scene.write(".pi/agent/sessions/--src-b--/2025_p0.jsonl", &text_of(&[
        json!({"type": "session", "id": "p0", "cwd": "/src/b", "timestamp": at(0)}),
        json!({"type": "message", "timestamp": at(1), "message": {"role": "user", "content": "An old question"}}),
        json!({"type": "message", "timestamp": at(2), "message": {"role": "assistant", "content": "An old answer"}}),
    ]));
    golden("pi", &scene);
}
