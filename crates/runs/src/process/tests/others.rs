//! Other providers that step in, conversations that go on, and what a run had read when it broke off.

use super::*;

// issue 5: a run that fails says what it had read, too
#[tokio::test]
async fn a_run_that_breaks_off_says_what_it_read() {
    let talent = "{\n\"tools\": [\"memory_recall\"]\n}\nX";
    let read = || Ok(calling(&[("a", "memory_recall", json!({}))]));
    let broken = ProviderError::new(ReasonCode::Unavailable, "gone");
    let first = stage(vec![read(), Err(broken)], &[("talent/t.md", talent)]);
    let events = first.one(json!({"use_id": "1", "name": "t", "prompt": "a"})).await;
    let end = events.last().unwrap();
    assert_eq!((&end["reason"], &end["cited"]), (&json!("provider_unavailable"), &json!([7, 9])));
    let used = events.iter().find(|event| event["event"] == "tool_end").unwrap();
    assert_eq!(used["cited"], json!([7, 9, 7]));
    // The model never goes on after it has read.
    let second = stage(vec![read()], &[("talent/t.md", talent)]);
    let request = json!({"use_id": "2", "name": "t", "prompt": "a", "timeout_seconds": 1});
    let events = second.one(request).await;
    let end = events.last().unwrap();
    assert_eq!((&end["reason"], &end["cited"]), (&json!("chat_timeout"), &json!([7, 9])));
}

/// Anthropic has no key here; everybody else answers.
struct WithoutKey(Arc<Script>);

impl Providers for WithoutKey {
    fn open(&self, name: &str) -> Result<Arc<dyn Provider>, ProviderError> {
        if name == "anthropic" {
            return Err(ProviderError::new(ReasonCode::KeyInvalid, "no key"));
        }
        Ok(Arc::clone(&self.0) as Arc<dyn Provider>)
    }
}

fn with_fallback(replies: Vec<Result<ModelReply, ProviderError>>) -> Stage {
    let talent = "{\n\"tools\": [\"memory_recall\"]\n}\nX";
    let mut stage = stage(replies, &[("talent/t.md", talent)]);
    let settings: ProviderSettings = serde_json::from_value(json!({
        "default": {"provider": "anthropic"}, "fallback": {"provider": "openai"},
    }))
    .unwrap();
    stage.process.resolver = Resolver::new(settings, Vec::new());
    stage
}

// execution 3.12, 9.19
#[tokio::test]
async fn another_provider_steps_in_before_anything_was_done() {
    let ask = json!({"use_id": "1", "name": "t", "prompt": "a"});
    let overloaded = || Err(ProviderError::passing(ReasonCode::Unavailable, "overloaded"));
    let stage = with_fallback(vec![overloaded(), Ok(reply("Here."))]);
    let events = stage.one(ask.clone()).await;
    let change = events.iter().find(|event| event["event"] == "fallback").unwrap();
    assert_eq!(change["original_provider"], "anthropic");
    assert_eq!(
        (&change["backup_provider"], &change["reason"]),
        (&json!("openai"), &json!("on_failure"))
    );
    assert_eq!(change["reason_code"], "provider_unavailable");
    let finish = events.last().unwrap();
    assert_eq!((&finish["result"], &finish["provider"]), (&json!("Here."), &json!("openai")));
    let calls = stage.script.calls.lock().unwrap().clone();
    assert_eq!(finish["model"], calls[1].model.as_str());
    assert_ne!(calls[0].model, calls[1].model);
    assert_eq!(calls[0].messages, calls[1].messages);

    // No key at all: nobody was asked before.
    let mut stage = with_fallback(vec![Ok(reply("Here."))]);
    stage.process.providers = Arc::new(WithoutKey(Arc::clone(&stage.script)));
    let events = stage.one(ask.clone()).await;
    let change = events.iter().find(|event| event["event"] == "fallback").unwrap();
    assert_eq!(change["reason"], "preflight");
    assert_eq!(events.last().unwrap()["provider"], "openai");

    // Both fail: both are told.
    let quota = Err(ProviderError::new(ReasonCode::QuotaExceeded, "no more money"));
    let stage = with_fallback(vec![overloaded(), quota]);
    let events = stage.one(ask).await;
    let error = events.last().unwrap();
    assert_eq!(error["error"], "overloaded; openai, the fallback: no more money");
    assert_eq!(
        (&error["provider"], &error["reason"]),
        (&json!("anthropic"), &json!("provider_unavailable"))
    );
}

