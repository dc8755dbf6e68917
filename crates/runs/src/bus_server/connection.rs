//! One client of the socket: a task that reads what it sends, and a task that writes what waits for it.
//!
//! The reader never waits for the writer, and neither waits for another client. Answers have a queue of their own,
//! so that a client that is behind on messages still gets the answer to its `status`. A client that takes nothing
//! at all for a while is cut: half a line may have gone out, so the connection is of no more use.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, watch};

use super::ServerState;
use crate::runner::RunFollower;
use llm::line_codec::{BoundedLine, LineReader};
use talents::UseId;
use talents::bus::{
    BUS_TOPIC, BadLine, BusFilter, BusMessage, Delivery, Gauge, LINE_BYTES_MAX, RUN_TOPIC,
    Subscription,
};

/// Answers that wait for one client.
const ANSWERS_MAX: usize = 256;
/// LineReader are written together up to this size.
const WRITE_BYTES: usize = 64 * 1024;
/// Runs whose events a client gets by replay and therefore not a second time from the bus.
const REPLAYED_MAX: usize = 1_024;
/// How long the part that serves a request may take to answer it.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);
/// How long a client may hold up the end of the bus.
const LAST_WORDS_STALL_MAX: Duration = Duration::from_millis(500);
const CLIENT_NAME_CHARS_MAX: usize = 64;

/// A connected client and its counters.
#[derive(Debug)]
pub(super) struct Peer {
    id: u64,
    name: Mutex<String>,
    received: AtomicU64,
    sent: AtomicU64,
    bad_lines: AtomicU64,
    answers_dropped: AtomicU64,
    following: AtomicU64,
    replayed: Mutex<VecDeque<String>>,
    gauge: Gauge,
}

impl Peer {
    pub(super) fn status(&self) -> Value {
        json!({
            "id": self.id,
            "name": *self.name.lock().unwrap_or_else(PoisonError::into_inner),
            "received": self.received.load(Ordering::Relaxed),
            "sent": self.sent.load(Ordering::Relaxed),
            "bad_lines": self.bad_lines.load(Ordering::Relaxed),
            "dropped": self.gauge.dropped(),
            "answers_dropped": self.answers_dropped.load(Ordering::Relaxed),
            "waiting": self.gauge.waiting(),
            "replays": self.following.load(Ordering::Relaxed),
        })
    }

    fn caller(&self) -> String {
        self.name.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn replays(&self, run: &UseId) {
        let mut replayed = self.replayed.lock().unwrap_or_else(PoisonError::into_inner);
        if replayed.len() >= REPLAYED_MAX {
            replayed.pop_front();
        }
        replayed.push_back(run.to_string());
    }

    fn replays_no_more(&self, run: &UseId) {
        let mut replayed = self.replayed.lock().unwrap_or_else(PoisonError::into_inner);
        replayed.retain(|id| id != run.as_str());
    }

    fn gets_by_replay(&self, run: &str) -> bool {
        let replayed = self.replayed.lock().unwrap_or_else(PoisonError::into_inner);
        replayed.iter().any(|id| id == run)
    }
}

/// Tells a client that came too late why it is not served, as far as that is possible without waiting.
pub(super) fn turn_away(stream: &UnixStream) {
    let line = error_line("too_many_clients", "too many clients are connected", None);
    // It is gone or will see the end of the stream; there is nobody to tell.
    let _ = stream.try_write(format!("{line}\n").as_bytes());
}

/// Serves one client until it leaves, is cut, or the bus stops.
pub(super) async fn serve(
    stream: UnixStream,
    lobby: Arc<ServerState>,
    id: u64,
    stopped: watch::Receiver<bool>,
) {
    let (read, write) = stream.into_split();
    let subscription = lobby.hub.subscribe(BusFilter::all());
    let peer = Arc::new(Peer {
        id,
        name: Mutex::new(format!("client-{id}")),
        received: AtomicU64::new(0),
        sent: AtomicU64::new(0),
        bad_lines: AtomicU64::new(0),
        answers_dropped: AtomicU64::new(0),
        following: AtomicU64::new(0),
        replayed: Mutex::default(),
        gauge: subscription.gauge(),
    });
    lobby.peers.lock().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::clone(&peer));
    let (answers, waiting_answers) = mpsc::channel(ANSWERS_MAX);
    let reader = ConnectionReader { lobby: Arc::clone(&lobby), peer: Arc::clone(&peer), answers };
    let stall = Duration::from_millis(lobby.hub.settings().stall_ms_max);
    let mut writer = ConnectionWriter { to: write, peer: Arc::clone(&peer), stall };
    // A reader that ends lets the writer finish what was asked; a writer that ends needs no reader.
    let reading = tokio::spawn(reader.run(read));
    let written = writer.run(subscription, waiting_answers, stopped).await;
    if written.is_err_and(|error| error.kind() == io::ErrorKind::TimedOut) {
        lobby.cut_stalled.fetch_add(1, Ordering::Relaxed);
    }
    reading.abort();
    lobby.peers.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
}

