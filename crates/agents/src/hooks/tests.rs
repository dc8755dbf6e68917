//! Events as agents send them, and replies as they take them.

use std::path::Path;

use super::*;

/// What an event says, in a line.
fn said(event: &HookEvent) -> String {
    let id = &event.session.id;
    match &event.happening {
        Happening::SessionStart(start) => format!("start {id:?} {start:?}"),
        Happening::PromptSubmit { prompt } => format!("prompt {id:?} {prompt}"),
        Happening::PreTool { file, command } => format!("tool {id:?} {file:?} {command:?}"),
        Happening::PreCompact => format!("compaction {id:?}"),
        Happening::SessionEnd { reason } => format!("end {id:?} {reason:?}"),
        Happening::SubagentStop { message } => format!("subagent {id:?} {message:?}"),
        Happening::Stop { message } => format!("stop {id:?} {message:?}"),
    }
}

#[track_caller]
fn check(agent: Agent, event: EventName, input: &str, told: &str, reply: &str) {
    let mut heard = String::new();
    let (bytes, trouble) = respond(agent, event, input.as_bytes(), |event| {
        heard = said(&event);
        Ok::<_, &str>(Some("Known: \"a\"\nand b".to_owned()))
    });
    assert_eq!(trouble, None);
    assert_eq!(heard, told);
    assert_eq!(String::from_utf8(bytes).unwrap(), reply);
}

#[test]
fn claude_code() {
    let agent = Agent::ClaudeCode;
    check(
        agent,
        EventName::SessionStart,
        concat!(
            r#"{"session_id":"5b1e","transcript_path":"/h/.claude/projects/p/5b1e.jsonl","cwd":"/p","#,
            r#""hook_event_name":"SessionStart","source":"startup","model":"m"}"#,
        ),
        r#"start Some("5b1e") Fresh"#,
        "{\"hookSpecificOutput\":{\"hookEventName\":\"SessionStart\",\"additionalContext\":\"Known: \\\"a\\\"\\n\
         and b\"}}\n",
    );
    check(
        agent,
        EventName::PromptSubmit,
        concat!(
            r#"{"session_id":"5b1e","cwd":"/p","permission_mode":"default","hook_event_name":"UserPromptSubmit","#,
            r#""prompt":"fix ✗"}"#,
        ),
        r#"prompt Some("5b1e") fix ✗"#,
        "{\"hookSpecificOutput\":{\"hookEventName\":\"UserPromptSubmit\",\"additionalContext\":\"Known: \\\"a\\\"\\n\
         and b\"}}\n",
    );
    // These have no place for context, and an unknown field would be an error: silence.
    check(
        agent,
        EventName::PreCompact,
        r#"{"session_id":"5b1e","cwd":"/p","hook_event_name":"PreCompact","trigger":"auto","custom_instructions":""}"#,
        r#"compaction Some("5b1e")"#,
        "",
    );
    check(
        agent,
        EventName::SessionEnd,
        r#"{"session_id":"5b1e","cwd":"/p","hook_event_name":"SessionEnd","reason":"prompt_input_exit"}"#,
        r#"end Some("5b1e") Some("prompt_input_exit")"#,
        "",
    );
    check(
        agent,
        EventName::SubagentStop,
        concat!(
            r###"{"session_id":"5b1e","hook_event_name":"SubagentStop","stop_hook_active":false,"agent_id":"a1","###,
            r###""agent_type":"Explore","agent_transcript_path":"/t","###,
            r###""last_assistant_message":"## Key Learnings\n1. x"}"###,
        ),
        "subagent Some(\"5b1e\") Some(\"## Key Learnings\\n1. x\")",
        "",
    );
    check(
        agent,
        EventName::Stop,
        r#"{"session_id":"5b1e","hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"done"}"#,
        r#"stop Some("5b1e") Some("done")"#,
        "",
    );
}

// S10
#[test]
fn tools_name_a_file_or_a_command() {
    let context = "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\
                   \"additionalContext\":\"Known: \\\"a\\\"\\nand b\"}}\n";
    for (agent, input, told) in [
        (
            Agent::ClaudeCode,
            r#"{"session_id":"s","tool_name":"Edit","tool_input":{"file_path":"/p/a.rs","old_string":"x"}}"#,
            r#"tool Some("s") Some("/p/a.rs") None"#,
        ),
        (
            Agent::ClaudeCode,
            r#"{"session_id":"s","tool_name":"Bash","tool_input":{"command":"git push","description":"d"}}"#,
            r#"tool Some("s") None Some("git push")"#,
        ),
        (
            Agent::Codex,
            r#"{"session_id":"s","tool_name":"Bash","tool_input":{"command":["bash","-lc","npm i"]}}"#,
            r#"tool Some("s") None Some("npm i")"#,
        ),
        (
            Agent::Codex,
            r#"{"session_id":"s","tool_input":{"command":"*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x"}}"#,
            r#"tool Some("s") Some("src/a.rs") None"#,
        ),
    ] {
        check(agent, EventName::PreTool, input, told, context);
    }
}

#[test]
fn codex_sends_null_where_it_has_nothing() {
    check(
        Agent::Codex,
        EventName::SubagentStop,
        concat!(
            r#"{"agent_id":"a","agent_transcript_path":null,"agent_type":"default","cwd":"/p","#,
            r#""hook_event_name":"SubagentStop","last_assistant_message":null,"model":"m","#,
            r#""permission_mode":"default","session_id":"s","stop_hook_active":false,"transcript_path":null,"#,
            r#""turn_id":"t"}"#,
        ),
        r#"subagent Some("s") None"#,
        "",
    );
    check(
        Agent::Codex,
        EventName::PromptSubmit,
        concat!(
            r#"{"cwd":"/p","hook_event_name":"UserPromptSubmit","model":"m","permission_mode":"default","#,
            r#""prompt":"hi","session_id":"s","transcript_path":null,"turn_id":"t"}"#,
        ),
        r#"prompt Some("s") hi"#,
        "{\"hookSpecificOutput\":{\"hookEventName\":\"UserPromptSubmit\",\"additionalContext\":\"Known: \\\"a\\\"\\n\
         and b\"}}\n",
    );
}

