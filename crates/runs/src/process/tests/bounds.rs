//! What a request, a turn and a tool may not do, and how a run ends that goes too far.

use super::*;

#[tokio::test]
async fn no_request_gets_beyond_its_bounds() {
    // execution R25; section 9, 7
    let stage = stage(Vec::new(), &segment());
    let base = json!({"use_id": "5", "name": "activity", "day": "20250109", "output": "md"});
    for (key, value) in [
        ("tools", json!(["x"])),
        ("grant", json!("write")),
        ("type", json!("generate")),
        ("cwd", json!("/")),
        ("path", json!("x")),
        ("write", json!(true)),
        ("output_path", json!("../../etc/x")),
        ("output_path", json!("/etc/passwd")),
        ("name", json!("../default")),
        ("name", json!("nobody")),
        ("facet", json!("a/b")),
        ("day", json!("2025")),
        ("segment", json!("../x")),
        ("segment", json!("010101_5")),
        ("session_id", json!("../../x")),
        ("chat_id", json!("-rf")),
        ("use_id", json!("1/2")),
        ("tier", json!(9)),
        ("refresh", json!("yes")),
        ("span", json!(["120000_300", "999999_1"])),
    ] {
        let mut request = base.clone();
        request[key] = value.clone();
        let events = stage.one(request).await;
        assert_eq!(names(&events), ["error"], "{key} {value}");
    }
    let events = stage.one(json!({"use_id": "5"})).await;
    assert!(events[0]["error"].as_str().unwrap().contains("prompt"), "{events:?}");
    let all = fs::read_dir(stage.dir.path()).unwrap().count();
    assert_eq!(all, 1, "what is refused leaves nothing behind");
}

#[tokio::test]
async fn several_requests_are_done_in_turn_and_a_bad_line_costs_only_itself() {
    // execution R19, R86
    let stage = stage(vec![Ok(reply("One")), Ok(reply("Two"))], &[]);
    let lines = "nonsense\n\n{\"use_id\":\"1\",\"prompt\":\"a\"}\n7\n{\"ts\":2,\"prompt\":\"b\"}";
    let events = stage.run(lines).await;
    let ends: Vec<(&str, &str)> = events
        .iter()
        .filter(|event| matches!(event["event"].as_str(), Some("finish" | "error")))
        .map(|event| (event["event"].as_str().unwrap(), event["use_id"].as_str().unwrap_or("-")))
        .collect();
    assert_eq!(ends, [("error", "-"), ("finish", "1"), ("error", "-"), ("finish", "2")]);
}

#[tokio::test]
async fn what_a_provider_says_is_told_in_its_reason_code() {
    // execution R49, R67
    let mut broken = ProviderError::new(ReasonCode::QuotaExceeded, "slow down");
    broken.retry_after = Some(Duration::from_mins(1));
    broken.partial = "Half an ans".into();
    let stage = stage(vec![Err(broken), Ok(reply(""))], &[]);
    let events = stage.one(json!({"use_id": "1", "prompt": "a"})).await;
    let error = events.last().unwrap();
    assert_eq!(error["reason_code"], "provider_quota_exceeded");
    assert_eq!(error["reset_at_ms"], 1_736_492_460_000_i64);
    assert_eq!(
        (&error["partial_text_length"], &error["partial_text_tail"]),
        (&json!(11), &json!("Half an ans"))
    );
    let events = stage.one(json!({"use_id": "2", "prompt": "a"})).await;
    assert_eq!(events.last().unwrap()["reason_code"], "no_output");
}

