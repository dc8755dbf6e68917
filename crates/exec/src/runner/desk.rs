//! The desk: takes requests, gives each an id, a log and an owner, and knows all runs that go on.
//!
//! One lock guards who runs and who waits; nothing under it waits or touches the disk. An id is reserved under the lock before
//! the log is made, so two requests for the same id cannot both become runs.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use thiserror::Error;
use tokio::sync::{Notify, oneshot, watch};

use super::log::doctor::{self, Finding};
use super::log::event::{Secrets, Stamp, fields};
use super::log::index::{Index, RunQuery, day_of};
use super::log::read::{self, Log};
use super::log::retention::{self, Keep};
use super::log::tally::{Row, Tally};
use super::log::write::RunLog;
use super::owner::{Order, Owner};
use super::queue::{Queue, Waiting};
use super::recovery::{self, Recovery};
use super::request::{Rejection, Request};
use super::{Facts, Probe, Program, RunObserver, RunnerSettings, Step, TalentFacts};
use crate::callosum::{CORTEX, Hub, Inbound, Message};
use crate::world::World;
use crate::{Layout, TalentName, UseId};

/// How often the bus tells what runs.
const STATUS_EVERY: Duration = Duration::from_secs(5);
/// The provider of a run that names none, for limits.
const NO_PROVIDER: &str = "default";
/// Ids that are tried when somebody has used those of now.
const ID_TRIES_MAX: u32 = 1_000;
/// How long a shutdown waits for runs beyond the grace they have.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(20);

/// What a runner is made of.
#[derive(Clone, Debug)]
pub struct RunnerParts {
    pub layout: Layout,
    pub hub: Hub,
    pub world: World,
    pub settings: RunnerSettings,
    pub program: Program,
    pub facts: Arc<dyn TalentFacts>,
    pub observer: Arc<dyn RunObserver>,
    pub probe: Arc<dyn Probe>,
}

/// Why there is no runner.
#[derive(Debug, Error)]
pub enum RunnerError {
    #[error("the time zone {0:?} is not known")]
    Zone(String),
    #[error("the run logs cannot be read: {0}")]
    Logs(#[from] io::Error),
}

impl RunnerError {
    pub fn code(&self) -> &'static str {
        match self {
            RunnerError::Zone(_) => "unknown_zone",
            RunnerError::Logs(_) => "run_logs",
        }
    }
}

/// The answer to a request.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Receipt {
    /// It runs, or (`replayed`) the same request was a run before.
    Accepted {
        use_id: String,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        replayed: bool,
    },
    /// It waits; 1 is next.
    Queued {
        use_id: String,
        position: usize,
    },
    Rejected {
        code: &'static str,
        reason: String,
    },
}

impl Receipt {
    /// The run, if there is one.
    pub fn run(&self) -> Option<UseId> {
        match self {
            Receipt::Accepted { use_id, .. } | Receipt::Queued { use_id, .. } => {
                UseId::parse(use_id).ok()
            }
            Receipt::Rejected { .. } => None,
        }
    }
}

/// Which runs to cancel.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Select {
    Run(UseId),
    Talent(TalentName),
    /// The runs that this one asked for, and theirs.
    Parent(UseId),
}

/// A run that waits or goes on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LiveRun {
    pub use_id: String,
    pub name: String,
    pub provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facet: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Place in the queue; absent if it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    pub elapsed_seconds: f64,
}

/// Which runs to list.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunScope {
    Live,
    Historical,
    #[default]
    All,
}

/// A page of runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunList {
    /// Runs that wait or go on; not paged, there are never many.
    pub live: Vec<LiveRun>,
    /// Ended runs, newest first.
    pub runs: Vec<Row>,
    pub total: usize,
    pub has_more: bool,
}

/// What went on behind the scenes since the start.
#[derive(Debug, Default)]
pub(super) struct Tallies {
    pub(super) started: AtomicU64,
    pub(super) ended: AtomicU64,
    pub(super) rejected: AtomicU64,
    pub(super) late_lines: AtomicU64,
    pub(super) log_failures: AtomicU64,
    pub(super) signals_failed: AtomicU64,
}

