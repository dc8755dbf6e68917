//! Named duties of the mind on a clock that comes in: when each is due, that it runs once at a time, what came of it.
//!
//! What must stay true: a job never runs twice at the same time; a run ends with exactly one report; the time of the
//! next run is kept over a restart, so that a daemon that is restarted every hour still does its daily work; a job
//! that keeps failing waits longer each time and is then left alone by its breaker.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use kernel::memory::Millis;
use serde::{Deserialize, Serialize};

use crate::breaker::{Breaker, BreakerPolicy, Circuit};
use crate::error::{MindError, Result};

/// Reports kept per job.
pub const REPORTS_MAX: usize = 20;
/// Longest text of an error or summary that is kept, in characters.
pub const SUMMARY_CHARS_MAX: usize = 2_000;

/// What a job is; comes from the settings, is not persisted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSpec {
    pub name: String,
    /// What it does, for people.
    pub about: String,
    pub interval_ms: i64,
    /// Up to this much is added to each interval, so that many actors do not run at once.
    pub jitter_ms: i64,
    /// After this a run is cancelled; after as long again it is given up.
    pub timeout_ms: i64,
    /// Wait after the first failure; doubles with each further one.
    pub backoff_ms: i64,
    pub backoff_max_ms: i64,
    pub breaker: BreakerPolicy,
    /// When it is first due after the job was first seen.
    pub first_after_ms: i64,
}

impl JobSpec {
    pub fn new(name: &str, about: &str, interval_ms: i64, breaker: BreakerPolicy) -> JobSpec {
        let interval_ms = interval_ms.max(1);
        JobSpec {
            name: name.to_owned(),
            about: about.to_owned(),
            interval_ms,
            jitter_ms: interval_ms / 20,
            timeout_ms: interval_ms.clamp(60_000, 600_000),
            backoff_ms: 30_000,
            backoff_max_ms: 600_000,
            breaker,
            first_after_ms: 0,
        }
    }
}

/// Why a run began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobCause {
    Due,
    /// Somebody asked for it.
    Asked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobEnding {
    Succeeded,
    Failed,
    /// Cancelled because it took too long.
    TimedOut,
    /// The daemon stopped while it ran.
    Interrupted,
}

/// What came of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobReport {
    pub run: String,
    pub cause: JobCause,
    pub started_unix_ms: i64,
    pub ended_unix_ms: i64,
    pub ending: JobEnding,
    /// What was done, or why it failed.
    pub summary: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRun {
    pub run: String,
    pub cause: JobCause,
    pub started_unix_ms: i64,
    pub deadline_unix_ms: i64,
    pub cancelled: bool,
}

/// The persistent state of one job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobState {
    pub paused: bool,
    pub next_unix_ms: i64,
    pub running: Option<JobRun>,
    pub breaker: Breaker,
    /// Newest last.
    pub reports: VecDeque<JobReport>,
    /// Runs begun ever; part of each run's name.
    pub runs: u64,
}

/// What the daemon is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEffect {
    /// Begin the work of this job and answer with `Jobs::ended`.
    Start { job: String, run: String, cause: JobCause, deadline: Millis },
    /// Ask the run to stop. It still answers.
    Cancel { job: String, run: String },
    /// The run did not stop in time: its answer will be ignored, end it by force.
    Abandon { job: String, run: String },
}

/// One job as people see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobStatus {
    pub name: String,
    pub about: String,
    pub interval_ms: i64,
    pub paused: bool,
    pub next_unix_ms: Option<i64>,
    pub running: Option<JobRun>,
    pub breaker: Breaker,
    pub last: Option<JobReport>,
    pub runs: u64,
}

/// What is kept over a restart.
pub type JobStates = BTreeMap<String, JobState>;

/// A number from 0 to the one given, by chance or by rule.
pub type JitterSource<'a> = &'a mut dyn FnMut(u64) -> u64;

#[derive(Clone, Debug)]
pub struct Jobs {
    specs: BTreeMap<String, JobSpec>,
    states: JobStates,
}

