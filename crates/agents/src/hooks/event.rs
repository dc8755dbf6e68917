//! The events, whatever each agent calls them.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::agent::Agent;

/// Which event: the word after `cortex hook`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EventName {
    SessionStart,
    PromptSubmit,
    PreCompact,
    SessionEnd,
    SubagentStop,
    Stop,
}

impl EventName {
    #[cfg(test)]
    pub(crate) const ALL: [EventName; 6] = [
        EventName::SessionStart,
        EventName::PromptSubmit,
        EventName::PreCompact,
        EventName::SessionEnd,
        EventName::SubagentStop,
        EventName::Stop,
    ];

    pub fn name(self) -> &'static str {
        match self {
            EventName::SessionStart => "session-start",
            EventName::PromptSubmit => "prompt-submit",
            EventName::PreCompact => "pre-compact",
            EventName::SessionEnd => "session-end",
            EventName::SubagentStop => "subagent-stop",
            EventName::Stop => "stop",
        }
    }

    /// What the agent calls it in its settings, if it has it there.
    pub(crate) fn wire_name(self, agent: Agent) -> Option<&'static str> {
        use EventName as E;
        Some(match (agent, self) {
            (Agent::ClaudeCode | Agent::Codex | Agent::GeminiCli, E::SessionStart) => {
                "SessionStart"
            }
            (Agent::ClaudeCode | Agent::Codex, E::PromptSubmit) => "UserPromptSubmit",
            (Agent::ClaudeCode | Agent::Codex, E::PreCompact) => "PreCompact",
            (Agent::ClaudeCode | Agent::Codex | Agent::GeminiCli, E::SessionEnd) => "SessionEnd",
            (Agent::ClaudeCode | Agent::Codex, E::SubagentStop) => "SubagentStop",
            (Agent::ClaudeCode | Agent::Codex, E::Stop) => "Stop",
            (Agent::GeminiCli, E::PromptSubmit) => "BeforeAgent",
            (Agent::GeminiCli, E::PreCompact) => "PreCompress",
            (Agent::GeminiCli, E::Stop) => "AfterAgent",
            (Agent::Cursor, E::SessionStart) => "sessionStart",
            (Agent::Cursor, E::PromptSubmit) => "beforeSubmitPrompt",
            (Agent::Cursor, E::PreCompact) => "preCompact",
            (Agent::Cursor, E::SessionEnd) => "sessionEnd",
            (Agent::Cursor, E::SubagentStop) => "subagentStop",
            (Agent::Cursor, E::Stop) => "stop",
            (Agent::GeminiCli, E::SubagentStop)
            | (Agent::OpenCode | Agent::VsCode | Agent::Windsurf, _) => return None,
        })
    }

    /// Seconds after which the agent gives up on us. We answer much earlier; this is for a machine that stands still.
    pub(crate) fn limit_seconds(self) -> u32 {
        match self {
            EventName::PromptSubmit => 5,
            _ => 10,
        }
    }
}

/// One event of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HookEvent {
    pub session: HookSession,
    pub happening: Happening,
}

/// Whose session it is and where it works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookSession {
    pub agent: Agent,
    pub id: Option<String>,
    /// The folder the agent works in.
    pub folder: Option<PathBuf>,
    /// The file where the agent keeps the conversation.
    pub transcript: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Happening {
    SessionStart(Start),
    PromptSubmit { prompt: String },
    PreCompact,
    SessionEnd { reason: Option<String> },
    SubagentStop { message: Option<String> },
    Stop { message: Option<String> },
}

impl Happening {
    pub(super) fn name(&self) -> EventName {
        match self {
            Happening::SessionStart(_) => EventName::SessionStart,
            Happening::PromptSubmit { .. } => EventName::PromptSubmit,
            Happening::PreCompact => EventName::PreCompact,
            Happening::SessionEnd { .. } => EventName::SessionEnd,
            Happening::SubagentStop { .. } => EventName::SubagentStop,
            Happening::Stop { .. } => EventName::Stop,
        }
    }
}

/// Why a session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Anew. Also every reason that we do not know: the worst that can happen is context that is already there.
    Fresh,
    /// An earlier session goes on, possibly as a copy.
    Resumed,
    /// The person cleared the conversation.
    Cleared,
    /// The agent summarised the conversation to make room.
    Compacted,
}
