//! What a run was, summed up from its events: the row in the day's index, and what observers learn.
//!
//! Live runs, recovery and the rebuilding of the index feed the same events through the same code.

use api::run::{
    RunEvent, RunEventKind, RunOutcome, RunRecord, RunRequest, RunStatus, UsagePayload,
};
use serde_json::{Map, Value};

use talents::{Day, TalentName, UseId};

const SHOWN_CHARS_MAX: usize = 200;
/// Memories that are kept of a run whose process could not say itself what it read.
const CITED_MAX: usize = 1_000;

/// A run that has ended, as observers get it.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedRun {
    pub use_id: UseId,
    pub name: TalentName,
    pub outcome: RunOutcome,
    pub cited: Vec<Value>,
    pub usage: Option<Value>,
    pub cost: Option<f64>,
    /// What it was asked for, without values of `env`.
    pub request: RunRequest,
    /// The whole text of its answer.
    pub result: Option<String>,
    /// Everything else the index knows.
    pub record: RunRecord,
}

/// Sums up events as they come.
#[derive(Clone, Debug)]
pub(in crate::runner) struct Tally {
    use_id: UseId,
    name: TalentName,
    request: RunEvent,
    start: RunEvent,
    terminal: Option<RunEvent>,
    last_ts: u64,
    events: u64,
    thinking: u64,
    tools: u64,
    infos: u64,
    /// Memories that tools gave so far.
    cited: Vec<Value>,
    /// What requests took so far, for a run whose process cannot say it at the end.
    usage: Map<String, Value>,
    /// Dollars of them; nothing if the price of one is not known.
    cost: Option<f64>,
}

impl Tally {
    pub(in crate::runner) fn new(name: &TalentName, use_id: &UseId) -> Tally {
        Tally {
            use_id: use_id.clone(),
            name: name.clone(),
            request: RunEvent::default(),
            start: RunEvent::default(),
            terminal: None,
            last_ts: 0,
            events: 0,
            thinking: 0,
            tools: 0,
            infos: 0,
            cited: Vec::new(),
            usage: Map::new(),
            cost: Some(0.0),
        }
    }

    pub(in crate::runner) fn see(&mut self, event: &RunEvent) {
        self.events += 1;
        self.last_ts = self.last_ts.max(event.ts().unwrap_or(0));
        match event.kind() {
            RunEventKind::Request => self.request.clone_from(event),
            RunEventKind::Start => self.start.clone_from(event),
            RunEventKind::Thinking => self.thinking += 1,
            RunEventKind::ToolStart => self.tools += 1,
            RunEventKind::ToolEnd => self.see_cited(event),
            RunEventKind::Usage => self.see_usage(event),
            RunEventKind::Info => self.infos += 1,
            _ if event.is_terminal() => self.terminal = Some(event.clone()),
            _ => {}
        }
    }

    /// Keeps which memories a call of a tool gave, also if its event has no more room in the log.
    pub(in crate::runner) fn see_cited(&mut self, event: &RunEvent) {
        for memory in event.get("cited").and_then(Value::as_array).into_iter().flatten() {
            if self.cited.len() < CITED_MAX && !self.cited.contains(memory) {
                self.cited.push(memory.clone());
            }
        }
    }

    /// Adds up what a request took, also if its event has no more room in the log.
    pub(in crate::runner) fn see_usage(&mut self, event: &RunEvent) {
        let Some(UsagePayload { usage: Some(Value::Object(usage)), cost, .. }) = event.payload()
        else {
            return;
        };
        for (key, value) in usage {
            let Some(count) = value.as_u64() else { continue };
            let before = self.usage.get(&key).and_then(Value::as_u64).unwrap_or(0);
            self.usage.insert(key, before.saturating_add(count).into());
        }
        self.cost = self.cost.zip(cost.flatten()).map(|(sum, one)| sum + one);
    }

    /// What requests took so far, and what that costs.
    pub(in crate::runner) fn spent(&self) -> Option<(Value, Option<f64>)> {
        (!self.usage.is_empty()).then(|| (Value::Object(self.usage.clone()), self.cost))
    }

    /// The memories that were read so far, in the order they were read.
    pub(in crate::runner) fn cited(&self) -> &[Value] {
        &self.cited
    }

    /// The record of a run that has ended; `today` is the day of the run if its request names none.
    pub(in crate::runner) fn record(&self, today: Day) -> Option<RunRecord> {
        let terminal = self.terminal.as_ref()?;
        let first = |sources: &[&RunEvent], key: &str| {
            sources.iter().find_map(|source| source.text(key).map(str::to_owned))
        };
        let asked = |key: &str| first(&[&self.request], key);
        let ended = |key: &str| first(&[terminal], key);
        let day = asked("day").and_then(|day| Day::parse(&day).ok()).unwrap_or(today);
        let completed = terminal.kind() == RunEventKind::Finish;
        let ts = self.use_id.as_str().parse().unwrap_or(0);
        Some(RunRecord {
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
            usage: match terminal.get("usage").filter(|usage| !usage.is_null()) {
                Some(told) => Some(told.clone()),
                None => self.spent().map(|(usage, _)| usage),
            },
            cost: match terminal.get("cost") {
                Some(told) => told.as_f64(),
                None => self.spent().and_then(|(_, cost)| cost),
            },
            error_message: if completed { None } else { ended("error").map(shown) },
            prompt: asked("prompt").map(shown),
            cited: match terminal.get("cited").and_then(Value::as_array) {
                Some(told) => told.clone(),
                None => self.cited.clone(),
            },
        })
    }

    pub(in crate::runner) fn ended(&self, today: Day) -> Option<EndedRun> {
        let record = self.record(today)?;
        let outcome = match (record.status, record.reason.as_deref(), &record.skipped) {
            (RunStatus::Completed, _, Some(_)) => RunOutcome::Skipped,
            (RunStatus::Completed, ..) => RunOutcome::Finished,
            (RunStatus::Error, Some("cancelled"), _) => RunOutcome::Cancelled,
            (RunStatus::Error, ..) => RunOutcome::Failed,
        };
        Some(EndedRun {
            use_id: self.use_id.clone(),
            name: self.name.clone(),
            outcome,
            cited: record.cited.clone(),
            usage: record.usage.clone(),
            cost: record.cost,
            // A log whose first line is no request tells nothing of what was asked.
            request: RunRequest::from_log(self.request.fields()).unwrap_or_default(),
            result: self
                .terminal
                .as_ref()
                .and_then(|event| event.text("result"))
                .map(str::to_owned),
            record,
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