/// The counters of a runner.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Counters {
    pub started: u64,
    pub ended: u64,
    pub rejected: u64,
    /// Lines that processes printed after their end.
    pub late_lines: u64,
    /// Writes to logs or the index that failed.
    pub log_failures: u64,
    /// Process groups that could not be signalled or outlived their kill.
    pub signals_failed: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunnerStatus {
    pub running: Vec<LiveRun>,
    pub queued: Vec<LiveRun>,
    pub counters: Counters,
    /// The newest failure to write a log or the index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
}

#[derive(Debug)]
struct Live {
    name: TalentName,
    provider: String,
    /// The first line of the log.
    request: Map<String, Value>,
    orders: watch::Sender<Option<Order>>,
    turn: Option<oneshot::Sender<()>>,
    /// It has had its turn.
    going: bool,
    since: u64,
}

#[derive(Debug)]
struct State {
    live: BTreeMap<UseId, Live>,
    queue: Queue,
    last_id: u64,
    closing: bool,
}

impl State {
    /// An id that no live run has, and that was not given before.
    fn next_id(&mut self) -> UseId {
        loop {
            self.last_id += 1;
            let id = UseId::from_millis(self.last_id);
            if !self.live.contains_key(&id) {
                return id;
            }
        }
    }
}

/// What owners, desk and recovery share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) layout: Layout,
    pub(super) hub: Hub,
    pub(super) world: World,
    pub(super) settings: RunnerSettings,
    pub(super) program: Program,
    pub(super) counters: Tallies,
    zone: TimeZone,
    facts: Arc<dyn TalentFacts>,
    observer: Arc<dyn RunObserver>,
    probe: Arc<dyn Probe>,
    index: Mutex<Index>,
    state: Mutex<State>,
    left: Notify,
    last_failure: Mutex<Option<String>>,
}

impl Shared {
    pub(super) fn probe(&self, step: Step) {
        self.probe.at(step);
    }

    pub(super) fn millis(&self) -> u64 {
        self.world.clock.millis()
    }

    pub(super) fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn failed(&self, what: &str, error: &io::Error) {
        self.counters.log_failures.fetch_add(1, Ordering::Relaxed);
        *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(format!("{what}: {error}"));
    }

    pub(super) fn timeout(&self, request: &Request, facts: &Facts) -> Duration {
        let max = Duration::from_secs(self.settings.timeout_seconds_max);
        let usual = Duration::from_secs(self.settings.timeout_seconds);
        request.timeout.or(facts.timeout).unwrap_or(usual).min(max)
    }

