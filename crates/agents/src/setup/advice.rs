//! What a person has to do after an agent was set up, which differs from agent to agent.

use crate::agent::Agent;

/// Of an agent that was set up, but is not installed as far as can be seen.
pub const ABSENT: &str = "It is not installed as far as can be seen: its program is not on PATH. The settings wait \
                          for it.";
const NO_HOOKS: &str = "It has no hooks that Cortex uses: \
    `cortex setup --instructions >> AGENTS.md` tells it when to look and to save.";

/// What a person has to do besides.
pub fn advice(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::ClaudeCode => &["Start a new session; `claude mcp list` shows cortex as connected."],
        Agent::Codex => &[
            "Start a new session. Codex runs new hooks only after you trust them: it asks once, or see /hooks.",
        ],
        Agent::GeminiCli => &[
            "Start a new session; in a folder you trust, `gemini mcp list` shows cortex as connected.",
        ],
        Agent::OpenCode => &["Start a new session; `opencode mcp list` shows cortex as connected."],
        Agent::Cursor => &["Reload Cursor and switch cortex on under Settings, MCP."],
        Agent::VsCode => &["Reload VS Code and start cortex from `MCP: List Servers`.", NO_HOOKS],
        Agent::Windsurf => &["Press refresh in Windsurf's list of MCP servers.", NO_HOOKS],
        Agent::CopilotCli => &["Start a new session; `/mcp show` lists cortex.", NO_HOOKS],
        Agent::Zed => &["Open the agent panel's settings; cortex has a green dot.", NO_HOOKS],
        Agent::Cline | Agent::Roo => {
            &["Open its MCP servers and press restart on cortex.", NO_HOOKS]
        }
        Agent::Continue => &["Reload Continue; cortex is listed under Tools.", NO_HOOKS],
        Agent::ClaudeDesktop => &["Quit Claude Desktop and start it again.", NO_HOOKS],
        Agent::QwenCode => &["Start a new session; `/mcp` lists cortex.", NO_HOOKS],
        Agent::Goose => {
            &["Start a new session; `goose configure` lists cortex among its extensions.", NO_HOOKS]
        }
    }
}
