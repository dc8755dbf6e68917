//! One connection to the bus, and what every client of it says and understands.
//!
//! A `BusConnection` says something, waits for the answer, and follows runs. Nothing is lost here while the bus
//! keeps what it sends: there is no queue between the socket and whoever reads, so a run that is followed comes
//! whole, however slowly it is read. `BusClient` is for whoever has to outlive a restart of the daemon; it speaks
//! through the same reader and messages.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::time::Duration;

use api::run::{RunEvent, RunRequest};
use serde_json::{Map, Value};
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use super::client::BusClientError;
use super::line_codec::{BoundedLine, LineReader};
use super::message::BadLine;
use super::{BUS_TOPIC, BusFilter, BusMessage, LINE_BYTES_MAX, RUN_TOPIC};
use crate::UseId;

/// How long an answer may take; the bus itself gives up after 30 s.
const ANSWER_PATIENCE: Duration = Duration::from_secs(40);

pub(super) type BusAnswer = Result<Map<String, Value>, BusClientError>;

/// Reads messages from the bus, one per line.
#[derive(Debug)]
pub(super) struct MessageReader(LineReader<OwnedReadHalf>);

impl MessageReader {
    pub(super) fn new(from: OwnedReadHalf) -> MessageReader {
        // What the bus adds to a message must not make it too long to be read.
        MessageReader(LineReader::new(from, 2 * LINE_BYTES_MAX))
    }

    /// The next message; `None` when the bus has closed. Nothing is lost if the caller stops waiting.
    pub(super) async fn next(&mut self) -> io::Result<Option<Result<BusMessage, BadLine>>> {
        let line = self.0.next().await?;
        Ok(line.map(|line| match line {
            BoundedLine::Whole(line) => BusMessage::parse(&line),
            BoundedLine::TooLong { .. } => Err(BadLine::TooLong),
        }))
    }
}

pub(super) fn hello(name: &str) -> BusMessage {
    BusMessage::new(BUS_TOPIC, "hello").with("name", name)
}

pub(super) fn subscribe(filter: &BusFilter) -> BusMessage {
    let filters = serde_json::to_value(filter).unwrap_or_default();
    BusMessage::new(BUS_TOPIC, "subscribe").with("filters", filters)
}

/// Whether a message answers the one that had this reference.
pub(super) fn is_answer(message: &BusMessage) -> bool {
    message.topic() == BUS_TOPIC && matches!(message.event(), "reply" | "error")
}

pub(super) fn answer_of(message: BusMessage) -> BusAnswer {
    if message.event() == "reply" {
        return Ok(message.into_fields());
    }
    Err(refusal(message.fields(), "error"))
}

/// Why something was refused; the words stand under `why`.
fn refusal(fields: &Map<String, Value>, why: &str) -> BusClientError {
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    BusClientError::Refused { code: text("code"), why: text(why) }
}

/// A request for a run that was taken.
#[derive(Debug)]
pub struct AcceptedRun {
    pub use_id: UseId,
    /// Its place in the queue, if it waits.
    pub position: Option<u64>,
}

/// One connection to the bus. Dropping it closes it.
#[derive(Debug)]
pub struct BusConnection {
    reader: MessageReader,
    writer: OwnedWriteHalf,
    next_reference: u64,
    /// Messages that came while an answer was waited for.
    earlier: VecDeque<BusMessage>,
}

impl BusConnection {
    /// Connects without a word: the bus then sends everything.
    pub async fn open(path: &Path) -> Result<BusConnection, BusClientError> {
        let stream =
            UnixStream::connect(path).await.map_err(|_| BusClientError::NoBus(path.to_owned()))?;
        let (read, writer) = stream.into_split();
        Ok(BusConnection {
            reader: MessageReader::new(read),
            writer,
            next_reference: 0,
            earlier: VecDeque::new(),
        })
    }

