//! The mind of one actor as a state machine: what happened goes in, what the daemon is to do comes out.
//!
//! [`Mind`] owns the jobs, the bulletins of both audiences, warm-up, supervision, budget and breakers, and connects
//! them. Reads of the store are effects too: the daemon calls `bulletin::gather`, `maintenance::plan` or
//! `PatternLook::plan` with a reading and brings the result back.
//!
//! - `event`: events, effects, and the model that may write.
//! - `bulletin_run`: how a bulletin gets written. `spending`: calls to models that runs of talents make.
//!
//! What must stay true: every call to a model passed its breaker and has a reservation, and every reservation is
//! settled; a job that started ends; the same events at the same times give the same effects.

mod bulletin_run;
mod event;
mod spending;

use std::collections::BTreeMap;

use kernel::memory::Millis;
use serde::{Deserialize, Serialize};
use text::analyze::Language;

use bulletin_run::BulletinRun;
pub use event::{MindEffect, MindEvent, ModelAnswer, ModelFailure, ModelProvider};

use crate::audience::Audience;
use crate::breaker::{BreakerPolicy, Breakers};
use crate::budget::ModelBudget;
use crate::bulletin::{Bulletin, BulletinState, BulletinStep, ModelUse};
use crate::error::Result;
use crate::jobs::{JitterSource, JobEffect, JobSpec, JobStates, Jobs};
use crate::maintenance::{self, MaintenanceState};
use crate::patterns::{self, PatternLook, PatternWatch};
use crate::settings::{MindSettings, hours_ms, secs_ms};
use crate::supervision::{ProcessEvent, ProcessSupervisor};
use crate::warmup::{WarmStep, Warmup, WarmupEffect};

/// Name of the bulletin's job.
pub const BULLETIN: &str = "bulletin";
/// Name of the job that keeps pages current.
pub const PAGES: &str = "pages";
/// Pages that a model words in one run; the others wait for the next.
pub const PAGE_CALLS_MAX: u32 = 4;

/// What is kept over a restart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MindState {
    pub jobs: JobStates,
    pub owner: BulletinState,
    pub shared: BulletinState,
    pub maintenance: MaintenanceState,
    pub watch: PatternWatch,
    pub budget: ModelBudget,
    pub breakers: Breakers,
}

