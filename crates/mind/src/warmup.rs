//! Warm-up: store, embedder and bulletin are made ready before the first request; without it requests are served all
//! the same.
//!
//! What must stay true: `ready_for_work` is true only when warm with a bulletin; a pass that fails, hangs or is
//! interrupted ends in Degraded with the reason and never stays Warming; a periodic refresh keeps the state; every
//! dispatch before readiness is counted with its labels and runs.

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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> Millis {
        Millis(secs * 1_000)
    }

    fn warm() -> Warmup {
        let mut warmup = Warmup::new("ada", None);
        warmup.tick(&WarmupSettings::default(), at(0));
        for step in [WarmStep::Store, WarmStep::Embedder, WarmStep::Bulletin] {
            warmup.step_done(1, step, Ok(()), at(1));
        }
        warmup
    }

    // mind 28-32
    #[test]
    fn the_bulletin_is_made_again_when_it_has_no_age_or_is_old_enough() {
        let settings = WarmupSettings::default();
        let status = |last: Option<i64>, age: Option<u64>| WarmupStatus {
            last_refresh_unix_ms: last,
            bulletin_age_secs: age,
            ..WarmupStatus::default()
        };
        let due = |status: &WarmupStatus| should_generate_bulletin(&settings, status, at(10_000));
        assert!(due(&status(None, None)));
        assert!(!due(&status(None, Some(3_599))) && due(&status(None, Some(3_600))));
        assert!(!due(&status(Some(6_401_000), Some(9_999))) && due(&status(Some(6_400_000), None)));
        assert!(!due(&status(Some(99_000_000), None)), "a clock that was set back");
        let zero = WarmupSettings { refresh_secs: 0, ..WarmupSettings::default() };
        assert!(!should_generate_bulletin(&zero, &status(Some(10_000_000), None), at(10_000)));
        assert!(should_generate_bulletin(&zero, &status(Some(9_999_000), None), at(10_000)));
    }

    // mind 34, 35
    #[test]
    fn the_status_has_the_seeds_fields_and_states() {
        let status = WarmupStatus {
            state: WarmupState::Degraded,
            last_refresh_unix_ms: Some(-5_i64),
            bulletin_age_secs: Some(7_u64),
            last_error: Some("no store".to_owned()),
        };
        let text = serde_json::to_string(&status).unwrap();
        assert_eq!(
            text,
            r#"{"state":"degraded","last_refresh_unix_ms":-5,"bulletin_age_secs":7,"last_error":"no store"}"#
        );
        assert_eq!(serde_json::from_str::<WarmupStatus>(&text).unwrap(), status);
        for state in ["cold", "warming", "warm", "degraded"] {
            let read: WarmupState = serde_json::from_str(&format!("{state:?}")).unwrap();
            assert_eq!(read.name(), state);
        }
    }

    // mind 45
    #[test]
    fn ready_means_warm_with_a_refresh() {
        for state in
            [WarmupState::Cold, WarmupState::Warming, WarmupState::Warm, WarmupState::Degraded]
        {
            for last_refresh_unix_ms in [None, Some(1)] {
                let status =
                    WarmupStatus { state, last_refresh_unix_ms, ..WarmupStatus::default() };
                let ready = state == WarmupState::Warm && last_refresh_unix_ms.is_some();
                assert_eq!(status.ready_for_work(), ready);
            }
        }
    }

    // mind 33, 35-41
    #[test]
    fn a_pass_warms_store_embedder_and_bulletin() {
        let mut warmup = Warmup::new("ada", None);
        assert_eq!(warmup.status(at(0)).state, WarmupState::Cold);
        let effects = warmup.tick(&WarmupSettings::default(), at(0));
        let steps: Vec<&WarmupEffect> =
            effects.iter().filter(|e| matches!(e, WarmupEffect::Do { .. })).collect();
        assert_eq!(steps.len(), 3);
        assert_eq!(warmup.status(at(0)).state, WarmupState::Warming);
        assert!(warmup.tick(&WarmupSettings::default(), at(0)).is_empty(), "one at a time");
        let warmup = warm();
        assert!(warmup.status(at(1)).ready_for_work());
        assert_eq!(warmup.status(at(61)).bulletin_age_secs, Some(60));
    }

    // mind 42, 43
    #[test]
    fn a_pass_that_fails_or_hangs_is_degraded_with_its_reason_and_tried_again() {
        let settings = WarmupSettings::default();
        let mut warmup = Warmup::new("ada", None);
        warmup.tick(&settings, at(0));
        warmup.step_done(1, WarmStep::Embedder, Err("no model".into()), at(1));
        warmup.step_done(1, WarmStep::Store, Ok(()), at(1));
        assert!(warmup.tick(&settings, at(29)).is_empty());
        warmup.tick(&settings, at(30));
        let status = warmup.status(at(30));
        assert_eq!(status.state, WarmupState::Degraded);
        assert_eq!(status.last_error.as_deref(), Some("no model; bulletin did not end in time"));
        assert!(warmup.step_done(1, WarmStep::Bulletin, Ok(()), at(31)).is_empty(), "too late");
        assert!(warmup.tick(&settings, at(59)).is_empty(), "not at once");
        assert!(!warmup.tick(&settings, at(60)).is_empty());
        warmup.tick(&settings, at(90));
        assert!(
            warmup.tick(&settings, at(149)).is_empty()
                && !warmup.tick(&settings, at(150)).is_empty()
        );
    }

    // mind 27, 46, 47
    #[test]
    fn a_refresh_is_due_every_refresh_secs_and_the_state_stays_warm() {
        let settings = WarmupSettings::default();
        let mut warmup = warm();
        let mut refreshes = Vec::new();
        for second in 1..=7_300 {
            for effect in warmup.tick(&settings, at(second)) {
                assert_eq!(effect, WarmupEffect::Refresh);
                assert_eq!(warmup.status(at(second)).state, WarmupState::Warm);
                refreshes.push(second);
                warmup.refreshed(Ok(()), at(second));
            }
        }
        assert_eq!(refreshes, [3_601, 7_201]);
        warmup.refreshed(Err("disk full".into()), at(7_301));
        assert_eq!(warmup.status(at(7_301)).state, WarmupState::Degraded);
        warmup.refreshed(Ok(()), at(7_302));
        assert_eq!(warmup.status(at(7_302)).last_error, None);
    }

    // mind 44, 48-51, 134
    #[test]
    fn a_cold_dispatch_is_counted_with_its_labels_and_a_warm_one_is_not() {
        let mut warmup = Warmup::new("ada", None);
        for process in [ProcessType::Channel, ProcessType::Worker, ProcessType::Channel] {
            assert!(warmup.dispatch(process));
        }
        assert_eq!(warmup.cold_dispatch_total(), [("ada", "channel", 2), ("ada", "worker", 1)]);
        assert!(!warm().dispatch(ProcessType::Channel));
    }

    #[test]
    fn switched_off_it_stays_cold() {
        let off = WarmupSettings { enabled: false, ..WarmupSettings::default() };
        let mut warmup = Warmup::new("ada", Some(at(0)));
        assert!(warmup.tick(&off, at(9_999)).is_empty());
        assert_eq!(warmup.status(at(1)).state, WarmupState::Cold);
    }
}
