//! One connection to the bus, for commands: says something, waits for the answer, follows a run.
//!
//! Nothing is lost here while the bus keeps what it sends: there is no queue between the socket and whoever reads, so a run
//! that is followed comes whole, however slowly it is read.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use talents::UseId;
use talents::bus::{
    BUS_TOPIC, RUN_TOPIC, BusClientError, BusFilter, Frame, LINE_BYTES_MAX, Lines, BusMessage,
};
use talents::runner::log::read::{is_terminal, kind};
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use api::Error;
use api::Fault;

/// How long an answer may take; the bus itself gives up after 30 s.
const PATIENCE: Duration = Duration::from_secs(40);

type Fields = Map<String, Value>;

#[derive(Debug)]
pub struct Line {
    read: Lines<OwnedReadHalf>,
    write: OwnedWriteHalf,
    next_reference: u64,
    /// Heard while an answer was waited for.
    heard: VecDeque<BusMessage>,
}

impl Line {
    /// Connects, says who it is and what it wants to hear.
    pub async fn connect(path: &Path, name: &str, filter: &BusFilter) -> Result<Line, BusClientError> {
        let stream =
            UnixStream::connect(path).await.map_err(|_| BusClientError::NoBus(path.to_owned()))?;
        let (read, write) = stream.into_split();
        let mut line = Line {
            read: Lines::new(read, 2 * LINE_BYTES_MAX),
            write,
            next_reference: 0,
            heard: VecDeque::new(),
        };
        line.say(BusMessage::new(BUS_TOPIC, "hello").with("name", name)).await?;
        let filters = serde_json::to_value(filter).unwrap_or_default();
        line.ask(BusMessage::new(BUS_TOPIC, "subscribe").with("filters", filters)).await?;
        Ok(line)
    }

    pub async fn say(&mut self, message: BusMessage) -> Result<(), BusClientError> {
        let line = format!("{}\n", Value::Object(message.into_fields()));
        self.write.write_all(line.as_bytes()).await.map_err(|_| BusClientError::ConnectionLost)
    }

    /// Says something and waits for the answer; what else is heard meanwhile comes later.
    pub async fn ask(&mut self, message: BusMessage) -> Result<Fields, BusClientError> {
        self.next_reference += 1;
        let reference = format!("line-{}", self.next_reference);
        self.say(message.with("ref", reference.as_str())).await?;
        let answered = async {
            loop {
                let message = self.receive().await?.ok_or(BusClientError::ConnectionLost)?;
                if message.topic() != BUS_TOPIC || message.text("ref") != Some(&reference) {
                    self.heard.push_back(message);
                    continue;
                }
                if message.event() == "reply" {
                    return Ok(message.into_fields());
                }
                return Err(refused(&message));
            }
        };
        tokio::time::timeout(PATIENCE, answered).await.unwrap_or(Err(BusClientError::NoAnswer))
    }

    /// The next message; `None` when the bus has closed. Nothing is lost if the caller stops waiting.
    pub async fn next(&mut self) -> Result<Option<BusMessage>, BusClientError> {
        match self.heard.pop_front() {
            Some(message) => Ok(Some(message)),
            None => self.receive().await,
        }
    }

    async fn receive(&mut self) -> Result<Option<BusMessage>, BusClientError> {
        loop {
            match self.read.next().await.map_err(|_| BusClientError::ConnectionLost)? {
                None => return Ok(None),
                Some(Frame::Line(line)) => {
                    if let Ok(message) = BusMessage::parse(&line) {
                        return Ok(Some(message));
                    }
                }
                Some(Frame::TooLong { .. }) => {}
            }
        }
    }

    /// Asks for a run: its id, and its place in the queue if it waits.
    pub async fn request(&mut self, request: Fields) -> Result<Taken, BusClientError> {
        let asked = BusMessage::new(RUN_TOPIC, "request").and(request).with("event", "request");
        let answer = self.ask(asked).await?;
        let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
        if text("state") == "rejected" {
            let (code, why) = (text("code").to_owned(), text("reason").to_owned());
            return Err(BusClientError::Refused { code, why });
        }
        let use_id = UseId::parse(text("use_id")).map_err(|_| BusClientError::ConnectionLost)?;
        Ok(Taken { use_id, position: answer.get("position").and_then(Value::as_u64) })
    }

    /// Tells runs to end: `which` is `use_id`, `name` or `parent`. Gives those that were there.
    pub async fn cancel(&mut self, which: &str, value: &str) -> Result<Vec<String>, BusClientError> {
        let answer = self.ask(BusMessage::new(RUN_TOPIC, "cancel").with(which, value)).await?;
        if answer.get("state").and_then(Value::as_str) == Some("rejected") {
            let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
            return Err(BusClientError::Refused {
                code: text("code").to_owned(),
                why: text("reason").to_owned(),
            });
        }
        let runs = answer.get("cancelled").and_then(Value::as_array).into_iter().flatten();
        Ok(runs.filter_map(|run| run.as_str().map(str::to_owned)).collect())
    }