    /// Connects, says who it is and what it wants to hear.
    pub async fn connect(
        path: &Path,
        name: &str,
        filter: &BusFilter,
    ) -> Result<BusConnection, BusClientError> {
        let mut connection = BusConnection::open(path).await?;
        connection.send(hello(name)).await?;
        connection.ask(subscribe(filter)).await?;
        Ok(connection)
    }

    pub async fn send(&mut self, message: BusMessage) -> Result<(), BusClientError> {
        let line = format!("{}\n", message.line());
        self.writer.write_all(line.as_bytes()).await.map_err(|_| BusClientError::ConnectionLost)
    }

    /// Says something and waits for the answer; what else is heard meanwhile comes later.
    pub async fn ask(&mut self, message: BusMessage) -> Result<Map<String, Value>, BusClientError> {
        self.ask_within(message, ANSWER_PATIENCE).await
    }

    pub async fn ask_within(
        &mut self,
        message: BusMessage,
        patience: Duration,
    ) -> Result<Map<String, Value>, BusClientError> {
        self.next_reference += 1;
        let reference = format!("line-{}", self.next_reference);
        let answered = async {
            self.send(message.with("ref", reference.as_str())).await?;
            loop {
                let message = self.receive().await?.ok_or(BusClientError::ConnectionLost)?;
                if is_answer(&message) && message.text("ref") == Some(&reference) {
                    return answer_of(message);
                }
                self.earlier.push_back(message);
            }
        };
        tokio::time::timeout(patience, answered).await.unwrap_or(Err(BusClientError::NoAnswer))
    }

    /// The next message; `None` when the bus has closed. Nothing is lost if the caller stops waiting.
    pub async fn next(&mut self) -> Result<Option<BusMessage>, BusClientError> {
        match self.earlier.pop_front() {
            Some(message) => Ok(Some(message)),
            None => self.receive().await,
        }
    }

    /// Lines that are no messages are passed over.
    async fn receive(&mut self) -> Result<Option<BusMessage>, BusClientError> {
        loop {
            match self.reader.next().await.map_err(|_| BusClientError::ConnectionLost)? {
                None => return Ok(None),
                Some(Ok(message)) => return Ok(Some(message)),
                Some(Err(_)) => {}
            }
        }
    }

    /// Asks for a run: its id, and its place in the queue if it waits.
    pub async fn request_run(
        &mut self,
        request: RunRequest,
    ) -> Result<AcceptedRun, BusClientError> {
        let answer = self.ask(run_request(request)).await?;
        refused(&answer)?;
        let text = answer.get("use_id").and_then(Value::as_str).unwrap_or_default();
        let use_id = UseId::parse(text).map_err(|_| BusClientError::ConnectionLost)?;
        Ok(AcceptedRun { use_id, position: answer.get("position").and_then(Value::as_u64) })
    }

    /// Tells runs to end: `which` is `use_id`, `name` or `parent`. Gives those that were there.
    pub async fn cancel_runs(
        &mut self,
        which: &str,
        value: &str,
    ) -> Result<Vec<String>, BusClientError> {
        let answer = self.ask(BusMessage::new(RUN_TOPIC, "cancel").with(which, value)).await?;
        refused(&answer)?;
        let runs = answer.get("cancelled").and_then(Value::as_array).into_iter().flatten();
        Ok(runs.filter_map(|run| run.as_str().map(str::to_owned)).collect())
    }

    /// From now on `next_event_of` gives the events of this run, those after `after` or all.
    pub async fn follow_run(
        &mut self,
        run: &UseId,
        after: Option<u64>,
    ) -> Result<(), BusClientError> {
        let mut asked = BusMessage::new(BUS_TOPIC, "replay").with("use_id", run.as_str());
        if let Some(after) = after {
            asked = asked.with("after", after);
        }
        self.ask(asked).await?;
        // What was heard of the run until the answer comes again, in its place; the end must not come before the
        // beginning.
        self.earlier.retain(|message| !is_event_of(message, run));
        Ok(())
    }

