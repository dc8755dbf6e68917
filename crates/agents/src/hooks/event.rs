//! The events, whatever each agent calls them.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::agent::Agent;

/// Which event: the word after `cortex hook`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EventName {
    SessionStart,
    PromptSubmit,
    PreTool,
    PreCompact,
    SessionEnd,
    SubagentStop,
    Stop,
}

impl EventName {
    #[cfg(test)]
    pub(crate) const ALL: [EventName; 7] = [
        EventName::SessionStart,
        EventName::PromptSubmit,
        EventName::PreTool,
        EventName::PreCompact,
        EventName::SessionEnd,
        EventName::SubagentStop,
        EventName::Stop,
    ];

    pub fn name(self) -> &'static str {
        match self {
            EventName::SessionStart => "session-start",
            EventName::PromptSubmit => "prompt-submit",
            EventName::PreTool => "pre-tool",
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
            (Agent::ClaudeCode | Agent::Codex, E::PreTool) => "PreToolUse",
            (Agent::GeminiCli, E::PreTool) => "BeforeTool",
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
            _ => return None,
        })
    }

    /// The tools that the event is wanted for, as the agent names them, where it lets us choose.
    pub(crate) fn matcher(self, agent: Agent) -> Option<&'static str> {
        match (self, agent) {
            (EventName::PreTool, Agent::ClaudeCode) => {
                Some("Bash|Edit|MultiEdit|Write|NotebookEdit")
            }
            (EventName::PreTool, Agent::Codex) => Some("Bash|apply_patch|Edit|Write"),
            (EventName::PreTool, Agent::GeminiCli) => Some("run_shell_command|write_file|replace"),
            _ => None,
        }
    }

    /// Seconds after which the agent gives up on us. We answer much earlier; this is for a machine that stands still.
    pub(crate) fn limit_seconds(self) -> u32 {
        match self {
            EventName::PromptSubmit | EventName::PreTool => 5,
            _ => 10,
        }
    }
}

/// One event of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookEvent {
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
pub enum Happening {
    SessionStart(Start),
    PromptSubmit {
        prompt: String,
    },
    /// A tool is about to change a file or to run a command.
    PreTool {
        file: Option<String>,
        command: Option<String>,
    },
    PreCompact,
    SessionEnd {
        reason: Option<String>,
    },
    SubagentStop {
        message: Option<String>,
    },
    Stop {
        message: Option<String>,
    },
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
