//! What is asked of the mind and how it answers.

use kernel::memory::{MemoryId, Millis};
use kernel::store::View;
use mind::breaker::Circuit;
use mind::jobs::{JobReport, JobStatus as Job};
use mind::maintenance::{self, RunRecord};
use mind::proposal::MindPlan;
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

/// Numbers with their labels.
pub type Samples = Vec<(Vec<(&'static str, String)>, u64)>;

/// What the minds that are in use did, for metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MindCounts {
    pub job_runs: Samples,
    pub job_failures: Samples,
    pub job_running: Samples,
    pub job_paused: Samples,
    /// Milliseconds of the last run.
    pub job_took: Samples,
    /// Of the bulletin, by who reads it.
    pub words: Samples,
    /// Made by jobs since the daemon began, by what was done.
    pub changes: Samples,
    pub stopped: Samples,
    pub micro_dollars: Samples,
    pub warmup: Samples,
    pub breakers: Samples,
    pub age: Samples,
    pub tokens: Samples,
    pub cold: Samples,
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

pub(super) fn warmup(mind: &mind::Mind, now: Millis) -> WarmupView {
    let status = mind.warmup.status(now);
    WarmupView {
        state: status.state.name().to_owned(),
        ready_for_work: status.ready_for_work(),
        last_refresh_unix_ms: status.last_refresh_unix_ms,
        bulletin_age_secs: status.bulletin_age_secs,
        last_error: status.last_error,
    }
}

pub(crate) fn circuit(circuit: Circuit) -> &'static str {
    match circuit {
        Circuit::Closed => "closed",
        Circuit::Open { .. } => "open",
        Circuit::HalfOpen => "half_open",
    }
}

pub(super) fn job_view(job: Job) -> JobView {
    JobView {
        name: job.name,
        about: job.about,
        every_seconds: job.interval_ms / 1_000,
        paused: job.paused,
        running: job.running.map(|running| running.run),
        next_at: job.next_unix_ms.map(|at| Millis(at).rfc3339()),
        runs: job.runs,
        failures: job.breaker.failures,
        breaker: circuit(job.breaker.circuit).to_owned(),
        last: job.last.as_ref().map(report_view),
    }
}

pub(super) fn report_view(report: &JobReport) -> ReportView {
    use mind::jobs::{JobCause, JobEnding};
    ReportView {
        run: report.run.clone(),
        cause: match report.cause {
            JobCause::Due => "due",
            JobCause::Asked => "asked",
        }
        .to_owned(),
        started_at: Millis(report.started_unix_ms).rfc3339(),
        ended_at: Millis(report.ended_unix_ms).rfc3339(),
        ending: match report.ending {
            JobEnding::Succeeded => "succeeded",
            JobEnding::Failed => "failed",
            JobEnding::TimedOut => "timed_out",
            JobEnding::Interrupted => "interrupted",
        }
        .to_owned(),
        summary: report.summary.clone(),
    }
}

pub(super) fn changes_of(record: &RunRecord) -> Vec<ChangeView> {
    let change = |change: &maintenance::RunChange| ChangeView {
        action: change.kind.to_owned(),
        about: change.id.into_iter().collect(),
        title: String::new(),
        reason: change.reason.clone().unwrap_or_default(),
    };
    record.changes.iter().map(change).collect()
}

pub(super) fn planned(plan: &MindPlan) -> Vec<ChangeView> {
    let change = |proposal: &mind::proposal::Proposal| ChangeView {
        action: proposal.action.name().to_owned(),
        about: proposal.action.about(),
        title: proposal.action.title().unwrap_or_default().to_owned(),
        reason: proposal.reason.clone(),
    };
    plan.proposals.iter().map(change).collect()
}

/// Gives changes the titles of what they are about.
pub(super) fn named(view: &View<'_>, mut changes: Vec<ChangeView>) -> Vec<ChangeView> {
    for change in changes.iter_mut().filter(|change| change.title.is_empty()) {
        let first = change.about.first();
        change.title = first.and_then(|id| title(view, *id)).unwrap_or_default();
    }
    changes
}

/// The title of a memory as it is now.
pub(super) fn title(view: &View<'_>, id: u64) -> Option<String> {
    let head = view.head(MemoryId::new(id)?).ok()??;
    let version = view.required_version(head.id, head.version).ok()?;
    view.body(&version).ok()?.map(|body| body.title)
}

pub(super) fn suggested(plan: &MindPlan) -> Vec<SuggestionView> {
    let view = |one: &mind::proposal::Suggestion| SuggestionView {
        about: one.about.clone(),
        reason: one.reason.clone(),
    };
    plan.suggestions.iter().map(view).collect()
}
