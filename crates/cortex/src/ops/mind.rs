//! The mind's jobs, runs and budget, for people and programs.
//!
//! What must stay true: a dry run changes nothing, not even what the mind keeps; every change of a run can be listed and
//! taken back by the run's name.

use std::sync::Arc;

use kernel::memory::Millis;
use mind::breaker::Circuit;
use mind::budget::BudgetView as Spent;
use mind::bulletin::render;
use mind::jobs::{JobReport, JobView as Job};
use mind::maintenance::{self, RunRecord};
use mind::proposal::Plan;
use mind::warmup::{ProcessType, WarmupState};
use mind::whole::BULLETIN;
use mind::{Event, patterns};
use serde::{Deserialize, Serialize};

use super::Ops;
use super::caller::Caller;
use super::error::{Error, Result};
use crate::tending::Tended;

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

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetRequest {
    /// True refuses every call to a model from now on, false allows them again; absent changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kill_switch: Option<bool>,
    /// Lines of the ledger; 20 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct BudgetAnswer {
    /// The UTC day that is counted.
    pub day: String,
    pub kill_switch: bool,
    /// The provider that may be asked; absent if none is configured, and then every limit is zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    pub tokens: u64,
    pub tokens_limit: u64,
    pub reserved_tokens: u64,
    pub dollars: f64,
    pub dollars_limit: f64,
    pub purposes: Vec<PurposeView>,
    /// Newest first.
    pub ledger: Vec<LedgerView>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PurposeView {
    pub purpose: String,
    pub tokens: u64,
    pub tokens_limit: u64,
    pub dollars: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct LedgerView {
    pub at: String,
    pub purpose: String,
    /// The run or channel that spent it.
    pub who: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub tokens: u64,
    pub dollars: f64,
    /// The provider never said what it took; this is the worst case.
    pub assumed: bool,
}

/// Numbers with their labels.
pub type Samples = Vec<(Vec<(&'static str, String)>, u64)>;

/// What the minds that are in use did, for metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MindCounts {
    pub job_runs: Samples,
    pub job_failures: Samples,
    pub job_running: Samples,
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

impl Ops {
    pub fn mind_events(
        &self,
        caller: &Caller,
        request: ProcessEventsRequest,
    ) -> Result<ProcessEventsAnswer> {
        let limit = request.limit.unwrap_or(50).min(EVENTS_MAX);
        Ok(ProcessEventsAnswer { events: self.process_events(caller, limit)? })
    }

    /// Opens nothing and waits for nobody.
    pub fn mind_counts(&self) -> MindCounts {
        let mut counts = MindCounts::default();
        let now = super::World::now(&super::Machine).unwrap_or(Millis(0));
        for tended in self.tending().all() {
            let actor = ("actor", tended.actor.as_str().to_owned());
            let part = tended.part();
            for job in part.mind.jobs.view() {
                let labels = vec![actor.clone(), ("job", job.name)];
                counts.job_runs.push((labels.clone(), job.runs));
                counts.job_failures.push((labels.clone(), u64::from(job.breaker.failures)));
                counts.job_running.push((labels, u64::from(job.running.is_some())));
            }
            let status = part.mind.warmup.status(now);
            let state = ("state", status.state.name().to_owned());
            counts.warmup.push((vec![actor.clone(), state], 1));
            counts.age.extend(status.bulletin_age_secs.map(|age| (vec![actor.clone()], age)));
            for (name, breaker) in part.mind.breakers.all() {
                let labels = vec![actor.clone(), ("name", name.to_owned())];
                counts.breakers.push((labels, u64::from(breaker.circuit != Circuit::Closed)));
            }
            for purpose in mind::budget::Purpose::ALL {
                let spent = part.mind.budget.spent_for(purpose, now).tokens;
                let labels = vec![actor.clone(), ("purpose", purpose.name().to_owned())];
                counts.tokens.push((labels, spent));
            }
            for (agent, process, count) in part.mind.warmup.cold_dispatch_total() {
                let labels =
                    vec![("agent_id", agent.to_owned()), ("process_type", process.to_owned())];
                counts.cold.push((labels, count));
            }
        }
        counts
    }

    pub fn mind_jobs(&self, caller: &Caller, _: JobsRequest) -> Result<JobsAnswer> {
        let tended = self.tended(caller)?;
        let part = tended.part();
        let breakers = part.mind.breakers.all().map(|(name, breaker)| BreakerView {
            name: name.to_owned(),
            state: circuit(breaker.circuit).to_owned(),
            failures: breaker.failures,
            trips: breaker.trips,
            last_error: breaker.last_error.clone(),
        });
        Ok(JobsAnswer {
            jobs: part.mind.jobs.view().into_iter().map(job_view).collect(),
            warmup: warmup(&part.mind, caller.now()?),
            breakers: breakers.collect(),
        })
    }

    pub fn mind_run(&self, caller: &Caller, request: RunJobRequest) -> Result<RunAnswer> {
        let tended = self.tended(caller)?;
        if request.dry_run {
            return self.preview(&tended, &request.job, caller);
        }
        let report = self.run_job(&tended, &request.job, caller)?;
        let (_, reading) = self.reading(caller)?;
        let changes = match maintenance::run_record(&reading.view(), &report.run) {
            Ok(record) => changes_of(&record),
            // A run without changes journals nothing.
            Err(mind::error::MindError::UnknownRun(_)) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        let report = report_view(&report);
        let text = format!("{} {}: {}", report.run, report.ending, report.summary);
        Ok(RunAnswer {
            job: request.job,
            report: Some(report),
            changes,
            text,
            ..RunAnswer::default()
        })
    }

    /// Runs a job to its end, here and now.
    pub(super) fn run_job(
        &self,
        tended: &Arc<Tended>,
        job: &str,
        caller: &Caller,
    ) -> Result<JobReport> {
        let effects = tended.part().mind.run_now(job, caller.now()?)?;
        let run = |tended: &Tended| {
            let part = tended.part();
            part.mind.jobs.states().get(job)?.running.as_ref().map(|running| running.run.clone())
        };
        let run = run(tended).unwrap_or_default();
        self.carry(tended, effects, caller)?;
        let part = tended.part();
        let state = part.mind.jobs.states().get(job);
        let report = state.and_then(|state| state.reports.iter().rfind(|report| report.run == run));
        report.cloned().ok_or_else(|| Error::internal(format!("{run} left no report")))
    }

    fn preview(&self, tended: &Arc<Tended>, job: &str, caller: &Caller) -> Result<RunAnswer> {
        let now = caller.now()?;
        let (_, reading) = self.reading(caller)?;
        let plan = match job {
            BULLETIN => {
                let gathered = self.gather(tended, &mind::audience::Audience::Owner, caller)?;
                let max = tended.part().mind.settings.bulletin.max_words;
                let parts = render::by_rules(&gathered, max, now);
                let examined = gathered.sections.iter().map(|section| section.found).sum();
                let text = render::text_of(&parts, now);
                let job = job.to_owned();
                return Ok(RunAnswer { job, dry_run: true, examined, text, ..Default::default() });
            }
            maintenance::JOB => self.maintenance_plan(tended, &reading, now)?.0,
            patterns::JOB => self.patterns_plan(tended, &reading, now)?.0,
            _ => return Err(mind::error::MindError::UnknownJob(job.to_owned()).into()),
        };
        Ok(RunAnswer {
            job: job.to_owned(),
            dry_run: true,
            report: None,
            changes: planned(&plan),
            suggestions: suggested(&plan),
            examined: plan.examined,
            left: plan.left,
            text: plan.report(),
        })
    }

    pub fn mind_pause(&self, caller: &Caller, request: PauseJobRequest) -> Result<JobView> {
        let tended = self.tended(caller)?;
        let view = {
            let mut part = tended.part();
            let jobs = &mut part.mind.jobs;
            if request.paused {
                jobs.pause(&request.job)?;
            } else {
                jobs.resume(&request.job)?;
            }
            jobs.view().into_iter().find(|job| job.name == request.job).map(job_view)
        };
        tended.persist()?;
        Ok(view.unwrap_or_default())
    }

    pub fn mind_runs(&self, caller: &Caller, request: RunsRequest) -> Result<RunsAnswer> {
        let limit = request.limit.unwrap_or(20);
        if limit == 0 || limit > RUNS_MAX {
            return Err(Error::invalid("limit", format!("must lie between 1 and {RUNS_MAX}")));
        }
        let tended = self.tended(caller)?;
        let (_, reading) = self.reading(caller)?;
        let runs = maintenance::recent_runs(&reading.view(), limit)?.into_iter();
        let line = |line: maintenance::RunLine| RunLineView {
            run: line.run,
            job: line.job,
            started_at: line.started.rfc3339(),
            planned: line.planned.unwrap_or_default(),
            done: line.done,
            undone: line.undone,
        };
        let part = tended.part();
        let states = part.mind.jobs.states().values();
        let mut reports: Vec<&JobReport> = states.flat_map(|state| &state.reports).collect();
        reports.sort_by_key(|report| std::cmp::Reverse(report.started_unix_ms));
        let reports = reports.into_iter().take(limit).map(report_view).collect();
        Ok(RunsAnswer { runs: runs.map(line).collect(), reports })
    }

    pub fn mind_show(&self, caller: &Caller, request: ShowRunRequest) -> Result<RunView> {
        let (_, reading) = self.reading(caller)?;
        let record = maintenance::run_record(&reading.view(), &request.run)?;
        Ok(RunView {
            changes: changes_of(&record),
            run: record.run,
            job: record.job,
            started_at: record.started.map(Millis::rfc3339),
            finished_at: record.finished.map(Millis::rfc3339),
            undone: record.undone,
        })
    }

    pub fn mind_undo(&self, caller: &Caller, request: UndoRequest) -> Result<UndoAnswer> {
        let tended = self.tended(caller)?;
        let (cortex, reading) = self.reading(caller)?;
        let plan = maintenance::undo(&reading.view(), &request.run)?;
        let mut answer = UndoAnswer {
            undone: request.run,
            run: None,
            dry_run: request.dry_run,
            changes: planned(&plan),
            left_alone: suggested(&plan),
        };
        if !request.dry_run {
            let run = format!("undo-{}", caller.now()?.get());
            let outcome = self.carry_plan(&tended, &cortex, &plan, &run, caller)?;
            for (proposal, error) in outcome.refused {
                let about = proposal.action.about();
                answer.changes.retain(|change| change.about != about);
                answer.left_alone.push(SuggestionView { about, reason: error.to_string() });
            }
            answer.run = Some(run);
        }
        Ok(answer)
    }

    pub fn budget(&self, caller: &Caller, request: BudgetRequest) -> Result<BudgetAnswer> {
        let tended = self.tended(caller)?;
        if let Some(on) = request.kill_switch {
            tended.part().mind.budget.killed = on;
            tended.persist()?;
        }
        let part = tended.part();
        let mind = &part.mind;
        let provider = mind.provider.as_ref();
        let spent: Spent =
            mind.budget.view(&mind.settings.budget, provider.is_some(), caller.now()?);
        let purposes = spent.purposes.iter().map(|purpose| PurposeView {
            purpose: purpose.purpose.name().to_owned(),
            tokens: purpose.spent.tokens,
            tokens_limit: purpose.tokens_limit,
            dollars: dollars(purpose.spent.micro_dollars),
        });
        let ledger = mind.budget.ledger().rev().take(request.limit.unwrap_or(20));
        let ledger = ledger.map(|line| LedgerView {
            at: Millis(line.at_unix_ms).rfc3339(),
            purpose: line.purpose.name().to_owned(),
            who: line.who.clone(),
            model: line.model.clone(),
            tokens: line.cost.tokens,
            dollars: dollars(line.cost.micro_dollars),
            assumed: line.assumed,
        });
        Ok(BudgetAnswer {
            kill_switch: spent.kill_switch,
            provider: provider.map(|provider| provider.name.clone()),
            tokens: spent.spent.tokens,
            tokens_limit: spent.tokens_limit,
            reserved_tokens: spent.reserved.tokens,
            dollars: dollars(spent.spent.micro_dollars),
            dollars_limit: dollars(spent.micro_dollars_limit),
            purposes: purposes.collect(),
            ledger: ledger.collect(),
            day: spent.day,
        })
    }

    /// Work begins for an actor: counted and said if its mind is not warm yet. It begins in any case, whatever is wrong with
    /// the mind.
    pub fn dispatched(&self, caller: &Caller, process_type: ProcessType) {
        // In a process of its own nobody warms up.
        if !self.tending().is_served() || caller.delegate.is_some() {
            return;
        }
        let begin = || {
            let tended = self.tended(caller)?;
            let now = caller.now()?;
            let effects =
                tended.part().mind.handle(Event::Dispatched(process_type), now, &mut |_| 0);
            self.carry(&tended, effects, caller)
        };
        self.tending().say(&caller.actor, begin());
    }

    /// How warm the mind of an actor is; cold if nobody used it yet. Opens nothing.
    pub fn warmth(&self, caller: &Caller) -> Result<WarmupView> {
        match self.tending().if_there(&caller.actor) {
            Some(tended) => Ok(warmup(&tended.part().mind, caller.now()?)),
            None => {
                Ok(WarmupView { state: WarmupState::Cold.name().to_owned(), ..Default::default() })
            }
        }
    }
}

fn warmup(mind: &mind::Mind, now: Millis) -> WarmupView {
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

fn job_view(job: Job) -> JobView {
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

fn report_view(report: &JobReport) -> ReportView {
    use mind::jobs::{Cause, Ending};
    ReportView {
        run: report.run.clone(),
        cause: match report.cause {
            Cause::Due => "due",
            Cause::Asked => "asked",
        }
        .to_owned(),
        started_at: Millis(report.started_unix_ms).rfc3339(),
        ended_at: Millis(report.ended_unix_ms).rfc3339(),
        ending: match report.ending {
            Ending::Succeeded => "succeeded",
            Ending::Failed => "failed",
            Ending::TimedOut => "timed_out",
            Ending::Interrupted => "interrupted",
        }
        .to_owned(),
        summary: report.summary.clone(),
    }
}

fn changes_of(record: &RunRecord) -> Vec<ChangeView> {
    let change = |change: &maintenance::RunChange| ChangeView {
        action: change.kind.to_owned(),
        about: change.id.into_iter().collect(),
        reason: change.reason.clone().unwrap_or_default(),
    };
    record.changes.iter().map(change).collect()
}

fn planned(plan: &Plan) -> Vec<ChangeView> {
    let change = |proposal: &mind::proposal::Proposal| ChangeView {
        action: proposal.action.name().to_owned(),
        about: proposal.action.about(),
        reason: proposal.reason.clone(),
    };
    plan.proposals.iter().map(change).collect()
}

fn suggested(plan: &Plan) -> Vec<SuggestionView> {
    let view = |one: &mind::proposal::Suggestion| SuggestionView {
        about: one.about.clone(),
        reason: one.reason.clone(),
    };
    plan.suggestions.iter().map(view).collect()
}

#[expect(clippy::cast_precision_loss, reason = "sums of a day are far below 2^52")]
fn dollars(micro: u64) -> f64 {
    micro as f64 / 1e6
}
