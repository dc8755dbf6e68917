//! The intake: takes requests and orders, and answers what runs.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api::run::{RunReceipt, RunRejection, RunRequest, RunRequestError};
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use super::admission::Admission;
use super::log::index::RunIndex;
use super::owner::{Order, Owner};
use super::queue::{Queue, Waiting};
use super::recovery::{self, Recovery};
use super::report::{RunSelector, RunnerCounters, RunnerError, RunnerStatus};
use super::shared::{RunSlot, RunnerContext, RunnerTallies, State};
use super::{Probe, RunObserver, RunnerSettings, RunnerStep, TalentFacts, TalentProgram};
use talents::bus::{BusMessage, Hub, RUN_TOPIC, ServiceRequest};
use talents::clock::Timing;
use talents::{Layout, TalentName, UseId};

/// How often the bus tells what runs.
const STATUS_EVERY: Duration = Duration::from_secs(5);
/// How long a shutdown waits for runs beyond the grace they have.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(20);

/// What a runner is made of.
#[derive(Clone, Debug)]
pub struct RunnerParts {
    pub layout: Layout,
    pub hub: Hub,
    pub timing: Timing,
    pub settings: RunnerSettings,
    pub program: TalentProgram,
    pub facts: Arc<dyn TalentFacts>,
    pub observer: Arc<dyn RunObserver>,
    pub probe: Arc<dyn Probe>,
}

/// A handle to the runner; all clones are the same.
#[derive(Clone, Debug)]
pub struct Runner(pub(super) Arc<RunnerContext>);

