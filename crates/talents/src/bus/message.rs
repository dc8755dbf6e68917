//! A message: a JSON object with a `tract`, an `event` and whatever else its sender puts in.

use api::run::RunEvent;
use serde_json::{Map, Value};
use thiserror::Error;

/// Longest name of a topic or an event.
const NAME_BYTES_MAX: usize = 64;

/// Why a line is no message.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum BadLine {
    #[error("the line is longer than {} bytes", super::LINE_BYTES_MAX)]
    TooLong,
    #[error("the line is not UTF-8")]
    NotUtf8,
    #[error("the line is not JSON")]
    NotJson,
    #[error("the line is JSON but not an object")]
    NotObject,
    #[error("`tract` must be a name of a-z A-Z 0-9 _ . - with at most 64 characters")]
    NoTopic,
    #[error("`event` must be a name of a-z A-Z 0-9 _ . - with at most 64 characters")]
    NoEvent,
}

impl BadLine {
    pub fn code(self) -> &'static str {
        match self {
            BadLine::TooLong => "too_long",
            BadLine::NotUtf8 => "not_utf8",
            BadLine::NotJson => "not_json",
            BadLine::NotObject => "not_object",
            BadLine::NoTopic => "no_tract",
            BadLine::NoEvent => "no_event",
        }
    }
}

/// One message of the bus.
#[derive(Clone, Debug, PartialEq)]
pub struct BusMessage {
    fields: Map<String, Value>,
}

impl BusMessage {
    /// A message of our own; topic and event are names in the code.
    pub fn new(topic: &str, event: &str) -> BusMessage {
        let mut fields = Map::new();
        fields.insert("tract".to_owned(), topic.into());
        fields.insert("event".to_owned(), event.into());
        BusMessage { fields }
    }

    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> BusMessage {
        self.fields.insert(key.to_owned(), value.into());
        self
    }

    /// Puts fields into a message; they do not change its topic.
    #[must_use]
    pub fn and(mut self, fields: Map<String, Value>) -> BusMessage {
        for (key, value) in fields {
            if key != "tract" {
                self.fields.insert(key, value);
            }
        }
        self
    }

    pub fn parse(line: &[u8]) -> Result<BusMessage, BadLine> {
        let text = std::str::from_utf8(line).map_err(|_| BadLine::NotUtf8)?;
        match serde_json::from_str(text).map_err(|_| BadLine::NotJson)? {
            Value::Object(fields) => BusMessage::from_fields(fields),
            _ => Err(BadLine::NotObject),
        }
    }

    pub fn from_fields(fields: Map<String, Value>) -> Result<BusMessage, BadLine> {
        let named = |key: &str| fields.get(key).and_then(Value::as_str).is_some_and(is_name);
        if !named("tract") {
            return Err(BadLine::NoTopic);
        }
        if !named("event") {
            return Err(BadLine::NoEvent);
        }
        Ok(BusMessage { fields })
    }

    pub fn topic(&self) -> &str {
        self.text("tract").unwrap_or_default()
    }

    pub fn event(&self) -> &str {
        self.text("event").unwrap_or_default()
    }

    pub fn use_id(&self) -> Option<&str> {
        self.text("use_id")
    }

    /// The place of an event of a run in the run's log.
    pub fn seq(&self) -> Option<u64> {
        self.fields.get("seq").and_then(Value::as_u64)
    }

    /// Whether it is the event that ends a run.
    pub fn ends_run(&self) -> bool {
        RunEvent::are_terminal(&self.fields)
    }

    /// The event of a run that this message tells.
    pub fn run_event(&self) -> RunEvent {
        let mut fields = self.fields.clone();
        fields.remove("tract");
        RunEvent::from_fields(fields)
    }

    /// The sender's word for this message; who sends one gets an answer that repeats it.
    pub fn reference(&self) -> Option<&Value> {
        self.fields.get("ref").filter(|value| !value.is_null())
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.fields.get(key)
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.fields.get(key).and_then(Value::as_str)
    }

    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    pub fn into_fields(self) -> Map<String, Value> {
        self.fields
    }

    /// The message as one line of JSON, without the newline.
    pub fn line(&self) -> String {
        serde_json::to_string(&self.fields).unwrap_or_default()
    }

    /// Makes a message fit to leave: it has a `ts`, and of `env` only the names of the variables.
    pub(super) fn ready(&mut self, millis: u64) {
        if !self.fields.get("ts").is_some_and(Value::is_i64) {
            self.fields.insert("ts".to_owned(), millis.into());
        }
        if let Some(env) = self.fields.get_mut("env") {
            *env = env_names(env);
        }
    }
}

/// What may be shown of an `env`: the names, never the values.
fn env_names(env: &Value) -> Value {
    match env {
        Value::Object(values) => values.keys().cloned().collect::<Vec<_>>().into(),
        Value::Array(names) if names.iter().all(Value::is_string) => env.clone(),
        _ => Value::Null,
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= NAME_BYTES_MAX
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    // execution 9.1
    #[test]
    fn only_objects_with_a_tract_and_an_event_are_messages() {
        let cases: [(&[u8], BadLine); 9] = [
            (b"5", BadLine::NotObject),
            (b"\"text\"", BadLine::NotObject),
            (b"[1]", BadLine::NotObject),
            (b"null", BadLine::NotObject),
            (b"{\"event\":\"a\"}", BadLine::NoTopic),
            (b"{\"tract\":1,\"event\":\"a\"}", BadLine::NoTopic),
            (b"{\"tract\":\"a\",\"event\":\"\"}", BadLine::NoEvent),
            (b"{\"tract\":\"a\"", BadLine::NotJson),
            (b"{\"tract\":\"\xff\"}", BadLine::NotUtf8),
        ];
        for (line, why) in cases {
            assert_eq!(BusMessage::parse(line), Err(why), "{}", String::from_utf8_lossy(line));
        }
    }

    // execution 9.8
    #[test]
    fn of_env_only_names_leave() {
        let line = br#"{"tract":"a","event":"b","env":{"KEY":"secret"},"ts":"later"}"#;
        let mut message = BusMessage::parse(line).expect("a message");
        message.ready(7);
        assert_eq!(message.get("env"), Some(&serde_json::json!(["KEY"])));
        assert_eq!(message.get("ts"), Some(&serde_json::json!(7)));
    }
}
