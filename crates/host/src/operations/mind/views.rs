//! What is asked of the mind and how it answers.

use api::mind::{ChangeView, JobView, ReportView, SuggestionView, WarmupView};
use kernel::memory::{MemoryId, Millis};
use kernel::store::View;
use mind::breaker::Circuit;
use mind::jobs::{JobReport, JobStatus as Job};
use mind::maintenance::{self, MindRunRecord};
use mind::proposal::MindPlan;

/// Numbers with their labels.
pub(crate) type Samples = Vec<(Vec<(&'static str, String)>, u64)>;

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

pub fn circuit(circuit: Circuit) -> &'static str {
    match circuit {
        Circuit::Closed => "closed",
        Circuit::Open { .. } => "open",
        Circuit::HalfOpen => "half_open",
    }
}

pub(super) fn job_view(job: Job, now: Millis) -> JobView {
    JobView {
        due: job.next_unix_ms.is_some_and(|at| at <= now.get())
            && job.running.is_none()
            && !job.paused,
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

pub(super) fn changes_of(record: &MindRunRecord) -> Vec<ChangeView> {
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
