//! The process from its input to its output, with a scripted provider and a small memory.

use std::collections::VecDeque;
use std::fs;
use std::sync::Mutex;

use jiff::tz::TimeZone;
use tokio::io::{AsyncReadExt, DuplexStream};
use tokio::sync::mpsc::Sender;

use super::*;
use crate::models::ProviderSettings;
use crate::names::Facet;
use crate::providers::{
    BoxFuture, Call, Message, Provider, ProviderError, ProviderEvent, ReasonCode, Reply, Stop,
    Thought, ToolCall, ToolSpec, Usage,
};

/// Answers with what is next in its script, and keeps what it was asked.
#[derive(Debug, Default)]
struct Script {
    name: String,
    cli: bool,
    replies: Mutex<VecDeque<Result<Reply, ProviderError>>>,
    calls: Mutex<Vec<Call>>,
}

impl Provider for Script {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_cli(&self) -> bool {
        self.cli
    }

    fn turn<'a>(
        &'a self,
        call: &'a Call,
        events: Sender<ProviderEvent>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        Box::pin(async move {
            self.calls.lock().unwrap().push(call.clone());
            let next = self.replies.lock().unwrap().pop_front();
            let Some(next) = next else { return std::future::pending().await };
            if let Ok(reply) = &next {
                let thought = Thought { text: "Hm.".into(), ..Thought::default() };
                events.send(ProviderEvent::Thinking(thought)).await.unwrap();
                events.send(ProviderEvent::Text(reply.text.clone())).await.unwrap();
            }
            next
        })
    }
}

struct One(Arc<Script>);

impl Providers for One {
    fn open(&self, _: &str) -> Result<Arc<dyn Provider>, ProviderError> {
        Ok(Arc::clone(&self.0) as Arc<dyn Provider>)
    }
}

struct Memory;

impl Toolbox for Memory {
    fn tools(&self) -> Vec<ToolSpec> {
        [("memory_recall", false), ("memory_save", true)]
            .map(|(name, writes)| ToolSpec {
                name: name.into(),
                description: String::new(),
                schema: json!({"type": "object"}),
                writes,
            })
            .into()
    }

    fn call<'a>(
        &'a self,
        _: &'a ToolScene,
        name: &'a str,
        args: Value,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        Box::pin(async move {
            if args["query"] == "break" {
                return Err(ToolError::broken("the memory is asleep"));
            }
            let size = usize::try_from(args["size"].as_u64().unwrap_or(1)).unwrap();
            Ok(ToolAnswer {
                value: json!({"tool": name, "text": "x".repeat(size)}),
                cited: vec![7, 9, 7],
            })
        })
    }

    fn left_alone<'a>(
        &'a self,
        scene: &'a ToolScene,
        name: &'a str,
    ) -> BoxFuture<'a, Option<String>> {
        let tired = scene.channel.as_deref() == Some("tired") && name == "memory_recall";
        Box::pin(async move { tired.then(|| "it keeps failing".to_owned()) })
    }

    fn bulletin<'a>(&'a self, _: Option<&'a Facet>) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { Some("Ada likes tea.".to_owned()) })
    }
}

struct Stage {
    dir: tempfile::TempDir,
    script: Arc<Script>,
    process: Process,
}

fn reply(text: &str) -> Reply {
    let usage = Usage {
        input_tokens: 100,
        output_tokens: 10,
        total_tokens: 110,
        requests: 1,
        ..Usage::default()
    };
    Reply { text: text.into(), usage, ..Reply::default() }
}

fn calling(tools: &[(&str, &str, Value)]) -> Reply {
    let calls = tools
        .iter()
        .map(|(id, name, args)| ToolCall {
            id: (*id).into(),
            name: (*name).into(),
            args: args.clone(),
            bad_args: None,
            signature: None,
        })
        .collect();
    Reply { calls, stop: Stop::Tools, ..reply("Let me see.") }
}

