//! What a tool has told so far. Keeps the rule of texts: what is said before a tool is used is thinking.

use serde_json::{Value, json};

use super::super::{ModelReply, ProviderEvent, Thought, TokenUsage};

struct Open {
    tool: String,
    args: Value,
    call_id: String,
}

#[derive(Default)]
pub(super) struct CliTranscript {
    pub(super) events: Vec<ProviderEvent>,
    pub(super) session: Option<String>,
    pub(super) model: Option<String>,
    pub(super) usage: TokenUsage,
    pub(super) cost: Option<f64>,
    /// The tool itself says that it failed.
    pub(super) error: Option<String>,
    text: String,
    open: Vec<Open>,
    /// Calls that gave the work to another agent, who has it until they end.
    handed: Vec<String>,
}

impl CliTranscript {
    pub(super) fn text(&mut self, text: &str) {
        if !self.text.is_empty() && !text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(text);
    }

    /// A piece of a text that goes on.
    pub(super) fn text_piece(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn has_text(&self) -> bool {
        !self.text.trim().is_empty()
    }

    pub(super) fn thinking(&mut self, text: &str) {
        if !text.trim().is_empty() {
            let thought = Thought { text: text.to_owned(), ..Thought::default() };
            self.events.push(ProviderEvent::Thinking(thought));
        }
    }

    pub(super) fn tool_start(&mut self, call_id: &str, tool: &str, args: Value) {
        let before = std::mem::take(&mut self.text);
        self.thinking(&before);
        self.events.push(ProviderEvent::ToolStart {
            tool: tool.to_owned(),
            args: args.clone(),
            call_id: call_id.to_owned(),
        });
        self.open.push(Open { tool: tool.to_owned(), args, call_id: call_id.to_owned() });
    }

    pub(super) fn tool_end(&mut self, call_id: &str, result: Value) {
        let place = self.open.iter().position(|open| open.call_id == call_id);
        let Some(place) = place else { return };
        let Open { tool, args, call_id } = self.open.remove(place);
        let back = self.handed.iter().position(|handed| *handed == call_id);
        self.events.push(ProviderEvent::ToolEnd { tool, args, result, call_id });
        if let Some(place) = back {
            self.handed.remove(place);
            self.events.push(ProviderEvent::Agent(None));
        }
    }

    /// From here on another agent works, until the call that asked for it ends.
    pub(super) fn hand_over(&mut self, call_id: &str, agent: &str) {
        self.handed.push(call_id.to_owned());
        self.events.push(ProviderEvent::Agent(Some(agent.to_owned())));
    }

    pub(super) fn is_open(&self, call_id: &str) -> bool {
        self.open.iter().any(|open| open.call_id == call_id)
    }

    /// A line that was too long to read is almost always what a tool gave back.
    pub(super) fn too_long(&mut self, bytes: u64) {
        let note = format!("the output was too large to read ({bytes} bytes)");
        match self.open.first().map(|open| open.call_id.clone()) {
            Some(call_id) => self.tool_end(&call_id, json!({"error": note})),
            None => {
                self.events.push(ProviderEvent::Warning { message: note, stderr: String::new() });
            }
        }
    }

    pub(super) fn reply(&mut self) -> ModelReply {
        self.usage.requests = self.usage.requests.max(1);
        ModelReply {
            text: self.text.trim().to_owned(),
            usage: self.usage.clone(),
            model: self.model.clone(),
            session: self.session.clone(),
            cost: self.cost,
            ..ModelReply::default()
        }
    }
}
