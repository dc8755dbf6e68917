//! OpenAI's chat completions, streamed; also what Ollama, llama.cpp, LM Studio and others speak.

use std::collections::BTreeMap;

use reqwest::header::{AUTHORIZATION, HeaderMap};
use serde_json::{Value, json};

use super::error::of_stream;
use super::http::{Protocol, StreamReader, header};
use super::sse::SseEvent;
use super::{
    ChatMessage, ModelReply, ModelRequest, ProviderError, ProviderEvent, ReasonCode, StopReason,
    Thought, ToolCall, arguments, unwrapped_text, wrapped_schema,
};

#[derive(Debug)]
pub(super) struct OpenAi {
    /// The service of OpenAI itself has newer names for some things.
    pub(super) original: bool,
}

impl Protocol for OpenAi {
    fn url(&self, base: &str, _: &ModelRequest) -> Result<String, ProviderError> {
        Ok(format!("{base}/chat/completions"))
    }

    fn headers(&self, key: Option<&str>) -> Result<HeaderMap, ProviderError> {
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            headers.insert(AUTHORIZATION, header(&format!("Bearer {key}"))?);
        }
        Ok(headers)
    }

    /// A budget of thinking is not sent: this protocol has none.
    fn body(&self, call: &ModelRequest) -> Value {
        let mut messages = Vec::new();
        if !call.system.is_empty() {
            messages.push(json!({"role": "system", "content": call.system}));
        }
        for message in &call.messages {
            put(message, &mut messages);
        }
        let mut body = json!({
            "model": call.model,
            "messages": messages,
            "stream": true,
            "stream_options": {"include_usage": true},
        });
        if let Some(limit) = call.max_output_tokens {
            let key = if self.original { "max_completion_tokens" } else { "max_tokens" };
            body[key] = json!(limit);
        }
        if !call.tools.is_empty() {
            let tools = call.tools.iter().map(|tool| {
                json!({"type": "function", "function": {
                    "name": tool.name, "description": tool.description, "parameters": tool.schema,
                }})
            });
            body["tools"] = tools.collect();
        }
        if let Some(schema) = &call.schema {
            body["response_format"] = json!({"type": "json_schema", "json_schema": {
                "name": "answer", "schema": wrapped_schema(schema), "strict": false,
            }});
        } else if call.json && call.tools.is_empty() {
            body["response_format"] = json!({"type": "json_object"});
        }
        body
    }

    fn reader(&self, call: &ModelRequest) -> Box<dyn StreamReader> {
        Box::new(OpenAiReader { schema: call.schema.clone(), ..OpenAiReader::default() })
    }
}

fn put(message: &ChatMessage, out: &mut Vec<Value>) {
    match message {
        ChatMessage::User { text } => out.push(json!({"role": "user", "content": text})),
        ChatMessage::Assistant { text, calls, .. } => {
            let mut entry = json!({"role": "assistant", "content": text});
            if !calls.is_empty() {
                let calls = calls.iter().map(|call| {
                    let args = call.bad_args.clone().unwrap_or_else(|| call.args.to_string());
                    json!({"id": call.id, "type": "function",
                           "function": {"name": call.name, "arguments": args}})
                });
                entry["tool_calls"] = calls.collect();
            }
            out.push(entry);
        }
        ChatMessage::Results { results } => {
            for result in results {
                let text = match &result.value {
                    Value::String(text) => text.clone(),
                    value => value.to_string(),
                };
                out.push(json!({"role": "tool", "tool_call_id": result.id, "content": text}));
            }
        }
    }
}

#[derive(Debug, Default)]
struct Pending {
    id: String,
    name: String,
    json: String,
}

#[derive(Default)]
struct OpenAiReader {
    schema: Option<Value>,
    /// By the number the service gives; some give every call the same one and a new id.
    calls: Vec<Pending>,
    at: BTreeMap<u64, usize>,
    thinking: String,
    reply: ModelReply,
    stop: Option<String>,
    ended: bool,
}

