//! Anthropic's Messages, streamed.

use std::collections::BTreeMap;

use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use super::error::of_stream;
use super::http::{Protocol, StreamReader, header};
use super::sse::SseEvent;
use super::{
    ChatMessage, ModelReply, ModelRequest, ProviderError, ProviderEvent, ReasonCode, StopReason,
    Thought, TokenUsage, ToolCall, arguments, unwrapped_text, wrapped_schema,
};

/// The service wants a limit; this is one that every model of today takes.
const MAX_TOKENS: u32 = 16_000;
/// The smallest budget of thinking that the service takes.
const THINKING_MIN: u32 = 1_024;

#[derive(Debug)]
pub(super) struct Anthropic;

impl Protocol for Anthropic {
    fn url(&self, base: &str, _: &ModelRequest) -> Result<String, ProviderError> {
        Ok(format!("{base}/v1/messages"))
    }

    fn headers(&self, key: Option<&str>) -> Result<HeaderMap, ProviderError> {
        let mut headers = HeaderMap::new();
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        if let Some(key) = key {
            headers.insert("x-api-key", header(key)?);
        }
        Ok(headers)
    }

    fn body(&self, call: &ModelRequest) -> Value {
        let mut limit = call.max_output_tokens.unwrap_or(MAX_TOKENS);
        let mut body = json!({
            "model": call.model,
            "stream": true,
            "messages": call.messages.iter().map(message).collect::<Vec<_>>(),
        });
        if !call.system.is_empty() {
            body["system"] = json!([{
                "type": "text", "text": call.system, "cache_control": {"type": "ephemeral"},
            }]);
        }
        if !call.tools.is_empty() {
            let tools = call.tools.iter().map(|tool| {
                json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema})
            });
            body["tools"] = tools.collect();
        }
        if let Some(budget) = call.thinking_budget {
            if takes_budget(&call.model) {
                let budget = budget.max(THINKING_MIN);
                body["thinking"] = json!({"type": "enabled", "budget_tokens": budget});
                // Thinking counts against the limit, and what was asked for is room for the answer.
                limit = limit.saturating_add(budget);
            } else {
                body["thinking"] = json!({"type": "adaptive", "display": "summarized"});
            }
        }
        body["max_tokens"] = json!(limit);
        if let Some(schema) = &call.schema {
            body["output_config"] =
                json!({"format": {"type": "json_schema", "schema": wrapped_schema(schema)}});
        }
        body
    }

    fn reader(&self, call: &ModelRequest) -> Box<dyn StreamReader> {
        Box::new(AnthropicReader { schema: call.schema.clone(), ..AnthropicReader::default() })
    }
}

/// Models up to generation 4.5 think within a budget; later ones decide for themselves and refuse one.
fn takes_budget(model: &str) -> bool {
    ["-4-5", "-4-1", "-4-0", "-4-2025", "3-7"].iter().any(|part| model.contains(part))
}

fn message(message: &ChatMessage) -> Value {
    match message {
        ChatMessage::User { text } => {
            json!({"role": "user", "content": [{"type": "text", "text": text}]})
        }
        ChatMessage::Assistant { text, thoughts, calls } => {
            let mut content = Vec::new();
            for thought in thoughts {
                if let Some(data) = &thought.redacted {
                    content.push(json!({"type": "redacted_thinking", "data": data}));
                } else if let Some(signature) = &thought.signature {
                    content.push(json!({
                        "type": "thinking", "thinking": thought.text, "signature": signature,
                    }));
                }
            }
            if !text.is_empty() {
                content.push(json!({"type": "text", "text": text}));
            }
            for call in calls {
                let input = if call.args.is_object() { call.args.clone() } else { json!({}) };
                content.push(json!({
                    "type": "tool_use", "id": call.id, "name": call.name, "input": input,
                }));
            }
            json!({"role": "assistant", "content": content})
        }
        ChatMessage::Results { results } => {
            let content: Vec<Value> = results
                .iter()
                .map(|result| {
                    let text = match &result.value {
                        Value::String(text) => text.clone(),
                        value => value.to_string(),
                    };
                    json!({
                        "type": "tool_result", "tool_use_id": result.id, "content": text,
                        "is_error": result.failed,
                    })
                })
                .collect();
            json!({"role": "user", "content": content})
        }
    }
}

#[derive(Debug, Default)]
enum Block {
    #[default]
    Other,
    Text,
    Thinking(Thought),
    Tool {
        id: String,
        name: String,
        json: String,
    },
}

#[derive(Default)]
struct AnthropicReader {
    schema: Option<Value>,
    blocks: BTreeMap<u64, Block>,
    reply: ModelReply,
    stop: Option<String>,
    ended: bool,
}