impl Default for MindState {
    fn default() -> MindState {
        MindState {
            jobs: JobStates::new(),
            owner: BulletinState::new(Audience::Owner),
            shared: BulletinState::new(Audience::Shared),
            maintenance: MaintenanceState::default(),
            watch: PatternWatch::default(),
            budget: ModelBudget::default(),
            breakers: Breakers::default(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Mind {
    pub settings: MindSettings,
    pub provider: Option<ModelProvider>,
    pub jobs: Jobs,
    pub owner: BulletinState,
    pub shared: BulletinState,
    pub warmup: Warmup,
    pub supervisor: ProcessSupervisor,
    pub maintenance: MaintenanceState,
    watch: PatternWatch,
    /// Raised when a look is merged or the watch is emptied: a look of an earlier round is too late.
    watch_round: u64,
    pub budget: ModelBudget,
    pub breakers: Breakers,
    /// Reservations of calls under way, by run.
    calls: BTreeMap<String, u64>,
    /// The pass of a warm-up that waits for the bulletin.
    warming: Option<u64>,
    looked: Option<Millis>,
}

/// What the names of providers' breakers begin with.
pub(crate) const PROVIDER: &str = "provider:";

fn tool_breaker(tool: &str) -> String {
    format!("tool:{tool}")
}

/// The jobs that settings describe.
fn job_specs(settings: &MindSettings) -> Vec<JobSpec> {
    let policy = BreakerPolicy::of(&settings.cortex);
    let refresh = secs_ms(settings.warmup.refresh_secs.max(1));
    let about = "gathers what matters and writes the memory bulletin";
    let bulletin = JobSpec {
        timeout_ms: secs_ms(settings.bulletin.model_timeout_secs).saturating_mul(3).max(60_000),
        first_after_ms: refresh,
        ..JobSpec::new(BULLETIN, about, refresh, policy)
    };
    let hours = hours_ms(settings.cortex.maintenance_interval_hours);
    let about = "forgets what has faded, archives what is over, joins what says the same";
    let maintenance = JobSpec {
        first_after_ms: hours / 24,
        ..JobSpec::new(maintenance::JOB, about, hours, policy)
    };
    let minutes = secs_ms(settings.patterns.interval_minutes.saturating_mul(60));
    let about = "turns what repeats into observations";
    let patterns =
        JobSpec { first_after_ms: minutes, ..JobSpec::new(patterns::JOB, about, minutes, policy) };
    let about = "answers the questions that stand, and lets a model word what is new";
    let calls = secs_ms(settings.bulletin.model_timeout_secs).saturating_mul(PAGE_CALLS_MAX.into());
    let pages = JobSpec {
        timeout_ms: calls.saturating_add(60_000),
        first_after_ms: refresh,
        ..JobSpec::new(PAGES, about, refresh, policy)
    };
    vec![bulletin, maintenance, patterns, pages]
}

impl Mind {
    pub fn new(
        agent_id: &str,
        settings: MindSettings,
        provider: Option<ModelProvider>,
        state: MindState,
        now: Millis,
    ) -> Mind {
        let MindState { jobs, owner, shared, maintenance, watch, budget, breakers } = state;
        // A bulletin that was kept serves readers at once, but the mind is ready only after a warm-up pass.
        let refreshed = owner.refreshed_unix_ms.map(Millis);
        // Whoever starts again may have mended what failed: a key, a network, an address.
        let mut breakers = breakers;
        breakers.close(PROVIDER);
        Mind {
            jobs: Jobs::new(job_specs(&settings), jobs, now),
            warmup: Warmup::new(agent_id, refreshed),
            supervisor: ProcessSupervisor::default(),
            watch_round: 0,
            calls: BTreeMap::new(),
            warming: None,
            looked: None,
            settings,
            provider,
            owner,
            shared,
            maintenance,
            watch,
            budget,
            breakers,
        }
    }

    pub fn state(&self) -> MindState {
        MindState {
            jobs: self.jobs.states().clone(),
            owner: self.owner.clone(),
            shared: self.shared.clone(),
            maintenance: self.maintenance.clone(),
            watch: self.watch.clone(),
            budget: self.budget.clone(),
            breakers: self.breakers.clone(),
        }
    }

    /// New settings and another model, or none, count at once.
    pub fn reconfigure(
        &mut self,
        settings: MindSettings,
        provider: Option<ModelProvider>,
        now: Millis,
    ) -> Result<()> {
        settings.validate()?;
        // Whoever changed a setting may have mended what failed.
        self.breakers.close(PROVIDER);
        self.jobs.reconfigure(job_specs(&settings), now);
        self.settings = settings;
        self.provider = provider;
        Ok(())
    }

    /// The bulletin for an audience, as it is now.
    pub fn bulletin(&self, audience: &Audience) -> Option<&Bulletin> {
        match audience {
            Audience::Owner => self.owner.current.as_ref(),
            Audience::Shared => self.shared.current.as_ref(),
        }
    }

    /// Starts a job because somebody asked. `model` counts for this run alone; only bulletin and pages ask one.
    pub fn run_now(&mut self, job: &str, model: ModelUse, now: Millis) -> Result<Vec<MindEffect>> {
        let effect = self.jobs.run_now(job, now)?;
        Ok(job_effect(effect, model))
    }

    pub fn handle(
        &mut self,
        event: MindEvent,
        now: Millis,
        chance: JitterSource<'_>,
    ) -> Vec<MindEffect> {
        match event {
            MindEvent::Tick => self.tick(now, chance),
            MindEvent::Gathered { run, audience, model, outcome } => {
                let run = BulletinRun { run: &run, audience: &audience, model };
                self.gathered(run, outcome, now, chance)
            }
            MindEvent::Answered { run, outcome } => self.answered(&run, outcome, now, chance),
            MindEvent::Warmed { pass, step, outcome } => {
                let effects = self.warmup.step_done(pass, step, outcome, now);
                self.warmup_effects(effects, now)
            }
            MindEvent::Maintained { run, outcome } => {
                let outcome = outcome.map(|(summary, state)| {
                    self.maintenance = state;
                    summary
                });
                self.job_ended(maintenance::JOB, &run, outcome, now, chance)
            }
            MindEvent::PatternsFound { run, outcome } => {
                self.job_ended(patterns::JOB, &run, outcome, now, chance)
            }
            MindEvent::PagesWritten { run, outcome } => {
                self.job_ended(PAGES, &run, outcome, now, chance)
            }
            MindEvent::Process(event) => {
                if let ProcessEvent::ToolCompleted { tool_name, error, broken, .. } = &event {
                    self.tool_ended(tool_name, error.as_deref(), *broken, now);
                }
                let effects = self.supervisor.observe(&event, now);
                effects.into_iter().map(MindEffect::Supervise).collect()
            }
            MindEvent::Dispatched(process_type) if self.warmup.dispatch(process_type) => {
                let agent_id = self.warmup.agent_id().to_owned();
                vec![MindEffect::ColdDispatch { agent_id, process_type }]
            }
            MindEvent::Dispatched(_) => Vec::new(),
        }
    }

    /// Begins a look for patterns. Its topics are counted in `language`, the one that the actor's texts are read in.
    pub fn patterns_input(&self, language: Language) -> PatternLook {
        let settings = self.settings.patterns.clone();
        PatternLook::new(self.watch.clone(), settings, language, self.watch_round)
    }

    /// Takes over what a look observed, beside what was observed elsewhere meanwhile.
    ///
    /// False if the look is too late, because another one was taken over or something was erased since it began; then
    /// nothing is changed, and its plan must not be carried out.
    #[must_use]
    pub fn apply_patterns(&mut self, look: PatternLook) -> bool {
        if look.round != self.watch_round {
            return false;
        }
        self.watch_round += 1;
        look.merge_into(&mut self.watch);
        true
    }

    /// The text of a memory or prompt was erased: nothing that may hold it is kept. What people said is to be
    /// observed again from the journal, without what was erased.
    pub fn erase(&mut self, id: u64) {
        self.owner.erase(id);
        self.shared.erase(id);
        self.watch = PatternWatch::default();
        self.watch_round += 1;
    }

    /// Closes every breaker, of jobs too, and lets the bulletin's model be asked again. Says what was open.
    pub fn reset(&mut self) -> Vec<String> {
        let mut closed = self.breakers.close("");
        closed.extend(self.jobs.close_breakers());
        self.owner.reset();
        self.shared.reset();
        closed
    }

    /// A provider answered somebody: it works again, whoever asked.
    pub fn provider_answered(&mut self, provider: &str, now: Millis) {
        self.breakers.succeeded(&format!("{PROVIDER}{provider}"), now);
    }

    /// May a tool be used now? One that keeps failing is left alone for a while, then tried once. Says why not.
    pub fn may_use_tool(&mut self, tool: &str, now: Millis) -> std::result::Result<(), String> {
        let name = tool_breaker(tool);
        if self.breakers.admit(&name, now) {
            return Ok(());
        }
        let error = self.breakers.get(&name).and_then(|breaker| breaker.last_error.as_deref());
        let error = error.unwrap_or("it failed");
        Err(format!("the tool {tool} keeps failing ({error}) and is left alone for a while"))
    }

    /// A tool ended: its breaker and the patterns learn of it. A call that asked wrongly says nothing about the tool.
    fn tool_ended(&mut self, tool: &str, error: Option<&str>, broken: bool, now: Millis) {
        let policy = BreakerPolicy::of(&self.settings.cortex);
        let name = tool_breaker(tool);
        match error {
            None => self.breakers.succeeded(&name, now),
            Some(error) if broken => {
                self.breakers.failed(&name, error, policy, now);
            }
            Some(_) => {}
        }
        self.watch.observe_tool(tool, error, now);
    }

    fn tick(&mut self, now: Millis, chance: JitterSource<'_>) -> Vec<MindEffect> {
        let mut effects = Vec::new();
        self.budget.expire(now);
        for audience in [Audience::Owner, Audience::Shared] {
            let settings = &self.settings.bulletin;
            let run = self.waiting_run(&audience);
            let late = match audience {
                Audience::Owner => self.owner.tick(settings, now),
                Audience::Shared => self.shared.tick(settings, now),
            };
            let Some(late) = late else { continue };
            if let Some(run) = run {
                self.model_failed(&run, "the model did not answer in time", now);
                // A model writes only in a run that may ask one.
                let model = ModelUse::Allowed;
                let run = BulletinRun { run: &run, audience: &audience, model };
                let step = BulletinStep::publish(late);
                effects.extend(self.bulletin_effects(run, step, now, chance));
            } else {
                // The job was given up before its model was; what the rules wrote is published all the same.
                effects.push(MindEffect::Publish(late));
            }
        }
        let due = self.jobs.tick(now);
        effects.extend(due.into_iter().flat_map(|effect| job_effect(effect, ModelUse::Allowed)));
        let warm = self.warmup.tick(&self.settings.warmup, now);
        effects.extend(self.warmup_effects(warm, now));
        let every = secs_ms(self.settings.supervision.tick_secs);
        if self.looked.is_none_or(|last| now.get() - last.get() >= every) {
            self.looked = Some(now);
            let seen = self.supervisor.tick(&self.settings.supervision, now);
            effects.extend(seen.into_iter().map(MindEffect::Supervise));
        }
        effects
    }

    /// The run in which a model writes for this audience, if one does.
    fn waiting_run(&self, audience: &Audience) -> Option<String> {
        let waits = match audience {
            Audience::Owner => self.owner.is_waiting(),
            Audience::Shared => self.shared.is_waiting(),
        };
        let running = self.jobs.states().get(BULLETIN)?.running.as_ref()?;
        waits.then(|| running.run.clone())
    }

    fn job_ended(
        &mut self,
        job: &str,
        run: &str,
        outcome: std::result::Result<String, String>,
        now: Millis,
        chance: JitterSource<'_>,
    ) -> Vec<MindEffect> {
        // A run that was given up has its report already.
        match self.jobs.ended(job, run, outcome, now, chance) {
            Ok(_) => vec![MindEffect::Persist],
            Err(_) => Vec::new(),
        }
    }

    fn warmup_effects(&mut self, effects: Vec<WarmupEffect>, now: Millis) -> Vec<MindEffect> {
        let mut out = Vec::new();
        for effect in effects {
            match effect {
                WarmupEffect::Do { pass, step: WarmStep::Bulletin } => {
                    self.warming = Some(pass);
                    // If a bulletin is being made already, the pass waits for that run.
                    out.extend(self.run_now(BULLETIN, ModelUse::Allowed, now).unwrap_or_default());
                }
                WarmupEffect::Do { pass, step } => out.push(MindEffect::Warm { pass, step }),
                WarmupEffect::Refresh => {
                    out.extend(self.run_now(BULLETIN, ModelUse::Allowed, now).unwrap_or_default());
                }
                WarmupEffect::Changed(_) => out.push(MindEffect::Persist),
            }
        }
        out
    }
}

/// What a job begins with, or how it is stopped.
fn job_effect(effect: JobEffect, model: ModelUse) -> Vec<MindEffect> {
    match effect {
        JobEffect::Start { job, run, .. } => {
            let start = match job.as_str() {
                BULLETIN => MindEffect::Gather { run, audience: Audience::Owner, model },
                maintenance::JOB => MindEffect::Maintain { run },
                PAGES => MindEffect::WritePages { run, model },
                _ => MindEffect::FindPatterns { run },
            };
            vec![start, MindEffect::Persist]
        }
        JobEffect::Cancel { job, run } => vec![MindEffect::StopJob { job, run, force: false }],
        JobEffect::Abandon { job, run } => vec![MindEffect::StopJob { job, run, force: true }],
    }
}
