//! What is asked of the mind and how it answers.

use serde::{Deserialize, Serialize};

/// Runs one page of the log holds.
pub const RUNS_MAX: usize = 500;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JobsRequest {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct JobsAnswer {
    pub jobs: Vec<JobView>,
    pub warmup: WarmupView,
    /// What keeps failing and is left alone for a while.
    pub breakers: Vec<BreakerView>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct JobView {
    pub name: String,
    pub about: String,
    pub every_seconds: i64,
    pub paused: bool,
    /// The run that is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<String>,
    /// Absent while it runs or is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at: Option<String>,
    /// That time has come. A daemon runs it at once; without one it waits for whoever runs it by hand.
    #[serde(default)]
    pub due: bool,
    pub runs: u64,
    /// Failures in a row.
    pub failures: u32,
    /// closed, open or half_open.
    pub breaker: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<ReportView>,
}

/// What came of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ReportView {
    pub run: String,
    /// due or asked.
    pub cause: String,
    pub started_at: String,
    pub ended_at: String,
    /// succeeded, failed, timed_out or interrupted.
    pub ending: String,
    pub summary: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct WarmupView {
    /// cold, warming, warm or degraded.
    pub state: String,
    /// Warm, with a bulletin.
    pub ready_for_work: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_refresh_unix_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bulletin_age_secs: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct BreakerView {
    /// What it guards: `provider:…` or `tool:…`.
    pub name: String,
    pub state: String,
    pub failures: u32,
    pub trips: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunJobRequest {
    /// bulletin, maintenance or patterns.
    pub job: String,
    /// Only say what would be changed.
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RunAnswer {
    pub job: String,
    pub dry_run: bool,
    /// Absent for a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ReportView>,
    /// What was changed, or would be.
    pub changes: Vec<ChangeView>,
    /// What only a person should decide.
    pub suggestions: Vec<SuggestionView>,
    /// Memories looked at by a dry run.
    pub examined: usize,
    /// Changes that wait for the next run.
    pub left: usize,
    /// What maintenance is about to put away, the next first; of a dry run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub due: Vec<DueView>,
    /// For people.
    pub text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ChangeView {
    /// forget, archive, merge …; in the record of a run the kind of journal entry.
    pub action: String,
    pub about: Vec<u64>,
    /// Of the memory that is made, else of the first that it is about. Empty if it was erased.
    #[serde(default)]
    pub title: String,
    pub reason: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SuggestionView {
    pub about: Vec<u64>,
    pub reason: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PauseJobRequest {
    pub job: String,
    /// False: go on again.
    pub paused: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct RunsRequest {
    /// 20 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RunsAnswer {
    /// Runs that changed memories, newest first.
    pub runs: Vec<RunLineView>,
    /// Reports of all runs, newest first, also of those that found nothing to do.
    pub reports: Vec<ReportView>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RunLineView {
    pub run: String,
    pub job: String,
    pub started_at: String,
    /// What was planned, as counts.
    pub planned: String,
    /// What was done; absent if the run never finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<String>,
    pub undone: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ShowRunRequest {
    pub run: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RunView {
    pub run: String,
    pub job: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    pub undone: bool,
    pub changes: Vec<ChangeView>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UndoRequest {
    pub run: String,
    /// Only say what would be taken back.
    pub dry_run: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct UndoAnswer {
    /// The run that was undone.
    pub undone: String,
    /// The run that did it; absent for a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    pub dry_run: bool,
    pub changes: Vec<ChangeView>,
    /// What was left alone, and why: somebody changed it since.
    pub left_alone: Vec<SuggestionView>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct DueRequest {}

/// What is about to be put away by itself, the next first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct DueAnswer {
    pub due: Vec<DueView>,
    /// Those beyond the ones that are listed.
    pub more: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct DueView {
    pub id: u64,
    pub title: String,
    pub project: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// Days of activity that are left; 0: the next run puts it away.
    pub days_left: i64,
    pub reason: String,
}

/// Memories that are not to be put away by themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KeepRequest {
    pub ids: Vec<u64>,
}

/// Memories one request keeps.
pub const KEEP_MAX: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct KeepAnswer {
    /// Kept from now on; brought back if they were put away.
    pub kept: Vec<u64>,
    /// Those that were put away before.
    pub restored: Vec<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResetRequest {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ResetAnswer {
    /// Breakers that were not closed and are now.
    pub closed: Vec<String>,
}

/// A run is about to use a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolAskRequest {
    pub tool: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolAskAnswer {
    /// Why it is not to be used now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_alone: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct ProcessEventsRequest {
    /// The newest so many; 50 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// What happened to channels, branches and workers, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ProcessEventsAnswer {
    #[schema(value_type = Vec<Object>)]
    pub events: Vec<serde_json::Value>,
}

/// Events one answer gives.
pub const EVENTS_MAX: usize = 1_000;