    /// The next event of a run that is followed; `None` when the bus has closed.
    pub async fn next_event_of(&mut self, run: &UseId) -> Result<Option<RunEvent>, BusClientError> {
        while let Some(message) = self.next().await? {
            if message.topic() == BUS_TOPIC && message.event() == "error" {
                return Err(refusal(message.fields(), "error"));
            }
            if is_event_of(&message, run) {
                return Ok(Some(message.run_event()));
            }
        }
        Ok(None)
    }
}

/// The message that asks for a run.
pub(super) fn run_request(request: RunRequest) -> BusMessage {
    BusMessage::new(RUN_TOPIC, "request").and(request.into_fields()).with("event", "request")
}

/// The runner answers with the reason if it does not take what it is told.
fn refused(answer: &Map<String, Value>) -> Result<(), BusClientError> {
    match answer.get("state").and_then(Value::as_str) {
        Some("rejected") => Err(refusal(answer, "reason")),
        _ => Ok(()),
    }
}

/// Whether a message is part of a run's log, or its end when the log could not be written.
fn is_event_of(message: &BusMessage, run: &UseId) -> bool {
    message.topic() == RUN_TOPIC
        && message.use_id() == Some(run.as_str())
        && (message.get("seq").is_some() || message.ends_run())
}

/// Asks once, without staying: for commands. Says at once if there is no bus.
pub async fn ask_once(
    path: &Path,
    message: BusMessage,
    patience: Duration,
) -> Result<Map<String, Value>, BusClientError> {
    let talk = async { BusConnection::open(path).await?.ask_within(message, patience).await };
    tokio::time::timeout(patience, talk).await.unwrap_or(Err(BusClientError::NoAnswer))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::{AsyncBufReadExt as _, BufReader};
    use tokio::net::UnixListener;

    use super::*;

    /// A bus that takes one client; a run ends just before it answers to `replay`.
    async fn bus_on_which_a_run_ends(listener: UnixListener, run: UseId) {
        let (stream, _) = listener.accept().await.unwrap();
        let (read, mut write) = stream.into_split();
        let mut lines = BufReader::new(read).lines();
        let event = |seq: usize, event: &str| {
            let run = run.as_str();
            json!({"tract": RUN_TOPIC, "event": event, "use_id": run, "seq": seq, "ts": 1})
        };
        while let Some(line) = lines.next_line().await.unwrap() {
            let asked: Value = serde_json::from_str(&line).unwrap();
            let reply = json!({"tract": BUS_TOPIC, "event": "reply", "ref": asked["ref"]});
            let said = match asked["event"].as_str() {
                Some("subscribe") => vec![reply],
                Some("replay") => vec![
                    event(2, "finish"),
                    reply,
                    event(0, "request"),
                    event(1, "spawned"),
                    event(2, "finish"),
                    json!({"tract": BUS_TOPIC, "event": "replayed"}),
                ],
                _ => Vec::new(),
            };
            for message in said {
                write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
            }
        }
    }

    // execution 9.3: the run ends between the subscription and the replay
    #[tokio::test]
    async fn an_end_that_was_heard_before_the_replay_comes_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("bus.sock");
        let run = UseId::parse("1768464000123").unwrap();
        let listener = UnixListener::bind(&socket).unwrap();
        let bus = tokio::spawn(bus_on_which_a_run_ends(listener, run.clone()));
        let filter = BusFilter::runs([run.to_string()]);
        let mut connection = BusConnection::connect(&socket, "test", &filter).await.unwrap();
        connection.follow_run(&run, None).await.unwrap();
        let mut names = Vec::new();
        while let Some(event) = connection.next_event_of(&run).await.unwrap() {
            names.push(event.name().to_owned());
            if event.is_terminal() {
                break;
            }
        }
        assert_eq!(names, ["request", "spawned", "finish"]);
        let last = connection.next().await.unwrap().unwrap();
        assert_eq!((last.topic(), last.event()), (BUS_TOPIC, "replayed"));
        drop(connection);
        bus.await.unwrap();
    }
}
