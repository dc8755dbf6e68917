//! Each protocol against a server that speaks its bytes: whole answers cut at odd places, and every way of failing.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::*;
use crate::models::{EndpointSettings, KeyRef, ProviderKind, ProviderSettings};
use crate::testing::{ANTHROPIC, FakeServer, GOOGLE, OPENAI, ServerAct, impatient};

const KINDS: [(ProviderKind, &str); 3] = [
    (ProviderKind::Anthropic, ANTHROPIC),
    (ProviderKind::Openai, OPENAI),
    (ProviderKind::Google, GOOGLE),
];

fn provider(server: &FakeServer, kind: ProviderKind) -> Arc<dyn Provider> {
    let endpoint = EndpointSettings {
        kind: Some(kind),
        base_url: Some(server.base.clone()),
        key: Some(KeyRef::Env("TEST_KEY".into())),
        ..EndpointSettings::default()
    };
    let settings = ProviderSettings {
        endpoints: [("here".to_owned(), endpoint)].into(),
        ..Default::default()
    };
    let env = Env::from([("TEST_KEY".to_owned(), "sk-test".to_owned())]);
    let configured = ConfiguredProviders {
        settings,
        env,
        home: std::env::temp_dir(),
        patience: impatient(),
        seed: 7,
        confinement: None,
    };
    configured.open("here").unwrap()
}

fn call() -> ModelRequest {
    ModelRequest {
        model: "m-1".into(),
        system: "Shared.".into(),
        messages: vec![ChatMessage::User { text: "Tee?".into() }],
        tools: vec![ToolSpec {
            name: "memory_recall".into(),
            description: "Searches".into(),
            schema: json!({"type": "object", "properties": {"query": {"type": "string"}}}),
            writes: false,
        }],
        max_output_tokens: Some(500),
        thinking_budget: Some(2_000),
        ..ModelRequest::default()
    }
}

async fn turn(
    provider: &dyn Provider,
    call: &ModelRequest,
) -> (Result<ModelReply, ProviderError>, Vec<ProviderEvent>) {
    let (events, mut seen) = mpsc::channel(1_000);
    let result = provider.turn(call, events).await;
    let mut all = Vec::new();
    while let Ok(event) = seen.try_recv() {
        all.push(event);
    }
    (result, all)
}

#[tokio::test]
async fn the_same_story_comes_from_every_service_however_its_bytes_are_cut() {
    // execution R108, R109, R111
    for (kind, bytes) in KINDS {
        for size in [1, 3, 7, 64, 100_000] {
            let server = FakeServer::start(vec![ServerAct::Stream(bytes.into(), size)]).await;
            let (reply, events) = turn(provider(&server, kind).as_ref(), &call()).await;
            let reply = reply.unwrap();
            assert_eq!(reply.text, "Ich sehe nach 𝄞.", "{kind:?} in pieces of {size}");
            assert_eq!(reply.stop, StopReason::Tools);
            assert_eq!(reply.calls.len(), 1);
            assert_eq!(reply.calls[0].name, "memory_recall");
            assert_eq!(reply.calls[0].args, json!({"query": "Tee"}));
            assert!(!reply.calls[0].id.is_empty());
            assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (20, 89), "{kind:?}");
            assert_eq!((reply.usage.total_tokens, reply.usage.cached_tokens), (109, 5));
            assert_eq!(reply.usage.requests, 1);
            let said: String = events
                .iter()
                .filter_map(|event| {
                    if let ProviderEvent::Text(text) = event { Some(text.as_str()) } else { None }
                })
                .collect();
            assert_eq!(said, reply.text);
            assert!(
                matches!(&events[0], ProviderEvent::Thinking(thought) if thought.text == "Müssen wir …")
            );
        }
    }
}

