//! From a [`HookReply`] to the bytes that an agent expects.
//!
//! Agents are strict here: Codex refuses unknown fields, Gemini CLI and Cursor refuse anything that is no JSON. So
//! nothing is said that an agent does not take: where an event has no place for context, the reply is empty.

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::hooks::event::EventName;

/// What an agent is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookReply {
    /// Text for the model. Facts, not orders: agents treat orders from a hook with suspicion.
    pub context: Option<String>,
}

/// The reply as bytes for standard output. Empty if there is nothing to say and the agent takes nothing for an answer.
pub fn render(agent: Agent, event: EventName, reply: &HookReply) -> Vec<u8> {
    let context = reply.context.as_deref().filter(|text| !text.trim().is_empty());
    let value = match agent {
        Agent::GeminiCli => Some(
            context
                .and_then(|context| specific(agent, event, context))
                .unwrap_or_else(|| json!({})),
        ),
        Agent::Cursor => Some(cursor(event, context)),
        // The plugin that `cortex setup opencode` writes reads this.
        Agent::OpenCode => {
            Some(context.map_or_else(|| json!({}), |context| json!({ "context": context })))
        }
        _ => context.and_then(|context| specific(Agent::ClaudeCode, event, context)),
    };
    let Some(value) = value else { return Vec::new() };
    let mut bytes = value.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

/// The shape that Claude Code brought up and others took over. Only these events have a place for context.
fn specific(agent: Agent, event: EventName, context: &str) -> Option<Value> {
    use EventName as E;
    let takes = match agent {
        Agent::GeminiCli => matches!(event, E::SessionStart | E::PromptSubmit),
        _ => matches!(event, E::SessionStart | E::PromptSubmit | E::PreTool),
    };
    if !takes {
        return None;
    }
    let name = event.wire_name(agent)?;
    let output = json!({ "hookEventName": name, "additionalContext": context });
    Some(json!({ "hookSpecificOutput": output }))
}

fn cursor(event: EventName, context: Option<&str>) -> Value {
    match (event, context) {
        (EventName::SessionStart, Some(context)) => json!({ "additional_context": context }),
        (EventName::PromptSubmit, Some(context)) => {
            json!({ "continue": true, "additional_context": context })
        }
        // Without this word some versions hold the prompt back.
        (EventName::PromptSubmit, None) => json!({ "continue": true }),
        _ => json!({}),
    }
}
