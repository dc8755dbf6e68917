//! The process from its input to its output, with a scripted provider and a small memory.

use serde_json::json;
use std::collections::VecDeque;
use std::fs;
use std::sync::Mutex;

use jiff::tz::TimeZone;
use tokio::io::{AsyncReadExt, DuplexStream};
use tokio::sync::mpsc::Sender;

use super::*;
use llm::models::ProviderSettings;
use llm::providers::{
    BoxFuture, ChatMessage, ModelReply, ModelRequest, Provider, ProviderError, ProviderEvent,
    ReasonCode, StopReason, Thought, TokenUsage, ToolCall, ToolSpec,
};
use talents::names::Facet;

/// Answers with what is next in its script, and keeps what it was asked.
#[derive(Debug, Default)]
struct Script {
    name: String,
    cli: bool,
    replies: Mutex<VecDeque<Result<ModelReply, ProviderError>>>,
    calls: Mutex<Vec<ModelRequest>>,
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
        call: &'a ModelRequest,
        events: Sender<ProviderEvent>,
    ) -> BoxFuture<'a, Result<ModelReply, ProviderError>> {
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

    fn bundle<'a>(
        &'a self,
        _: Option<&'a Facet>,
        about: Option<&'a str>,
    ) -> BoxFuture<'a, Option<String>> {
        let about = about.unwrap_or_default();
        let told = (about != "silence").then(|| format!("About {about}: {{{{ 7 * 6 }}}} cups."));
        Box::pin(async move { told })
    }

    fn bulletin<'a>(&'a self, _: Option<&'a Facet>) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { Some("Ada likes tea.".to_owned()) })
    }
}

struct Stage {
    dir: tempfile::TempDir,
    script: Arc<Script>,
    process: TalentProcess,
}

fn reply(text: &str) -> ModelReply {
    let usage = TokenUsage {
        input_tokens: 100,
        output_tokens: 10,
        total_tokens: 110,
        requests: 1,
        ..TokenUsage::default()
    };
    ModelReply { text: text.into(), usage, ..ModelReply::default() }
}

fn calling(tools: &[(&str, &str, Value)]) -> ModelReply {
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
    ModelReply { calls, stop: StopReason::Tools, ..reply("Let me see.") }
}

fn stage(replies: Vec<Result<ModelReply, ProviderError>>, files: &[(&str, &str)]) -> Stage {
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
    let process = TalentProcess {
        catalog: Arc::new(TalentCatalog::open(&layout.talents())),
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

mod bounds;
mod handover;
mod others;
mod rooms;
mod runs;
mod seed;
mod wires;
