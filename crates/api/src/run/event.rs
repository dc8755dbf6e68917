//! One event of a run, as it stands in the run's log and on the bus.
//!
//! An event keeps all its fields in the order in which they came, also those that nobody here knows: talents may
//! print events of their own. What the events of each kind carry is read with [`RunEvent::payload`].

use serde::de::IntoDeserializer as _;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::payload::RunPayload;

/// Makes the kinds of events and their words of one table.
macro_rules! kinds {
    ($($(#[$meta:meta])* $kind:ident = $word:literal,)+) => {
        /// What kind of event it is.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub enum RunEventKind {
            $($(#[$meta])* $kind,)+
            /// A word that a talent chose for itself.
            Other,
        }

        impl RunEventKind {
            /// The kind behind a word of the wire.
            pub fn parse(word: &str) -> RunEventKind {
                match word {
                    $($word => RunEventKind::$kind,)+
                    _ => RunEventKind::Other,
                }
            }

            /// The word of the wire.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(RunEventKind::$kind => $word,)+
                    RunEventKind::Other => "other",
                }
            }
        }
    };
}

kinds! {
    /// The first line of a log: what was asked for.
    Request = "request",
    /// The process has begun.
    Spawned = "spawned",
    /// A model is asked.
    Start = "start",
    Thinking = "thinking",
    TextDelta = "text_delta",
    ToolStart = "tool_start",
    ToolEnd = "tool_end",
    /// Another agent goes on from here.
    TalentUpdated = "talent_updated",
    Warning = "warning",
    /// Another provider steps in.
    Fallback = "fallback",
    MaxTurnsExhausted = "max_turns_exhausted",
    ToolBudgetExhausted = "tool_budget_exhausted",
    /// What one request took.
    Usage = "usage",
    /// How far long work has come.
    Progress = "progress",
    DryRun = "dry_run",
    Info = "info",
    /// The end of a run that has a result.
    Finish = "finish",
    /// The end of a run that has none, unless `terminal` is false.
    Error = "error",
    /// The answers to a request, on the bus only.
    Accepted = "accepted",
    Queued = "queued",
    Rejected = "rejected",
    Cancel = "cancel",
    Cancelled = "cancelled",
    /// What runs now, on the bus only.
    Status = "status",
}

impl RunEventKind {
    /// Only the runner writes these; a talent that prints one is quoted instead.
    pub fn is_runners_own(self) -> bool {
        matches!(
            self,
            RunEventKind::Request
                | RunEventKind::Spawned
                | RunEventKind::Accepted
                | RunEventKind::Queued
                | RunEventKind::Rejected
                | RunEventKind::Cancel
                | RunEventKind::Cancelled
                | RunEventKind::Status
        )
    }
}

/// One event of a run.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(transparent)]
pub struct RunEvent {
    fields: Map<String, Value>,
}

impl RunEvent {
    /// An event that carries only its kind.
    pub fn new(kind: RunEventKind) -> RunEvent {
        let mut event = RunEvent::default();
        event.set("event", kind.as_str());
        event
    }

    /// An event with what events of its kind carry.
    pub fn of<P: RunPayload>(payload: &P) -> RunEvent {
        let mut event = RunEvent::new(P::KIND);
        if let Ok(Value::Object(fields)) = serde_json::to_value(payload) {
            event.fields.extend(fields);
        }
        event
    }

    pub fn from_fields(fields: Map<String, Value>) -> RunEvent {
        RunEvent { fields }
    }

    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    pub fn fields_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.fields
    }

    pub fn into_fields(self) -> Map<String, Value> {
        self.fields
    }

    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.fields.insert(key.to_owned(), value.into());
    }

    pub fn kind(&self) -> RunEventKind {
        RunEventKind::parse(self.name())
    }

    /// The word of the event, also one that nobody here knows.
    pub fn name(&self) -> &str {
        self.text("event").unwrap_or_default()
    }

    /// What events of a kind carry; `None` if this is of another kind. Values of the wrong type count as absent.
    pub fn payload<P: RunPayload>(&self) -> Option<P> {
        if self.kind() != P::KIND {
            return None;
        }
        P::deserialize((&self.fields).into_deserializer()).ok()
    }

    /// Whether the run ends with it: a `finish`, or an `error` that does not say that it is no end.
    pub fn is_terminal(&self) -> bool {
        RunEvent::are_terminal(&self.fields)
    }

    /// Whether a run ends with an event of these fields, for whoever has only the fields.
    pub fn are_terminal(fields: &Map<String, Value>) -> bool {
        match fields.get("event").and_then(Value::as_str).map(RunEventKind::parse) {
            Some(RunEventKind::Finish) => true,
            Some(RunEventKind::Error) => fields.get("terminal") != Some(&Value::Bool(false)),
            _ => false,
        }
    }

    /// Its place in the log; the request is 0.
    pub fn seq(&self) -> Option<u64> {
        self.fields.get("seq").and_then(Value::as_u64)
    }

    /// When it happened, in milliseconds since 1970.
    pub fn ts(&self) -> Option<u64> {
        self.fields.get("ts").and_then(Value::as_u64)
    }

    pub fn use_id(&self) -> Option<&str> {
        self.text("use_id")
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.fields.get(key)
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.fields.get(key).and_then(Value::as_str)
    }

    /// The event as one line of JSON, without the newline.
    pub fn line(&self) -> String {
        serde_json::to_string(&self.fields).unwrap_or_default()
    }
}