impl AnthropicReader {
    fn count(&mut self, usage: &Value) {
        let mine = &mut self.reply.usage;
        let number = |key: &str| usage[key].as_u64();
        if let Some(input) = number("input_tokens") {
            let read = number("cache_read_input_tokens").unwrap_or(mine.cached_tokens);
            let written =
                number("cache_creation_input_tokens").unwrap_or(mine.cache_creation_tokens);
            mine.cached_tokens = read;
            mine.cache_creation_tokens = written;
            mine.input_tokens = input + read + written;
        }
        if let Some(output) = number("output_tokens") {
            mine.output_tokens = output;
        }
        mine.total_tokens = mine.input_tokens + mine.output_tokens;
        mine.requests = 1;
    }

    fn block_end(&mut self, index: u64, out: &mut Vec<ProviderEvent>) {
        match self.blocks.remove(&index) {
            Some(Block::Thinking(thought)) => {
                out.push(ProviderEvent::Thinking(thought.clone()));
                self.reply.thoughts.push(thought);
            }
            Some(Block::Tool { id, name, json }) => {
                let (args, bad_args) = arguments(&json);
                self.reply.calls.push(ToolCall { id, name, args, bad_args, signature: None });
            }
            _ => {}
        }
    }
}

impl StreamReader for AnthropicReader {
    fn take(
        &mut self,
        event: &SseEvent,
        out: &mut Vec<ProviderEvent>,
    ) -> Result<(), ProviderError> {
        let data: Value = serde_json::from_str(&event.data).map_err(|error| {
            ProviderError::new(ReasonCode::ResponseInvalid, format!("anthropic: {error}"))
        })?;
        let index = data["index"].as_u64().unwrap_or_default();
        match data["type"].as_str().unwrap_or_default() {
            "message_start" => {
                self.reply.model = data["message"]["model"].as_str().map(str::to_owned);
                self.count(&data["message"]["usage"]);
            }
            "content_block_start" => {
                let start = &data["content_block"];
                let text = |key: &str| start[key].as_str().unwrap_or_default().to_owned();
                let block = match start["type"].as_str().unwrap_or_default() {
                    "text" => Block::Text,
                    "thinking" => {
                        Block::Thinking(Thought { text: text("thinking"), ..Thought::default() })
                    }
                    "redacted_thinking" => Block::Thinking(Thought {
                        redacted: Some(text("data")),
                        ..Thought::default()
                    }),
                    "tool_use" => {
                        Block::Tool { id: text("id"), name: text("name"), json: String::new() }
                    }
                    _ => Block::Other,
                };
                self.blocks.insert(index, block);
            }
            "content_block_delta" => {
                let delta = &data["delta"];
                let text = |key: &str| delta[key].as_str().unwrap_or_default();
                match (delta["type"].as_str().unwrap_or_default(), self.blocks.get_mut(&index)) {
                    ("text_delta", _) => {
                        self.reply.text.push_str(text("text"));
                        out.push(ProviderEvent::Text(text("text").to_owned()));
                    }
                    ("thinking_delta", Some(Block::Thinking(thought))) => {
                        thought.text.push_str(text("thinking"));
                    }
                    ("signature_delta", Some(Block::Thinking(thought))) => {
                        thought.signature.get_or_insert_default().push_str(text("signature"));
                    }
                    ("input_json_delta", Some(Block::Tool { json, .. })) => {
                        json.push_str(text("partial_json"));
                    }
                    _ => {}
                }
            }
            "content_block_stop" => self.block_end(index, out),
            "message_delta" => {
                self.stop =
                    data["delta"]["stop_reason"].as_str().map(str::to_owned).or(self.stop.take());
                self.count(&data["usage"]);
            }
            "message_stop" => self.ended = true,
            "error" => {
                let error = &data["error"];
                let (kind, told) = (error["type"].as_str(), error["message"].as_str());
                return Err(of_stream(
                    "anthropic",
                    kind.unwrap_or("error"),
                    told.unwrap_or_default(),
                ));
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<ModelReply, ProviderError> {
        if !self.ended {
            let message = "anthropic: the stream ended in the middle of the answer";
            return Err(ProviderError::passing(ReasonCode::Unavailable, message));
        }
        let mut reply = std::mem::take(&mut self.reply);
        reply.stop = match self.stop.as_deref() {
            Some("tool_use") => StopReason::Tools,
            Some("max_tokens" | "model_context_window_exceeded") => StopReason::MaxTokens,
            Some("refusal") => StopReason::Refused,
            _ => StopReason::Done,
        };
        reply.text = unwrapped_text(self.schema.as_ref(), reply.text);
        Ok(reply)
    }

    fn said(&self) -> &str {
        &self.reply.text
    }
}

/// Tokens as a command line tool of this vendor reports them.
pub(super) fn usage(value: &Value) -> TokenUsage {
    let mut reader = AnthropicReader::default();
    reader.count(value);
    reader.reply.usage
}