impl Jobs {
    /// Jobs with what is left of the last time. A run that was under way then has been interrupted.
    pub fn new(specs: Vec<JobSpec>, mut kept: JobStates, now: Millis) -> Jobs {
        let mut jobs = Jobs { specs: BTreeMap::new(), states: BTreeMap::new() };
        for spec in specs {
            let state = kept.remove(&spec.name).unwrap_or_else(|| JobState {
                paused: false,
                next_unix_ms: now.get().saturating_add(spec.first_after_ms),
                running: None,
                breaker: Breaker::default(),
                reports: VecDeque::new(),
                runs: 0,
            });
            jobs.states.insert(spec.name.clone(), state);
            jobs.specs.insert(spec.name.clone(), spec);
        }
        for (name, spec) in &jobs.specs {
            let Some(state) = jobs.states.get_mut(name) else { continue };
            // A clock that was set back, or a shorter interval, must not make a job wait for years.
            let latest = now.get().saturating_add(spec.interval_ms).saturating_add(spec.jitter_ms);
            state.next_unix_ms = state.next_unix_ms.min(latest);
            if let Some(running) = state.running.take() {
                let why = "the daemon stopped while it ran";
                // It may be the run itself that brings the daemon down: an interruption counts as a failure.
                state.report(&running, JobEnding::Interrupted, why, now);
                state.breaker.failed(why, spec.breaker, now);
                state.next_unix_ms = now.get().saturating_add(spec.backoff_ms);
            }
        }
        jobs
    }

    pub fn states(&self) -> &JobStates {
        &self.states
    }

    /// New settings: intervals change, states stay.
    pub fn reconfigure(&mut self, specs: Vec<JobSpec>, now: Millis) {
        let kept = std::mem::take(&mut self.states);
        let running: BTreeMap<String, Option<JobRun>> =
            kept.iter().map(|(name, state)| (name.clone(), state.running.clone())).collect();
        let idle = kept
            .into_iter()
            .map(|(name, state)| (name, JobState { running: None, ..state }))
            .collect();
        *self = Jobs::new(specs, idle, now);
        for (name, state) in &mut self.states {
            state.running = running.get(name).cloned().flatten();
        }
    }

    /// Everything that is due, and what has taken too long.
    pub fn tick(&mut self, now: Millis) -> Vec<JobEffect> {
        let mut effects = Vec::new();
        for (name, spec) in &self.specs {
            let Some(state) = self.states.get_mut(name) else { continue };
            if let Some(running) = &mut state.running {
                let overdue = now.get() - running.deadline_unix_ms;
                let (job, run) = (name.clone(), running.run.clone());
                if overdue >= spec.timeout_ms {
                    state.end(spec, JobEnding::TimedOut, "did not stop when asked to", now, 0);
                    effects.push(JobEffect::Abandon { job, run });
                } else if overdue >= 0 && !running.cancelled {
                    running.cancelled = true;
                    effects.push(JobEffect::Cancel { job, run });
                }
            } else if !state.paused && now.get() >= state.next_unix_ms && state.breaker.admit(now) {
                effects.push(state.start(spec, JobCause::Due, now));
            }
        }
        effects
    }

    /// Starts a job now, also when it is paused or its breaker is open: somebody wants to see what happens.
    pub fn run_now(&mut self, job: &str, now: Millis) -> Result<JobEffect> {
        let (spec, state) = self.both(job)?;
        if let Some(running) = &state.running {
            let run = running.run.clone();
            return Err(MindError::JobRunning { job: job.to_owned(), run });
        }
        Ok(state.start(spec, JobCause::Asked, now))
    }

    /// A run answers. `chance` decides the jitter of the next one.
    pub fn ended(
        &mut self,
        job: &str,
        run: &str,
        outcome: std::result::Result<String, String>,
        now: Millis,
        chance: JitterSource<'_>,
    ) -> Result<&JobReport> {
        let (spec, state) = self.both(job)?;
        let cancelled = match &state.running {
            Some(running) if running.run == run => running.cancelled,
            _ => return Err(MindError::NotThatRun { job: job.to_owned(), run: run.to_owned() }),
        };
        let jitter = u64::try_from(spec.jitter_ms).unwrap_or(0);
        let jitter = i64::try_from(chance(jitter).min(jitter)).unwrap_or(0);
        match outcome {
            Ok(summary) => state.end(spec, JobEnding::Succeeded, &summary, now, jitter),
            Err(why) if cancelled => state.end(spec, JobEnding::TimedOut, &why, now, jitter),
            Err(why) => state.end(spec, JobEnding::Failed, &why, now, jitter),
        }
        Ok(state.reports.back().expect("a run that ended left its report"))
    }

