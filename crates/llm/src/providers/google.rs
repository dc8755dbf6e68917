//! Google's `streamGenerateContent`.

use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use super::error::of_stream;
use super::http::{Protocol, StreamReader, header};
use super::sse::SseEvent;
use super::{
    ChatMessage, ModelReply, ModelRequest, ProviderError, ProviderEvent, ReasonCode, StopReason,
    Thought, ToolCall,
};

#[derive(Debug)]
pub(super) struct Google;

impl Protocol for Google {
    fn url(&self, base: &str, call: &ModelRequest) -> Result<String, ProviderError> {
        let model = call.model.strip_prefix("models/").unwrap_or(&call.model);
        // The model is a part of the address here, and must not become more than that.
        let fits = !model.is_empty()
            && model
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
            && !model.contains("..");
        if !fits {
            let message = format!("{:?} is no name of a model", call.model);
            return Err(ProviderError::new(ReasonCode::Unknown, message));
        }
        Ok(format!("{base}/v1beta/models/{model}:streamGenerateContent?alt=sse"))
    }

    fn headers(&self, key: Option<&str>) -> Result<HeaderMap, ProviderError> {
        let mut headers = HeaderMap::new();
        if let Some(key) = key {
            headers.insert("x-goog-api-key", header(key)?);
        }
        Ok(headers)
    }

    fn body(&self, call: &ModelRequest) -> Value {
        let mut config = json!({});
        if let Some(limit) = call.max_output_tokens {
            config["maxOutputTokens"] = json!(limit);
        }
        if let Some(budget) = call.thinking_budget {
            config["thinkingConfig"] = json!({"thinkingBudget": budget, "includeThoughts": true});
        }
        // The service refuses a shape of the answer together with tools.
        if call.tools.is_empty() && (call.json || call.schema.is_some()) {
            config["responseMimeType"] = json!("application/json");
            if let Some(schema) = &call.schema {
                config["responseJsonSchema"] = schema.clone();
            }
        }
        let mut body = json!({
            "contents": call.messages.iter().map(content).collect::<Vec<_>>(),
            "generationConfig": config,
        });
        if !call.system.is_empty() {
            body["systemInstruction"] = json!({"parts": [{"text": call.system}]});
        }
        if !call.tools.is_empty() {
            let tools: Vec<Value> = call
                .tools
                .iter()
                .map(|tool| {
                    json!({"name": tool.name, "description": tool.description,
                           "parametersJsonSchema": tool.schema})
                })
                .collect();
            body["tools"] = json!([{"functionDeclarations": tools}]);
        }
        body
    }

    fn reader(&self, _: &ModelRequest) -> Box<dyn StreamReader> {
        Box::new(GoogleReader::default())
    }
}

fn content(message: &ChatMessage) -> Value {
    match message {
        ChatMessage::User { text } => json!({"role": "user", "parts": [{"text": text}]}),
        ChatMessage::Assistant { text, calls, .. } => {
            let mut parts = Vec::new();
            if !text.is_empty() {
                parts.push(json!({"text": text}));
            }
            for call in calls {
                let mut part = json!({"functionCall": {"name": call.name, "args": call.args}});
                if let Some(signature) = &call.signature {
                    part["thoughtSignature"] = json!(signature);
                }
                parts.push(part);
            }
            json!({"role": "model", "parts": parts})
        }
        ChatMessage::Results { results } => {
            let parts: Vec<Value> = results
                .iter()
                .map(|result| {
                    let key = if result.failed { "error" } else { "result" };
                    json!({"functionResponse": {"name": result.name, "response": {key: result.value}}})
                })
                .collect();
            json!({"role": "user", "parts": parts})
        }
    }
}

#[derive(Default)]
struct GoogleReader {
    reply: ModelReply,
    thinking: String,
    stop: Option<String>,
}

