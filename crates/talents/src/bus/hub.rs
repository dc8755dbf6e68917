//! The bus itself, inside the daemon: numbers what is published, keeps the newest, and hands it to every listener.
//!
//! One lock orders publishing and subscribing, so a subscription has every message after the moment it was made
//! and, if it named the last id it had seen, every one before it that is still kept. Nothing under the lock waits.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::{Map, Value};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};

use super::queue::{Bounds, Listener, Subscription};
use super::{
    BUS_TOPIC, BusFilter, BusMessage, BusSettings, MEMORY_TOPIC, RUN_TOPIC, SUPERVISOR_TOPIC,
};
use crate::clock::Clock;

/// Tracts that only parts of the daemon speak on: no other process can forge the end of a run.
const OWN_TOPICS: [&str; 4] = [BUS_TOPIC, RUN_TOPIC, SUPERVISOR_TOPIC, MEMORY_TOPIC];

/// The number of a message: which start of the daemon, and which message since then.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct EventId {
    boot: u64,
    seq: u64,
}

impl EventId {
    /// Reads an id as it was printed, for example from `Last-Event-ID`.
    pub fn parse(text: &str) -> Option<EventId> {
        let (boot, seq) = text.split_once('-')?;
        Some(EventId { boot: boot.parse().ok()?, seq: seq.parse().ok()? })
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.boot, self.seq)
    }
}

/// A message that was published.
#[derive(Debug)]
pub struct BusEvent {
    pub id: EventId,
    pub message: BusMessage,
    /// The message as one line of JSON, without the newline.
    pub line: String,
}

/// Why a message from outside was not taken.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum BusRefusal {
    #[error("nobody serves {0}/{1} here")]
    NotServed(String, String),
    #[error("only the daemon speaks {0}/{1}")]
    Reserved(String, String),
    #[error("too many requests wait; try again later")]
    Busy,
    #[error("no answer came in time")]
    NoAnswer,
}

impl BusRefusal {
    pub fn code(&self) -> &'static str {
        match self {
            BusRefusal::NotServed(..) => "not_served",
            BusRefusal::Reserved(..) => "reserved",
            BusRefusal::Busy => "busy",
            BusRefusal::NoAnswer => "no_answer",
        }
    }
}

/// A message for the part that serves it.
#[derive(Debug)]
pub struct ServiceRequest {
    /// As it came, `env` included: it is on no other line.
    pub message: BusMessage,
    /// Who sent it, in the words of the bus; callers are served in turn.
    pub caller: String,
    answer: oneshot::Sender<Map<String, Value>>,
}

impl ServiceRequest {
    /// Answers whoever asked. It does no harm if nobody waits any more.
    pub fn answer(self, fields: Map<String, Value>) {
        // Whoever asked may have given up.
        let _ = self.answer.send(fields);
    }
}

/// The requests that one part of the daemon serves.
#[derive(Debug)]
pub struct BusService {
    inbox: mpsc::Receiver<ServiceRequest>,
}

impl BusService {
    /// Waits for the next request; `None` when the bus is gone.
    pub async fn next(&mut self) -> Option<ServiceRequest> {
        self.inbox.recv().await
    }
}

/// A subscription that begins where an earlier one ended.
#[derive(Debug)]
pub struct ResumedSubscription {
    pub subscription: Subscription,
    /// Messages between the last one seen and the first one here are no longer kept.
    pub gap: bool,
}

/// The counters of the bus.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct HubStatus {
    pub published: u64,
    pub last_id: Option<String>,
    pub listeners: usize,
    /// Messages lost by all listeners together, gone ones included.
    pub dropped: u64,
    pub kept: usize,
    pub kept_bytes: usize,
    /// What is served, as `tract/event`.
    pub serves: Vec<String>,
}

#[derive(Debug)]
struct State {
    seq: u64,
    ring: VecDeque<Arc<BusEvent>>,
    ring_bytes: usize,
    listeners: BTreeMap<u64, Arc<Listener>>,
    next_listener: u64,
    services: BTreeMap<(String, String), mpsc::Sender<ServiceRequest>>,
    dropped_by_gone: u64,
}

#[derive(Debug)]
struct HubInner {
    settings: BusSettings,
    clock: Arc<dyn Clock>,
    boot: u64,
    state: Mutex<State>,
    refused: AtomicU64,
}

/// A handle to the bus; all clones are the same bus.
#[derive(Clone, Debug)]
pub struct Hub(Arc<HubInner>);

impl Hub {
    pub fn new(settings: BusSettings, clock: Arc<dyn Clock>) -> Hub {
        let boot = clock.millis();
        let state = State {
            seq: 0,
            ring: VecDeque::new(),
            ring_bytes: 0,
            listeners: BTreeMap::new(),
            next_listener: 0,
            services: BTreeMap::new(),
            dropped_by_gone: 0,
        };
        Hub(Arc::new(HubInner {
            settings,
            clock,
            boot,
            state: Mutex::new(state),
            refused: AtomicU64::new(0),
        }))
    }