#[tokio::test]
async fn what_is_sent_is_what_each_service_wants() {
    let ok = |bytes: &str| vec![ServerAct::Stream(bytes.to_owned(), 1_000)];
    let full = |kind| {
        let mut call = call();
        call.messages.push(ChatMessage::Assistant {
            text: "Ich sehe nach.".into(),
            thoughts: vec![Thought {
                text: "Hm".into(),
                signature: Some("c2ln".into()),
                redacted: None,
            }],
            calls: vec![ToolCall {
                id: "t1".into(),
                name: "memory_recall".into(),
                args: json!({"query": "Tee"}),
                bad_args: None,
                signature: Some("sig".into()),
            }],
        });
        call.messages.push(ChatMessage::Results {
            results: vec![ToolResult {
                id: "t1".into(),
                name: "memory_recall".into(),
                value: json!([1]),
                failed: false,
            }],
        });
        if kind == ProviderKind::Anthropic {
            call.model = "claude-haiku-4-5".into();
        }
        call
    };
    let server = FakeServer::start(ok(ANTHROPIC)).await;
    turn(provider(&server, ProviderKind::Anthropic).as_ref(), &full(ProviderKind::Anthropic))
        .await
        .0
        .unwrap();
    let body = server.body(0);
    assert_eq!(body["system"][0]["cache_control"]["type"], "ephemeral", "execution R89");
    assert_eq!(body["thinking"], json!({"type": "enabled", "budget_tokens": 2_000}));
    assert_eq!(body["max_tokens"], 2_500);
    assert_eq!(
        body["messages"][1]["content"][0],
        json!({"type": "thinking", "thinking": "Hm", "signature": "c2ln"})
    );
    assert_eq!(body["messages"][2]["content"][0]["tool_use_id"], "t1");
    let head = server.requests.lock().unwrap()[0].to_lowercase();
    assert!(
        head.starts_with("post /v1/messages ") && head.contains("x-api-key: sk-test"),
        "{head}"
    );

    let server = FakeServer::start(ok(OPENAI)).await;
    turn(provider(&server, ProviderKind::Openai).as_ref(), &full(ProviderKind::Openai))
        .await
        .0
        .unwrap();
    let body = server.body(0);
    assert_eq!(body["messages"][0], json!({"role": "system", "content": "Shared."}));
    assert_eq!(
        body["messages"][2]["tool_calls"][0]["function"]["arguments"],
        "{\"query\":\"Tee\"}"
    );
    assert_eq!(
        body["messages"][3],
        json!({"role": "tool", "tool_call_id": "t1", "content": "[1]"})
    );
    assert_eq!(body["max_tokens"], 500);
    // execution R29: a budget of thinking means nothing to OpenAI
    assert!(body.get("thinking").is_none() && !body.to_string().contains("budget"), "{body}");
    let head = server.requests.lock().unwrap()[0].to_lowercase();
    assert!(head.contains("authorization: bearer sk-test"), "{head}");

    let server = FakeServer::start(ok(GOOGLE)).await;
    turn(provider(&server, ProviderKind::Google).as_ref(), &full(ProviderKind::Google))
        .await
        .0
        .unwrap();
    let body = server.body(0);
    assert_eq!(body["contents"][1]["parts"][1]["thoughtSignature"], "sig");
    assert_eq!(
        body["contents"][2]["parts"][0]["functionResponse"]["response"],
        json!({"result": [1]})
    );
    assert_eq!(body["generationConfig"]["thinkingConfig"]["thinkingBudget"], 2_000);
    let head = server.requests.lock().unwrap()[0].to_lowercase();
    assert!(head.starts_with("post /v1beta/models/m-1:streamgeneratecontent?alt=sse "), "{head}");
}

#[tokio::test]
async fn a_shape_that_is_no_object_is_wrapped_and_unwrapped() {
    let bytes = "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"items\\\":[1,2]}\"},\"finish_reason\":\"stop\"}]}\n\
                 \ndata: [DONE]\n\n";
    let server = FakeServer::start(vec![ServerAct::Stream(bytes.into(), 9)]).await;
    let call = ModelRequest { schema: Some(json!({"type": "array"})), json: true, ..call() };
    let reply = turn(provider(&server, ProviderKind::Openai).as_ref(), &call).await.0.unwrap();
    assert_eq!(reply.text, "[1,2]");
    let sent = server.body(0);
    assert_eq!(
        sent["response_format"]["json_schema"]["schema"]["properties"]["items"],
        json!({"type": "array"})
    );
}