#[test]
fn gemini_wants_json_always_and_has_its_own_names() {
    let base = r#""session_id":"g","transcript_path":"/t.json","cwd":"/p","timestamp":"2026-11-15T23:00:00Z""#;
    check(
        Agent::GeminiCli,
        EventName::PromptSubmit,
        &format!(r#"{{{base},"hook_event_name":"BeforeAgent","prompt":"hi"}}"#),
        r#"prompt Some("g") hi"#,
        "{\"hookSpecificOutput\":{\"hookEventName\":\"BeforeAgent\",\"additionalContext\":\"Known: \\\"a\\\"\\n\
         and b\"}}\n",
    );
    // What the hook at the start of the session said stands before the words of the person.
    check(
        Agent::GeminiCli,
        EventName::PromptSubmit,
        &format!(r#"{{{base},"prompt":"<hook_context>Known: a</hook_context>\n\nWhich port?"}}"#),
        r#"prompt Some("g") Which port?"#,
        "{\"hookSpecificOutput\":{\"hookEventName\":\"BeforeAgent\",\"additionalContext\":\"Known: \\\"a\\\"\\n\
         and b\"}}\n",
    );
    check(
        Agent::GeminiCli,
        EventName::PreCompact,
        &format!(r#"{{{base},"hook_event_name":"PreCompress","trigger":"auto"}}"#),
        r#"compaction Some("g")"#,
        "{}\n",
    );
    check(
        Agent::GeminiCli,
        EventName::Stop,
        &format!(r#"{{{base},"hook_event_name":"AfterAgent","prompt":"q","prompt_response":"r"}}"#),
        r#"stop Some("g") Some("r")"#,
        "{}\n",
    );
}

#[test]
fn cursor_has_conversations_and_roots() {
    let input = concat!(
        r#"{"conversation_id":"c","generation_id":"g","model":"m","hook_event_name":"sessionStart","#,
        r#""cursor_version":"3.20.17","workspace_roots":["/w","/x"],"user_email":null}"#,
    );
    let event = parse(Agent::Cursor, EventName::SessionStart, input.as_bytes()).unwrap();
    assert_eq!(event.session.folder.as_deref(), Some(Path::new("/w")));
    check(
        Agent::Cursor,
        EventName::SessionStart,
        input,
        r#"start Some("c") Fresh"#,
        "{\"additional_context\":\"Known: \\\"a\\\"\\nand b\"}\n",
    );
    check(
        Agent::Cursor,
        EventName::PromptSubmit,
        concat!(
            r#"{"conversation_id":"c","hook_event_name":"beforeSubmitPrompt","workspace_roots":["/w"],"prompt":"hi","#,
            r#""attachments":[]}"#,
        ),
        r#"prompt Some("c") hi"#,
        "{\"continue\":true,\"additional_context\":\"Known: \\\"a\\\"\\nand b\"}\n",
    );
}

#[test]
fn opencode_hears_from_our_plugin() {
    check(
        Agent::OpenCode,
        EventName::SessionStart,
        r#"{"session_id":"ses_1","cwd":"/p","source":"compact"}"#,
        r#"start Some("ses_1") Compacted"#,
        "{\"context\":\"Known: \\\"a\\\"\\nand b\"}\n",
    );
}

#[test]
fn every_reason_to_start_is_known_or_fresh() {
    for (source, start) in [
        ("startup", Start::Fresh),
        ("resume", Start::Resumed),
        ("fork", Start::Resumed),
        ("clear", Start::Cleared),
        ("compact", Start::Compacted),
        ("something new", Start::Fresh),
    ] {
        let input = serde_json::json!({ "source": source }).to_string();
        let event = parse(Agent::ClaudeCode, EventName::SessionStart, input.as_bytes()).unwrap();
        assert_eq!(event.happening, Happening::SessionStart(start));
    }
}

#[test]
fn trouble_gives_an_empty_reply_and_a_line_for_the_log() {
    let fails = |_: HookEvent| Err::<Option<String>, _>("the store is busy");
    for agent in Agent::ALL {
        let empty =
            String::from_utf8(render(agent, EventName::PromptSubmit, &HookReply::default()));
        for input in
            [&b""[..], b"[]", b"{", b"{}", b"\xff", br#"{"prompt":7}"#, br#"{"prompt":"hi"}"#]
        {
            let (bytes, trouble) = respond(agent, EventName::PromptSubmit, input, fails);
            assert_eq!(String::from_utf8(bytes), empty);
            assert!(trouble.is_some());
        }
    }
    let (_, trouble) =
        respond(Agent::Codex, EventName::Stop, &vec![b' '; parse::INPUT_BYTES_MAX + 1], fails);
    assert_eq!(trouble.unwrap(), "the event has more than 16777216 bytes");
}

#[test]
fn an_error_quotes_nothing_of_what_was_said() {
    let secret = br#"{"prompt": "my password is hunter2" oops"#;
    let error = parse(Agent::Codex, EventName::PromptSubmit, secret).unwrap_err();
    assert!(!error.to_string().contains("hunter2"));
}