impl Runner {
    /// Ends what an earlier daemon left, then serves `cortex/request` and `cortex/cancel` on the bus.
    pub async fn start(parts: RunnerParts) -> Result<(Runner, Recovery), RunnerError> {
        let zone = zone(&parts.settings.zone)?;
        let (layout, days_in) = (parts.layout.clone(), zone.clone());
        std::fs::create_dir_all(layout.runs())?;
        let index = tokio::task::spawn_blocking(move || RunIndex::open(&layout, days_in))
            .await
            .map_err(io::Error::other)??;
        let state = State {
            live: BTreeMap::new(),
            queue: Queue::new(parts.settings.clone()),
            last_id: 0,
            closing: false,
        };
        let shared = Arc::new(RunnerContext {
            layout: parts.layout,
            hub: parts.hub,
            timing: parts.timing,
            settings: parts.settings,
            program: parts.program,
            counters: RunnerTallies::default(),
            zone,
            facts: parts.facts,
            observer: parts.observer,
            probe: parts.probe,
            index: Mutex::new(index),
            state: Mutex::new(state),
            left: Notify::new(),
            last_failure: Mutex::default(),
        });
        let recovery = recovery::recover(&shared).await?;
        let newest = shared.index().rows().last().and_then(|row| row.use_id.parse().ok());
        shared.state().last_id = newest.unwrap_or(0);
        let runner = Runner(shared);
        let weak = Arc::downgrade(&runner.0);
        let mut service = runner.0.hub.serve(RUN_TOPIC, &["request", "cancel"]);
        tokio::spawn(async move {
            while let Some(inbound) = service.next().await {
                let Some(shared) = weak.upgrade() else { break };
                Runner(shared).answer(inbound).await;
            }
        });
        let weak = Arc::downgrade(&runner.0);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(STATUS_EVERY).await;
                let Some(shared) = weak.upgrade() else { break };
                Runner(shared).tell_status();
            }
        });
        Ok((runner, recovery))
    }

    async fn answer(&self, inbound: ServiceRequest) {
        let answer = if inbound.message.event() == "cancel" {
            match select(&inbound.message) {
                Ok(select) => {
                    let runs: Vec<String> =
                        self.cancel(&select).iter().map(ToString::to_string).collect();
                    json!({"cancelled": runs})
                }
                Err(rejection) => json!(RunReceipt::from(rejection)),
            }
        } else {
            let reference = inbound.message.reference().cloned();
            let request = RunRequest::from_fields(inbound.message.fields());
            json!(self.submit_as(request, &inbound.caller, reference).await)
        };
        match answer {
            Value::Object(fields) => inbound.answer(fields),
            // Both answers are objects.
            _ => inbound.answer(Map::new()),
        }
    }

    /// Asks for a run. Callers with different names are served in turn. The values of a request that was made in
    /// the program are checked like those of one from outside: they may come from a person.
    pub async fn submit(&self, request: RunRequest, caller: &str) -> RunReceipt {
        self.submit_fields(&request.into_fields(), caller).await
    }

    /// Asks for a run with a request as it came from outside; one that is none is rejected, counted and told.
    pub async fn submit_fields(&self, fields: &Map<String, Value>, caller: &str) -> RunReceipt {
        self.submit_as(RunRequest::from_fields(fields), caller, None).await
    }

    async fn submit_as(
        &self,
        request: Result<RunRequest, RunRequestError>,
        caller: &str,
        reference: Option<Value>,
    ) -> RunReceipt {
        let receipt = match request {
            Err(error) => RunRejection::from(error).into(),
            Ok(request) => self.admit(request, caller).await,
        };
        if matches!(receipt, RunReceipt::Rejected { .. }) {
            self.0.counters.rejected.fetch_add(1, Ordering::Relaxed);
        }
        self.tell_receipt(&receipt, reference);
        self.0.probe(RunnerStep::Accepted);
        receipt
    }

    async fn admit(&self, request: RunRequest, caller: &str) -> RunReceipt {
        let shared = Arc::clone(&self.0);
        let name = caller.to_owned();
        // Reads the talent and makes the log: both touch the disk.
        match tokio::task::spawn_blocking(move || shared.admit(&request, &name)).await {
            Err(lost) => RunRejection::new("internal", lost.to_string()).into(),
            Ok(Err(rejection)) => rejection.into(),
            Ok(Ok(Admission::Known(receipt))) => receipt,
            Ok(Ok(Admission::New { owner, waiting, first, caller })) => {
                self.0.hub.publish(BusMessage::new(RUN_TOPIC, "").and(first.into_fields()));
                self.line_up(owner, waiting, &caller)
            }
        }
    }

    /// Puts a run in line; if it is its turn, it begins.
    fn line_up(&self, owner: Box<Owner>, waiting: Waiting, caller: &str) -> RunReceipt {
        let run = waiting.run.clone();
        let name = owner.stamp.name.clone();
        let mut state = self.0.state();
        state.queue.push(caller, waiting);
        self.0.give_turns(&mut state);
        let position = state.queue.position(&run);
        if state.closing
            && let Some(live) = state.live.get(&run)
        {
            live.orders.send_replace(Some(Order::Shutdown));
        }
        drop(state);
        let shared = Arc::clone(&self.0);
        let id = run.clone();
        tokio::spawn(async move {
            // An owner that panics leaves a run without an end; it is ended like one that a dead daemon left.
            if tokio::spawn(owner.run()).await.is_err() {
                recovery::end_lost(&shared, &name, &id).await;
                shared.leave(&id);
            }
        });
        let use_id = run.to_string();
        match position {
            Some(position) => RunReceipt::Queued { use_id, position },
            None => RunReceipt::Accepted { use_id, replayed: false },
        }
    }

    fn tell_receipt(&self, receipt: &RunReceipt, reference: Option<Value>) {
        let Ok(Value::Object(mut fields)) = serde_json::to_value(receipt) else { return };
        let Some(Value::String(state)) = fields.remove("state") else { return };
        if let Some(reference) = reference {
            fields.insert("ref".to_owned(), reference);
        }
        self.0.hub.publish(BusMessage::new(RUN_TOPIC, &state).and(fields));
    }

    fn tell_status(&self) {
        let status = self.status();
        if !status.running.is_empty() || !status.queued.is_empty() {
            let message = BusMessage::new(RUN_TOPIC, "status")
                .with("running", json!(status.running))
                .with("queued", json!(status.queued));
            self.0.hub.publish(message);
        }
    }

    /// Tells runs to end; gives those that were there. Each then ends with an `error` whose reason is `cancelled`.
    pub fn cancel(&self, select: &RunSelector) -> Vec<UseId> {
        let state = self.0.state();
        let parent = |live: &RunSlot| live.request.text("parent").map(str::to_owned);
        let mut chosen: BTreeSet<UseId> = BTreeSet::new();
        match select {
            RunSelector::Run(run) => {
                chosen.extend(state.live.contains_key(run).then(|| run.clone()));
            }
            RunSelector::Talent(name) => chosen.extend(
                state
                    .live
                    .iter()
                    .filter(|(_, live)| live.name == *name)
                    .map(|(run, _)| run.clone()),
            ),
            RunSelector::Parent(run) => {
                let mut parents = vec![run.to_string()];
                while let Some(above) = parents.pop() {
                    for (run, live) in &state.live {
                        if parent(live).as_deref() == Some(&above) && chosen.insert(run.clone()) {
                            parents.push(run.to_string());
                        }
                    }
                }
            }
        }
        for live in chosen.iter().filter_map(|run| state.live.get(run)) {
            live.orders.send_if_modified(|order| {
                let first = order.is_none();
                order.get_or_insert(Order::Cancel);
                first
            });
        }
        chosen.into_iter().collect()
    }

    pub fn status(&self) -> RunnerStatus {
        let (queued, running) =
            self.0.live_runs().into_iter().partition(|run| run.position.is_some());
        let counters = &self.0.counters;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RunnerStatus {
            running,
            queued,
            counters: RunnerCounters {
                started: count(&counters.started),
                ended: count(&counters.ended),
                rejected: count(&counters.rejected),
                late_lines: count(&counters.late_lines),
                log_failures: count(&counters.log_failures),
                signals_failed: count(&counters.signals_failed),
            },
            last_failure: self
                .0
                .last_failure
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
        }
    }

    /// Takes no more requests, ends all runs at once, and waits until each has its end; gives how many have none.
    pub async fn shutdown(&self) -> usize {
        {
            let mut state = self.0.state();
            state.closing = true;
            for live in state.live.values() {
                live.orders.send_if_modified(|order| {
                    let first = order.is_none();
                    order.get_or_insert(Order::Shutdown);
                    first
                });
            }
        }
        let patience = Duration::from_millis(self.0.settings.stop_grace_ms) + SHUTDOWN_PATIENCE;
        let all_left = async {
            loop {
                let left = self.0.left.notified();
                if self.0.state().live.is_empty() {
                    return;
                }
                left.await;
            }
        };
        // Whoever is still there is counted below.
        let _ = tokio::time::timeout(patience, all_left).await;
        self.0.state().live.len()
    }

    /// Whether no run goes on or waits.
    pub fn is_idle(&self) -> bool {
        self.0.state().live.is_empty()
    }

    pub(super) fn is_live(&self, run: &UseId) -> bool {
        self.0.state().live.contains_key(run)
    }
}

fn zone(name: &str) -> Result<TimeZone, RunnerError> {
    if name.is_empty() {
        return Ok(TimeZone::system());
    }
    TimeZone::get(name).map_err(|_| RunnerError::Zone(name.to_owned()))
}

fn select(message: &BusMessage) -> Result<RunSelector, RunRejection> {
    let given = (message.use_id(), message.text("name"), message.text("parent"));
    Ok(match given {
        (Some(run), None, None) => RunSelector::Run(UseId::parse(run)?),
        (None, Some(name), None) => RunSelector::Talent(TalentName::parse(name)?),
        (None, None, Some(parent)) => RunSelector::Parent(UseId::parse(parent)?),
        _ => {
            let reason = "a cancel names one of `use_id`, `name` and `parent`";
            return Err(RunRejection::new("bad_value", reason));
        }
    })
}
