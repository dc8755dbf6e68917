//! What an agent should know when it starts: pinned memories, recent sessions, prompts and memories, within a budget.

use serde::{Deserialize, Serialize};

use crate::memory::Brief;
use crate::prompt::PromptView;
use crate::session::SessionView;

/// Memories one context lists.
pub const LIMIT_MAX: usize = 200;

/// Bytes of the text, unless told otherwise, and at most.
pub const BYTES_DEFAULT: usize = 16 * 1_024;

pub const BYTES_MAX: usize = 64 * 1_024;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct ContextRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Memories; 20 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<usize>,
    /// Tokens of the text, instead of bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ContextAnswer {
    /// Markdown, within the budget.
    pub text: String,
    pub project: String,
    pub sessions: Vec<SessionView>,
    pub prompts: Vec<PromptView>,
    pub pinned: Vec<Brief>,
    pub memories: Vec<Brief>,
    /// Lines that did not fit the budget.
    pub left_out: usize,
}
