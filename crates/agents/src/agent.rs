//! The coding agents that Cortex knows, and nothing that only one part needs to know about them.
//!
//! Both `hooks` and `setup` stand on this module, so it uses neither. What must stay true: an agent has one name, on
//! the command line, in JSON and in the hook commands that were written into settings.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A program that can use Cortex as its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agent {
    ClaudeCode,
    Codex,
    GeminiCli,
    #[value(name = "opencode")]
    #[serde(rename = "opencode")]
    OpenCode,
    Cursor,
    #[value(name = "vscode")]
    #[serde(rename = "vscode")]
    VsCode,
    Windsurf,
    CopilotCli,
    Zed,
    Cline,
    Roo,
    Continue,
    ClaudeDesktop,
    QwenCode,
    Goose,
}

impl Agent {
    pub const ALL: [Agent; 15] = [
        Agent::ClaudeCode,
        Agent::Codex,
        Agent::GeminiCli,
        Agent::OpenCode,
        Agent::Cursor,
        Agent::VsCode,
        Agent::Windsurf,
        Agent::CopilotCli,
        Agent::Zed,
        Agent::Cline,
        Agent::Roo,
        Agent::Continue,
        Agent::ClaudeDesktop,
        Agent::QwenCode,
        Agent::Goose,
    ];

    /// The word on the command line and in hook commands.
    pub fn name(self) -> &'static str {
        match self {
            Agent::ClaudeCode => "claude-code",
            Agent::Codex => "codex",
            Agent::GeminiCli => "gemini-cli",
            Agent::OpenCode => "opencode",
            Agent::Cursor => "cursor",
            Agent::VsCode => "vscode",
            Agent::Windsurf => "windsurf",
            Agent::CopilotCli => "copilot-cli",
            Agent::Zed => "zed",
            Agent::Cline => "cline",
            Agent::Roo => "roo",
            Agent::Continue => "continue",
            Agent::ClaudeDesktop => "claude-desktop",
            Agent::QwenCode => "qwen-code",
            Agent::Goose => "goose",
        }
    }

    /// The name that its makers gave it.
    pub fn title(self) -> &'static str {
        match self {
            Agent::ClaudeCode => "Claude Code",
            Agent::Codex => "Codex",
            Agent::GeminiCli => "Gemini CLI",
            Agent::OpenCode => "OpenCode",
            Agent::Cursor => "Cursor",
            Agent::VsCode => "VS Code",
            Agent::Windsurf => "Windsurf",
            Agent::CopilotCli => "Copilot CLI",
            Agent::Zed => "Zed",
            Agent::Cline => "Cline",
            Agent::Roo => "Roo Code",
            Agent::Continue => "Continue",
            Agent::ClaudeDesktop => "Claude Desktop",
            Agent::QwenCode => "Qwen Code",
            Agent::Goose => "Goose",
        }
    }

    /// The program whose presence on PATH says that the agent is installed.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Agent::ClaudeCode => "claude",
            Agent::Codex => "codex",
            Agent::GeminiCli => "gemini",
            Agent::OpenCode => "opencode",
            Agent::Cursor => "cursor",
            Agent::VsCode => "code",
            Agent::Windsurf => "windsurf",
            Agent::CopilotCli => "copilot",
            Agent::Zed => "zed",
            Agent::Cline => "cline",
            Agent::Roo => "roo",
            Agent::Continue => "cn",
            Agent::ClaudeDesktop => "claude-desktop",
            Agent::QwenCode => "qwen",
            Agent::Goose => "goose",
        }
    }

    /// Whether people start it from a desktop, where the shell's PATH is often missing.
    pub(crate) fn is_desktop(self) -> bool {
        use Agent as A;
        matches!(
            self,
            A::Cursor
                | A::VsCode
                | A::Windsurf
                | A::Zed
                | A::Cline
                | A::Roo
                | A::Continue
                | A::ClaudeDesktop
        )
    }
}

impl FromStr for Agent {
    type Err = UnknownAgent;

    fn from_str(name: &str) -> Result<Agent, UnknownAgent> {
        let found = Agent::ALL.into_iter().find(|agent| agent.name() == name);
        found.ok_or_else(|| UnknownAgent(name.to_owned()))
    }
}

/// A name that no agent has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no agent {0:?}; `cortex setup --list` names those that Cortex knows")]
pub struct UnknownAgent(String);

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_on_the_command_line_and_in_json() {
        for agent in Agent::ALL {
            assert_eq!(agent.to_possible_value().unwrap().get_name(), agent.name());
            assert_eq!(serde_json::to_value(agent).unwrap(), agent.name());
            assert_eq!(agent.name().parse(), Ok(agent));
        }
    }
}
