//! What becomes of a line that a talent printed: an event, complete, without secrets, and not too large.

use std::borrow::Cow;
use std::collections::BTreeMap;

use api::run::{InfoPayload, RunEvent};
use serde_json::{Map, Value};

use llm::line_codec::BoundedLine;
use talents::{Day, TalentName, UseId};

/// Values shorter than this stand in too many innocent texts to be replaced.
const SECRET_BYTES_MIN: usize = 8;
/// Fields that make an event what it is, and are never cut.
const UNCUT: [&str; 8] = ["event", "ts", "use_id", "name", "day", "seq", "call_id", "truncated"];
/// Longest name of an event.
const EVENT_NAME_BYTES_MAX: usize = 64;

/// Values that must not be written anywhere.
#[derive(Clone, Default)]
pub(in crate::runner) struct Secrets(Vec<(String, String)>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl Secrets {
    pub(in crate::runner) fn new(env: &BTreeMap<String, Option<String>>) -> Secrets {
        let long = |(name, value): (&String, &Option<String>)| {
            let value = value.as_ref().filter(|value| value.len() >= SECRET_BYTES_MIN)?;
            Some((name.clone(), value.clone()))
        };
        let mut secrets: Vec<_> = env.iter().filter_map(long).collect();
        // A value that contains another goes first.
        secrets.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        Secrets(secrets)
    }

    pub(in crate::runner) fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut shown = Cow::Borrowed(text);
        for (name, value) in &self.0 {
            if shown.contains(value.as_str()) {
                shown = Cow::Owned(shown.replace(value.as_str(), &format!("[env:{name}]")));
            }
        }
        shown
    }

    fn hide_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(shown) = self.hide(text) {
                    *text = shown;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in(item)),
            Value::Object(fields) => self.hide_in_fields(fields),
            _ => {}
        }
    }

    fn hide_in_fields(&self, fields: &mut Map<String, Value>) {
        if !self.0.is_empty() {
            fields.values_mut().for_each(|value| self.hide_in(value));
        }
    }
}

/// What every event of a run has in common.
#[derive(Clone, Debug)]
pub(in crate::runner) struct Stamp {
    pub(in crate::runner) use_id: UseId,
    pub(in crate::runner) name: TalentName,
    pub(in crate::runner) day: Option<Day>,
    pub(in crate::runner) secrets: Secrets,
    pub(in crate::runner) event_bytes_max: usize,
}

impl Stamp {
    /// Makes an event of a line of standard output. Whatever is no event becomes an `info`.
    pub(in crate::runner) fn hear(&self, line: &BoundedLine, millis: u64) -> RunEvent {
        let quoted = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let event = match line {
            BoundedLine::TooLong { bytes, head } => RunEvent::of(&InfoPayload {
                message: Some(quoted(head)),
                truncated: Some(*bytes),
                ..InfoPayload::default()
            }),
            BoundedLine::Whole(line) => match serde_json::from_slice(line) {
                Ok(event) if is_event(&event) => event,
                Ok(_) | Err(_) => info(&quoted(line)),
            },
        };
        self.complete(event, millis)
    }

    /// Gives an event what all events have (execution R57-R59), hides secrets, and cuts what is too large.
    pub(in crate::runner) fn complete(&self, given: RunEvent, millis: u64) -> RunEvent {
        let mut event = RunEvent::default();
        event.set("event", given.name());
        let ts = given.get("ts").filter(|ts| ts.is_u64()).cloned();
        event.set("ts", ts.unwrap_or_else(|| millis.into()));
        event.set("use_id", self.use_id.as_str());
        event.set("name", self.name.as_str());
        if let Some(day) = self.day {
            event.set("day", day.to_string());
        }
        for (key, value) in given.into_fields() {
            if !matches!(key.as_str(), "event" | "ts" | "use_id" | "tract" | "seq" | "name") {
                event.set(&key, value);
            }
        }
        self.secrets.hide_in_fields(event.fields_mut());
        RunEvent::from_fields(cut(event.into_fields(), self.event_bytes_max))
    }
}

/// Whether a talent may print it. Events that only the runner writes are quoted instead.
fn is_event(event: &RunEvent) -> bool {
    let name = event.name();
    !name.is_empty()
        && name.len() <= EVENT_NAME_BYTES_MAX
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !event.kind().is_runners_own()
}

pub(in crate::runner) fn info(message: &str) -> RunEvent {
    RunEvent::of(&InfoPayload { message: Some(message.to_owned()), ..InfoPayload::default() })
}