#[tokio::test]
async fn servers_that_send_whole_calls_under_one_number_are_understood() {
    let bytes = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\
                 \"function\":{\"name\":\"x\",\"arguments\":\"{}\"}}]}}]}\n\n\
                 data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"b\",\
                 \"function\":{\"name\":\"y\",\"arguments\":{\"k\":1}}}]},\"finish_reason\":\"stop\"}]}\n\n";
    let server = FakeServer::start(vec![ServerAct::Stream(bytes.into(), 50)]).await;
    let reply = turn(provider(&server, ProviderKind::Openai).as_ref(), &call()).await.0.unwrap();
    let names: Vec<&str> = reply.calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["x", "y"]);
    assert_eq!(reply.calls[1].args, json!({"k": 1}));
    assert_eq!(reply.stop, StopReason::Tools);
}

#[tokio::test]
async fn busy_services_are_asked_again_and_their_wishes_kept() {
    for (kind, bytes) in KINDS {
        let busy = ServerAct::Answer(
            429,
            "retry-after: 0\r\n".into(),
            "{\"error\":{\"message\":\"slow down\"}}".into(),
        );
        let broken = ServerAct::Answer(503, String::new(), "not even JSON".into());
        let server =
            FakeServer::start(vec![busy, broken, ServerAct::Stream(bytes.into(), 64)]).await;
        let reply = turn(provider(&server, kind).as_ref(), &call()).await.0;
        assert_eq!(reply.unwrap().text, "Ich sehe nach 𝄞.");
        assert_eq!(server.count(), 3);
    }
}

#[tokio::test]
async fn a_pause_that_is_too_long_is_told_and_not_waited_for() {
    let busy = ServerAct::Answer(429, "retry-after: 3600\r\n".into(), "{}".into());
    let server = FakeServer::start(vec![busy]).await;
    let error =
        turn(provider(&server, ProviderKind::Openai).as_ref(), &call()).await.0.unwrap_err();
    assert_eq!(error.code(), "provider_quota_exceeded");
    assert_eq!(error.retry_after.unwrap().as_secs(), 3_600);
    assert_eq!(server.count(), 1);
    let dated =
        "retry-after: Wed, 21 Oct 2015 07:28:10 GMT\r\ndate: Wed, 21 Oct 2015 07:28:00 GMT\r\n";
    let server = FakeServer::start(vec![ServerAct::Answer(503, dated.into(), "{}".into())]).await;
    let error =
        turn(provider(&server, ProviderKind::Openai).as_ref(), &call()).await.0.unwrap_err();
    assert_eq!(error.retry_after.unwrap().as_secs(), 10);
    let google = concat!(
        r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":[{"@type":"x","#,
        r#""retryDelay":"41s"}]}}"#,
    );
    let server =
        FakeServer::start(vec![ServerAct::Answer(429, String::new(), google.into())]).await;
    let error =
        turn(provider(&server, ProviderKind::Google).as_ref(), &call()).await.0.unwrap_err();
    assert_eq!(error.retry_after.unwrap().as_secs(), 41);
}

#[tokio::test]
async fn every_failure_has_its_reason_code() {
    let cases: [(u16, &str, &str, usize); 6] = [
        (
            401,
            r#"{"error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
            "provider_key_invalid",
            1,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}"#,
            "provider_key_invalid",
            1,
        ),
        (
            429,
            r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#,
            "provider_quota_exceeded",
            1,
        ),
        (
            529,
            r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "provider_unavailable",
            3,
        ),
        (500, "", "provider_unavailable", 3),
        (404, r#"{"error":{"message":"no such model"}}"#, "unknown", 1),
    ];
    for (status, body, code, tries) in cases {
        let server =
            FakeServer::start(vec![ServerAct::Answer(status, String::new(), body.into())]).await;
        let error =
            turn(provider(&server, ProviderKind::Anthropic).as_ref(), &call()).await.0.unwrap_err();
        assert_eq!(error.code(), code, "{status} {body}");
        assert_eq!(server.count(), tries, "{status}");
        assert!(!error.to_string().contains("sk-test"));
    }
}