    /// Closes the breakers of all jobs. Returns the names of those that were not closed.
    pub fn close_breakers(&mut self) -> Vec<String> {
        let mut open = Vec::new();
        for (name, state) in &mut self.states {
            if state.breaker.circuit != Circuit::Closed {
                open.push(format!("job:{name}"));
            }
            state.breaker.close();
        }
        open
    }

    pub fn pause(&mut self, job: &str) -> Result<()> {
        self.both(job)?.1.paused = true;
        Ok(())
    }

    pub fn resume(&mut self, job: &str) -> Result<()> {
        self.both(job)?.1.paused = false;
        Ok(())
    }

    pub fn view(&self) -> Vec<JobStatus> {
        let view = |(name, spec): (&String, &JobSpec)| {
            let state = self.states.get(name)?;
            let waits = state.running.is_none() && !state.paused;
            Some(JobStatus {
                name: name.clone(),
                about: spec.about.clone(),
                interval_ms: spec.interval_ms,
                paused: state.paused,
                next_unix_ms: waits.then(|| state.next()),
                running: state.running.clone(),
                breaker: state.breaker.clone(),
                last: state.reports.back().cloned(),
                runs: state.runs,
            })
        };
        self.specs.iter().filter_map(view).collect()
    }

    fn both(&mut self, job: &str) -> Result<(&JobSpec, &mut JobState)> {
        let unknown = || MindError::UnknownJob(job.chars().take(64).collect());
        let spec = self.specs.get(job).ok_or_else(unknown)?;
        let state = self.states.get_mut(job).ok_or_else(unknown)?;
        Ok((spec, state))
    }
}

impl JobState {
    fn start(&mut self, spec: &JobSpec, cause: JobCause, now: Millis) -> JobEffect {
        self.runs += 1;
        let run = format!("{}-{}-{}", spec.name, now.get(), self.runs);
        let deadline = now.get().saturating_add(spec.timeout_ms);
        self.running = Some(JobRun {
            run: run.clone(),
            cause,
            started_unix_ms: now.get(),
            deadline_unix_ms: deadline,
            cancelled: false,
        });
        JobEffect::Start { job: spec.name.clone(), run, cause, deadline: Millis(deadline) }
    }

    fn end(&mut self, spec: &JobSpec, ending: JobEnding, summary: &str, now: Millis, jitter: i64) {
        let Some(running) = self.running.take() else { return };
        self.report(&running, ending, summary, now);
        let wait = if ending == JobEnding::Succeeded {
            self.breaker.succeeded(now);
            spec.interval_ms.saturating_add(jitter)
        } else {
            self.breaker.failed(summary, spec.breaker, now);
            let doublings = self.breaker.failures.saturating_sub(1).min(30);
            let wait = spec.backoff_ms.saturating_mul(1 << doublings);
            wait.min(spec.backoff_max_ms).min(spec.interval_ms).saturating_add(jitter)
        };
        self.next_unix_ms = now.get().saturating_add(wait);
    }

    fn report(&mut self, running: &JobRun, ending: JobEnding, summary: &str, now: Millis) {
        if self.reports.len() == REPORTS_MAX {
            self.reports.pop_front();
        }
        self.reports.push_back(JobReport {
            run: running.run.clone(),
            cause: running.cause,
            started_unix_ms: running.started_unix_ms,
            ended_unix_ms: now.get(),
            ending,
            summary: summary.chars().take(SUMMARY_CHARS_MAX).collect(),
        });
    }

    /// When the job runs next, its breaker included.
    fn next(&self) -> i64 {
        match self.breaker.circuit {
            crate::breaker::Circuit::Open { until_unix_ms } => self.next_unix_ms.max(until_unix_ms),
            _ => self.next_unix_ms,
        }
    }
}
