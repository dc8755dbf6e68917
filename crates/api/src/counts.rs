//! How a memory grew: memories by day, by tag, and who saved what on the last day.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Days that one answer counts.
pub const COUNTED_DAYS_MAX: u32 = 366;
/// Tags that one answer lists.
pub const TAGS_MAX: usize = 1_000;
/// Pairs of author and project that the last day is told in.
pub const DAY_GROUPS_MAX: usize = 50;
/// How far the clock of a reader may be from UTC, in minutes.
pub const OFFSET_MINUTES_MAX: i32 = 14 * 60;

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
pub struct CountsRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Days up to today, 1 to 366; 90 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 366)]
    pub days: Option<u32>,
    /// Minutes that the reader's clock is ahead of UTC: days begin at their midnight.
    #[param(minimum = -840, maximum = 840)]
    pub offset_minutes: i32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct CountsAnswer {
    /// Every day of them, oldest first, also those on which nothing was saved.
    pub days: Vec<DayCount>,
    /// Memories that are older than the first day.
    pub before: u64,
    pub total: u64,
    /// Who saved what on the last day, the most first; prompts are not counted.
    pub last_day: Vec<DayGroup>,
}

/// What was saved on one day and is still in sight.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct DayCount {
    /// `2026-11-18`.
    pub day: String,
    pub saved: u64,
    /// By the caller's word: bugfix, decision …
    pub by_kind: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct DayGroup {
    pub by: String,
    pub project: String,
    pub saved: u64,
    pub by_kind: BTreeMap<String, u64>,
}

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
pub struct TagListRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// 1 to 1000; 100 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TagListAnswer {
    /// The most used first.
    pub tags: Vec<TagCount>,
    pub total: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TagCount {
    pub tag: String,
    pub memories: u64,
}
