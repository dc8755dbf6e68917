//! What is seen while a provider works, told as events of the run.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::calls::bounded;
use super::error::RunError;
use super::events::Events;
use super::talent_tools;
use super::toolbox::Citations;
use api::run::{
    AgentPayload, TextPayload, ThinkingPayload, ToolEndPayload, ToolStartPayload, WarningPayload,
};
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
        let model = Some(self.model.to_owned());
        match event {
            ProviderEvent::Text(delta) => {
                self.events.emit(TextPayload { delta: Some(delta), model }).await?;
            }
            ProviderEvent::Thinking(Thought { text, signature, redacted }) => {
                let hidden = text.is_empty() && redacted.is_some();
                let summary = Some(if hidden { "(hidden)".to_owned() } else { text });
                let signed = signature.is_some().then_some(true);
                self.events.emit(ThinkingPayload { summary, model, signed }).await?;
            }
            ProviderEvent::ToolStart { tool, args, call_id } => {
                self.begun.insert(call_id.clone(), Instant::now());
                let (tool, args, call_id) = (Some(tool), Some(args), Some(call_id));
                self.events.emit(ToolStartPayload { tool, args, call_id }).await?;
            }
            ProviderEvent::ToolEnd { tool, args, result, call_id } => {
                let read = talent_tools::cited(self.server, &tool, &result);
                self.cited.add(&read);
                let took = self.begun.remove(&call_id).map(|begun| millis(begun.elapsed()));
                let end = ToolEndPayload {
                    tool: Some(tool),
                    args: Some(args),
                    result: Some(bounded(result)),
                    call_id: Some(call_id),
                    cited: (!read.is_empty()).then_some(read),
                    blame: None,
                    duration_ms: took,
                    tokens: None,
                };
                self.events.emit(end).await?;
            }
            ProviderEvent::Agent(name) => {
                let agent = Some(name.unwrap_or_else(|| self.talent.to_owned()));
                let talent = agent.clone();
                self.events.emit(AgentPayload { agent, talent, from: None }).await?;
            }
            ProviderEvent::Warning { message, stderr } => {
                let (message, stderr) = (Some(message), Some(stderr));
                self.events.emit(WarningPayload { message, stderr }).await?;
            }
        }
        Ok(())
    }
}

pub(super) fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}
