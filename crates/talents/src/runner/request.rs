//! A request for a run, checked before anything touches the disk.
//!
//! Only the keys in `ALLOWED` are taken; what a talent decides for itself cannot be changed from outside. Names become checked
//! types, paths stay inside the home, and the values of `env` are taken out of the fields that are logged and told.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::bus::env_names;
use crate::process::is_context;
use crate::{Day, Facet, NameError, Segment, TalentName, UseId};

/// The talent of a request that names none.
pub const DEFAULT_TALENT: &str = "default";
/// Largest request as JSON.
const REQUEST_BYTES_MAX: usize = 900 << 10;
const SPAN_MAX: usize = 1_000;
const ENV_MAX: usize = 256;
const WORD_MAX: usize = 128;

const ALLOWED: [&str; 24] = [
    "name",
    "prompt",
    "provider",
    "model",
    "tier",
    "max_output_tokens",
    "thinking_budget",
    "session_id",
    "chat_id",
    "facet",
    "output",
    "day",
    "segment",
    "span",
    "output_path",
    "refresh",
    "env",
    "schedule",
    "timeout_seconds",
    "parent",
    "use_id",
    "channel",
    "context",
    "actor",
];
/// Keys of the message that are no part of the request.
const ENVELOPE: [&str; 6] = ["tract", "event", "ts", "ref", "rev", "id"];
/// What only the talent's own file decides.
const PROTECTED: [&str; 7] = ["type", "tools", "cwd", "path", "grant", "write", "hook"];
/// Variables that say where and who a run is.
const OWN_VARIABLES: [&str; 4] =
    ["CORTEX_HOME", "CORTEX_USE_ID", "CORTEX_PARENT_PID", "CORTEX_ACTOR"];

/// Why a request is not taken.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Rejection {
    pub code: &'static str,
    pub reason: String,
}

impl Rejection {
    pub fn new(code: &'static str, reason: impl Into<String>) -> Rejection {
        Rejection { code, reason: reason.into() }
    }
}

impl From<NameError> for Rejection {
    fn from(error: NameError) -> Rejection {
        Rejection::new(error.code(), error.to_string())
    }
}

/// A request that may become a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ValidRequest {
    pub(super) name: TalentName,
    pub(super) use_id: Option<UseId>,
    /// The id it would like, if nobody has it: the time that the sender put on it.
    pub(super) wish: Option<UseId>,
    pub(super) provider: Option<String>,
    pub(super) timeout: Option<Duration>,
    pub(super) parent: Option<UseId>,
    pub(super) day: Option<Day>,
    pub(super) facet: Option<Facet>,
    pub(super) segment: Option<Segment>,
    pub(super) session_id: Option<String>,
    /// Variables for the process; `None` removes one.
    pub(super) env: BTreeMap<String, Option<String>>,
    /// What is logged, told and written to the process: of `env` the names.
    pub(super) fields: Map<String, Value>,
}

