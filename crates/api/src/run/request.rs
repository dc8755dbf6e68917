//! A request for a run: its keys, in one place, and the bounds of their values.
//!
//! The table at the end of this file is the whole schema: the struct, the list of keys, reading and writing come
//! from it. Keys that a talent decides for itself are refused, and so are keys that nobody knows. A key whose value
//! is null counts as absent.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Number, Value};
use thiserror::Error;
use utoipa::ToSchema;

use super::value::{self, OutputFormat, RunEnvironment, RunTier};

/// The talent of a request that names none.
pub const DEFAULT_TALENT: &str = "default";
/// The largest request, as JSON without the values of its variables.
pub const REQUEST_BYTES_MAX: usize = 900 << 10;

/// Keys of the message that carries a request; they are no part of it.
const ENVELOPE: [&str; 6] = ["tract", "event", "ts", "ref", "rev", "id"];
/// Keys that only the talent's own file decides.
const PROTECTED: [&str; 7] = ["type", "tools", "cwd", "path", "grant", "write", "hook"];

/// Why a request is none.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum RunRequestError {
    #[error("`{key}` is the talent's own; a request cannot change it")]
    ProtectedKey { key: String },
    #[error("a request has no key `{key}`")]
    UnknownKey { key: String },
    #[error("`{key}` must be {rule}")]
    BadValue { key: &'static str, rule: String },
    #[error("`env` cannot set {name:?}")]
    ForbiddenVariable { name: String },
    #[error("`env.{name}` must be a text, a number, a boolean or null")]
    BadVariable { name: String },
    #[error("the request is larger than {REQUEST_BYTES_MAX} bytes")]
    TooLarge,
}

impl From<RunRequestError> for crate::Error {
    fn from(error: RunRequestError) -> crate::Error {
        let code = crate::ErrorCode::named(error.code());
        crate::Error::new(code, crate::Fault::Caller, error.to_string())
    }
}

impl RunRequestError {
    pub fn bad_value(key: &'static str, rule: impl Into<String>) -> RunRequestError {
        RunRequestError::BadValue { key, rule: rule.into() }
    }

    pub fn code(&self) -> &'static str {
        match self {
            RunRequestError::ProtectedKey { .. } => "protected_key",
            RunRequestError::UnknownKey { .. } => "unknown_key",
            RunRequestError::BadValue { .. } => "bad_value",
            RunRequestError::ForbiddenVariable { .. } | RunRequestError::BadVariable { .. } => {
                "bad_env"
            }
            RunRequestError::TooLarge => "too_large",
        }
    }
}