fn stage(replies: Vec<Result<Reply, ProviderError>>, files: &[(&str, &str)]) -> Stage {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let layout = Layout::new(dir.path());
    let script = Arc::new(Script {
        name: "anthropic".into(),
        replies: Mutex::new(replies.into()),
        ..Script::default()
    });
    let process = Process {
        shelf: Arc::new(Shelf::open(&layout.talents())),
        layout,
        resolver: Resolver::new(ProviderSettings::default(), vec!["anthropic".into()]),
        providers: Arc::new(One(Arc::clone(&script))),
        toolbox: Arc::new(Memory),
        clock: Arc::new(|| {
            jiff::civil::datetime(2025, 1, 10, 7, 0, 0, 0).to_zoned(TimeZone::UTC).unwrap()
        }),
        dry_run: false,
    };
    Stage { dir, script, process }
}

impl Stage {
    async fn run(&self, lines: &str) -> Vec<Value> {
        let (_keep, stop) = watch::channel(false);
        let (ours, theirs) = tokio::io::duplex(1 << 22);
        self.process.run(lines.as_bytes(), theirs, stop).await.unwrap();
        events(ours).await
    }

    async fn one(&self, request: Value) -> Vec<Value> {
        self.run(&format!("{request}\n")).await
    }
}

async fn events(mut from: DuplexStream) -> Vec<Value> {
    let mut text = String::new();
    from.read_to_string(&mut text).await.unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["event"].as_str().unwrap()).collect()
}

const TALK: &str =
    "We met at noon and decided to move the release to Friday because of the holiday.";

fn segment() -> [(&'static str, &'static str); 1] {
    [("chronicle/20250109/120000_300/note.txt", TALK)]
}

