//! What happened: the newest entries of the journal, in one line each, for whoever watches.

use serde::{Deserialize, Serialize};

use crate::search::NamedView;

/// Entries one answer lists.
pub const ACTIVITY_MAX: usize = 1_000;

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
pub struct ActivityRequest {
    /// Only entries after this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// The newest of them, at most this many; 50 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ActivityAnswer {
    /// Newest first.
    pub entries: Vec<EntryView>,
    /// Entries of the journal: what to ask after the next time.
    pub size: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct EntryView {
    pub seq: u64,
    /// write, update, touch …
    pub kind: String,
    pub at: String,
    pub by: String,
    /// What it says, in one line.
    pub summary: String,
    /// The memory it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_id: Option<u64>,
    /// Its title as it is now; nothing for one that was erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The other end, of a relation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<NamedView>,
}
