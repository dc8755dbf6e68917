//! The task behind a client: it connects, writes what waits, reads what comes, and begins anew after every loss.
//!
//! What must stay true: a message leaves the outbox when it was written whole; whoever waits for an answer that
//! cannot come any more is told so.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, mpsc, oneshot};

use super::client::{BusClientEvent, BusClientSettings};
use super::connection::{BusAnswer, MessageReader, answer_of, hello, is_answer, subscribe};
use super::{Backoff, BusFilter, BusMessage};
use crate::clock::Jitter;

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
pub(super) struct BusClientInner {
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

impl BusClientInner {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct Link {
    pub(super) path: PathBuf,
    pub(super) shared: Arc<BusClientInner>,
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
        let mut greeting = Vec::new();
        if !self.shared.settings.name.is_empty() {
            greeting.push(hello(&self.shared.settings.name));
        }
        greeting.extend(self.shared.state().filter.as_ref().map(subscribe));
        for message in greeting {
            to.write_all(format!("{}\n", message.line()).as_bytes()).await?;
        }
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
        let mut messages = MessageReader::new(from);
        while let Ok(Some(message)) = messages.next().await {
            match message {
                Err(_) => {
                    self.shared.bad_lines.fetch_add(1, Ordering::Relaxed);
                }
                Ok(message) => {
                    if let Some(message) = self.answered(message) {
                        self.tell(missed, BusClientEvent::Message(message));
                    }
                }
            }
        }
    }

    /// Gives an answer to whoever waits for it; everything else is for the inbox.
    fn answered(&self, message: BusMessage) -> Option<BusMessage> {
        let reference = message.text("ref").filter(|_| is_answer(&message)).map(str::to_owned);
        let Some(reference) = reference else { return Some(message) };
        match self.shared.state().asked.remove(&reference) {
            None => Some(message),
            Some(asked) => {
                // Whoever asked may have given up meanwhile.
                let _ = asked.answer.send(answer_of(message));
                None
            }
        }
    }
}
