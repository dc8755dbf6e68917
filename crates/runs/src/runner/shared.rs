//! What the intake, the owners and the recovery share: who runs, who waits, and what follows an end.
//!
//! One lock guards who runs and who waits; nothing under it waits or touches the disk.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::run::{LiveRun, RunEvent};
use jiff::tz::TimeZone;
use tokio::sync::{Notify, oneshot, watch};

use super::log::index::{RunIndex, day_of};
use super::log::tally::Tally;
use super::owner::Order;
use super::queue::Queue;
use super::request::ValidRequest;
use super::{Facts, Probe, RunObserver, RunnerSettings, RunnerStep, TalentFacts, TalentProgram};
use talents::bus::Hub;
use talents::clock::Timing;
use talents::confine::POLICY_VARIABLE;
use talents::{Layout, TalentName, UseId};

/// What went on behind the scenes since the start.
#[derive(Debug, Default)]
pub(super) struct RunnerTallies {
    pub(super) started: AtomicU64,
    pub(super) ended: AtomicU64,
    pub(super) rejected: AtomicU64,
    pub(super) late_lines: AtomicU64,
    pub(super) log_failures: AtomicU64,
    pub(super) signals_failed: AtomicU64,
}

#[derive(Debug)]
pub(super) struct RunSlot {
    pub(super) name: TalentName,
    pub(super) provider: String,
    /// The first line of the log.
    pub(super) request: RunEvent,
    pub(super) orders: watch::Sender<Option<Order>>,
    pub(super) turn: Option<oneshot::Sender<()>>,
    /// It has had its turn.
    pub(super) going: bool,
    pub(super) since: u64,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) live: BTreeMap<UseId, RunSlot>,
    pub(super) queue: Queue,
    pub(super) last_id: u64,
    pub(super) closing: bool,
}

impl State {
    /// An id that no live run has, and that was not given before.
    pub(super) fn next_id(&mut self) -> UseId {
        loop {
            self.last_id += 1;
            let id = UseId::from_millis(self.last_id);
            if !self.live.contains_key(&id) {
                return id;
            }
        }
    }
}

/// What owners, intake and recovery share.
#[derive(Debug)]
pub(super) struct RunnerContext {
    pub(super) layout: Layout,
    pub(super) hub: Hub,
    pub(super) timing: Timing,
    pub(super) settings: RunnerSettings,
    pub(super) program: TalentProgram,
    pub(super) counters: RunnerTallies,
    pub(super) zone: TimeZone,
    pub(super) facts: Arc<dyn TalentFacts>,
    pub(super) observer: Arc<dyn RunObserver>,
    pub(super) probe: Arc<dyn Probe>,
    pub(super) index: Mutex<RunIndex>,
    pub(super) state: Mutex<State>,
    pub(super) left: Notify,
    pub(super) last_failure: Mutex<Option<String>>,
}

impl RunnerContext {
    pub(super) fn probe(&self, step: RunnerStep) {
        self.probe.at(step);
    }

    pub(super) fn millis(&self) -> u64 {
        self.timing.clock.millis()
    }

