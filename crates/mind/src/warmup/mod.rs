//! Warm-up: store, embedder and bulletin are made ready before the first request; without it requests are served all
//! the same.
//!
//! What must stay true: `ready_for_work` is true only when warm with a bulletin; a pass that fails, hangs or is
//! interrupted ends in Degraded with the reason and never stays Warming; a periodic refresh keeps the state; every
//! dispatch before readiness is counted with its labels and runs.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use kernel::memory::Millis;
use serde::{Deserialize, Serialize};

use crate::settings::{WarmupSettings, secs_ms};

/// Wait after the first pass that failed; doubles.
const RETRY_MS: i64 = 30_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarmupState {
    /// Not warmed up yet.
    #[default]
    Cold,
    Warming,
    /// Ready for work.
    Warm,
    /// Warm-up failed; the agent works all the same.
    Degraded,
}

impl WarmupState {
    pub fn name(self) -> &'static str {
        match self {
            WarmupState::Cold => "cold",
            WarmupState::Warming => "warming",
            WarmupState::Warm => "warm",
            WarmupState::Degraded => "degraded",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmupStatus {
    pub state: WarmupState,
    pub last_refresh_unix_ms: Option<i64>,
    /// Age of the bulletin, for callers that know the age and not the time of the refresh.
    pub bulletin_age_secs: Option<u64>,
    pub last_error: Option<String>,
}

impl WarmupStatus {
    pub fn ready_for_work(&self) -> bool {
        self.state == WarmupState::Warm && self.last_refresh_unix_ms.is_some()
    }

    fn age_secs(&self, now: Millis) -> Option<u64> {
        let since =
            |at: i64| u64::try_from(now.get().saturating_sub(at).max(0) / 1_000).unwrap_or(0);
        self.last_refresh_unix_ms.map(since).or(self.bulletin_age_secs)
    }
}

/// True if the bulletin is to be looked at again: never refreshed, or as old as `refresh_secs`.
pub fn should_generate_bulletin(
    settings: &WarmupSettings,
    status: &WarmupStatus,
    now: Millis,
) -> bool {
    status.age_secs(now).is_none_or(|age| age >= settings.refresh_secs.max(1))
}

/// What begins work, as a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessType {
    Channel,
    Branch,
    Worker,
    Cron,
}

impl ProcessType {
    pub fn name(self) -> &'static str {
        match self {
            ProcessType::Channel => "channel",
            ProcessType::Branch => "branch",
            ProcessType::Worker => "worker",
            ProcessType::Cron => "cron",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarmStep {
    /// Open the actor and read its root.
    Store,
    /// Embed a word, so that the model is in memory.
    Embedder,
    /// Gather and publish the bulletin.
    Bulletin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WarmupEffect {
    /// Do this and answer with `Warmup::step_done` and the number of the pass.
    Do { pass: u64, step: WarmStep },
    /// Make the bulletin again; answer with `Warmup::refreshed`.
    Refresh,
    /// The state changed; for metrics and listeners.
    Changed(WarmupState),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Pass {
    number: u64,
    waiting: BTreeSet<WarmStep>,
    errors: Vec<String>,
    deadline: Millis,
}

#[derive(Clone, Debug)]
pub struct Warmup {
    agent_id: String,
    status: WarmupStatus,
    pass: Option<Pass>,
    passes: u64,
    refreshing: bool,
    /// Passes that failed in a row, and when the next may begin.
    failures: u32,
    retry: Millis,
    cold: BTreeMap<ProcessType, u64>,
}

impl Warmup {
    /// A new start is cold, but a bulletin kept from last time tells when it was made.
    pub fn new(agent_id: &str, last_refresh: Option<Millis>) -> Warmup {
        let last_refresh_unix_ms = last_refresh.map(Millis::get);
        Warmup {
            agent_id: agent_id.to_owned(),
            status: WarmupStatus { last_refresh_unix_ms, ..WarmupStatus::default() },
            pass: None,
            passes: 0,
            refreshing: false,
            failures: 0,
            retry: Millis(i64::MIN),
            cold: BTreeMap::new(),
        }
    }

    pub fn status(&self, now: Millis) -> WarmupStatus {
        WarmupStatus { bulletin_age_secs: self.status.age_secs(now), ..self.status.clone() }
    }

    /// Begins a pass. The caller made sure that none is under way.
    fn begin(&mut self, settings: &WarmupSettings, now: Millis) -> Vec<WarmupEffect> {
        self.passes += 1;
        let mut waiting = BTreeSet::from([WarmStep::Store, WarmStep::Bulletin]);
        if settings.eager_embedding_load {
            waiting.insert(WarmStep::Embedder);
        }
        let (number, errors) = (self.passes, Vec::new());
        let deadline = Millis(now.get().saturating_add(secs_ms(settings.pass_timeout_secs)));
        let mut effects = self.become_state(WarmupState::Warming);
        effects.extend(waiting.iter().map(|step| WarmupEffect::Do { pass: number, step: *step }));
        self.status.last_error = None;
        self.pass = Some(Pass { number, waiting, errors, deadline });
        effects
    }

    /// A step of a pass ended. Answers of an older pass are ignored.
    pub fn step_done(
        &mut self,
        pass: u64,
        step: WarmStep,
        outcome: Result<(), String>,
        now: Millis,
    ) -> Vec<WarmupEffect> {
        let Some(running) = self.pass.as_mut().filter(|running| running.number == pass) else {
            return Vec::new();
        };
        if !running.waiting.remove(&step) {
            return Vec::new();
        }
        if let Err(error) = outcome {
            running.errors.push(error);
        } else if step == WarmStep::Bulletin {
            self.status.last_refresh_unix_ms = Some(now.get());
        }
        if running.waiting.is_empty() { self.finish(now) } else { Vec::new() }
    }

    fn finish(&mut self, now: Millis) -> Vec<WarmupEffect> {
        let Some(pass) = self.pass.take() else { return Vec::new() };
        let wait = RETRY_MS.saturating_mul(1 << self.failures.min(10));
        self.retry = Millis(now.get().saturating_add(wait));
        self.failures = if pass.errors.is_empty() { 0 } else { self.failures + 1 };
        if pass.errors.is_empty() {
            return self.become_state(WarmupState::Warm);
        }
        self.status.last_error = Some(pass.errors.join("; "));
        self.become_state(WarmupState::Degraded)
    }

    /// Time goes on: a pass that takes too long fails, a bulletin that is too old is made again, a warm-up that
    /// failed without one is tried again, each time after a longer wait.
    pub fn tick(&mut self, settings: &WarmupSettings, now: Millis) -> Vec<WarmupEffect> {
        if let Some(pass) = &mut self.pass {
            if now < pass.deadline {
                return Vec::new();
            }
            let late: Vec<String> = pass.waiting.iter().map(|step| format!("{step:?}")).collect();
            pass.errors.push(format!("{} did not end in time", late.join(", ").to_lowercase()));
            return self.finish(now);
        }
        let due = should_generate_bulletin(settings, &self.status, now);
        if !settings.enabled || self.refreshing {
            return Vec::new();
        }
        match self.status.state {
            WarmupState::Warm if due => {
                self.refreshing = true;
                vec![WarmupEffect::Refresh]
            }
            WarmupState::Cold => self.begin(settings, now),
            WarmupState::Degraded if due && now >= self.retry => self.begin(settings, now),
            _ => Vec::new(),
        }
    }

    /// A bulletin was made or looked at outside of a pass.
    pub fn refreshed(&mut self, outcome: Result<(), String>, now: Millis) -> Vec<WarmupEffect> {
        self.refreshing = false;
        match outcome {
            Ok(()) => {
                self.status.last_refresh_unix_ms = Some(now.get());
                self.status.bulletin_age_secs = None;
                if self.pass.is_some() || self.status.state == WarmupState::Cold {
                    return Vec::new();
                }
                self.status.last_error = None;
                self.become_state(WarmupState::Warm)
            }
            Err(error) => {
                self.status.last_error = Some(error);
                if self.pass.is_some() {
                    Vec::new()
                } else {
                    self.become_state(WarmupState::Degraded)
                }
            }
        }
    }

    /// Something begins to work. It runs in any case; if the agent is not ready, this is counted, and true is returned.
    pub fn dispatch(&mut self, process_type: ProcessType) -> bool {
        let is_cold = !self.status.ready_for_work();
        if is_cold {
            *self.cold.entry(process_type).or_default() += 1;
        }
        is_cold
    }

    pub fn agent_id(&self) -> &str {
        &self.agent_id
    }

    /// `cold_dispatch_total` by its labels: agent id, process type, count.
    pub fn cold_dispatch_total(&self) -> Vec<(&str, &'static str, u64)> {
        let label = |(process, count): (&ProcessType, &u64)| {
            (self.agent_id.as_str(), process.name(), *count)
        };
        self.cold.iter().map(label).collect()
    }

    fn become_state(&mut self, state: WarmupState) -> Vec<WarmupEffect> {
        if self.status.state == state {
            return Vec::new();
        }
        self.status.state = state;
        vec![WarmupEffect::Changed(state)]
    }
}