impl std::ops::Index<&str> for RunEvent {
    type Output = Value;

    /// The value of a field; null if there is none.
    fn index(&self, key: &str) -> &Value {
        self.fields.get(key).unwrap_or(&Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::run::{ErrorPayload, FinishPayload, ToolStartPayload};

    fn event(value: Value) -> RunEvent {
        serde_json::from_value(value).expect("an object")
    }

    #[test]
    fn an_event_keeps_what_nobody_knows_and_the_order_of_its_fields() {
        let line = r#"{"event":"mine","z":1,"a":[2],"seq":3}"#;
        let read: RunEvent = serde_json::from_str(line).expect("an event");
        assert_eq!((read.kind(), read.name(), read.seq()), (RunEventKind::Other, "mine", Some(3)));
        assert_eq!(read.line(), line);
    }

    #[test]
    fn only_a_finish_and_an_error_that_says_nothing_else_are_an_end() {
        assert!(event(json!({"event": "finish"})).is_terminal());
        assert!(event(json!({"event": "error"})).is_terminal());
        assert!(event(json!({"event": "error", "terminal": true})).is_terminal());
        assert!(!event(json!({"event": "error", "terminal": false})).is_terminal());
        assert!(!event(json!({"event": "info"})).is_terminal());
    }

    #[test]
    fn payloads_are_written_in_their_order_and_read_leniently() {
        let call = ToolStartPayload {
            tool: Some("memory_recall".to_owned()),
            args: Some(json!({"query": "tea"})),
            call_id: Some("1".to_owned()),
        };
        let made = RunEvent::of(&call);
        assert_eq!(
            made.line(),
            r#"{"event":"tool_start","tool":"memory_recall","args":{"query":"tea"},"call_id":"1"}"#
        );
        assert_eq!(made.payload::<ToolStartPayload>(), Some(call));
        assert_eq!(made.payload::<ErrorPayload>(), None);
        let odd = event(json!({"event": "finish", "result": 5, "skipped": "no_input"}));
        let finish = odd.payload::<FinishPayload>().expect("a finish");
        assert_eq!((finish.result, finish.skipped.as_deref()), (None, Some("no_input")));
    }

    #[test]
    fn a_cost_that_nobody_knows_is_null() {
        let finish = FinishPayload { cost: Some(None), ..FinishPayload::default() };
        assert_eq!(RunEvent::of(&finish).line(), r#"{"event":"finish","cost":null}"#);
        let read = event(json!({"event": "finish", "cost": null}));
        assert_eq!(read.payload::<FinishPayload>().expect("a finish").cost, Some(None));
        let without = event(json!({"event": "finish"}));
        assert_eq!(without.payload::<FinishPayload>().expect("a finish").cost, None);
    }
}