/// Cuts the largest fields until the event fits, and says in `truncated` how many bytes it had.
fn cut(mut event: Map<String, Value>, bytes_max: usize) -> Map<String, Value> {
    let size = |event: &Map<String, Value>| Value::Object(event.clone()).to_string().len();
    let whole = size(&event);
    if whole <= bytes_max {
        return event;
    }
    event.entry("truncated").or_insert_with(|| whole.into());
    // Each turn cuts another field to a small head at worst, so there are at most as many turns as fields.
    for _ in 0..event.len() {
        let excess = size(&event).saturating_sub(bytes_max);
        if excess == 0 {
            break;
        }
        let largest = event
            .iter_mut()
            .filter(|(key, _)| !UNCUT.contains(&key.as_str()))
            .map(|(_, value)| (value.to_string().len(), value))
            .max_by_key(|(bytes, _)| *bytes);
        let Some((bytes, value)) = largest else { break };
        let text = match &*value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        // Escapes make a text longer on the line than it is; each byte that stays may cost up to six.
        let keep = bytes.saturating_sub(excess + 64) / (bytes / text.len().max(1)).clamp(1, 6);
        let mut end = keep.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        *value = format!("{}…[{} bytes cut]", &text[..end], text.len() - end).into();
    }
    if size(&event) > bytes_max {
        // Thousands of small fields: nothing single can be cut.
        event.retain(|key, _| UNCUT.contains(&key.as_str()));
    }
    event
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn stamp(event_bytes_max: usize) -> Stamp {
        let env = [("KEY".to_owned(), Some("s3cret-\"value\"".to_owned()))].into();
        Stamp {
            use_id: UseId::from_millis(7),
            name: TalentName::parse("default").expect("a name"),
            day: None,
            secrets: Secrets::new(&env),
            event_bytes_max,
        }
    }

    // execution R58, R59, R68, 2.5
    #[test]
    fn whatever_a_talent_prints_becomes_an_event() {
        let hear = |line: &[u8]| stamp(10_000).hear(&BoundedLine::Whole(line.to_vec()), 5);
        for odd in [
            &b"5"[..],
            b"[1]",
            b"null",
            b"text",
            b"{\"a\":1}",
            b"\xff\xfe",
            b"{\"event\":\"request\"}",
        ] {
            let event = hear(odd);
            assert_eq!(event["event"], "info");
            assert_eq!(event["message"], String::from_utf8_lossy(odd).as_ref());
        }
        let event = hear(
            br#"{"event":"start","use_id":"forged","name":"forged","seq":9,"tract":"x","ts":3}"#,
        );
        assert_eq!(event.line(), r#"{"event":"start","ts":3,"use_id":"7","name":"default"}"#);
        assert_eq!(hear(b"{\"event\":\"start\",\"ts\":\"x\"}")["ts"], 5);
        let long = stamp(10_000)
            .hear(&BoundedLine::TooLong { bytes: 50_000_000, head: b"xx".to_vec() }, 5);
        assert_eq!((&long["event"], &long["truncated"]), (&json!("info"), &json!(50_000_000)));
    }

    // execution 9.8
    #[test]
    fn a_secret_that_the_talent_prints_is_not_written() {
        let line = json!({
            "event": "thinking",
            "summary": "it is s3cret-\"value\".",
            "args": [{"k": "s3cret-\"value\""}],
        });
        let event = stamp(10_000).hear(&BoundedLine::Whole(line.to_string().into_bytes()), 5);
        let text = event.line();
        assert!(text.contains("it is [env:KEY].") && !text.contains("s3cret"), "{text}");
    }

    proptest! {
        // execution 9.20
        #[test]
        fn events_fit_and_say_what_was_cut(
            texts in prop::collection::vec("(\\PC|\n|\"|\u{1}){0,300}", 0..12), max in 300usize..2_000,
        ) {
            let mut event = Map::new();
            event.insert("event".to_owned(), "thinking".into());
            for (index, text) in texts.iter().enumerate() {
                event.insert(format!("f{index}"), if index % 3 == 2 { json!([text]) } else { json!(text) });
            }
            let event = RunEvent::from_fields(event);
            let before = stamp(usize::MAX).complete(event.clone(), 5);
            let after = stamp(max).complete(event, 5);
            let (whole, size) = (before.line().len(), after.line().len());
            prop_assert!(size <= max, "{size} > {max}");
            if whole <= max {
                prop_assert_eq!(before, after);
            } else {
                prop_assert_eq!(&after["truncated"], whole);
            }
        }
    }
}
