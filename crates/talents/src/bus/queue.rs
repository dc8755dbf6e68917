//! What waits for one listener.
//!
//! The queue is bounded in messages and in bytes. When it is full the new message is not taken, and in its place
//! stands a mark that says how many are missing there: a listener that was too slow knows where it has a gap.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use super::BusFilter;
use super::hub::{BusEvent, Hub};

/// What a listener gets.
#[derive(Clone, Debug)]
pub enum Delivery {
    Event(Arc<BusEvent>),
    /// So many messages are missing at this place, because the listener was too slow.
    Dropped(u64),
}

/// The bounds of one queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) messages: usize,
    pub(super) bytes: usize,
}

#[derive(Debug, Default)]
struct Waiting {
    items: VecDeque<Delivery>,
    bytes: usize,
}

/// The hub's side of a subscription.
#[derive(Debug)]
pub(super) struct Listener {
    filter: Mutex<BusFilter>,
    bounds: Bounds,
    waiting: Mutex<Waiting>,
    arrived: Notify,
    dropped: AtomicU64,
}

impl Listener {
    pub(super) fn new(filter: BusFilter, bounds: Bounds) -> Listener {
        Listener {
            filter: Mutex::new(filter),
            bounds,
            waiting: Mutex::default(),
            arrived: Notify::new(),
            dropped: AtomicU64::new(0),
        }
    }

    /// Never waits for the listener.
    pub(super) fn offer(&self, event: &Arc<BusEvent>) {
        let wanted =
            self.filter.lock().unwrap_or_else(PoisonError::into_inner).takes(&event.message);
        if !wanted {
            return;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let full = waiting.items.len() >= self.bounds.messages
            || waiting.bytes + event.line.len() > self.bounds.bytes;
        if full {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            if let Some(Delivery::Dropped(count)) = waiting.items.back_mut() {
                *count += 1;
            } else {
                waiting.items.push_back(Delivery::Dropped(1));
            }
        } else {
            waiting.bytes += event.line.len();
            waiting.items.push_back(Delivery::Event(Arc::clone(event)));
        }
        drop(waiting);
        self.arrived.notify_one();
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn pop(&self) -> Option<Delivery> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let item = waiting.items.pop_front()?;
        if let Delivery::Event(event) = &item {
            waiting.bytes -= event.line.len();
        }
        Some(item)
    }
}

/// One listener's view of the bus. Dropping it ends it.
#[derive(Debug)]
pub struct Subscription {
    hub: Hub,
    id: u64,
    listener: Arc<Listener>,
    /// Older messages that come first, taken from the ring when the subscription was made.
    backlog: VecDeque<Arc<BusEvent>>,
}

impl Subscription {
    pub(super) fn new(
        hub: Hub,
        id: u64,
        listener: Arc<Listener>,
        backlog: VecDeque<Arc<BusEvent>>,
    ) -> Subscription {
        Subscription { hub, id, listener, backlog }
    }

    /// Waits for the next message. Nothing is lost if the caller stops waiting.
    pub async fn next(&mut self) -> Delivery {
        loop {
            if let Some(delivery) = self.try_next() {
                return delivery;
            }
            self.listener.arrived.notified().await;
        }
    }

    /// The next message, if one is there.
    pub fn try_next(&mut self) -> Option<Delivery> {
        match self.backlog.pop_front() {
            Some(event) => Some(Delivery::Event(event)),
            None => self.listener.pop(),
        }
    }

    /// Wants other messages from now on.
    pub fn set_filter(&self, filter: BusFilter) {
        *self.listener.filter.lock().unwrap_or_else(PoisonError::into_inner) = filter;
    }

    /// How many messages this listener lost so far.
    pub fn dropped(&self) -> u64 {
        self.listener.dropped()
    }

    /// How many messages wait.
    pub fn waiting(&self) -> usize {
        let queued = self.listener.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        self.backlog.len() + queued.items.len()
    }

    pub fn gauge(&self) -> Gauge {
        Gauge { listener: Arc::clone(&self.listener) }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.hub.forget(self.id);
    }
}

/// Reads the counters of a subscription that somebody else owns, and changes what it wants.
#[derive(Clone, Debug)]
pub struct Gauge {
    listener: Arc<Listener>,
}

impl Gauge {
    pub fn dropped(&self) -> u64 {
        self.listener.dropped()
    }

    pub fn waiting(&self) -> usize {
        self.listener.waiting.lock().unwrap_or_else(PoisonError::into_inner).items.len()
    }

    pub fn set_filter(&self, filter: BusFilter) {
        *self.listener.filter.lock().unwrap_or_else(PoisonError::into_inner) = filter;
    }
}