impl OpenAiReader {
    fn call(&mut self, delta: &Value) {
        let index = delta["index"].as_u64().unwrap_or_default();
        let id = delta["id"].as_str().unwrap_or_default();
        let slot = match self.at.get(&index) {
            Some(slot) if id.is_empty() || self.calls[*slot].id == id => *slot,
            _ => {
                self.calls.push(Pending::default());
                self.at.insert(index, self.calls.len() - 1);
                self.calls.len() - 1
            }
        };
        let pending = &mut self.calls[slot];
        if !id.is_empty() {
            id.clone_into(&mut pending.id);
        }
        let function = &delta["function"];
        if let Some(name) = function["name"].as_str().filter(|_| pending.name.is_empty()) {
            name.clone_into(&mut pending.name);
        }
        match &function["arguments"] {
            Value::String(part) => pending.json.push_str(part),
            Value::Null => {}
            // A few servers send the object itself.
            whole => pending.json = whole.to_string(),
        }
    }

    fn count(&mut self, usage: &Value) {
        let number = |value: &Value| value.as_u64().unwrap_or_default();
        let mine = &mut self.reply.usage;
        mine.input_tokens = number(&usage["prompt_tokens"]);
        mine.output_tokens = number(&usage["completion_tokens"]);
        mine.total_tokens = mine.input_tokens + mine.output_tokens;
        mine.cached_tokens = number(&usage["prompt_tokens_details"]["cached_tokens"]);
        mine.reasoning_tokens = number(&usage["completion_tokens_details"]["reasoning_tokens"]);
    }

    fn end_thinking(&mut self, out: &mut Vec<ProviderEvent>) {
        if !self.thinking.is_empty() {
            let thought =
                Thought { text: std::mem::take(&mut self.thinking), ..Thought::default() };
            out.push(ProviderEvent::Thinking(thought.clone()));
            self.reply.thoughts.push(thought);
        }
    }
}

impl StreamReader for OpenAiReader {
    fn take(
        &mut self,
        event: &SseEvent,
        out: &mut Vec<ProviderEvent>,
    ) -> Result<(), ProviderError> {
        if event.data.trim() == "[DONE]" {
            self.ended = true;
            self.end_thinking(out);
            return Ok(());
        }
        let data: Value = serde_json::from_str(&event.data).map_err(|error| {
            ProviderError::new(ReasonCode::ResponseInvalid, format!("openai: {error}"))
        })?;
        if !data["error"].is_null() {
            let error = &data["error"];
            let kind = error["code"].as_str().or(error["type"].as_str()).unwrap_or("error");
            let told = error["message"].as_str().or(error.as_str()).unwrap_or_default();
            return Err(of_stream("openai", kind, told));
        }
        if let Some(model) = data["model"].as_str().filter(|model| !model.is_empty()) {
            self.reply.model = Some(model.to_owned());
        }
        if data["usage"].is_object() {
            self.count(&data["usage"]);
        }
        let choice = &data["choices"][0];
        let delta = &choice["delta"];
        for key in ["reasoning_content", "reasoning"] {
            if let Some(part) = delta[key].as_str() {
                self.thinking.push_str(part);
                break;
            }
        }
        for key in ["content", "refusal"] {
            if let Some(part) = delta[key].as_str().filter(|part| !part.is_empty()) {
                self.end_thinking(out);
                self.reply.text.push_str(part);
                out.push(ProviderEvent::Text(part.to_owned()));
            }
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.end_thinking(out);
            self.call(call);
        }
        if let Some(stop) = choice["finish_reason"].as_str() {
            self.stop = Some(stop.to_owned());
            self.end_thinking(out);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<ModelReply, ProviderError> {
        if !self.ended && self.stop.is_none() {
            let message = "openai: the stream ended in the middle of the answer";
            return Err(ProviderError::passing(ReasonCode::Unavailable, message));
        }
        let mut reply = std::mem::take(&mut self.reply);
        for (place, pending) in std::mem::take(&mut self.calls).into_iter().enumerate() {
            let (args, bad_args) = arguments(&pending.json);
            let id = if pending.id.is_empty() { format!("call_{place}") } else { pending.id };
            reply.calls.push(ToolCall { id, name: pending.name, args, bad_args, signature: None });
        }
        reply.usage.requests = 1;
        reply.stop = match self.stop.as_deref() {
            _ if !reply.calls.is_empty() => StopReason::Tools,
            Some("length") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refused,
            _ => StopReason::Done,
        };
        reply.text = unwrapped_text(self.schema.as_ref(), reply.text);
        Ok(reply)
    }

    fn said(&self) -> &str {
        &self.reply.text
    }
}
