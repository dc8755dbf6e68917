//! What an agent's hook tells of a session, and what the agent should know in return: one question, one answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Tokens of what a session begins with.
pub const BRIEFING_TOKENS_MAX: usize = 600;
/// Tokens that one prompt, or one use of a tool, may add.
pub const RECALL_TOKENS_MAX: usize = 150;

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookMoment {
    /// A session begins or goes on.
    #[default]
    SessionStart,
    /// A person asked something.
    Prompt,
    /// The agent is about to use a tool.
    PreTool,
    /// The agent is about to shorten its conversation.
    PreCompact,
    /// The agent ended its turn.
    Stop,
    /// A sub-agent is done.
    SubagentStop,
    SessionEnd,
}

/// Why a session begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionBeginning {
    #[default]
    Fresh,
    /// An earlier session goes on.
    Resumed,
    /// The person cleared the conversation.
    Cleared,
    /// The agent shortened the conversation.
    Compacted,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HookRequest {
    pub moment: HookMoment,
    /// Which program works.
    pub agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    pub beginning: SessionBeginning,
    /// What the person asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The file that a tool is about to change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The command that a tool is about to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The last words of the agent, or of its sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Where the agent keeps the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
    /// `CORTEX_*` variables of the agent, which override settings.
    pub variables: BTreeMap<String, String>,
    /// Only says what a session that begins now would be told: nothing is kept, and nobody counts as told.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub preview: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HookAnswer {
    /// What the agent should know. Absent: there is nothing worth its attention.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The memories that it tells of.
    pub memories: Vec<u64>,
    /// Of a preview: memories that were to be told and did not fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<u64>,
    /// What it costs, about.
    pub tokens: usize,
    /// Memories that were made or changed by capture.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captured: Vec<u64>,
    /// What did not work out; for a log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
