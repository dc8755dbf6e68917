//! The other side of the socket: a client that stays, through restarts of the daemon.
//!
//! One task (`link`) owns the connection. While there is none it tries again with growing waits, and what is sent
//! waits in a bounded outbox; what does not fit is dropped and counted. After each connection it says its name and
//! what it wants to hear again. A message leaves the outbox when it was written; one that was cut in the middle is
//! written again.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::run::RunRequest;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::{Notify, mpsc, oneshot};

use super::connection::{BusAnswer, run_request, subscribe};
use super::link::{BusClientInner, Link, Outgoing, PendingAnswer};
use super::{BusFilter, BusMessage};
use crate::clock::Jitter;

/// The bounds of a client.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct BusClientSettings {
    /// What `status` calls this client.
    pub name: String,
    /// Messages that wait while there is no connection.
    pub outbox_messages_max: usize,
    /// Messages that wait for the owner of this client.
    pub inbox_messages_max: usize,
    pub retry_ms_first: u64,
    pub retry_ms_max: u64,
}

impl Default for BusClientSettings {
    fn default() -> BusClientSettings {
        BusClientSettings {
            name: String::new(),
            outbox_messages_max: 1_000,
            inbox_messages_max: 1_000,
            retry_ms_first: 50,
            retry_ms_max: 5_000,
        }
    }
}

/// What comes in.
#[derive(Clone, Debug, PartialEq)]
pub enum BusClientEvent {
    Connected,
    /// What was published until the next `Connected` is not heard; `replay` brings back the events of a run.
    Disconnected,
    Message(BusMessage),
    /// The owner was too slow for so many messages.
    Dropped(u64),
}

/// Why there is no answer.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum BusClientError {
    #[error("nobody serves the bus at {0}")]
    NoBus(PathBuf),
    #[error("the outbox is full")]
    OutboxFull,
    #[error("no answer within the time given")]
    NoAnswer,
    #[error("the connection was lost before the answer came")]
    ConnectionLost,
    #[error("{why}")]
    Refused { code: String, why: String },
}

impl BusClientError {
    pub fn code(&self) -> &str {
        match self {
            BusClientError::NoBus(_) => "no_bus",
            BusClientError::OutboxFull => "outbox_full",
            BusClientError::NoAnswer => "no_answer",
            BusClientError::ConnectionLost => "connection_lost",
            BusClientError::Refused { code, .. } => code,
        }
    }
}

/// The counters of a client.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct BusClientStatus {
    pub connected: bool,
    pub connections: u64,
    pub outbox: usize,
    /// Messages that were not sent because the outbox was full.
    pub outbox_dropped: u64,
    /// Messages that the owner was too slow for.
    pub inbox_dropped: u64,
    pub bad_lines: u64,
}

/// A client of the bus. Dropping it closes the connection.
#[derive(Debug)]
pub struct BusClient {
    shared: Arc<BusClientInner>,
    task: tokio::task::JoinHandle<()>,
}

impl BusClient {
    /// Connects in the background, now and after every loss.
    pub fn start(
        path: &Path,
        settings: BusClientSettings,
        jitter: Arc<dyn Jitter>,
    ) -> (BusClient, mpsc::Receiver<BusClientEvent>) {
        let (inbox, incoming) = mpsc::channel(settings.inbox_messages_max.max(1));
        let shared = Arc::new(BusClientInner {
            settings,
            state: Mutex::default(),
            changed: Notify::new(),
            emptied: Notify::new(),
            connected: AtomicBool::new(false),
            connections: AtomicU64::new(0),
            outbox_dropped: AtomicU64::new(0),
            inbox_dropped: AtomicU64::new(0),
            bad_lines: AtomicU64::new(0),
        });
        let link = Link { path: path.to_owned(), shared: Arc::clone(&shared), jitter, inbox };
        (BusClient { shared, task: tokio::spawn(link.run()) }, incoming)
    }

    /// Sends a message when there is a connection. `false`: the outbox is full, and the message is dropped and counted.
    pub fn send(&self, message: &BusMessage) -> bool {
        self.put(message.line(), None)
    }

    fn put(&self, line: String, reference: Option<String>) -> bool {
        let mut state = self.shared.state();
        if state.outbox.len() >= self.shared.settings.outbox_messages_max {
            self.shared.outbox_dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        state.outbox.push_back(Outgoing { line, reference });
        drop(state);
        self.shared.changed.notify_one();
        true
    }

    /// Sends a message and waits for its answer.
    pub async fn ask(&self, message: BusMessage, patience: Duration) -> BusAnswer {
        let (answer, answered) = oneshot::channel();
        let reference = {
            let mut state = self.shared.state();
            state.next_reference += 1;
            let reference = format!("{}#{}", self.shared.settings.name, state.next_reference);
            state.asked.insert(reference.clone(), PendingAnswer { answer, written: false });
            reference
        };
        let line = message.with("ref", reference.clone()).line();
        let outcome = if self.put(line, Some(reference.clone())) {
            match tokio::time::timeout(patience, answered).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => Err(BusClientError::ConnectionLost),
                Err(_) => Err(BusClientError::NoAnswer),
            }
        } else {
            Err(BusClientError::OutboxFull)
        };
        // Whoever gave up does not want it done later.
        let mut state = self.shared.state();
        state.asked.remove(&reference);
        state.outbox.retain(|waiting| waiting.reference.as_ref() != Some(&reference));
        outcome
    }

    /// Asks for a run (execution R8); gives the answer: `state`, and `use_id` or `code` and `reason`.
    pub async fn request_run(&self, request: RunRequest, patience: Duration) -> BusAnswer {
        self.ask(run_request(request), patience).await
    }

    /// Chooses what comes in, on this connection and on every later one.
    pub fn subscribe(&self, filter: BusFilter) {
        let line = subscribe(&filter).line();
        self.shared.state().filter = Some(filter);
        if self.shared.connected.load(Ordering::Acquire) {
            self.put(line, None);
        }
    }

    pub fn status(&self) -> BusClientStatus {
        BusClientStatus {
            connected: self.shared.connected.load(Ordering::Acquire),
            connections: self.shared.connections.load(Ordering::Relaxed),
            outbox: self.shared.state().outbox.len(),
            outbox_dropped: self.shared.outbox_dropped.load(Ordering::Relaxed),
            inbox_dropped: self.shared.inbox_dropped.load(Ordering::Relaxed),
            bad_lines: self.shared.bad_lines.load(Ordering::Relaxed),
        }
    }

    /// Ends when everything sent so far has gone out, or after `patience`; says how many messages did not go out.
    pub async fn stop(self, patience: Duration) -> usize {
        let emptied = async {
            loop {
                let waiting = self.shared.emptied.notified();
                if self.shared.state().outbox.is_empty() {
                    return;
                }
                waiting.await;
            }
        };
        // What has not gone out when the time is up is counted.
        let _ = tokio::time::timeout(patience, emptied).await;
        self.shared.state().outbox.len()
    }
}

impl Drop for BusClient {
    fn drop(&mut self) {
        self.task.abort();
    }
}
