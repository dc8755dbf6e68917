//! What is seen while a provider works, told as events of the run.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::json;

use super::calls::bounded;
use super::error::RunError;
use super::events::Events;
use super::talent_tools;
use super::toolbox::Citations;
use llm::providers::{ProviderEvent, Thought, ToolServer};

/// Passes on what a provider shows.
pub(super) struct EventRelay<'a> {
    pub(super) events: &'a Events,
    pub(super) model: &'a str,
    /// The talent that answers: who has the word when another agent gives it back.
    pub(super) talent: &'a str,
    pub(super) server: Option<&'a ToolServer>,
    pub(super) cited: &'a Citations,
    /// When calls of tools began.
    pub(super) begun: HashMap<String, Instant>,
}

impl EventRelay<'_> {
    pub(super) async fn pass_on(&mut self, event: ProviderEvent) -> Result<(), RunError> {
        let model = self.model;
        let (name, fields) = match event {
            ProviderEvent::Text(delta) => ("text_delta", json!({"delta": delta, "model": model})),
            ProviderEvent::Thinking(Thought { text, signature, redacted }) => {
                let hidden = text.is_empty() && redacted.is_some();
                let summary = if hidden { "(hidden)".to_owned() } else { text };
                let signed = signature.is_some().then_some(true);
                ("thinking", json!({"summary": summary, "model": model, "signed": signed}))
            }
            ProviderEvent::ToolStart { tool, args, call_id } => {
                self.begun.insert(call_id.clone(), Instant::now());
                ("tool_start", json!({"tool": tool, "args": args, "call_id": call_id}))
            }
            ProviderEvent::ToolEnd { tool, args, result, call_id } => {
                let read = talent_tools::cited(self.server, &tool, &result);
                self.cited.add(&read);
                let read = (!read.is_empty()).then_some(read);
                let took = self.begun.remove(&call_id).map(|begun| millis(begun.elapsed()));
                let event = json!({
                    "tool": tool, "args": args, "result": bounded(result), "call_id": call_id,
                    "cited": read, "duration_ms": took,
                });
                ("tool_end", event)
            }
            ProviderEvent::Agent(name) => {
                let agent = name.as_deref().unwrap_or(self.talent);
                ("talent_updated", json!({"agent": agent, "talent": agent}))
            }
            ProviderEvent::Warning { message, stderr } => {
                ("warning", json!({"message": message, "stderr": stderr}))
            }
        };
        Ok(self.events.emit(name, fields).await?)
    }
}

pub(super) fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}
