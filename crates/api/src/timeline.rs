//! What was saved before and after a memory, in its session; without one, in its project.

use serde::{Deserialize, Serialize};

use crate::memory::Brief;
use crate::session::SessionView;

/// Neighbours on each side.
pub const SIDE_MAX: usize = 100;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TimelineRequest {
    pub id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<usize>,
    /// True: looking is not using.
    pub quiet: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TimelineAnswer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionView>,
    /// Oldest first.
    pub before: Vec<Brief>,
    pub focus: Brief,
    /// Oldest first.
    pub after: Vec<Brief>,
    /// Memories of the session, or of the project.
    pub total: usize,
}
