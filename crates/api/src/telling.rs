//! What was told to whom: which memories went to which agent, on which question.
//!
//! Kept in memory by the process that answered, for as long as it runs, up to a bound. Only ids are kept: a title is
//! read when somebody looks, so that what was erased since is in no answer.

use serde::{Deserialize, Serialize};

use crate::author::Author;
use crate::search::NamedView;

/// Tellings one answer lists.
pub const TELLINGS_PAGE_MAX: usize = 200;
/// Tellings that are kept; the oldest go first.
pub const TELLINGS_MAX: usize = 2_000;
/// Memories that one telling names.
pub const TOLD_MEMORIES_MAX: usize = 64;

#[derive(
    Clone,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
    utoipa::IntoParams,
)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct TellingsRequest {
    /// Only those after the one with this number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = 0)]
    pub after: Option<u64>,
    /// Only those that told of this memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1)]
    pub memory_id: Option<u64>,
    /// Only what was told to this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// 1 to 200; 50 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TellingsAnswer {
    /// Newest first.
    pub tellings: Vec<TellingView>,
    /// The number of the newest telling there is: what to ask after the next time.
    pub newest: u64,
    /// Older ones are no longer kept, or were told before this process began.
    pub capped: bool,
}

/// Memories that went to somebody.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TellingView {
    pub number: u64,
    pub at: String,
    /// Who was told.
    pub by: String,
    pub author: Author,
    /// The operation that told: search, get, context, bundle …; of a hook its moment: session_start, prompt, tool.
    pub operation: String,
    /// The project that was asked about; empty if all were.
    pub project: String,
    /// What was asked; empty where nothing was asked in words.
    pub question: String,
    /// What was told, in the order in which it was; without those that are erased.
    pub memories: Vec<NamedView>,
    /// How many memories it was, those that are not named here too.
    pub total: usize,
}
