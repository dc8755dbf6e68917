//! The mind's jobs and runs, for people and programs. `budget`: what models cost. `keeping`: what is about to be put
//! away, and keeping it. `recall`: the memory as the mind asks
//! it. `views`: what is asked and answered.
//!
//! What must stay true: a dry run changes nothing, not even what the mind keeps; every change of a run can be listed
//! and taken back by the run's name.

mod budget;
mod keeping;
mod recall;
mod views;

use std::sync::Arc;

use api::mind::{
    BreakerView, EVENTS_MAX, JobView, JobsAnswer, JobsRequest, PauseJobRequest,
    ProcessEventsAnswer, ProcessEventsRequest, RUNS_MAX, RunAnswer, RunJobRequest, RunLineView,
    RunView, RunsAnswer, RunsRequest, ShowRunRequest, SuggestionView, ToolAskAnswer,
    ToolAskRequest, UndoAnswer, UndoRequest, WarmupView,
};
use kernel::memory::Millis;
use mind::audience::Audience;
use mind::breaker::Circuit;
use mind::bulletin::{ModelUse, render};
use mind::jobs::JobReport;
use mind::warmup::{ProcessType, WarmupState};
use mind::{BULLETIN, MindEvent, PAGES, maintenance, patterns};
use service::caller::Caller;
use service::error::{Error, Result};

use crate::home::Host;
use crate::mind_host::ActorMind;
use views::{changes_of, job_view, named, planned, report_view, suggested, title, warmup};

pub use views::{MindCounts, circuit};

