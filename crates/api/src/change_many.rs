//! One change of many memories, and what takes it back.
//!
//! What must stay true: nothing here destroys (erasing is one memory at a time); what is refused for one memory does
//! not stop the others; the answer holds the requests that undo exactly what was changed, and nothing else.

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Memories that one request changes.
pub const CHANGE_MANY_MAX: usize = 1_000;

/// What is done to each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BulkAction {
    #[default]
    Archive,
    Forget,
    /// Brings back what is archived or forgotten.
    Restore,
    Pin,
    Unpin,
    /// Adds the tag in `value`.
    AddTag,
    /// Takes the tag in `value` away.
    RemoveTag,
    /// Moves them to the project in `value`; an empty one is none.
    Move,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChangeManyRequest {
    pub action: BulkAction,
    /// 1 to 1000 memories.
    #[schema(min_items = 1, max_items = 1000)]
    pub ids: Vec<u64>,
    /// A tag or a project, where the action needs one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ChangeManyAnswer {
    /// How many were changed; the others were so already.
    pub changed: usize,
    /// What was refused, and why. Everything else went on.
    pub refused: Vec<RefusedChange>,
    /// The requests that take it back, to be sent in this order. Empty if nothing was changed.
    pub undo: Vec<ChangeManyRequest>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RefusedChange {
    pub id: u64,
    #[schema(value_type = Object)]
    pub error: Error,
}