#[tokio::test]
async fn a_stream_that_breaks_keeps_what_was_said() {
    let half = &ANTHROPIC[..ANTHROPIC.find("sehe nach").unwrap()];
    for act in [ServerAct::Cut(half.into()), ServerAct::Stall(half.into())] {
        let stalls = matches!(act, ServerAct::Stall(_));
        let server = FakeServer::start(vec![act]).await;
        let (result, events) =
            turn(provider(&server, ProviderKind::Anthropic).as_ref(), &call()).await;
        let error = result.unwrap_err();
        assert_eq!(error.partial, "Ich ");
        assert_eq!(error.code(), if stalls { "chat_timeout" } else { "provider_unavailable" });
        assert_eq!(server.count(), 1, "what was seen once is not said twice");
        assert!(!events.is_empty());
    }
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\
                      \"message\":\"Overloaded\"}}\n\n";
    let server = FakeServer::start(vec![
        ServerAct::Stream(overloaded.into(), 8),
        ServerAct::Stream(ANTHROPIC.into(), 8),
    ])
    .await;
    let reply = turn(provider(&server, ProviderKind::Anthropic).as_ref(), &call()).await.0;
    assert!(reply.is_ok(), "before the first word a broken stream is asked for again");
}

#[tokio::test]
async fn a_service_that_never_answers_ends_in_time() {
    let server =
        FakeServer::start(vec![ServerAct::Silent, ServerAct::Stream(OPENAI.into(), 64)]).await;
    let reply = turn(provider(&server, ProviderKind::Openai).as_ref(), &call()).await.0;
    assert!(reply.is_ok(), "silence passes: {reply:?}");
    assert_eq!(server.count(), 2);
}

#[tokio::test]
async fn a_service_that_is_not_there_is_unreachable() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let server = FakeServer { base, requests: Arc::default() };
    let error =
        turn(provider(&server, ProviderKind::Openai).as_ref(), &call()).await.0.unwrap_err();
    assert_eq!(error.code(), "network_unreachable", "{error}");
}

#[tokio::test]
async fn garbage_is_an_invalid_response() {
    for bytes in ["data: {nonsense\n\n", "data: \u{0}\n\n"] {
        let server = FakeServer::start(vec![ServerAct::Stream(bytes.into(), 4)]).await;
        let error =
            turn(provider(&server, ProviderKind::Google).as_ref(), &call()).await.0.unwrap_err();
        assert_eq!(error.code(), "provider_response_invalid");
    }
    let server =
        FakeServer::start(vec![ServerAct::Answer(200, String::new(), "<html>".into())]).await;
    let error =
        turn(provider(&server, ProviderKind::Openai).as_ref(), &call()).await.0.unwrap_err();
    assert_eq!(error.code(), "provider_unavailable", "a stream without an end");
}

#[test]
fn keys_are_found_where_the_settings_say() {
    let env = Env::from([
        ("ANTHROPIC_API_KEY".to_owned(), "sk-a".to_owned()),
        ("OPENAI_API_KEY".to_owned(), " ".to_owned()),
    ]);
    assert_eq!(usable(&ProviderSettings::default(), &env), ["anthropic"]);
    let configured = ConfiguredProviders {
        settings: ProviderSettings::default(),
        env,
        home: std::env::temp_dir(),
        patience: impatient(),
        seed: 1,
        confinement: None,
    };
    assert!(configured.open("anthropic").is_ok());
    let error = configured.open("openai").unwrap_err();
    assert!(error.message.contains("OPENAI_API_KEY"), "{error}");
    assert!(configured.open("ollama").is_ok(), "a local server needs no key");
    let shown = format!("{:?}", configured.open("anthropic").unwrap());
    assert!(!shown.contains("sk-a"), "{shown}");
    let bad: Value = json!({"endpoints": {"anthropic": {"base_url": "ftp://x"}}});
    let bad = ConfiguredProviders { settings: serde_json::from_value(bad).unwrap(), ..configured };
    assert!(bad.open("anthropic").is_err());
}