fn activity() -> Value {
    json!({"use_id": "1", "name": "activity", "day": "20250109", "segment": "120000_300", "output": "md"})
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
        "{\"tools\": [\"memory_recall\", \"memory_save\"], \"grant\": \"write\"}\n\nHello.\n";
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

#[tokio::test]
async fn a_chat_uses_tools_and_cites_what_it_read() {
    // execution R47, R48, R57, R58, R61-R64, R66, R69, R72, R73
    let two = [
        ("t1", "memory_recall", json!({"query": "tea"})),
        ("t2", "get_facet", json!({"name": "nobody"})),
    ];
    let stage = stage(vec![Ok(calling(&two)), Ok(reply("Tea."))], &[]);
    let events = stage.one(json!({"use_id": "17", "ts": 17, "prompt": "What do I like?"})).await;
    let told = names(&events);
    assert_eq!(told[..2], ["start", "warning"], "tools that are not here are named");
    let told: Vec<&str> = told.into_iter().filter(|name| *name != "warning").collect();
    assert_eq!(told[..4], ["start", "thinking", "text_delta", "thinking"]);
    assert_eq!(told[4..8].iter().filter(|name| **name == "tool_start").count(), 2);
    assert_eq!(told[8..], ["thinking", "text_delta", "finish"]);
    for event in &events {
        assert_eq!(event["use_id"], "17");
        assert!(event["ts"].is_i64());
    }
    let ends: Vec<&Value> = events.iter().filter(|event| event["event"] == "tool_end").collect();
    for end in &ends {
        let start = events
            .iter()
            .find(|event| event["event"] == "tool_start" && event["call_id"] == end["call_id"]);
        assert_eq!(start.unwrap()["args"], end["args"]);
    }
    assert!(
        ends.iter().any(|end| end["result"]["error"]
            .as_str()
            .is_some_and(|text| text.contains("no facet")))
    );
    let finish = events.last().unwrap();
    assert_eq!(finish["result"], "Tea.");
    assert_eq!(finish["cited"], json!([7, 9]), "every memory that was read, once");
    assert_eq!(finish["usage"]["input_tokens"], 200);
    assert_eq!(finish["usage"]["requests"], 2);
    assert!(finish["cost"].as_f64().unwrap() > 0.0);
    assert_eq!(finish["provider"], "anthropic");
    let calls = stage.script.calls.lock().unwrap();
    let Message::User { text } = &calls[0].messages[0] else { panic!() };
    assert!(text.contains("Ada likes tea.") && text.ends_with("What do I like?"), "{text}");
    assert_eq!(calls[1].messages.len(), 3);
}

#[tokio::test]
async fn a_generator_writes_its_output_before_it_finishes() {
    // execution R33, R38, R39, R44, R75, R79, R80
    let stage = stage(vec![Ok(reply("# Release moved\n")), Ok(reply("# Again"))], &segment());
    let events = stage.one(activity()).await;
    assert_eq!(names(&events), ["start", "thinking", "text_delta", "finish"]);
    let path = stage.dir.path().join("chronicle/20250109/120000_300/activity.md");
    assert_eq!(fs::read_to_string(&path).unwrap(), "# Release moved\n");
    assert_eq!(events[3]["output_path"], path.to_str().unwrap());
    {
        let calls = stage.script.calls.lock().unwrap();
        let Message::User { text } = &calls[0].messages[0] else { panic!() };
        assert!(text.contains(TALK) && calls[0].tools.is_empty());
        assert_eq!(calls[0].max_output_tokens, Some(4_000));
    }
    let again = stage.one(activity()).await;
    assert_eq!(names(&again), ["finish"], "what is there is reused");
    assert_eq!(again[0]["result"], "# Release moved\n");
    let mut refresh = activity();
    refresh["refresh"] = json!(true);
    stage.one(refresh).await;
    assert_eq!(fs::read_to_string(&path).unwrap(), "# Again\n");
}

#[tokio::test]
async fn nothing_to_read_and_switched_off_are_skips_and_ask_nobody() {
    // execution R50, R51
    let files = [
        ("chronicle/20250109/120000_300/note.txt", "Hm."),
        ("talent/off.md", "{\n\"disabled\": true,\n\"output\": \"md\"\n}\nX"),
        ("talent/thin.md", "{\n\"output\": \"md\"\n}\nX"),
    ];
    let stage = stage(Vec::new(), &files);
    let mut empty = activity();
    empty["segment"] = json!("120000_300");
    let skipped = |events: &[Value]| events.last().unwrap()["skipped"].as_str().unwrap().to_owned();
    assert_eq!(skipped(&stage.one(empty).await), "no_input");
    assert_eq!(
        skipped(&stage.one(json!({"use_id": "2", "name": "thin", "day": "20250108"})).await),
        "no_input"
    );
    assert_eq!(
        skipped(&stage.one(json!({"use_id": "3", "name": "off", "day": "20250109"})).await),
        "disabled"
    );
    assert!(stage.script.calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn json_is_taken_out_of_talk_and_judged_without_being_refused() {
    let good =
        "Here:\n```json\n[{\"facet\": \"work\", \"activity\": \"a\", \"level\": \"odd\"}]\n```";
    let stage = stage(vec![Ok(reply(good)), Ok(reply("no JSON at all"))], &segment());
    let mut request = activity();
    request["name"] = json!("facets");
    request["output"] = json!("json");
    let events = stage.one(request.clone()).await;
    let finish = events.last().unwrap();
    assert_eq!(finish["schema_validation"]["valid"], false);
    assert_eq!(finish["schema_validation"]["errors"][0]["path"], "$[0].level");
    let path = stage.dir.path().join("chronicle/20250109/120000_300/facets.json");
    let written: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(written[0]["facet"], "work");
    assert!(stage.script.calls.lock().unwrap()[0].schema.is_some());
    request["refresh"] = json!(true);
    let events = stage.one(request).await;
    let finish = events.last().unwrap();
    assert_eq!(finish["event"], "finish");
    assert!(finish["warnings"][0].as_str().unwrap().contains("no JSON"));
}

#[tokio::test]
async fn an_output_that_cannot_be_written_is_a_warning() {
    // execution R81
    let stage = stage(vec![Ok(reply("Text"))], &segment());
    fs::create_dir_all(stage.dir.path().join("chronicle/20250109/120000_300/activity.md/x"))
        .unwrap();
    let events = stage.one(activity()).await;
    let finish = events.last().unwrap();
    assert_eq!(
        (finish["event"].as_str(), finish["result"].as_str()),
        (Some("finish"), Some("Text"))
    );
    assert!(finish["warnings"][0].as_str().unwrap().contains("not written"));
    assert!(finish["output_path"].is_null());
}

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

fn with_fallback(replies: Vec<Result<Reply, ProviderError>>) -> Stage {
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
        matches!(calls[2].messages.last(), Some(Message::User { text }) if text.contains("last turn"))
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
    let Message::Results { results } = &calls[1].messages[2] else { panic!() };
    let failed: Vec<bool> = results.iter().map(|result| result.failed).collect();
    assert_eq!(failed, [true, true, false, true]);
    assert_eq!(results[0].value["error"], "the memory is asleep");
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
    let with = |session: &str| Ok(Reply { session: Some(session.into()), ..reply("Hi") });
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
        !script.calls.lock().unwrap()[0].write,
        "a grant to write memories is none to write files"
    );
    let warnings = first.last().unwrap()["warnings"].to_string();
    assert!(warnings.contains("has its own tools"), "{warnings}");
    stage.one(ask("2")).await;
    assert_eq!(script.calls.lock().unwrap()[1].session.as_deref(), Some("s-1"));
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
    assert_eq!(summary, Summary { finished: 0, failed: 1 });
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

#[tokio::test]
async fn without_a_provider_what_is_there_can_still_be_read() {
    let mut stage = stage(Vec::new(), &segment());
    stage.process.resolver = Resolver::new(ProviderSettings::default(), Vec::new());
    let events = stage.one(activity()).await;
    assert_eq!(events.last().unwrap()["reason_code"], "no_model");
    fs::write(stage.dir.path().join("chronicle/20250109/120000_300/activity.md"), "There").unwrap();
    let events = stage.one(activity()).await;
    assert_eq!(events.last().unwrap()["result"], "There");
}

#[tokio::test]
async fn a_dry_run_tells_all_and_asks_nobody() {
    let mut stage = stage(Vec::new(), &segment());
    stage.process.dry_run = true;
    let events = stage.one(activity()).await;
    assert_eq!(names(&events), ["dry_run", "finish"]);
    assert_eq!(events[0]["type"], "generate");
    assert!(events[0]["transcript_files"][0].as_str().unwrap().ends_with("note.txt"));
    assert!(stage.script.calls.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_whole_way_over_each_wire() {
    // execution R108, R111: request, tools, second turn, finish, over real sockets and each service's own bytes
    use crate::models::ProviderKind;
    use crate::providers::ConfiguredProviders;
    use crate::providers::testing::{Act, Server, impatient};
    use crate::providers::wire_tests::{ANTHROPIC, GOOGLE, OPENAI};
    let ends = [
        (
            ProviderKind::Anthropic,
            ANTHROPIC,
            "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Tee.\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
        ),
        (
            ProviderKind::Openai,
            OPENAI,
            "data: {\"choices\":[{\"delta\":{\"content\":\"Tee.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        ),
        (
            ProviderKind::Google,
            GOOGLE,
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Tee.\"}]},\"finishReason\":\"STOP\"}]}\n\n",
        ),
    ];
    for (kind, first, second) in ends {
        let server =
            Server::start(vec![Act::Stream(first.into(), 5), Act::Stream(second.into(), 5)]).await;
        let settings: ProviderSettings = serde_json::from_value(json!({
            "default": {"provider": "here", "model": "m"},
            "endpoints": {"here": {"kind": kind, "base_url": server.base}},
            "prices": {"m": {"input": 1.0, "output": 2.0}},
        }))
        .unwrap();
        let mut stage = stage(Vec::new(), &[]);
        stage.process.resolver = Resolver::new(settings.clone(), Vec::new());
        stage.process.providers = Arc::new(ConfiguredProviders {
            settings,
            env: std::collections::BTreeMap::default(),
            home: stage.dir.path().to_owned(),
            patience: impatient(),
            seed: 1,
        });
        let events = stage.one(json!({"use_id": "1", "prompt": "Tee?"})).await;
        let finish = events.last().unwrap();
        assert_eq!(finish["result"], "Tee.", "{kind:?}: {events:#?}");
        assert_eq!(finish["cited"], json!([7, 9]));
        assert_eq!(finish["usage"]["requests"], 2);
        assert!(finish["cost"].as_f64().unwrap() > 0.0);
        let told = names(&events);
        assert_eq!(told.iter().filter(|name| **name == "tool_end").count(), 1);
        let sent = server.body(1).to_string();
        assert!(
            sent.matches("memory_recall").count() >= 2,
            "the answer of the tool is sent back: {sent}"
        );
    }
}
