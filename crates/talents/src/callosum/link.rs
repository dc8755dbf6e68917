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

use super::client::{ClientError, ClientSettings, Incoming};
use super::line_codec::{BoundedLine, LineReader};
use super::{Backoff, CALLOSUM, Filter, LINE_BYTES_MAX, Message};
use crate::world::Chance;

pub(super) type Answer = Result<Map<String, Value>, ClientError>;

#[derive(Debug)]
pub(super) struct Asked {
    pub(super) answer: oneshot::Sender<Answer>,
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
    pub(super) asked: HashMap<String, Asked>,
    pub(super) filter: Option<Filter>,
    pub(super) next_reference: u64,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: ClientSettings,
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
    pub(super) chance: Arc<dyn Chance>,
    pub(super) inbox: mpsc::Sender<Incoming>,
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
                self.tell(&mut missed, Incoming::Connected);
                let (read, write) = stream.into_split();
                // Whichever side fails first, the connection is over; the next one starts clean.
                tokio::select! {
                    _ = self.write(write) => {}
                    () = self.read(read, &mut missed) => {}
                }
                self.shared.connected.store(false, Ordering::Release);
                self.shared.state().asked.retain(|_, asked| !asked.written);
                self.tell(&mut missed, Incoming::Disconnected);
            }
            tokio::time::sleep(backoff.wait(attempt, self.chance.roll())).await;
            attempt = attempt.saturating_add(1);
        }
    }

    fn tell(&self, missed: &mut u64, incoming: Incoming) {
        if *missed > 0 && self.inbox.try_send(Incoming::Dropped(*missed)).is_ok() {
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
            let message =
                Message::new(CALLOSUM, "hello").with("name", self.shared.settings.name.as_str());
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
                BoundedLine::Whole(line) => Message::parse(&line).ok(),
                BoundedLine::TooLong { .. } => None,
            };
            match message {
                None => {
                    self.shared.bad_lines.fetch_add(1, Ordering::Relaxed);
                }
                Some(message) => {
                    if let Some(message) = self.answered(message) {
                        self.tell(missed, Incoming::Message(message));
                    }
                }
            }
        }
    }

    /// Gives an answer to whoever waits for it; everything else is for the inbox.
    fn answered(&self, message: Message) -> Option<Message> {
        let is_answer = message.tract() == CALLOSUM && matches!(message.event(), "reply" | "error");
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

pub(super) fn answer_of(message: Message) -> Answer {
    if message.event() == "reply" {
        return Ok(message.into_fields());
    }
    Err(ClientError::Refused {
        code: message.text("code").unwrap_or_default().to_owned(),
        why: message.text("error").unwrap_or_default().to_owned(),
    })
}

pub(super) fn subscribe_line(filter: &Filter) -> String {
    let message = Message::new(CALLOSUM, "subscribe")
        .with("filters", serde_json::to_value(filter).unwrap_or_default());
    Value::Object(message.into_fields()).to_string()
}