impl GoogleReader {
    fn end_thinking(&mut self, out: &mut Vec<ProviderEvent>) {
        if !self.thinking.is_empty() {
            let thought =
                Thought { text: std::mem::take(&mut self.thinking), ..Thought::default() };
            out.push(ProviderEvent::Thinking(thought.clone()));
            self.reply.thoughts.push(thought);
        }
    }

    fn part(&mut self, part: &Value, out: &mut Vec<ProviderEvent>) {
        if let Some(call) = part.get("functionCall") {
            self.end_thinking(out);
            let name = call["name"].as_str().unwrap_or_default().to_owned();
            // This service pairs calls by name and order; the wire wants an id for each.
            let id = call["id"]
                .as_str()
                .map_or_else(|| format!("{name}-{}", self.reply.calls.len() + 1), str::to_owned);
            let args = if call["args"].is_null() { json!({}) } else { call["args"].clone() };
            let signature = part["thoughtSignature"].as_str().map(str::to_owned);
            self.reply.calls.push(ToolCall { id, name, args, bad_args: None, signature });
        } else if let Some(text) = part["text"].as_str() {
            if part["thought"] == true {
                self.thinking.push_str(text);
            } else if !text.is_empty() {
                self.end_thinking(out);
                self.reply.text.push_str(text);
                out.push(ProviderEvent::Text(text.to_owned()));
            }
        }
    }
}

impl StreamReader for GoogleReader {
    fn take(
        &mut self,
        event: &SseEvent,
        out: &mut Vec<ProviderEvent>,
    ) -> Result<(), ProviderError> {
        let data: Value = serde_json::from_str(&event.data).map_err(|error| {
            ProviderError::new(ReasonCode::ResponseInvalid, format!("google: {error}"))
        })?;
        if data["error"].is_object() {
            let error = &data["error"];
            let (kind, told) = (error["status"].as_str(), error["message"].as_str());
            return Err(of_stream("google", kind.unwrap_or("error"), told.unwrap_or_default()));
        }
        if let Some(model) = data["modelVersion"].as_str() {
            self.reply.model = Some(model.to_owned());
        }
        let usage = &data["usageMetadata"];
        if usage.is_object() {
            let number = |key: &str| usage[key].as_u64().unwrap_or_default();
            let mine = &mut self.reply.usage;
            mine.input_tokens = number("promptTokenCount") + number("toolUsePromptTokenCount");
            mine.reasoning_tokens = number("thoughtsTokenCount");
            mine.output_tokens = number("candidatesTokenCount") + mine.reasoning_tokens;
            mine.cached_tokens = number("cachedContentTokenCount");
            mine.total_tokens = mine.input_tokens + mine.output_tokens;
        }
        if let Some(reason) = data["promptFeedback"]["blockReason"].as_str() {
            self.stop = Some(reason.to_owned());
        }
        let candidate = &data["candidates"][0];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            self.part(part, out);
        }
        if let Some(reason) = candidate["finishReason"].as_str() {
            self.stop = Some(reason.to_owned());
            self.end_thinking(out);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<ModelReply, ProviderError> {
        let Some(stop) = self.stop.take() else {
            let message = "google: the stream ended in the middle of the answer";
            return Err(ProviderError::passing(ReasonCode::Unavailable, message));
        };
        let mut reply = std::mem::take(&mut self.reply);
        reply.usage.requests = 1;
        reply.stop = match stop.as_str() {
            "STOP" if reply.calls.is_empty() => StopReason::Done,
            "STOP" => StopReason::Tools,
            "MAX_TOKENS" => StopReason::MaxTokens,
            "MALFORMED_FUNCTION_CALL" => {
                let message = "google: the model made a call that cannot be read";
                return Err(ProviderError::passing(ReasonCode::ResponseInvalid, message));
            }
            _ => StopReason::Refused,
        };
        Ok(reply)
    }

    fn said(&self) -> &str {
        &self.reply.text
    }
}