#[tokio::test]
async fn turns_and_tools_have_their_bounds() {
    let talent = "{\n\"tools\": [\"memory_recall\", \"memory_save\"],\n\"max_turns\": 3,\n\"tool_budget\": 2\n}\nX";
    let call = |id: &str| Ok(calling(&[(id, "memory_recall", json!({"size": 200_000}))]));
    let stage = stage(vec![call("a"), call("a"), call("a")], &[("talent/t.md", talent)]);
    let events = stage.one(json!({"use_id": "1", "name": "t", "prompt": "a"})).await;
    let ids: Vec<&str> = events
        .iter()
        .filter(|event| event["event"] == "tool_start")
        .map(|event| event["call_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["a", "a-2"], "ids are unique in a run");
    let end = events.iter().find(|event| event["event"] == "tool_end").unwrap();
    assert_eq!(end["result"]["truncated"], true, "what is cut says so");
    assert!(names(&events).contains(&"max_turns_exhausted"));
    assert_eq!(events.last().unwrap()["event"], "finish", "there was a text");
    assert!(names(&events).contains(&"warning"), "memory_save is beyond the grant to read");
    let calls = stage.script.calls.lock().unwrap();
    assert_eq!(calls[0].tools.len(), 1);
    assert!(
        matches!(calls[2].messages.last(), Some(ChatMessage::User { text }) if text.contains("last turn"))
    );
}

#[tokio::test]
async fn a_budget_of_tools_and_tools_that_fail_are_told_to_the_model() {
    let talent = "{\n\"tools\": [\"memory_recall\"],\n\"tool_budget\": 3\n}\nX";
    let many = [
        ("1", "memory_recall", json!({"query": "break"})),
        ("2", "nothing", json!({})),
        ("3", "memory_recall", json!({})),
        ("4", "memory_recall", json!({})),
    ];
    let stage = stage(vec![Ok(calling(&many)), Ok(reply("Done"))], &[("talent/t.md", talent)]);
    let events = stage.one(json!({"use_id": "1", "name": "t", "prompt": "a"})).await;
    assert_eq!(names(&events).iter().filter(|name| **name == "tool_budget_exhausted").count(), 1);
    let calls = stage.script.calls.lock().unwrap();
    let ChatMessage::Results { results } = &calls[1].messages[2] else { panic!() };
    let failed: Vec<bool> = results.iter().map(|result| result.failed).collect();
    assert_eq!(failed, [true, true, false, true]);
    assert_eq!(results[0].value["error"], "the memory is asleep");
}

#[tokio::test]
async fn being_told_to_stop_ends_with_an_error_and_a_whole_line() {
    let stage = stage(Vec::new(), &[]);
    let (say, stop) = watch::channel(false);
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (mut input, from) = tokio::io::duplex(1 << 10);
    let process = stage.process.clone();
    let run = tokio::spawn(async move { process.run(from, theirs, stop).await });
    tokio::io::AsyncWriteExt::write_all(&mut input, b"{\"use_id\":\"1\",\"prompt\":\"a\"}\n")
        .await
        .unwrap();
    while stage.script.calls.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    say.send(true).unwrap();
    let summary = run.await.unwrap().unwrap();
    assert_eq!(summary, ProcessSummary { finished: 0, failed: 1 });
    let events = events(ours).await;
    let error = events.last().unwrap();
    assert_eq!(
        (error["event"].as_str(), error["reason_code"].as_str()),
        (Some("error"), Some("cancelled"))
    );
    assert_eq!(
        names(&events).iter().filter(|name| matches!(**name, "finish" | "error")).count(),
        1
    );
}

#[tokio::test]
async fn a_run_that_never_ends_is_ended() {
    let stage = stage(Vec::new(), &[]);
    let events = stage.one(json!({"use_id": "1", "prompt": "a", "timeout_seconds": 1})).await;
    assert_eq!(events.last().unwrap()["reason_code"], "chat_timeout");
}

// A tool that is left alone is not called; the model is told why, and whose fault a failure is stands with it.
#[tokio::test]
async fn a_tool_that_is_left_alone_is_not_called() {
    let calls = [
        ("t1", "memory_recall", json!({"query": "tea"})),
        ("t2", "memory_save", json!({"query": "break"})),
        ("t3", "memory_save", json!({"query": "tea"})),
        ("t4", "no_such_tool", json!({})),
    ];
    let talent =
        "{\n\"tools\": [\"memory_recall\", \"memory_save\"],\n\"grant\": \"write\"\n}\nHello.\n";
    let stage =
        stage(vec![Ok(calling(&calls)), Ok(reply("Done."))], &[("talent/tester.md", talent)]);
    let request = json!({"use_id": "17", "name": "tester", "prompt": "Hi", "channel": "tired"});
    let events = stage.one(request).await;
    let of = |id: &str| {
        let is = |event: &&Value| event["event"] == "tool_end" && event["call_id"] == id;
        events.iter().find(is).cloned().unwrap_or_else(|| panic!("{id}: {events:?}"))
    };
    assert_eq!(
        (&of("t1")["blame"], &of("t1")["result"]["error"]),
        (&"past".into(), &"it keeps failing".into())
    );
    assert_eq!(of("t2")["blame"], "tool");
    assert!(of("t3").get("blame").is_none_or(Value::is_null));
    assert_eq!(of("t4")["blame"], "call");
}