impl ValidRequest {
    pub(super) fn check(
        given: &Map<String, Value>,
        home: &Path,
        timeout_max: Duration,
    ) -> Result<ValidRequest, Rejection> {
        let mut fields = Map::new();
        for (key, value) in given {
            let key = key.as_str();
            if PROTECTED.contains(&key) {
                let reason = format!("`{key}` is the talent's own; a request cannot change it");
                return Err(Rejection::new("protected_key", reason));
            }
            if ALLOWED.contains(&key) {
                if !value.is_null() {
                    fields.insert(key.to_owned(), value.clone());
                }
            } else if !ENVELOPE.contains(&key) {
                return Err(Rejection::new("unknown_key", format!("a request has no key `{key}`")));
            }
        }
        let env = env(fields.get("env"))?;
        if let Some(shown) = fields.get_mut("env") {
            *shown = env_names(shown);
        }
        let read = Fields(&fields);
        read.text("prompt")?;
        read.word("model")?;
        read.word("chat_id")?;
        read.word("channel")?;
        read.word("actor")?;
        if !read.word("context")?.is_none_or(is_context) {
            return Err(bad("context", "the name of a context: letters, digits, - _ and ."));
        }
        read.word("schedule")?;
        read.count("max_output_tokens")?;
        read.count("thinking_budget")?;
        read.one_of("output", &["md", "json"])?;
        if fields.get("refresh").is_some_and(|value| !value.is_boolean()) {
            return Err(bad("refresh", "true or false"));
        }
        if let Some(tier) = fields.get("tier") {
            let known = tier.as_u64().is_some_and(|tier| (1..=3).contains(&tier))
                || matches!(tier.as_str(), Some("pro" | "flash" | "lite"));
            if !known {
                return Err(bad("tier", "1, 2, 3, pro, flash or lite"));
            }
        }
        if let Some(path) = read.text("output_path")?
            && !is_inside(Path::new(path), home)
        {
            return Err(bad("output_path", "a path inside the home, without `..`"));
        }
        if let Some(span) = fields.get("span") {
            let keys = span.as_array().filter(|keys| keys.len() <= SPAN_MAX);
            for key in keys.ok_or_else(|| bad("span", "a list of segments"))? {
                Segment::parse(key.as_str().unwrap_or_default())?;
            }
        }
        let request = ValidRequest {
            name: TalentName::parse(read.text("name")?.unwrap_or(DEFAULT_TALENT))?,
            use_id: read.text("use_id")?.map(UseId::parse).transpose()?,
            // execution R24: a request whose sender put a time on it has that number in its file's name.
            wish: given
                .get("ts")
                .and_then(Value::as_u64)
                .filter(|ts| *ts > 0)
                .map(UseId::from_millis),
            provider: read.word("provider")?.map(str::to_owned),
            timeout: read.seconds("timeout_seconds", timeout_max)?,
            parent: read.text("parent")?.map(UseId::parse).transpose()?,
            day: read.text("day")?.map(Day::parse).transpose()?,
            facet: read.text("facet")?.map(Facet::parse).transpose()?,
            segment: read.text("segment")?.map(Segment::parse).transpose()?,
            session_id: read.word("session_id")?.map(str::to_owned),
            env,
            fields: Map::new(),
        };
        if Value::Object(fields.clone()).to_string().len() > REQUEST_BYTES_MAX {
            let reason = format!("the request is larger than {REQUEST_BYTES_MAX} bytes");
            return Err(Rejection::new("too_large", reason));
        }
        fields.insert("name".to_owned(), request.name.as_str().into());
        Ok(ValidRequest { fields, ..request })
    }

    /// The first line of the log.
    pub(super) fn first_line(&self, use_id: &UseId) -> Map<String, Value> {
        let mut line = Map::new();
        line.insert("event".to_owned(), "request".into());
        // execution R24: the time of the request is the number in the file's name.
        line.insert("ts".to_owned(), use_id.as_str().parse::<u64>().unwrap_or_default().into());
        line.insert("use_id".to_owned(), use_id.as_str().into());
        for (key, value) in &self.fields {
            if key != "use_id" {
                line.insert(key.clone(), value.clone());
            }
        }
        line
    }

    /// Whether a logged request asks for the same.
    pub(super) fn is_the_same_as(&self, logged: &Map<String, Value>) -> bool {
        let plain = |fields: &Map<String, Value>| -> BTreeMap<String, Value> {
            fields
                .iter()
                .filter(|(key, _)| ALLOWED.contains(&key.as_str()) && *key != "use_id")
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect()
        };
        plain(&self.fields) == plain(logged)
    }
}

fn bad(key: &str, rule: &str) -> Rejection {
    Rejection::new("bad_value", format!("`{key}` must be {rule}"))
}

struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn text(&self, key: &str) -> Result<Option<&'a str>, Rejection> {
        match self.0.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(bad(key, "a text")),
        }
    }

    /// A text that may become an argument of a command: it cannot pose as an option.
    fn word(&self, key: &str) -> Result<Option<&'a str>, Rejection> {
        let word = self.text(key)?;
        let fits = |word: &str| {
            !word.is_empty()
                && word.len() <= WORD_MAX
                && word.starts_with(|first: char| first.is_ascii_alphanumeric())
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"._:/@-".contains(&byte))
                && !word.contains("..")
        };
        match word {
            Some(word) if !fits(word) => Err(bad(
                key,
                "letters, digits and . _ : / @ -, at most 128, starting with a letter or digit",
            )),
            word => Ok(word),
        }
    }

    fn count(&self, key: &str) -> Result<(), Rejection> {
        match self.0.get(key) {
            Some(value) if !value.is_u64() => Err(bad(key, "a whole number, 0 or more")),
            _ => Ok(()),
        }
    }

    fn one_of(&self, key: &str, words: &[&str]) -> Result<(), Rejection> {
        match self.text(key)? {
            Some(word) if !words.contains(&word) => Err(bad(key, &words.join(" or "))),
            _ => Ok(()),
        }
    }

    fn seconds(&self, key: &str, max: Duration) -> Result<Option<Duration>, Rejection> {
        let Some(value) = self.0.get(key) else { return Ok(None) };
        value
            .as_f64()
            .filter(|seconds| *seconds > 0.0)
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .filter(|given| *given <= max)
            .map(Some)
            .ok_or_else(|| bad(key, &format!("seconds, more than 0 and at most {}", max.as_secs())))
    }
}