// execution R55, 9.19
#[tokio::test]
async fn nobody_steps_in_where_that_would_surprise() {
    let overloaded = || Err(ProviderError::passing(ReasonCode::Unavailable, "overloaded"));
    let ask = json!({"use_id": "1", "name": "t", "prompt": "a"});
    let with = |key: &str, value: &str| {
        let mut ask = ask.clone();
        ask[key] = json!(value);
        ask
    };
    let acted = vec![Ok(calling(&[("a", "memory_recall", json!({}))])), overloaded()];
    let strange = Err(ProviderError::new(ReasonCode::ResponseInvalid, "nonsense"));
    let cases = [
        (acted, ask.clone()),
        (vec![strange], ask.clone()),
        (vec![overloaded()], with("provider", "anthropic")),
        (vec![overloaded()], with("chat_id", "c1")),
    ];
    for (replies, request) in cases {
        let asked = replies.len();
        let stage = with_fallback(replies);
        let events = stage.one(request.clone()).await;
        assert!(!names(&events).contains(&"fallback"), "{request}");
        assert_eq!(events.last().unwrap()["provider"], "anthropic", "{request}");
        assert_eq!(stage.script.calls.lock().unwrap().len(), asked);
    }
}

#[tokio::test]
async fn a_conversation_goes_on_with_the_provider_that_began_it() {
    // execution R30, R31, R52, R53, R55, R56
    let stage = stage(vec![Ok(reply("Hello Ada")), Ok(reply("You are Ada"))], &[]);
    let first = stage.one(json!({"use_id": "1", "chat_id": "c-9", "prompt": "I am Ada"})).await;
    let session = first.last().unwrap()["cli_session_id"].as_str().unwrap().to_owned();
    let locked = stage
        .one(json!({"use_id": "2", "session_id": session, "provider": "openai", "prompt": "x"}))
        .await;
    assert_eq!(locked.last().unwrap()["reason_code"], "provider_locked");
    let second = stage
        .one(json!({"use_id": "3", "chat_id": "c-9", "session_id": session, "prompt": "Who am I?"}))
        .await;
    assert_eq!(second.last().unwrap()["result"], "You are Ada");
    assert_eq!(second.iter().find(|event| event["event"] == "start").unwrap()["chat_id"], "c-9");
    let told = stage.script.calls.lock().unwrap()[1].messages.len();
    assert_eq!(told, 3, "what was said before is told again");
    assert_eq!(Chats::new(&stage.process.layout).runs_of("c-9").unwrap(), ["1", "3"]);
    let unknown = stage.one(json!({"use_id": "4", "session_id": "never", "prompt": "x"})).await;
    assert_eq!(unknown.last().unwrap()["reason_code"], "unknown_session");
}

#[tokio::test]
async fn a_command_line_tool_resumes_its_own_session() {
    // execution R54
    let with = |session: &str| Ok(ModelReply { session: Some(session.into()), ..reply("Hi") });
    let mut stage = stage(Vec::new(), &[]);
    let script = Arc::new(Script {
        cli: true,
        replies: Mutex::new([with("s-1"), with("s-2")].into()),
        ..Script::default()
    });
    stage.process.providers = Arc::new(One(Arc::clone(&script)));
    let ask = |id: &str| json!({"use_id": id, "chat_id": "c", "provider": "claude", "prompt": "x"});
    let first = stage.one(ask("1")).await;
    assert_eq!(first.last().unwrap()["cli_session_id"], "s-1");
    assert!(
        script.calls.lock().unwrap()[0].own_tools != llm::providers::OwnTools::Write,
        "a grant to write memories is none to write files"
    );
    let warnings = first.last().unwrap()["warnings"].to_string();
    assert!(warnings.contains("has its own tools"), "{warnings}");
    stage.one(ask("2")).await;
    assert_eq!(script.calls.lock().unwrap()[1].session.as_deref(), Some("s-1"));
}