struct ConnectionWriter {
    to: OwnedWriteHalf,
    peer: Arc<Peer>,
    stall: Duration,
}

impl ConnectionWriter {
    async fn run(
        &mut self,
        mut subscription: Subscription,
        mut answers: mpsc::Receiver<String>,
        mut stopped: watch::Receiver<bool>,
    ) -> io::Result<()> {
        let mut lines = String::new();
        let mut stopping = false;
        loop {
            let mut count = 0u64;
            lines.clear();
            let over = tokio::select! {
                biased;
                // What waits at the end still goes out, for as long as the client takes it quickly.
                _ = stopped.wait_for(|stopped| *stopped), if !stopping => {
                    stopping = true;
                    self.stall = self.stall.min(LAST_WORDS_STALL_MAX);
                    false
                }
                answer = answers.recv() => match answer {
                    Some(answer) => {
                        count += push(&mut lines, &answer);
                        false
                    }
                    // The client has closed its side and everything it asked for is answered.
                    None => true,
                },
                delivery = subscription.next() => {
                    count += self.deliver(&mut lines, &delivery);
                    false
                }
                () = std::future::ready(()), if stopping => true,
            };
            if over {
                return self.to.shutdown().await;
            }
            while lines.len() < WRITE_BYTES {
                if let Ok(answer) = answers.try_recv() {
                    count += push(&mut lines, &answer);
                } else if let Some(delivery) = subscription.try_next() {
                    count += self.deliver(&mut lines, &delivery);
                } else {
                    break;
                }
            }
            self.write(lines.as_bytes()).await?;
            self.peer.sent.fetch_add(count, Ordering::Relaxed);
        }
    }

    fn deliver(&self, lines: &mut String, delivery: &Delivery) -> u64 {
        match delivery {
            Delivery::Dropped(count) => {
                let mark = BusMessage::new(BUS_TOPIC, "dropped").with("count", *count);
                push(lines, &mark.line())
            }
            Delivery::Event(event) => {
                let message = &event.message;
                // What is no part of a run's log (`accepted`, `queued`) is in no replay either.
                let is_logged = message.get("seq").is_some() || message.ends_run();
                match message.use_id() {
                    Some(run) if is_logged && self.peer.gets_by_replay(run) => 0,
                    _ => push(lines, &event.line),
                }
            }
        }
    }

    async fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = tokio::time::timeout(self.stall, self.to.write(bytes))
                .await
                .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            bytes = &bytes[count..];
        }
        Ok(())
    }
}

fn push(lines: &mut String, line: &str) -> u64 {
    lines.push_str(line);
    lines.push('\n');
    1
}

struct ConnectionReader {
    lobby: Arc<ServerState>,
    peer: Arc<Peer>,
    answers: mpsc::Sender<String>,
}

impl ConnectionReader {
    async fn run(self, from: OwnedReadHalf) {
        let mut lines = LineReader::new(from, LINE_BYTES_MAX);
        // A failed read is a client that is gone, the same as one that has closed.
        while let Ok(Some(frame)) = lines.next().await {
            self.peer.received.fetch_add(1, Ordering::Relaxed);
            let parsed = match frame {
                BoundedLine::Whole(line) => BusMessage::parse(&line),
                BoundedLine::TooLong { .. } => Err(BadLine::TooLong),
            };
            match parsed {
                Err(bad) => self.refuse_line(bad),
                Ok(message) if message.topic() == BUS_TOPIC => self.control(&message),
                Ok(message) => self.take(message).await,
            }
        }
    }

    /// A bad line costs that line: it is counted and answered, and the next one is read.
    fn refuse_line(&self, bad: BadLine) {
        self.peer.bad_lines.fetch_add(1, Ordering::Relaxed);
        let mut counts = self.lobby.bad_lines.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(bad.code()).or_default() += 1;
        drop(counts);
        self.say(error_line(bad.code(), &bad.to_string(), None));
    }

