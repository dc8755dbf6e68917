//! The task behind a client: it connects, writes what waits, reads what comes, and begins anew after every loss.
//!
//! What must stay true: a message leaves the outbox when it was written whole; whoever waits for an answer that cannot come
//! any more is told so.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, mpsc, oneshot};

use super::client::{BusClientError, BusClientEvent, BusClientSettings};
use super::line_codec::{BoundedLine, LineReader};
use super::{BUS_TOPIC, Backoff, BusFilter, BusMessage, LINE_BYTES_MAX};
use crate::clock::Jitter;

pub(super) type BusAnswer = Result<Map<String, Value>, BusClientError>;

#[derive(Debug)]
pub(super) struct PendingAnswer {
    pub(super) answer: oneshot::Sender<BusAnswer>,
    /// It went out; if the connection ends now, the answer will not come.
    pub(super) written: bool,
}

#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) line: String,
    pub(super) reference: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) outbox: VecDeque<Outgoing>,
    pub(super) asked: HashMap<String, PendingAnswer>,
    pub(super) filter: Option<BusFilter>,
    pub(super) next_reference: u64,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: BusClientSettings,
    pub(super) state: Mutex<State>,
    /// The outbox has more, the filter has changed, or the client stops.
    pub(super) changed: Notify,
    pub(super) emptied: Notify,
    pub(super) connected: AtomicBool,
    pub(super) connections: AtomicU64,
    pub(super) outbox_dropped: AtomicU64,
    pub(super) inbox_dropped: AtomicU64,
    pub(super) bad_lines: AtomicU64,
}

impl Shared {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct Link {
    pub(super) path: PathBuf,
    pub(super) shared: Arc<Shared>,
    pub(super) jitter: Arc<dyn Jitter>,
    pub(super) inbox: mpsc::Sender<BusClientEvent>,
}

impl Link {
    pub(super) async fn run(self) {
        let settings = &self.shared.settings;
        let backoff = Backoff {
            first: Duration::from_millis(settings.retry_ms_first),
            max: Duration::from_millis(settings.retry_ms_max),
        };
        let mut missed = 0u64;
        let mut attempt = 0;
        while !self.inbox.is_closed() {
            if let Ok(stream) = UnixStream::connect(&self.path).await {
                attempt = 0;
                self.shared.connections.fetch_add(1, Ordering::Relaxed);
                self.tell(&mut missed, BusClientEvent::Connected);
                let (read, write) = stream.into_split();
                // Whichever side fails first, the connection is over; the next one starts clean.
                tokio::select! {
                    _ = self.write(write) => {}
                    () = self.read(read, &mut missed) => {}
                }
                self.shared.connected.store(false, Ordering::Release);
                self.shared.state().asked.retain(|_, asked| !asked.written);
                self.tell(&mut missed, BusClientEvent::Disconnected);
            }
            tokio::time::sleep(backoff.wait(attempt, self.jitter.roll())).await;
            attempt = attempt.saturating_add(1);
        }
    }

    fn tell(&self, missed: &mut u64, incoming: BusClientEvent) {
        if *missed > 0 && self.inbox.try_send(BusClientEvent::Dropped(*missed)).is_ok() {
            *missed = 0;
        }
        if *missed > 0 || self.inbox.try_send(incoming).is_err() {
            *missed += 1;
            self.shared.inbox_dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn write(&self, mut to: OwnedWriteHalf) -> io::Result<()> {
        let mut hello = String::new();
        if !self.shared.settings.name.is_empty() {
            let message = BusMessage::new(BUS_TOPIC, "hello")
                .with("name", self.shared.settings.name.as_str());
            hello = format!("{}\n", Value::Object(message.into_fields()));
        }
        if let Some(filter) = &self.shared.state().filter {
            hello += &subscribe_line(filter);
            hello.push('\n');
        }
        to.write_all(hello.as_bytes()).await?;
        self.shared.connected.store(true, Ordering::Release);
        loop {
            let line = self.shared.state().outbox.front().map(|next| format!("{}\n", next.line));
            let Some(line) = line else {
                self.shared.emptied.notify_waiters();
                self.shared.changed.notified().await;
                continue;
            };
            to.write_all(line.as_bytes()).await?;
            let mut state = self.shared.state();
            // Somebody may have given up on it meanwhile and taken it out.
            if state.outbox.front().is_some_and(|next| line.trim_end() == next.line)
                && let Some(written) = state.outbox.pop_front()
                && let Some(asked) =
                    written.reference.and_then(|reference| state.asked.get_mut(&reference))
            {
                asked.written = true;
            }
        }
    }

    async fn read(&self, from: OwnedReadHalf, missed: &mut u64) {
        let mut lines = LineReader::new(from, 2 * LINE_BYTES_MAX);
        while let Ok(Some(frame)) = lines.next().await {
            let message = match frame {
                BoundedLine::Whole(line) => BusMessage::parse(&line).ok(),
                BoundedLine::TooLong { .. } => None,
            };
            match message {
                None => {
                    self.shared.bad_lines.fetch_add(1, Ordering::Relaxed);
                }
                Some(message) => {
                    if let Some(message) = self.answered(message) {
                        self.tell(missed, BusClientEvent::Message(message));
                    }
                }
            }
        }
    }

    /// Gives an answer to whoever waits for it; everything else is for the inbox.
    fn answered(&self, message: BusMessage) -> Option<BusMessage> {
        let is_answer =
            message.topic() == BUS_TOPIC && matches!(message.event(), "reply" | "error");
        let Some(reference) = message.text("ref").filter(|_| is_answer).map(str::to_owned) else {
            return Some(message);
        };
        match self.shared.state().asked.remove(&reference) {
            None => Some(message),
            Some(asked) => {
                drop(asked.answer.send(answer_of(message)));
                None
            }
        }
    }
}

pub(super) fn answer_of(message: BusMessage) -> BusAnswer {
    if message.event() == "reply" {
        return Ok(message.into_fields());
    }
    Err(BusClientError::Refused {
        code: message.text("code").unwrap_or_default().to_owned(),
        why: message.text("error").unwrap_or_default().to_owned(),
    })
}

pub(super) fn subscribe_line(filter: &BusFilter) -> String {
    let message = BusMessage::new(BUS_TOPIC, "subscribe")
        .with("filters", serde_json::to_value(filter).unwrap_or_default());
    Value::Object(message.into_fields()).to_string()
}