/// Makes the struct, its list of keys and its reader of one table: `key: type = reader`.
macro_rules! run_request {
    ($($(#[$meta:meta])* $key:ident: $type:ty = $read:path,)+) => {
        /// What is asked for. `docs/callosum.md` has the meaning of each.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
        pub struct RunRequest {
            $(
                $(#[$meta])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $key: Option<$type>,
            )+
            /// When it was asked for, in milliseconds since 1970: the run gets this number if no other run has it.
            #[schema(ignore)]
            #[serde(skip_serializing_if = "Option::is_none")]
            pub ts: Option<u64>,
        }

        impl RunRequest {
            const KEYS: &'static [&'static str] = &[$(stringify!($key)),+];

            fn read(fields: &Map<String, Value>) -> Result<RunRequest, RunRequestError> {
                let given = |key: &str| fields.get(key).filter(|value| !value.is_null());
                Ok(RunRequest {
                    $($key: given(stringify!($key))
                        .map(|value| $read(stringify!($key), value))
                        .transpose()?,)+
                    ts: given("ts").and_then(Value::as_u64).filter(|ts| *ts > 0),
                })
            }
        }
    };
}

impl RunRequest {
    /// Reads a request from outside. Keys of the message around it are left alone; any other key that is not known
    /// is an error.
    pub fn from_fields(fields: &Map<String, Value>) -> Result<RunRequest, RunRequestError> {
        for key in fields.keys() {
            refuse_protected(key)?;
            if !RunRequest::KEYS.contains(&key.as_str()) && !ENVELOPE.contains(&key.as_str()) {
                return Err(RunRequestError::UnknownKey { key: key.clone() });
            }
        }
        // execution R24: what is no number is no time, and is not dropped in silence.
        let ts = fields.get("ts").filter(|ts| !ts.is_null());
        if ts.is_some_and(|ts| ts.as_u64().is_none()) {
            let rule = "a time in milliseconds since 1970, as 1760000000000";
            return Err(RunRequestError::bad_value("ts", rule));
        }
        RunRequest::read(fields)
    }

    /// Reads a request from the first line of a run log, which is also what a talent process gets. Other keys are
    /// left alone.
    pub fn from_log(fields: &Map<String, Value>) -> Result<RunRequest, RunRequestError> {
        fields.keys().try_for_each(|key| refuse_protected(key))?;
        RunRequest::read(fields)
    }

    /// The request as fields of a message, variables with their values.
    pub fn into_fields(self) -> Map<String, Value> {
        match serde_json::to_value(&self) {
            Ok(Value::Object(fields)) => fields,
            // Every value is a text, a number, a flag, a list or an object with texts as keys.
            Ok(_) | Err(_) => Map::new(),
        }
    }

    /// The request as it is logged and shown: of its variables only the names, and without the time it was asked for.
    pub fn shown(&self) -> RunRequest {
        let names = self.env.as_ref().map(|env| RunEnvironment::Names(env.names()));
        RunRequest { env: names, ts: None, ..self.clone() }
    }

    /// Whether both ask for the same, whatever numbers they want to have.
    pub fn asks_the_same_as(&self, other: &RunRequest) -> bool {
        let plain = |request: &RunRequest| RunRequest { use_id: None, ..request.shown() };
        plain(self) == plain(other)
    }
}

fn refuse_protected(key: &str) -> Result<(), RunRequestError> {
    if PROTECTED.contains(&key) {
        return Err(RunRequestError::ProtectedKey { key: key.to_owned() });
    }
    Ok(())
}

impl<'de> Deserialize<'de> for RunRequest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<RunRequest, D::Error> {
        let fields = Map::deserialize(from)?;
        RunRequest::from_fields(&fields).map_err(serde::de::Error::custom)
    }
}

run_request! {
    /// The talent; `default` if absent.
    name: String = value::text,
    prompt: String = value::text,
    provider: String = value::word,
    model: String = value::word,
    /// 1 (pro), 2 (flash) or 3 (lite).
    #[schema(value_type = Option<u8>)]
    tier: RunTier = value::tier,
    max_output_tokens: u64 = value::count,
    thinking_budget: u64 = value::count,
    session_id: String = value::word,
    chat_id: String = value::word,
    facet: String = value::text,
    /// md or json.
    #[schema(value_type = Option<String>)]
    output: OutputFormat = value::output,
    /// YYYYMMDD.
    day: String = value::text,
    /// HHMMSS_LENGTH.
    segment: String = value::text,
    span: Vec<String> = value::span,
    output_path: String = value::text,
    refresh: bool = value::flag,
    /// Variables of the process; their values are kept nowhere.
    #[schema(value_type = Option<Object>)]
    env: RunEnvironment = value::environment,
    /// What the schedule calls it; absent if a person or an agent asks.
    #[schema(ignore)]
    schedule: String = value::word,
    #[schema(value_type = Option<f64>)]
    timeout_seconds: Number = value::seconds,
    /// The run that asks for this one.
    parent: String = value::text,
    /// A retry with the same id is answered with the same run.
    use_id: String = value::text,
    /// The conversation that the run belongs to.
    #[schema(ignore)]
    channel: String = value::word,
    /// The name of what was said before; a run of a channel without it is a worker.
    #[schema(ignore)]
    context: String = value::context,
    /// Whose memory the run works with; the home's own if absent.
    #[schema(ignore)]
    actor: String = value::word,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::run::SPAN_MAX;

    fn read(given: &Value) -> Result<RunRequest, RunRequestError> {
        RunRequest::from_fields(given.as_object().expect("an object"))
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
            (json!({"use_id": 12}), "bad_value"),
            (json!({"session_id": "--resume"}), "bad_value"),
            (json!({"session_id": "../x"}), "bad_value"),
            (json!({"output": "pdf"}), "bad_value"),
            (json!({"tier": 4}), "bad_value"),
            (json!({"tier": "2"}), "bad_value"),
            (json!({"refresh": 1}), "bad_value"),
            (json!({"max_output_tokens": -1}), "bad_value"),
            (json!({"context": "a/b"}), "bad_value"),
            (json!({"env": {"A B": "x"}}), "bad_env"),
            (json!({"env": {"CORTEX_HOME": "x"}}), "bad_env"),
            (json!({"env": {"A": [1]}}), "bad_env"),
            (json!({"env": {"A": "x\0"}}), "bad_env"),
        ];
        for (given, code) in cases {
            assert_eq!(read(&given).expect_err("refused").code(), code, "{given}");
            assert!(serde_json::from_value::<RunRequest>(given).is_err());
        }
        let typo = read(&json!({"promt": "typo"})).expect_err("refused").to_string();
        assert_eq!(typo, "a request has no key `promt`");
    }

    #[test]
    fn a_span_has_one_bound_wherever_it_is_read() {
        let span = |count: usize| json!({"span": vec!["120000_300"; count]});
        let long = span(SPAN_MAX + 1);
        let fields = long.as_object().expect("an object");
        let wrong = RunRequestError::bad_value("span", "a list of segments");
        assert_eq!(RunRequest::from_fields(fields), Err(wrong.clone()));
        assert_eq!(RunRequest::from_log(fields), Err(wrong));
        assert!(read(&span(SPAN_MAX)).is_ok());
    }

    // execution 9.8, 9.9
    #[test]
    fn values_of_variables_are_not_shown() {
        let request = read(&json!({
            "tract": "cortex", "event": "request", "ts": 5, "ref": "r", "prompt": null,
            "env": {"KEY": "secret", "FLAG": true, "COUNT": 3, "GONE": null},
        }))
        .expect("a request");
        assert_eq!(request.ts, Some(5));
        assert_eq!(request.prompt, None);
        let variables = request.env.clone().expect("variables").variables();
        assert_eq!(variables["KEY"], Some("secret".to_owned()));
        assert_eq!(variables["FLAG"], Some("true".to_owned()));
        assert_eq!(variables["COUNT"], Some("3".to_owned()));
        assert_eq!(variables["GONE"], None);
        let shown = request.shown();
        assert_eq!(
            Value::Object(shown.clone().into_fields()),
            json!({"env": ["KEY", "FLAG", "COUNT", "GONE"]})
        );
        assert!(!format!("{request:?}").contains("secret"));
        assert!(request.asks_the_same_as(&shown));
        assert!(!request.asks_the_same_as(&RunRequest::default()));
    }

    #[test]
    fn what_was_read_is_written_the_same() {
        let given = json!({
            "name": "default", "prompt": "Hello", "tier": "pro", "span": ["120000_300"],
            "env": {"KEY": "secret"}, "timeout_seconds": 1.5, "actor": "ada",
        });
        assert_eq!(Value::Object(read(&given).expect("a request").into_fields()), given);
        let numbered = json!({"tier": 2, "timeout_seconds": 5});
        assert_eq!(Value::Object(read(&numbered).expect("a request").into_fields()), numbered);
    }

    #[test]
    fn a_logged_request_may_stand_among_other_keys() {
        let line = json!({"event": "request", "ts": 1, "use_id": "1", "seq": 0, "name": "a"});
        let request = RunRequest::from_log(line.as_object().expect("an object"));
        assert_eq!(request.expect("a request").name.as_deref(), Some("a"));
    }
}