    /// Variables of a process: the talent's, over them the request's, over them what says who and where it is.
    pub(super) fn environment(
        &self,
        request: &Request,
        facts: &Facts,
        run: &UseId,
    ) -> BTreeMap<String, Option<String>> {
        let mut env: BTreeMap<String, Option<String>> =
            facts.env.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
        env.extend(request.env.clone());
        let day = request.day.unwrap_or_else(|| day_of(&self.zone, run));
        let own = [
            ("CORTEX_HOME", Some(self.layout.home().to_string_lossy().into_owned())),
            ("CORTEX_USE_ID", Some(run.to_string())),
            ("CORTEX_DAY", Some(day.to_string())),
            ("CORTEX_FACET", request.facet.as_ref().map(ToString::to_string)),
            ("CORTEX_SEGMENT", request.segment.map(|segment| segment.to_string())),
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
            self.probe(Step::Observed);
            let added = self.index().add(ended.row);
            if let Err(error) = added {
                self.failed("day index", &error);
            }
        }
        self.probe(Step::Indexed);
        if let Err(error) = close() {
            self.failed("run log", &error);
        }
        self.probe(Step::Renamed);
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

    fn give_turns(&self, state: &mut State) {
        if state.closing {
            return;
        }
        while let Some(next) = state.queue.next() {
            let turn = state.live.get_mut(&next.run).and_then(|live| {
                live.going = true;
                live.turn.take()
            });
            match turn {
                // An owner that has gone meanwhile gives the slot back when it leaves.
                Some(turn) => drop(turn.send(())),
                None => state.queue.done(&next.talent, &next.provider),
            }
            self.counters.started.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Makes a run of a request: everything up to the log, which then exists.
    fn admit(
        self: &Arc<Self>,
        given: &Map<String, Value>,
        caller: &str,
    ) -> Result<Admitted, Rejection> {
        let timeout_max = Duration::from_secs(self.settings.timeout_seconds_max);
        let mut request = Request::check(given, self.layout.home(), timeout_max)?;
        let facts = self
            .facts
            .facts(&request.name)
            .map_err(|reason| Rejection::new("unknown_talent", reason))?;
        self.keep_provider(&mut request)?;
        let provider = request
            .provider
            .clone()
            .or_else(|| facts.provider.clone())
            .unwrap_or_else(|| NO_PROVIDER.to_owned());
        let (orders, ordered) = watch::channel(None);
        let (turn, has_turn) = oneshot::channel();
        let live = Live {
            name: request.name.clone(),
            provider: provider.clone(),
            request: Map::new(),
            orders,
            turn: Some(turn),
            going: false,
            since: self.millis(),
        };
        let run = match self.reserve(&request, live)? {
            Reserved::New(run) => run,
            Reserved::Known(receipt) => return Ok(Admitted::Known(receipt)),
        };
        let (run, log, first) = match self.begin(&request, run) {
            Ok(begun) => begun,
            Err(Begun::Known(receipt)) => return Ok(Admitted::Known(receipt)),
            Err(Begun::Rejected(rejection)) => return Err(rejection),
        };
        self.probe(Step::LogCreated);
        let mut tally = Tally::new(&request.name, &run);
        tally.see(&first);
        let stamp = Stamp {
            use_id: run.clone(),
            name: request.name.clone(),
            day: request.day,
            secrets: Secrets::new(&request.env),
            event_bytes_max: self.settings.event_bytes_max,
        };
        let waiting = Waiting { run: run.clone(), talent: request.name.to_string(), provider };
        let owner = Owner {
            shared: Arc::clone(self),
            request,
            facts,
            stamp,
            log,
            tally,
            orders: ordered,
            turn: has_turn,
        };
        Ok(Admitted::New { owner: Box::new(owner), waiting, first, caller: caller.to_owned() })
    }

    /// execution R55, 9.19: a session stays with the provider it began with.
    fn keep_provider(&self, request: &mut Request) -> Result<(), Rejection> {
        let Some(session) = &request.session_id else { return Ok(()) };
        let began = self.index().session(session).and_then(|row| row.provider.clone());
        match (began, &request.provider) {
            (Some(began), Some(asked)) if began != *asked => Err(Rejection::new(
                "provider_mismatch",
                format!("session {session} began with {began}; it cannot go on with {asked}"),
            )),
            (Some(began), None) => {
                request.fields.insert("provider".to_owned(), began.clone().into());
                request.provider = Some(began);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Takes an id for a run, so that nobody else does.
    fn reserve(&self, request: &Request, mut live: Live) -> Result<Reserved, Rejection> {
        let mut state = self.state();
        if state.closing {
            return Err(Rejection::new("shutting_down", "the daemon is stopping"));
        }
        let run = match &request.use_id {
            Some(run) => {
                // The same number must not be two ids.
                if run.as_str().parse::<u64>().ok().map(UseId::from_millis).as_ref() != Some(run) {
                    let reason = "`use_id` must be a number without leading zeros";
                    return Err(Rejection::new("bad_name", reason));
                }
                if let Some(other) = state.live.get(run) {
                    return if request.is_the_same_as(&other.request) {
                        let use_id = run.to_string();
                        Ok(Reserved::Known(Receipt::Accepted { use_id, replayed: true }))
                    } else {
                        Err(id_taken(run))
                    };
                }
                run.clone()
            }
            None => {
                // What is on disk is looked at when the log is made.
                state.last_id = state.last_id.max(self.millis().saturating_sub(1));
                state.next_id()
            }
        };
        if state.queue.len() >= self.settings.queue_max {
            let reason = format!("{} runs wait already", state.queue.len());
            return Err(Rejection::new("queue_full", reason));
        }
        live.request = request.first_line(&run);
        state.live.insert(run.clone(), live);
        Ok(Reserved::New(run))
    }

    /// Makes the log of a reserved run. An id of ours that somebody used before is exchanged for the next.
    fn begin(
        &self,
        request: &Request,
        mut run: UseId,
    ) -> Result<(UseId, RunLog, Map<String, Value>), Begun> {
        let mut tries_left = ID_TRIES_MAX;
        loop {
            match self.begin_log(request, &run) {
                Ok((log, first)) => return Ok((run, log, first)),
                Err(Begun::Rejected(rejection))
                    if rejection.code != "id_taken"
                        || request.use_id.is_some()
                        || tries_left == 0 =>
                {
                    self.state().live.remove(&run);
                    return Err(Begun::Rejected(rejection));
                }
                Err(Begun::Known(receipt)) if request.use_id.is_some() => {
                    self.state().live.remove(&run);
                    return Err(Begun::Known(receipt));
                }
                Err(_) => {
                    tries_left -= 1;
                    let mut state = self.state();
                    let next = state.next_id();
                    if let Some(mut live) = state.live.remove(&run) {
                        live.request = request.first_line(&next);
                        state.live.insert(next.clone(), live);
                    }
                    run = next;
                }
            }
        }
    }

    fn begin_log(
        &self,
        request: &Request,
        run: &UseId,
    ) -> Result<(RunLog, Map<String, Value>), Begun> {
        let failed = |error: io::Error| {
            self.failed("run log", &error);
            Begun::Rejected(Rejection::new("log_failed", format!("no run log: {error}")))
        };
        if let Some(found) = read::find(&self.layout, run).map_err(failed)? {
            let log = read::read(&found.path).map_err(failed)?;
            let same = found.name == request.name
                && log.request().is_some_and(|logged| request.is_the_same_as(logged));
            return Err(if same {
                Begun::Known(Receipt::Accepted { use_id: run.to_string(), replayed: true })
            } else {
                Begun::Rejected(id_taken(run))
            });
        }
        let mut first = request.first_line(run);
        let log = RunLog::create(&self.layout, &request.name, run, &first).map_err(failed)?;
        first.insert("seq".to_owned(), 0.into());
        Ok((log, first))
    }

    fn live_runs(&self) -> Vec<LiveRun> {
        let now = self.millis();
        let state = self.state();
        let text = |request: &Map<String, Value>, key: &str| {
            request.get(key).and_then(Value::as_str).map(str::to_owned)
        };
        let run = |(id, live): (&UseId, &Live)| LiveRun {
            use_id: id.to_string(),
            name: live.name.to_string(),
            provider: live.provider.clone(),
            facet: text(&live.request, "facet"),
            parent: text(&live.request, "parent"),
            position: state.queue.position(id),
            elapsed_seconds: Duration::from_millis(now.saturating_sub(live.since)).as_secs_f64(),
        };
        state.live.iter().map(run).collect()
    }
}

fn id_taken(run: &UseId) -> Rejection {
    Rejection::new("id_taken", format!("run {run} exists and is another request"))
}

enum Reserved {
    New(UseId),
    Known(Receipt),
}

enum Begun {
    Known(Receipt),
    Rejected(Rejection),
}

enum Admitted {
    Known(Receipt),
    New { owner: Box<Owner>, waiting: Waiting, first: Map<String, Value>, caller: String },
}

/// A handle to the runner; all clones are the same.
#[derive(Clone, Debug)]
pub struct Runner(pub(super) Arc<Shared>);

impl Runner {
    /// Ends what an earlier daemon left, then serves `cortex/request` and `cortex/cancel` on the bus.
    pub async fn start(parts: RunnerParts) -> Result<(Runner, Recovery), RunnerError> {
        let zone = zone(&parts.settings.zone)?;
        let (layout, days_in) = (parts.layout.clone(), zone.clone());
        std::fs::create_dir_all(layout.runs())?;
        let index = tokio::task::spawn_blocking(move || Index::open(&layout, days_in))
            .await
            .map_err(io::Error::other)??;
        let state = State {
            live: BTreeMap::new(),
            queue: Queue::new(parts.settings.clone()),
            last_id: 0,
            closing: false,
        };
        let shared = Arc::new(Shared {
            layout: parts.layout,
            hub: parts.hub,
            world: parts.world,
            settings: parts.settings,
            program: parts.program,
            counters: Tallies::default(),
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
        let mut service = runner.0.hub.serve(CORTEX, &["request", "cancel"]);
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

    async fn answer(&self, inbound: Inbound) {
        let reference = inbound.message.reference().cloned();
        let answer = if inbound.message.event() == "cancel" {
            match select(&inbound.message) {
                Ok(select) => {
                    let runs: Vec<String> =
                        self.cancel(&select).iter().map(ToString::to_string).collect();
                    fields([("cancelled", runs.into())])
                }
                Err(rejection) => rejected(&rejection),
            }
        } else {
            let receipt =
                self.submit_as(inbound.message.fields().clone(), &inbound.caller, reference).await;
            match serde_json::to_value(&receipt) {
                Ok(Value::Object(fields)) => fields,
                _ => Map::new(),
            }
        };
        inbound.answer(answer);
    }

    /// Asks for a run. Callers with different names are served in turn.
    pub async fn submit(&self, request: Map<String, Value>, caller: &str) -> Receipt {
        self.submit_as(request, caller, None).await
    }

    async fn submit_as(
        &self,
        request: Map<String, Value>,
        caller: &str,
        reference: Option<Value>,
    ) -> Receipt {
        let shared = Arc::clone(&self.0);
        let caller = caller.to_owned();
        // Reads the talent and makes the log: both touch the disk.
        let admitted = tokio::task::spawn_blocking(move || shared.admit(&request, &caller)).await;
        let receipt = match admitted {
            Err(lost) => reject(Rejection::new("internal", lost.to_string())),
            Ok(Err(rejection)) => reject(rejection),
            Ok(Ok(Admitted::Known(receipt))) => receipt,
            Ok(Ok(Admitted::New { owner, waiting, first, caller })) => {
                self.0.hub.publish(Message::new(CORTEX, "").and(first));
                self.line_up(owner, waiting, &caller)
            }
        };
        if matches!(receipt, Receipt::Rejected { .. }) {
            self.0.counters.rejected.fetch_add(1, Ordering::Relaxed);
        }
        self.tell_receipt(&receipt, reference);
        self.0.probe(Step::Accepted);
        receipt
    }

    /// Puts a run in line; if it is its turn, it begins.
    fn line_up(&self, owner: Box<Owner>, waiting: Waiting, caller: &str) -> Receipt {
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
            Some(position) => Receipt::Queued { use_id, position },
            None => Receipt::Accepted { use_id, replayed: false },
        }
    }

    fn tell_receipt(&self, receipt: &Receipt, reference: Option<Value>) {
        let Ok(Value::Object(mut fields)) = serde_json::to_value(receipt) else { return };
        let Some(Value::String(state)) = fields.remove("state") else { return };
        if let Some(reference) = reference {
            fields.insert("ref".to_owned(), reference);
        }
        self.0.hub.publish(Message::new(CORTEX, &state).and(fields));
    }

    fn tell_status(&self) {
        let status = self.status();
        if !status.running.is_empty() || !status.queued.is_empty() {
            let message = Message::new(CORTEX, "status")
                .with("running", json!(status.running))
                .with("queued", json!(status.queued));
            self.0.hub.publish(message);
        }
    }

    /// Tells runs to end; gives those that were there. Each then ends with an `error` whose reason is `cancelled`.
    pub fn cancel(&self, select: &Select) -> Vec<UseId> {
        let state = self.0.state();
        let parent =
            |live: &Live| live.request.get("parent").and_then(Value::as_str).map(str::to_owned);
        let mut chosen: BTreeSet<UseId> = BTreeSet::new();
        match select {
            Select::Run(run) => chosen.extend(state.live.contains_key(run).then(|| run.clone())),
            Select::Talent(name) => chosen.extend(
                state
                    .live
                    .iter()
                    .filter(|(_, live)| live.name == *name)
                    .map(|(run, _)| run.clone()),
            ),
            Select::Parent(run) => {
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
            counters: Counters {
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

    /// Runs, live and ended. Opens no log.
    pub fn list(&self, scope: RunScope, query: &RunQuery) -> RunList {
        let takes = |run: &LiveRun| {
            query.name.as_ref().is_none_or(|name| *name == run.name)
                && query.facet.as_ref().is_none_or(|facet| Some(facet) == run.facet.as_ref())
                && query.parent.as_ref().is_none_or(|parent| Some(parent) == run.parent.as_ref())
        };
        let mut live = Vec::new();
        if scope != RunScope::Historical {
            live = self.0.live_runs().into_iter().filter(takes).collect();
        }
        if scope == RunScope::Live {
            return RunList { live, runs: Vec::new(), total: 0, has_more: false };
        }
        let (runs, total) = self.0.index().page(query);
        let has_more = query.offset + runs.len() < total;
        RunList { live, runs, total, has_more }
    }

    /// What the index has of an ended run.
    pub fn row(&self, run: &UseId) -> Option<Row> {
        self.0.index().row(run).cloned()
    }

    /// The events of a run so far; `None` if there is no such run.
    pub async fn events(&self, run: &UseId) -> io::Result<Option<Log>> {
        let (layout, run) = (self.0.layout.clone(), run.clone());
        let work = move || match read::find(&layout, &run)? {
            Some(found) => match read::read(&found.path) {
                // It got its other name between the look and the opening.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    read::read(&layout.ended_run(&found.name, &run)).map(Some)
                }
                log => log.map(Some),
            },
            None => Ok(None),
        };
        tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
    }

    /// What is wrong with the run logs.
    pub async fn doctor(&self) -> io::Result<Vec<Finding>> {
        let shared = Arc::clone(&self.0);
        let work = move || {
            let live: BTreeSet<UseId> = shared.state().live.keys().cloned().collect();
            doctor::examine(&shared.layout, &shared.index(), &live)
        };
        tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
    }

    /// Makes the index anew from the logs; says how many runs it has.
    pub async fn rebuild_index(&self) -> io::Result<usize> {
        let shared = Arc::clone(&self.0);
        let work = move || shared.index().rebuild();
        tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
    }

    /// Removes runs that are too old or too many; gives their ids.
    pub async fn sweep(&self) -> io::Result<Vec<UseId>> {
        let shared = Arc::clone(&self.0);
        let keep = Keep {
            days: shared.settings.keep_days,
            runs_per_talent: shared.settings.keep_runs_per_talent,
        };
        let now = shared.world.clock.now();
        let work = move || retention::sweep(&shared.layout, &mut shared.index(), keep, now);
        tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
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

fn reject(rejection: Rejection) -> Receipt {
    Receipt::Rejected { code: rejection.code, reason: rejection.reason }
}

fn rejected(rejection: &Rejection) -> Map<String, Value> {
    fields([
        ("state", "rejected".into()),
        ("code", rejection.code.into()),
        ("reason", rejection.reason.as_str().into()),
    ])
}

fn select(message: &Message) -> Result<Select, Rejection> {
    let given = (message.use_id(), message.text("name"), message.text("parent"));
    Ok(match given {
        (Some(run), None, None) => Select::Run(UseId::parse(run)?),
        (None, Some(name), None) => Select::Talent(TalentName::parse(name)?),
        (None, None, Some(parent)) => Select::Parent(UseId::parse(parent)?),
        _ => {
            let reason = "a cancel names one of `use_id`, `name` and `parent`";
            return Err(Rejection::new("bad_value", reason));
        }
    })
}