    /// From now on `next_of` gives the events of this run.
    pub async fn follow(&mut self, run: &UseId, after: Option<u64>) -> Result<(), BusClientError> {
        let mut asked = BusMessage::new(BUS_TOPIC, "replay").with("use_id", run.as_str());
        if let Some(after) = after {
            asked = asked.with("after", after);
        }
        self.ask(asked).await?;
        // What was heard of the run until the answer comes again, in its place; the end must not come before the beginning.
        self.heard.retain(|message| !is_event_of(message, run));
        Ok(())
    }

    /// The next event of a run that is followed; `None` when the bus has closed.
    pub async fn next_of(&mut self, run: &UseId) -> Result<Option<Fields>, BusClientError> {
        while let Some(message) = self.next().await? {
            if message.topic() == BUS_TOPIC && message.event() == "error" {
                return Err(refused(&message));
            }
            if is_event_of(&message, run) {
                let mut fields = message.into_fields();
                fields.remove("tract");
                return Ok(Some(fields));
            }
        }
        Ok(None)
    }
}

/// Whether a message is part of a run's log, or its end when the log could not be written.
fn is_event_of(message: &BusMessage, run: &UseId) -> bool {
    message.topic() == RUN_TOPIC
        && message.use_id() == Some(run.as_str())
        && (message.get("seq").is_some() || is_terminal(message.fields()))
}

/// A request that was taken.
#[derive(Debug)]
pub struct Taken {
    pub use_id: UseId,
    pub position: Option<u64>,
}

fn refused(message: &BusMessage) -> BusClientError {
    BusClientError::Refused {
        code: message.text("code").unwrap_or_default().to_owned(),
        why: message.text("error").unwrap_or_default().to_owned(),
    }
}

/// What a person should see of an event: one line; nothing for what only programs want.
pub fn told(event: &Fields) -> Option<String> {
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
    let line = match kind(event) {
        "spawned" => format!("process {}", event.get("pid").unwrap_or(&json!("?"))),
        "start" => format!("{} of {}", text("model"), text("provider")),
        "thinking" => format!("thinks: {}", text("summary")),
        "tool_start" => {
            let args = event.get("args").map(Value::to_string).unwrap_or_default();
            format!("tool {} {args}", text("tool"))
        }
        "tool_end" => {
            let failed = event.get("result").and_then(|result| result.get("error")).is_some();
            let how = if failed { "failed" } else { "answered" };
            let took = event.get("duration_ms").and_then(Value::as_u64).map(Duration::from_millis);
            let took = took.map(|took| format!(" after {:.1} s", took.as_secs_f64()));
            format!("tool {} {how}{}", text("tool"), took.unwrap_or_default())
        }
        "talent_updated" => format!("{} goes on", text("agent")),
        "warning" => format!("warning: {}", text("message")),
        "fallback" => format!("goes on with {} of {}", text("model"), text("provider")),
        "info" => text("message").to_owned(),
        "error" if !is_terminal(event) => format!("error: {}", text("error")),
        _ => return None,
    };
    let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    Some(shortened(line.trim(), 200))
}

fn shortened(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use talents::Layout;
    use talents::bus::{BusSettings, Hub};
    use talents::bus_server::BusServer;
    use talents::clock::SystemClock;

    use super::*;

    // execution 9.3: the run ends between the subscription and the replay
    #[tokio::test]
    async fn an_end_that_was_heard_before_the_replay_comes_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let hub = Hub::new(BusSettings::default(), Arc::new(SystemClock));
        let server = BusServer::start(hub.clone(), layout.clone(), &layout.bus_socket()).await.unwrap();
        let run = UseId::parse("1768464000123").unwrap();
        let talent = talents::TalentName::parse("default").unwrap();
        std::fs::create_dir_all(layout.runs_of(&talent)).unwrap();
        let events: Vec<Value> = ["request", "spawned", "finish"]
            .iter()
            .enumerate()
            .map(
                |(seq, event)| json!({"event": event, "use_id": run.as_str(), "seq": seq, "ts": 1}),
            )
            .collect();
        let log: Vec<String> = events.iter().map(Value::to_string).collect();
        std::fs::write(layout.ended_run(&talent, &run), log.join("\n") + "\n").unwrap();
        let filter = BusFilter::runs([run.to_string()]);
        let mut line = Line::connect(&layout.bus_socket(), "test", &filter).await.unwrap();
        let end = events[2].as_object().unwrap().clone();
        hub.publish(BusMessage::new(RUN_TOPIC, "").and(end));
        // It stands where `ask` puts what it hears while it waits for the answer to `replay`.
        let heard = line.receive().await.unwrap().unwrap();
        assert_eq!(heard.event(), "finish");
        line.heard.push_back(heard);
        line.follow(&run, None).await.unwrap();
        let mut told = Vec::new();
        while let Some(event) = line.next_of(&run).await.unwrap() {
            told.push(event["event"].as_str().unwrap().to_owned());
            if is_terminal(&event) {
                break;
            }
        }
        assert_eq!(told, ["request", "spawned", "finish"]);
        let last = line.next().await.unwrap().unwrap();
        assert_eq!((last.topic(), last.event()), (BUS_TOPIC, "replayed"));
        server.stop().await.unwrap();
    }
}
