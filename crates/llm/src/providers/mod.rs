//! Models that answer: services over HTTP and command line tools, behind one interface.
//!
//! A `Provider` takes one `Call` and gives a stream of `ProviderEvent`s while it works and one `Reply` at the end.
//! What must stay true: every turn ends in bounded time; a key is in no message, no log and no `Debug`; usage has
//! the same keys whoever counted; errors carry one of the reason codes of the wire. The protocols themselves
//! (`anthropic`, `openai`, `google`, `cli::*`) are readers without I/O, so that recorded bytes test them.

mod anthropic;
pub mod cli;
mod error;
mod google;
mod http;
mod open;
mod openai;
mod price;
#[cfg(any(test, feature = "testing"))]
mod recorded;
mod sse;

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc::Sender;

pub use cli::ToolConfinement;
pub use error::{ProviderError, ReasonCode};
pub use http::HttpLimits;
pub use open::{ConfiguredProviders, Providers, usable};
pub use price::{PRICES_AS_OF, cost};
#[cfg(any(test, feature = "testing"))]
pub use recorded::read_recorded;

/// The environment as it was given to the process.
pub type Env = BTreeMap<String, String>;

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

pub trait Provider: Send + Sync + fmt::Debug {
    fn name(&self) -> &str;

    /// It runs its own tools and keeps its own sessions.
    fn is_cli(&self) -> bool {
        false
    }

    /// Why it could not be asked now, as far as that can be told without asking it.
    fn ready(&self) -> Result<(), ProviderError> {
        Ok(())
    }

    /// One turn: events go out while it lasts, the reply is what it came to.
    fn turn<'a>(
        &'a self,
        call: &'a ModelRequest,
        events: Sender<ProviderEvent>,
    ) -> BoxFuture<'a, Result<ModelReply, ProviderError>>;
}

/// What a model is asked.
#[derive(Clone, Debug, Default)]
pub struct ModelRequest {
    pub model: String,
    /// The stable part; a provider may keep it in a cache.
    pub system: String,
    pub messages: Vec<ChatMessage>,
    pub tools: Vec<ToolSpec>,
    /// The answer is to be JSON of this shape.
    pub schema: Option<Value>,
    /// The answer is to be JSON.
    pub json: bool,
    pub max_output_tokens: Option<u32>,
    pub thinking_budget: Option<u32>,
    /// The session of a command line tool that goes on.
    pub session: Option<String>,
    /// What a command line tool may use of its own.
    pub own_tools: OwnTools,
    /// Where a command line tool finds the tools of the talent.
    pub server: Option<ToolServer>,
    /// How long the turn may take, if not as long as the provider is set to.
    pub whole: Option<Duration>,
}

/// What a command line tool may use of the tools it brings.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum OwnTools {
    /// Nothing at all: it answers from what it is given.
    #[default]
    None,
    /// What reads files.
    Read,
    /// What changes files and starts programs, too.
    Write,
}

/// A program that serves tools over its standard streams, in the Model Context Protocol.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ToolServer {
    pub command: PathBuf,
    pub args: Vec<String>,
    /// The tools it has.
    pub tools: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum ChatMessage {
    User {
        text: String,
    },
    Assistant {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        thoughts: Vec<Thought>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    Results {
        results: Vec<ToolResult>,
    },
}

/// A piece of reasoning. Services want it back as it was, signature and all.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Thought {
    pub text: String,
    pub signature: Option<String>,
    pub redacted: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments, an object.
    pub schema: Value,
    /// It changes something.
    pub writes: bool,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub args: Value,
    /// What the model sent, if that was no JSON.
    pub bad_args: Option<String>,
    pub signature: Option<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ToolResult {
    pub id: String,
    pub name: String,
    pub value: Value,
    pub failed: bool,
}

/// What is seen while a turn lasts.
#[derive(Clone, Debug, PartialEq)]
pub enum ProviderEvent {
    Text(String),
    Thinking(Thought),
    ToolStart {
        tool: String,
        args: Value,
        call_id: String,
    },
    ToolEnd {
        tool: String,
        args: Value,
        result: Value,
        call_id: String,
    },
    /// Another agent goes on from here; without a name, the one that began.
    Agent(Option<String>),
    Warning {
        message: String,
        stderr: String,
    },
}

/// Why a turn ended.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum StopReason {
    #[default]
    Done,
    Tools,
    /// The answer is cut off.
    MaxTokens,
    /// The service would not answer.
    Refused,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelReply {
    pub text: String,
    pub thoughts: Vec<Thought>,
    pub calls: Vec<ToolCall>,
    pub usage: TokenUsage,
    pub stop: StopReason,
    /// The model that really answered, if the provider says.
    pub model: Option<String>,
    /// The session of a command line tool.
    pub session: Option<String>,
    /// What the provider says it cost, in dollars.
    pub cost: Option<f64>,
}

/// Tokens, with the same keys whoever counted. Input holds what came from a cache and went into one; output holds
/// reasoning.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct TokenUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub total_tokens: u64,
    pub cached_tokens: u64,
    pub reasoning_tokens: u64,
    pub cache_creation_tokens: u64,
    pub requests: u64,
}

impl TokenUsage {
    pub fn add(&mut self, other: &TokenUsage) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.total_tokens += other.total_tokens;
        self.cached_tokens += other.cached_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
        self.cache_creation_tokens += other.cache_creation_tokens;
        self.requests += other.requests;
    }
}

/// Some services take only objects as the outermost shape; anything else is put into one under this key.
const WRAP: &str = "items";

fn wrapped_schema(schema: &Value) -> Value {
    if schema["type"] == "object" {
        return schema.clone();
    }
    serde_json::json!({
        "type": "object",
        "properties": {WRAP: schema},
        "required": [WRAP],
        "additionalProperties": false,
    })
}

/// The text without the object that `wrapped_schema` put around it.
fn unwrapped_text(schema: Option<&Value>, text: String) -> String {
    if schema.is_none_or(|schema| schema["type"] == "object") {
        return text;
    }
    match serde_json::from_str::<Value>(&text) {
        Ok(Value::Object(mut object)) if object.len() == 1 => match object.remove(WRAP) {
            Some(inner) => inner.to_string(),
            None => text,
        },
        _ => text,
    }
}

/// The arguments of a call as they came: empty means none, and what is no JSON is kept for the message.
fn arguments(text: &str) -> (Value, Option<String>) {
    if text.trim().is_empty() {
        return (Value::Object(serde_json::Map::new()), None);
    }
    match serde_json::from_str(text) {
        Ok(args) => (args, None),
        Err(_) => (Value::Null, Some(text.to_owned())),
    }
}

/// A whole turn within its time.
async fn within(
    name: &str,
    whole: std::time::Duration,
    turn: impl Future<Output = Result<ModelReply, ProviderError>>,
) -> Result<ModelReply, ProviderError> {
    tokio::time::timeout(whole, turn).await.unwrap_or_else(|_| {
        let message = format!("{name} did not finish within {} s", whole.as_secs_f32());
        Err(ProviderError::new(ReasonCode::Timeout, message))
    })
}

#[cfg(test)]
mod wire_tests;