    pub(super) fn index(&self) -> MutexGuard<'_, RunIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn failed(&self, what: &str, error: &io::Error) {
        self.counters.log_failures.fetch_add(1, Ordering::Relaxed);
        *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(format!("{what}: {error}"));
    }

    pub(super) fn timeout(&self, request: &ValidRequest, facts: &Facts) -> Duration {
        let max = Duration::from_secs(self.settings.timeout_seconds_max);
        let usual = Duration::from_secs(self.settings.timeout_seconds);
        request.timeout.or(facts.timeout).unwrap_or(usual).min(max)
    }

    /// Variables of a process: the few that every run has, over them the talent's, over them the request's, over them
    /// what says who and where it is.
    pub(super) fn environment(
        &self,
        request: &ValidRequest,
        facts: &Facts,
        run: &UseId,
    ) -> BTreeMap<String, Option<String>> {
        let base = facts.variables.base().iter();
        let base = base.map(|(name, value)| (name.clone(), Some(value.clone())));
        let mut env: BTreeMap<String, Option<String>> = base.collect();
        env.extend(facts.env.clone());
        env.extend(request.env.clone());
        let policy =
            facts.policy.clone().map(|policy| policy.with_scratch(self.layout.scratch(run)));
        // Made of paths and numbers, so it is always JSON; without it nothing may be reached at all.
        let policy = policy.map(|policy| serde_json::to_string(&policy).unwrap_or_default());
        let day = request.day.unwrap_or_else(|| day_of(&self.zone, run));
        let own = [
            ("CORTEX_HOME", Some(self.layout.home().to_string_lossy().into_owned())),
            ("CORTEX_USE_ID", Some(run.to_string())),
            // Without one it is the home's own, whatever the daemon was started with.
            ("CORTEX_ACTOR", request.shown.actor.clone()),
            ("CORTEX_DAY", Some(day.to_string())),
            ("CORTEX_FACET", request.facet.as_ref().map(ToString::to_string)),
            ("CORTEX_SEGMENT", request.segment.map(|segment| segment.to_string())),
            (POLICY_VARIABLE, policy),
        ];
        env.extend(own.map(|(name, value)| (name.to_owned(), value)));
        env
    }

    /// Everything that follows a durable end, in the order that a crash in between leaves to be done again.
    pub(super) fn settle(
        &self,
        tally: &Tally,
        run: &UseId,
        close: impl FnOnce() -> io::Result<()>,
    ) {
        let day = day_of(&self.zone, run);
        if let Some(ended) = tally.ended(day) {
            self.observer.ended(&ended);
            self.probe(RunnerStep::Observed);
            let added = self.index().add(ended.record);
            if let Err(error) = added {
                self.failed("day index", &error);
            }
        }
        self.probe(RunnerStep::Indexed);
        if let Err(error) = close() {
            self.failed("run log", &error);
        }
        self.probe(RunnerStep::Renamed);
    }

    /// A run is over: its slot is free for the next.
    pub(super) fn leave(&self, run: &UseId) {
        let mut state = self.state();
        if let Some(live) = state.live.remove(run) {
            if live.going {
                state.queue.done(live.name.as_str(), &live.provider);
            } else {
                state.queue.remove(run);
            }
            self.counters.ended.fetch_add(1, Ordering::Relaxed);
        }
        self.give_turns(&mut state);
        drop(state);
        self.left.notify_waiters();
    }

    pub(super) fn give_turns(&self, state: &mut State) {
        if state.closing {
            return;
        }
        while let Some(next) = state.queue.next() {
            let turn = state.live.get_mut(&next.run).and_then(|live| {
                live.going = true;
                live.turn.take()
            });
            match turn {
                Some(turn) => {
                    // An owner that has gone meanwhile gives the slot back when it leaves.
                    let _ = turn.send(());
                }
                None => state.queue.done(&next.talent, &next.provider),
            }
            self.counters.started.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn live_runs(&self) -> Vec<LiveRun> {
        let now = self.millis();
        let state = self.state();
        let text = |request: &RunEvent, key: &str| request.text(key).map(str::to_owned);
        let run = |(id, live): (&UseId, &RunSlot)| LiveRun {
            use_id: id.to_string(),
            name: live.name.to_string(),
            provider: live.provider.clone(),
            facet: text(&live.request, "facet"),
            parent: text(&live.request, "parent"),
            actor: text(&live.request, "actor"),
            channel: text(&live.request, "channel"),
            context: text(&live.request, "context"),
            position: state.queue.position(id),
            elapsed_seconds: Duration::from_millis(now.saturating_sub(live.since)).as_secs_f64(),
        };
        state.live.iter().map(run).collect()
    }
}