/// execution 9.9: what becomes of the values: texts as they are, numbers and booleans as JSON prints them, null removes.
fn env(given: Option<&Value>) -> Result<BTreeMap<String, Option<String>>, Rejection> {
    let mut env = BTreeMap::new();
    let Some(given) = given else { return Ok(env) };
    let Some(values) = given.as_object().filter(|values| values.len() <= ENV_MAX) else {
        return Err(bad("env", "an object of at most 256 variables"));
    };
    for (name, value) in values {
        if !is_variable(name) || OWN_VARIABLES.contains(&name.as_str()) {
            return Err(Rejection::new("bad_env", format!("`env` cannot set {name:?}")));
        }
        let value = match value {
            Value::Null => None,
            Value::String(text) if !text.contains('\0') => Some(text.clone()),
            Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
            _ => {
                let reason = format!("`env.{name}` must be a text, a number, a boolean or null");
                return Err(Rejection::new("bad_env", reason));
            }
        };
        env.insert(name.clone(), value);
    }
    Ok(env)
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_inside(path: &Path, home: &Path) -> bool {
    let plain =
        path.components().all(|part| matches!(part, Component::Normal(_) | Component::RootDir));
    plain && !path.as_os_str().is_empty() && (path.is_relative() || path.starts_with(home))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(given: &Value) -> Result<ValidRequest, Rejection> {
        let max = Duration::from_secs(100);
        ValidRequest::check(given.as_object().expect("an object"), Path::new("/home/me"), max)
    }

    // execution 9.7, R23-R45
    #[test]
    fn what_a_request_may_not_say_is_refused_with_a_code() {
        let cases = [
            (json!({"type": "generate"}), "protected_key"),
            (json!({"tools": []}), "protected_key"),
            (json!({"cwd": "/"}), "protected_key"),
            (json!({"grant": {}}), "protected_key"),
            (json!({"promt": "typo"}), "unknown_key"),
            (json!({"name": "../x"}), "bad_name"),
            (json!({"use_id": "12/../3"}), "bad_name"),
            (json!({"use_id": 12}), "bad_value"),
            (json!({"day": "2025-01-01"}), "bad_name"),
            (json!({"segment": "x"}), "bad_name"),
            (json!({"span": ["120000_300", 5]}), "bad_name"),
            (json!({"facet": "A B"}), "bad_name"),
            (json!({"session_id": "--resume"}), "bad_value"),
            (json!({"session_id": "../x"}), "bad_value"),
            (json!({"output": "pdf"}), "bad_value"),
            (json!({"output_path": "/etc/passwd"}), "bad_value"),
            (json!({"output_path": "/home/me/../you"}), "bad_value"),
            (json!({"timeout_seconds": 0}), "bad_value"),
            (json!({"timeout_seconds": 101}), "bad_value"),
            (json!({"tier": 4}), "bad_value"),
            (json!({"env": {"A B": "x"}}), "bad_env"),
            (json!({"env": {"CORTEX_HOME": "x"}}), "bad_env"),
            (json!({"env": {"A": [1]}}), "bad_env"),
            (json!({"prompt": "x".repeat(REQUEST_BYTES_MAX)}), "too_large"),
        ];
        for (given, code) in cases {
            assert_eq!(check(&given).expect_err("refused").code, code, "{given}");
        }
    }

    // execution 9.8, 9.9
    #[test]
    fn env_has_values_for_the_process_and_names_for_everybody_else() {
        let request = check(&json!({
            "tract": "cortex", "event": "request", "ts": 5, "ref": "r", "prompt": null,
            "env": {"KEY": "secret", "FLAG": true, "COUNT": 3, "GONE": null},
            "output_path": "/home/me/chronicle/x.md",
        }))
        .expect("a request");
        assert_eq!(request.name.as_str(), DEFAULT_TALENT); // execution R26
        assert_eq!(request.env["FLAG"], Some("true".to_owned()));
        assert_eq!(request.env["COUNT"], Some("3".to_owned()));
        assert_eq!(request.env["GONE"], None);
        let line = request.first_line(&UseId::from_millis(17));
        assert_eq!(line["ts"], 17);
        assert_eq!(line["env"], json!(["KEY", "FLAG", "COUNT", "GONE"]));
        assert!(!Value::Object(line.clone()).to_string().contains("secret"));
        assert!(request.is_the_same_as(&line));
        let other = check(&json!({"prompt": "else"})).expect("a request");
        assert!(!other.is_the_same_as(&line));
    }
}
