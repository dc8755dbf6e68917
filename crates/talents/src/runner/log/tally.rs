//! What a run was, summed up from its events: the row in the day's index, and what observers learn.
//!
//! Live runs, recovery and the rebuilding of the index feed the same events through the same code.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::read::{is_terminal, kind};
use crate::{Day, TalentName, UseId};

const SHOWN_CHARS_MAX: usize = 200;
/// Memories that are kept of a run whose process could not say itself what it read.
const CITED_MAX: usize = 1_000;

/// How a run ended.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Completed,
    Error,
}

/// One run in the index of its day.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Row {
    pub use_id: String,
    pub name: String,
    pub day: String,
    pub ts: u64,
    pub status: RunStatus,
    /// Why an error; why a finish did nothing (`skipped`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    pub runtime_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facet: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cli_session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_path: Option<String>,
    pub events: u64,
    pub thinking_count: u64,
    pub tool_count: u64,
    pub info_count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Value>,
    /// In US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The first 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The first 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Memories that were read and used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cited: Vec<Value>,
}

/// How a run ended, for whoever learns from it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Finished,
    /// It found nothing to do.
    Skipped,
    Failed,
    Cancelled,
}

/// A run that has ended, as observers get it.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedRun {
    pub use_id: UseId,
    pub name: TalentName,
    pub outcome: Outcome,
    pub cited: Vec<Value>,
    pub usage: Option<Value>,
    pub cost: Option<f64>,
    /// What it was asked for, without values of `env`.
    pub request: Map<String, Value>,
    /// The whole text of its answer.
    pub result: Option<String>,
    /// Everything else the index knows.
    pub row: Row,
}

/// Sums up events as they come.
#[derive(Clone, Debug)]
pub(in crate::runner) struct Tally {
    use_id: UseId,
    name: TalentName,
    request: Map<String, Value>,
    start: Map<String, Value>,
    terminal: Option<Map<String, Value>>,
    last_ts: u64,
    events: u64,
    thinking: u64,
    tools: u64,
    infos: u64,
    /// Memories that tools gave so far.
    cited: Vec<Value>,
}

impl Tally {
    pub(in crate::runner) fn new(name: &TalentName, use_id: &UseId) -> Tally {
        Tally {
            use_id: use_id.clone(),
            name: name.clone(),
            request: Map::new(),
            start: Map::new(),
            terminal: None,
            last_ts: 0,
            events: 0,
            thinking: 0,
            tools: 0,
            infos: 0,
            cited: Vec::new(),
        }
    }

    pub(in crate::runner) fn see(&mut self, event: &Map<String, Value>) {
        self.events += 1;
        self.last_ts = self.last_ts.max(event.get("ts").and_then(Value::as_u64).unwrap_or(0));
        match kind(event) {
            "request" => self.request.clone_from(event),
            "start" => self.start.clone_from(event),
            "thinking" => self.thinking += 1,
            "tool_start" => self.tools += 1,
            "tool_end" => self.see_cited(event),
            "info" => self.infos += 1,
            _ if is_terminal(event) => self.terminal = Some(event.clone()),
            _ => {}
        }
    }

    /// Keeps which memories a call of a tool gave, also if its event has no more room in the log.
    pub(in crate::runner) fn see_cited(&mut self, event: &Map<String, Value>) {
        for memory in event.get("cited").and_then(Value::as_array).into_iter().flatten() {
            if self.cited.len() < CITED_MAX && !self.cited.contains(memory) {
                self.cited.push(memory.clone());
            }
        }
    }

    /// The memories that were read so far, in the order they were read.
    pub(in crate::runner) fn cited(&self) -> &[Value] {
        &self.cited
    }

    /// The row of a run that has ended; `today` is the day of the run if its request names none.
    pub(in crate::runner) fn row(&self, today: Day) -> Option<Row> {
        let terminal = self.terminal.as_ref()?;
        let first = |sources: &[&Map<String, Value>], key: &str| {
            sources
                .iter()
                .find_map(|source| source.get(key).and_then(Value::as_str).map(str::to_owned))
        };
        let asked = |key: &str| first(&[&self.request], key);
        let ended = |key: &str| first(&[terminal], key);
        let day = asked("day").and_then(|day| Day::parse(&day).ok()).unwrap_or(today);
        let completed = kind(terminal) == "finish";
        let ts = self.use_id.as_str().parse().unwrap_or(0);
        Some(Row {
            use_id: self.use_id.to_string(),
            name: self.name.to_string(),
            day: day.to_string(),
            ts,
            status: if completed { RunStatus::Completed } else { RunStatus::Error },
            reason: ended("reason"),
            skipped: ended("skipped"),
            runtime_ms: terminal
                .get("duration_ms")
                .and_then(Value::as_u64)
                .unwrap_or_else(|| self.last_ts.saturating_sub(ts)),
            facet: asked("facet"),
            provider: first(&[terminal, &self.start, &self.request], "provider"),
            model: first(&[terminal, &self.start, &self.request], "model"),
            schedule: asked("schedule"),
            parent: asked("parent"),
            chat_id: asked("chat_id"),
            cli_session_id: ended("cli_session_id"),
            output_path: first(&[terminal, &self.request], "output_path"),
            events: self.events,
            thinking_count: self.thinking,
            tool_count: self.tools,
            info_count: self.infos,
            usage: terminal.get("usage").filter(|usage| !usage.is_null()).cloned(),
            cost: terminal.get("cost").and_then(Value::as_f64),
            error_message: if completed { None } else { ended("error").map(shown) },
            prompt: asked("prompt").map(shown),
            cited: match terminal.get("cited").and_then(Value::as_array) {
                Some(told) => told.clone(),
                None => self.cited.clone(),
            },
        })
    }

    pub(in crate::runner) fn ended(&self, today: Day) -> Option<EndedRun> {
        let row = self.row(today)?;
        let outcome = match (row.status, row.reason.as_deref(), &row.skipped) {
            (RunStatus::Completed, _, Some(_)) => Outcome::Skipped,
            (RunStatus::Completed, ..) => Outcome::Finished,
            (RunStatus::Error, Some("cancelled"), _) => Outcome::Cancelled,
            (RunStatus::Error, ..) => Outcome::Failed,
        };
        Some(EndedRun {
            use_id: self.use_id.clone(),
            name: self.name.clone(),
            outcome,
            cited: row.cited.clone(),
            usage: row.usage.clone(),
            cost: row.cost,
            request: self.request.clone(),
            result: self
                .terminal
                .as_ref()
                .and_then(|event| event.get("result").and_then(Value::as_str))
                .map(str::to_owned),
            row,
        })
    }
}

/// The start of a text, with a mark if it goes on.
fn shown(text: String) -> String {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
