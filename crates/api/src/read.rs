//! One memory, its versions, and lists of memories.

use serde::{Deserialize, Serialize};

use crate::memory::{Memory, VersionView};

/// Memories one page of a list holds.
pub const LIST_MAX: usize = 1_000;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GetRequest {
    pub id: u64,
    /// The newest if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// With every version there ever was.
    pub history: bool,
    /// Forgotten and archived ones too.
    pub include_put_away: bool,
    /// True: looking is not using.
    pub quiet: bool,
    /// A URI instead of id and version; it must be right in all its parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Also as text: short, medium or full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct GetAnswer {
    #[serde(flatten)]
    pub memory: Memory,
    /// Oldest first; empty unless asked for.
    pub history: Vec<VersionView>,
    /// Ids of memories that replace this one.
    pub superseded_by: Vec<u64>,
    /// Ids of memories that say otherwise.
    pub contradicted_by: Vec<u64>,
    /// The memory as text, in the form that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct ListRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Only those with this tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Only those whose current version this one wrote, such as an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Only those created at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only archived ones.
    pub archived: bool,
    /// Only forgotten ones.
    pub forgotten: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    pub offset: usize,
    /// Only this many characters of each content, on one line: for lists that show many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ListAnswer {
    /// Newest first.
    pub memories: Vec<Memory>,
    /// All that match, on this page or not.
    pub total: usize,
}