    fn say(&self, line: String) {
        if self.answers.try_send(line).is_err() {
            self.peer.answers_dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn answer(&self, asked: &BusMessage, fields: Map<String, Value>) {
        let mut answer = BusMessage::new(BUS_TOPIC, "reply").with("ok", true).and(fields);
        match asked.reference() {
            Some(reference) => answer = answer.with("ref", reference.clone()),
            None if asked.event() == "status" => {}
            // Who gave no `ref` asked for no answer.
            None => return,
        }
        self.say(answer.with("event", "reply").line());
    }

    fn refuse(&self, asked: &BusMessage, code: &str, why: &str) {
        self.say(error_line(code, why, asked.reference()));
    }

    async fn take(&self, message: BusMessage) {
        let reference = message.reference().cloned();
        let taken = self.lobby.hub.take(message, &self.peer.caller(), ANSWER_PATIENCE).await;
        let mut asked = BusMessage::new(BUS_TOPIC, "reply");
        if let Some(reference) = reference {
            asked = asked.with("ref", reference);
        }
        match taken {
            Err(refusal) => self.refuse(&asked, refusal.code(), &refusal.to_string()),
            Ok(fields) => self.answer(&asked, fields),
        }
    }

    fn control(&self, message: &BusMessage) {
        match message.event() {
            "hello" => {
                let name = message.text("name").unwrap_or_default();
                let name: String = name.chars().take(CLIENT_NAME_CHARS_MAX).collect();
                if !name.is_empty() {
                    *self.peer.name.lock().unwrap_or_else(PoisonError::into_inner) = name;
                }
                self.answer(message, Map::new());
            }
            "subscribe" => match message.get("filters").map(BusFilter::parse) {
                None => self.refuse(message, "bad_request", "`filters` is missing"),
                Some(Err(why)) => self.refuse(message, "bad_request", &why),
                Some(Ok(filter)) => {
                    self.peer.gauge.set_filter(filter);
                    self.answer(message, Map::new());
                }
            },
            "replay" => self.replay(message),
            "status" => {
                let status = self.lobby.status();
                self.answer(message, status.as_object().cloned().unwrap_or_default());
            }
            other => {
                let why =
                    format!("the bus knows hello, subscribe, replay and status, not {other:?}");
                self.refuse(message, "unknown_control", &why);
            }
        }
    }

    /// Sends a run from its log and then live, to its end, in a task of its own.
    fn replay(&self, message: &BusMessage) {
        let run = match message.use_id().map(UseId::parse) {
            Some(Ok(run)) => run,
            Some(Err(error)) => return self.refuse(message, error.code(), &error.to_string()),
            None => return self.refuse(message, "bad_request", "`use_id` is missing"),
        };
        let replays_max = self.lobby.hub.settings().replays_per_client_max as u64;
        if self.peer.following.fetch_add(1, Ordering::AcqRel) >= replays_max {
            self.peer.following.fetch_sub(1, Ordering::AcqRel);
            let why = format!("a client follows at most {replays_max} runs at once");
            return self.refuse(message, "too_many_replays", &why);
        }
        // From here on the writer leaves the run to its replay, and the answer goes out after this: what the client
        // heard of the run before the answer comes again, and nothing after it comes twice.
        self.peer.replays(&run);
        let after = message.get("after").and_then(Value::as_u64);
        let mut follow = RunFollower::new(&self.lobby.hub, &self.lobby.layout, &run, after);
        self.answer(message, Map::new());
        let answers = self.answers.clone();
        let peer = Arc::clone(&self.peer);
        let reference = message.reference().cloned();
        tokio::spawn(async move {
            let ended = loop {
                let next = tokio::select! {
                    next = follow.next() => next,
                    () = answers.closed() => break None,
                };
                match next {
                    Ok(Some(event)) => {
                        let told = BusMessage::new(RUN_TOPIC, "").and(event.event.into_fields());
                        let line = told.line();
                        if answers.send(line).await.is_err() {
                            break None;
                        }
                    }
                    Ok(None) => {
                        let mut end =
                            BusMessage::new(BUS_TOPIC, "replayed").with("use_id", run.to_string());
                        if let Some(reference) = &reference {
                            end = end.with("ref", reference.clone());
                        }
                        break Some(end.line());
                    }
                    Err(error) => {
                        let code = match error.kind() {
                            io::ErrorKind::NotFound => "no_such_run",
                            _ => "log_unreadable",
                        };
                        // Nobody replays it: what happens to it later comes like everything else.
                        peer.replays_no_more(&run);
                        let why = format!("run {run}: {error}");
                        break Some(error_line(code, &why, reference.as_ref()));
                    }
                }
            };
            if let Some(line) = ended {
                // A client that is gone needs no last line.
                let _ = answers.send(line).await;
            }
            peer.following.fetch_sub(1, Ordering::AcqRel);
        });
    }
}

fn error_line(code: &str, why: &str, reference: Option<&Value>) -> String {
    let mut error =
        BusMessage::new(BUS_TOPIC, "error").with("ok", false).with("code", code).with("error", why);
    if let Some(reference) = reference {
        error = error.with("ref", reference.clone());
    }
    error.line()
}