impl Host {
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
        let now = service::Environment::now(&service::SystemEnvironment).unwrap_or(Millis(0));
        for actor_mind in self.minds.all() {
            let actor = ("actor", actor_mind.actor.as_str().to_owned());
            let slot = actor_mind.slot();
            for job in slot.mind.jobs.view() {
                let breaker = ("name", format!("job:{}", job.name));
                let labels = vec![actor.clone(), ("job", job.name)];
                counts.job_runs.push((labels.clone(), job.runs));
                counts.job_failures.push((labels.clone(), u64::from(job.breaker.failures)));
                counts.job_running.push((labels.clone(), u64::from(job.running.is_some())));
                counts.job_paused.push((labels.clone(), u64::from(job.paused)));
                if let Some(last) = &job.last {
                    let took = last.ended_unix_ms.saturating_sub(last.started_unix_ms);
                    counts.job_took.push((labels, u64::try_from(took).unwrap_or_default()));
                }
                let is_open = u64::from(job.breaker.circuit != Circuit::Closed);
                counts.breakers.push((vec![actor.clone(), breaker], is_open));
            }
            for audience in [Audience::Owner, Audience::Shared] {
                let words = slot.mind.bulletin(&audience).map(|bulletin| bulletin.words as u64);
                let labels = vec![actor.clone(), ("audience", audience.name().to_owned())];
                counts.words.extend(words.map(|words| (labels, words)));
            }
            for (action, count) in actor_mind.changes() {
                counts.changes.push((vec![actor.clone(), ("action", action.to_owned())], count));
            }
            let supervisor = &slot.mind.supervisor;
            for (kind, count) in
                [("cancelled", supervisor.cancels_total), ("killed", supervisor.kills_total)]
            {
                let labels = vec![actor.clone(), ("kind", kind.to_owned())];
                counts.stopped.push((labels, count));
            }
            let status = slot.mind.warmup.status(now);
            let state = ("state", status.state.name().to_owned());
            counts.warmup.push((vec![actor.clone(), state], 1));
            counts.age.extend(status.bulletin_age_secs.map(|age| (vec![actor.clone()], age)));
            for (name, breaker) in slot.mind.breakers.all() {
                let labels = vec![actor.clone(), ("name", name.to_owned())];
                counts.breakers.push((labels, u64::from(breaker.circuit != Circuit::Closed)));
            }
            for purpose in mind::budget::Purpose::ALL {
                let spent = slot.mind.budget.spent_for(purpose, now);
                let labels = vec![actor.clone(), ("purpose", purpose.name().to_owned())];
                counts.tokens.push((labels.clone(), spent.tokens));
                counts.micro_dollars.push((labels, spent.micro_dollars));
            }
            for (agent, process, count) in slot.mind.warmup.cold_dispatch_total() {
                let labels =
                    vec![("agent_id", agent.to_owned()), ("process_type", process.to_owned())];
                counts.cold.push((labels, count));
            }
        }
        counts
    }

    pub fn mind_jobs(&self, caller: &Caller, _: JobsRequest) -> Result<JobsAnswer> {
        let actor_mind = self.actor_mind(caller)?;
        let slot = actor_mind.slot();
        let breakers = slot.mind.breakers.all().map(|(name, breaker)| BreakerView {
            name: name.to_owned(),
            state: circuit(breaker.circuit).to_owned(),
            failures: breaker.failures,
            trips: breaker.trips,
            last_error: breaker.last_error.clone(),
        });
        let now = caller.now()?;
        Ok(JobsAnswer {
            jobs: slot.mind.jobs.view().into_iter().map(|job| job_view(job, now)).collect(),
            warmup: warmup(&slot.mind, now),
            breakers: breakers.collect(),
        })
    }

    /// Says whether a tool is left alone now. From an open circuit whose time is over this is the one try.
    pub fn tool_ask(&self, caller: &Caller, request: ToolAskRequest) -> Result<ToolAskAnswer> {
        let (actor_mind, now) = (self.actor_mind(caller)?, caller.now()?);
        let may = actor_mind.slot().mind.may_use_tool(&request.tool, now);
        Ok(ToolAskAnswer { left_alone: may.err() })
    }

    pub fn mind_run(&self, caller: &Caller, request: RunJobRequest) -> Result<RunAnswer> {
        let actor_mind = self.actor_mind(caller)?;
        if request.dry_run {
            return self.preview(&actor_mind, &request.job, caller);
        }
        let report = self.run_job(&actor_mind, &request.job, ModelUse::Allowed, caller)?;
        let (_, reading) = self.service.reading(caller)?;
        let changes = match maintenance::run_record(&reading.view(), &report.run) {
            Ok(record) => named(&reading.view(), changes_of(&record)),
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

    /// Runs a job to its end, here and now. `model` says whether this run may ask one.
    pub(super) fn run_job(
        &self,
        actor_mind: &Arc<ActorMind>,
        job: &str,
        model: ModelUse,
        caller: &Caller,
    ) -> Result<JobReport> {
        let effects = actor_mind.slot().mind.run_now(job, model, caller.now()?)?;
        let run = |actor_mind: &ActorMind| {
            let slot = actor_mind.slot();
            slot.mind.jobs.states().get(job)?.running.as_ref().map(|running| running.run.clone())
        };
        let run = run(actor_mind).unwrap_or_default();
        self.run_effects(actor_mind, effects, caller)?;
        let slot = actor_mind.slot();
        let state = slot.mind.jobs.states().get(job);
        let report = state.and_then(|state| state.reports.iter().rfind(|report| report.run == run));
        report.cloned().ok_or_else(|| Error::internal(format!("{run} left no report")))
    }

    fn preview(
        &self,
        actor_mind: &Arc<ActorMind>,
        job: &str,
        caller: &Caller,
    ) -> Result<RunAnswer> {
        let now = caller.now()?;
        let (_, reading) = self.service.reading(caller)?;
        let plan = match job {
            BULLETIN => {
                let gathered = self.gather(actor_mind, &mind::audience::Audience::Owner, caller)?;
                let max = actor_mind.slot().mind.settings.bulletin.max_words;
                let parts = render::by_rules(&gathered, max, now);
                let examined = gathered.sections.iter().map(|section| section.found).sum();
                let text = render::text_of(None, &parts, now);
                let job = job.to_owned();
                return Ok(RunAnswer { job, dry_run: true, examined, text, ..Default::default() });
            }
            PAGES => {
                let text = "it asks every question that stands, and writes what is new".to_owned();
                let job = job.to_owned();
                return Ok(RunAnswer { job, dry_run: true, text, ..Default::default() });
            }
            maintenance::JOB => self.maintenance_plan(actor_mind, &reading, now)?.0,
            patterns::JOB => self.patterns_plan(actor_mind, &reading, now)?.0,
            _ => return Err(mind::error::MindError::UnknownJob(job.to_owned()).into()),
        };
        Ok(RunAnswer {
            job: job.to_owned(),
            dry_run: true,
            report: None,
            changes: named(&reading.view(), planned(&plan)),
            suggestions: suggested(&plan),
            examined: plan.examined,
            left: plan.left,
            due: keeping::due_views(&reading.view(), &plan.due),
            text: plan.report(&|id| title(&reading.view(), id)),
        })
    }

    pub fn mind_pause(&self, caller: &Caller, request: PauseJobRequest) -> Result<JobView> {
        let actor_mind = self.actor_mind(caller)?;
        let view = {
            let mut slot = actor_mind.slot();
            let jobs = &mut slot.mind.jobs;
            if request.paused {
                jobs.pause(&request.job)?;
            } else {
                jobs.resume(&request.job)?;
            }
            jobs.view().into_iter().find(|job| job.name == request.job)
        };
        actor_mind.persist()?;
        let now = caller.now()?;
        Ok(view.map(|job| job_view(job, now)).unwrap_or_default())
    }

    pub fn mind_runs(&self, caller: &Caller, request: RunsRequest) -> Result<RunsAnswer> {
        let limit = request.limit.unwrap_or(20);
        if limit == 0 || limit > RUNS_MAX {
            return Err(Error::invalid("limit", format!("must lie between 1 and {RUNS_MAX}")));
        }
        let actor_mind = self.actor_mind(caller)?;
        let (_, reading) = self.service.reading(caller)?;
        let runs = maintenance::recent_runs(&reading.view(), limit)?.into_iter();
        let line = |line: maintenance::RunLine| RunLineView {
            run: line.run,
            job: line.job,
            started_at: line.started.rfc3339(),
            planned: line.planned.unwrap_or_default(),
            done: line.done,
            undone: line.undone,
        };
        let slot = actor_mind.slot();
        let states = slot.mind.jobs.states().values();
        let mut reports: Vec<&JobReport> = states.flat_map(|state| &state.reports).collect();
        reports.sort_by_key(|report| std::cmp::Reverse(report.started_unix_ms));
        let reports = reports.into_iter().take(limit).map(report_view).collect();
        Ok(RunsAnswer { runs: runs.map(line).collect(), reports })
    }

    pub fn mind_show(&self, caller: &Caller, request: ShowRunRequest) -> Result<RunView> {
        let (_, reading) = self.service.reading(caller)?;
        let record = maintenance::run_record(&reading.view(), &request.run)?;
        Ok(RunView {
            changes: named(&reading.view(), changes_of(&record)),
            run: record.run,
            job: record.job,
            started_at: record.started.map(Millis::rfc3339),
            finished_at: record.finished.map(Millis::rfc3339),
            undone: record.undone,
        })
    }

    pub fn mind_undo(&self, caller: &Caller, request: UndoRequest) -> Result<UndoAnswer> {
        let actor_mind = self.actor_mind(caller)?;
        let (cortex, reading) = self.service.reading(caller)?;
        let plan = maintenance::undo(&reading.view(), &request.run)?;
        let mut answer = UndoAnswer {
            undone: request.run,
            run: None,
            dry_run: request.dry_run,
            changes: named(&reading.view(), planned(&plan)),
            left_alone: suggested(&plan),
        };
        if !request.dry_run {
            let run = format!("undo-{}", caller.now()?.get());
            let outcome = self.run_plan(&actor_mind, &cortex, &plan, &run, caller)?;
            for (proposal, error) in outcome.refused {
                let about = proposal.action.about();
                answer.changes.retain(|change| change.about != about);
                answer.left_alone.push(SuggestionView { about, reason: error.to_string() });
            }
            answer.run = Some(run);
        }
        Ok(answer)
    }

    /// Work begins for an actor: counted and said if its mind is not warm yet. It begins in any case, whatever is wrong
    /// with the mind.
    pub fn dispatched(&self, caller: &Caller, process_type: ProcessType) {
        // In a process of its own nobody warms up.
        if !self.minds.is_served() || caller.delegate.is_some() {
            return;
        }
        let begin = || {
            let actor_mind = self.actor_mind(caller)?;
            let now = caller.now()?;
            let effects =
                actor_mind.slot().mind.handle(MindEvent::Dispatched(process_type), now, &mut |_| 0);
            self.run_effects(&actor_mind, effects, caller)
        };
        self.minds.say(&caller.actor, begin());
    }

    /// How warm the mind of an actor is; cold if nobody used it yet. Opens nothing.
    pub fn warmth(&self, caller: &Caller) -> Result<WarmupView> {
        match self.minds.if_there(&caller.actor) {
            Some(actor_mind) => Ok(warmup(&actor_mind.slot().mind, caller.now()?)),
            None => {
                Ok(WarmupView { state: WarmupState::Cold.name().to_owned(), ..Default::default() })
            }
        }
    }
}