    pub fn settings(&self) -> &BusSettings {
        &self.0.settings
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells everybody. Never waits; a listener whose queue is full loses this message and learns that it did.
    pub fn publish(&self, mut message: BusMessage) -> EventId {
        message.ready(self.0.clock.millis());
        let line = message.line();
        let mut state = self.state();
        state.seq += 1;
        let id = EventId { boot: self.0.boot, seq: state.seq };
        let event = Arc::new(BusEvent { id, message, line });
        for listener in state.listeners.values() {
            listener.offer(&event);
        }
        state.ring_bytes += event.line.len();
        state.ring.push_back(event);
        while state.ring.len() > self.0.settings.ring_messages_max
            || state.ring_bytes > self.0.settings.ring_bytes_max
        {
            let Some(oldest) = state.ring.pop_front() else { break };
            state.ring_bytes -= oldest.line.len();
        }
        id
    }

    /// Listens from now on.
    pub fn subscribe(&self, filter: BusFilter) -> Subscription {
        self.listen(filter, |_, _| VecDeque::new())
    }

    /// Listens from where an earlier listener ended: first what is still kept of what came after `last`, then what
    /// comes.
    pub fn resume(&self, filter: BusFilter, last: EventId) -> ResumedSubscription {
        let same_start = last.boot == self.0.boot;
        let seen = if same_start { last.seq } else { 0 };
        let mut gap = false;
        let subscription = self.listen(filter, |state, filter| {
            let first_kept = state.ring.front().map_or(state.seq + 1, |event| event.id.seq);
            gap = !same_start || seen + 1 < first_kept || seen > state.seq;
            let missed =
                |event: &&Arc<BusEvent>| event.id.seq > seen && filter.takes(&event.message);
            state.ring.iter().filter(missed).cloned().collect()
        });
        ResumedSubscription { subscription, gap }
    }

    fn listen(
        &self,
        filter: BusFilter,
        backlog: impl FnOnce(&State, &BusFilter) -> VecDeque<Arc<BusEvent>>,
    ) -> Subscription {
        let bounds = Bounds {
            messages: self.0.settings.queue_messages_max,
            bytes: self.0.settings.queue_bytes_max,
        };
        let mut state = self.state();
        let backlog = backlog(&state, &filter);
        let id = state.next_listener;
        state.next_listener += 1;
        let listener = Arc::new(Listener::new(filter, bounds));
        state.listeners.insert(id, Arc::clone(&listener));
        drop(state);
        Subscription::new(self.clone(), id, listener, backlog)
    }

    pub(super) fn forget(&self, id: u64) {
        let mut state = self.state();
        if let Some(listener) = state.listeners.remove(&id) {
            state.dropped_by_gone += listener.dropped();
        }
    }

    /// Serves these events of a topic: they come to the service alone, and whoever sent one gets its answer.
    ///
    /// A service that was dropped can be taken over by another.
    pub fn serve(&self, topic: &str, events: &[&str]) -> BusService {
        let (sender, inbox) = mpsc::channel(self.0.settings.service_queue_max.max(1));
        let mut state = self.state();
        for event in events {
            state.services.insert((topic.to_owned(), (*event).to_owned()), sender.clone());
        }
        BusService { inbox }
    }

    /// Takes a message from outside. A served one is handed over and its answer awaited; others are told to
    /// everybody, and the answer is the id.
    pub async fn take(
        &self,
        message: BusMessage,
        caller: &str,
        patience: std::time::Duration,
    ) -> Result<Map<String, Value>, BusRefusal> {
        let (topic, event) = (message.topic().to_owned(), message.event().to_owned());
        let service = self.state().services.get(&(topic.clone(), event.clone())).cloned();
        let taken = match service {
            Some(service) if service.is_closed() => Err(BusRefusal::NotServed(topic, event)),
            Some(service) => {
                let (answer, answered) = oneshot::channel();
                let inbound = ServiceRequest { message, caller: caller.to_owned(), answer };
                match service.try_send(inbound) {
                    Err(mpsc::error::TrySendError::Full(_)) => Err(BusRefusal::Busy),
                    Err(mpsc::error::TrySendError::Closed(_)) => {
                        Err(BusRefusal::NotServed(topic, event))
                    }
                    Ok(()) => match tokio::time::timeout(patience, answered).await {
                        Ok(Ok(fields)) => Ok(fields),
                        Ok(Err(_)) | Err(_) => Err(BusRefusal::NoAnswer),
                    },
                }
            }
            None if OWN_TOPICS.contains(&topic.as_str()) => Err(unserved(topic, event)),
            None => {
                let id = self.publish(message);
                Ok([("id".to_owned(), id.to_string().into())].into_iter().collect())
            }
        };
        if taken.is_err() {
            self.0.refused.fetch_add(1, Ordering::Relaxed);
        }
        taken
    }

    /// Messages from outside that were not taken.
    pub fn refused(&self) -> u64 {
        self.0.refused.load(Ordering::Relaxed)
    }

    pub fn status(&self) -> HubStatus {
        let state = self.state();
        HubStatus {
            published: state.seq,
            last_id: state.ring.back().map(|event| event.id.to_string()),
            listeners: state.listeners.len(),
            dropped: state.dropped_by_gone
                + state.listeners.values().map(|listener| listener.dropped()).sum::<u64>(),
            kept: state.ring.len(),
            kept_bytes: state.ring_bytes,
            serves: state
                .services
                .iter()
                .filter(|(_, service)| !service.is_closed())
                .map(|((topic, event), _)| format!("{topic}/{event}"))
                .collect(),
        }
    }
}

/// What may be asked of a topic of ours, but is not served now, is told apart from what is never taken.
fn unserved(topic: String, event: String) -> BusRefusal {
    let asked = matches!(event.as_str(), "request" | "cancel" | "restart" | "heartbeat");
    if asked { BusRefusal::NotServed(topic, event) } else { BusRefusal::Reserved(topic, event) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::clock::SystemClock;

    fn hub(settings: BusSettings) -> Hub {
        Hub::new(settings, Arc::new(SystemClock))
    }

    fn heard(subscription: &mut Subscription) -> Vec<String> {
        let mut heard = Vec::new();
        while let Some(delivery) = subscription.try_next() {
            heard.push(match delivery {
                super::super::Delivery::Event(event) => event.message.event().to_owned(),
                super::super::Delivery::Dropped(count) => format!("-{count}"),
            });
        }
        heard
    }

    // execution 9.2
    #[test]
    fn a_slow_listener_loses_its_own_messages_and_knows_where() {
        let hub = hub(BusSettings { queue_messages_max: 2, ..BusSettings::default() });
        let mut slow = hub.subscribe(BusFilter::all());
        let mut quick = hub.subscribe(BusFilter::all());
        for event in ["a", "b", "c", "d"] {
            hub.publish(BusMessage::new("t", event));
            assert_eq!(heard(&mut quick), [event]);
        }
        assert_eq!(heard(&mut slow), ["a", "b", "-2"]);
        hub.publish(BusMessage::new("t", "e"));
        assert_eq!(heard(&mut slow), ["e"]);
        assert_eq!(slow.dropped(), 2);
        drop(slow);
        assert_eq!((hub.status().dropped, hub.status().listeners), (2, 1));
    }

    #[test]
    fn a_listener_comes_back_with_the_last_id_it_saw() {
        let hub = hub(BusSettings { ring_messages_max: 3, ..BusSettings::default() });
        let ids: Vec<EventId> = ["a", "b", "c", "d"]
            .iter()
            .map(|event| hub.publish(BusMessage::new("t", event)))
            .collect();
        let mut back = hub.resume(BusFilter::all(), ids[1]);
        hub.publish(BusMessage::new("t", "e"));
        assert!(!back.gap);
        assert_eq!(heard(&mut back.subscription), ["c", "d", "e"]);
        let mut late = hub.resume(BusFilter::all(), ids[0]);
        assert!(late.gap, "b and what stood before the ring is gone");
        assert_eq!(heard(&mut late.subscription), ["c", "d", "e"]);
        let other_start = EventId { boot: 1, seq: 2 };
        assert!(hub.resume(BusFilter::all(), other_start).gap);
        assert_eq!(EventId::parse(&ids[1].to_string()), Some(ids[1]));
    }

    // execution 9.4 and 9.8: a request goes to the part that serves it, with its env, and to nobody else
    #[tokio::test]
    async fn a_served_message_is_answered_by_its_service_alone() {
        let hub = hub(BusSettings::default());
        let patience = Duration::from_secs(5);
        let request = || {
            BusMessage::new(RUN_TOPIC, "request").with("env", serde_json::json!({"KEY": "secret"}))
        };
        let nobody = hub.take(request(), "test", patience).await;
        assert_eq!(nobody.expect_err("nobody serves").code(), "not_served");
        let forged = hub.take(BusMessage::new(RUN_TOPIC, "finish"), "test", patience).await;
        assert_eq!(forged.expect_err("forged").code(), "reserved");

        let mut everybody = hub.subscribe(BusFilter::all());
        let mut service = hub.serve(RUN_TOPIC, &["request"]);
        let asker = tokio::spawn({
            let hub = hub.clone();
            async move { hub.take(request(), "test", patience).await }
        });
        let inbound = service.next().await.expect("a request");
        assert_eq!(inbound.message.get("env"), Some(&serde_json::json!({"KEY": "secret"})));
        inbound.answer([("state".to_owned(), "accepted".into())].into_iter().collect());
        let answer = asker.await.expect("no panic").expect("an answer");
        assert_eq!(answer["state"], "accepted");
        assert!(everybody.try_next().is_none());
        assert_eq!(hub.refused(), 2);
    }
}
