//! Values of a request that have a shape of their own, and how each kind of value is read.
//!
//! Every reader takes the key and the value and gives the typed value or the rule that the value breaks. What a
//! value means for a certain home (does the talent exist, is the path inside the home) is not decided here.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Map, Number, Value};

use super::request::RunRequestError;

/// Segments in one request.
pub const SPAN_MAX: usize = 1_000;
/// Variables in one request.
const VARIABLES_MAX: usize = 256;
/// Bytes of a word that may become an argument of a command.
const WORD_BYTES_MAX: usize = 128;
/// Bytes of the id of a conversation.
const ID_BYTES_MAX: usize = 200;
/// Variables that say where and who a run is; only the runner sets them.
const OWN_VARIABLES: [&str; 4] =
    ["CORTEX_HOME", "CORTEX_USE_ID", "CORTEX_PARENT_PID", "CORTEX_ACTOR"];

/// The format of a talent's output.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OutputFormat {
    Md,
    Json,
}

impl OutputFormat {
    pub fn parse(text: &str) -> Option<OutputFormat> {
        match text {
            "md" => Some(OutputFormat::Md),
            "json" => Some(OutputFormat::Json),
            _ => None,
        }
    }

    /// The word of the wire, which is also how the file's name ends.
    pub fn as_str(self) -> &'static str {
        match self {
            OutputFormat::Md => "md",
            OutputFormat::Json => "json",
        }
    }
}

impl Serialize for OutputFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// How capable a model is to be: 1 (pro), 2 (flash) or 3 (lite). It is written the way it was given.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RunTier {
    Number(u8),
    Name(&'static str),
}

impl RunTier {
    const NAMES: [&'static str; 3] = ["pro", "flash", "lite"];

    /// A tier from a word of the command line: a number or a name.
    pub fn parse(text: &str) -> Option<RunTier> {
        match text.parse() {
            Ok(number) => Some(RunTier::Number(number)).filter(|_| (1..=3).contains(&number)),
            Err(_) => RunTier::NAMES.into_iter().find(|name| *name == text).map(RunTier::Name),
        }
    }

    pub fn number(self) -> u8 {
        match self {
            RunTier::Number(number) => number,
            RunTier::Name("pro") => 1,
            RunTier::Name("flash") => 2,
            RunTier::Name(_) => 3,
        }
    }
}

impl Serialize for RunTier {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            RunTier::Number(number) => serializer.serialize_u8(*number),
            RunTier::Name(name) => serializer.serialize_str(name),
        }
    }
}

/// Variables for the process of a run: with values where the run is asked for, only their names wherever they are
/// shown.
#[derive(Clone, PartialEq)]
pub enum RunEnvironment {
    /// Texts, numbers and booleans set a variable; null removes one.
    Values(Map<String, Value>),
    Names(Vec<String>),
}

impl RunEnvironment {
    /// Variables with these values.
    pub fn of(values: impl IntoIterator<Item = (String, String)>) -> RunEnvironment {
        let pairs = values.into_iter().map(|(name, value)| (name, Value::String(value)));
        RunEnvironment::Values(pairs.collect())
    }

    /// What may be shown: the names, never the values.
    pub fn names(&self) -> Vec<String> {
        match self {
            RunEnvironment::Values(values) => values.keys().cloned().collect(),
            RunEnvironment::Names(names) => names.clone(),
        }
    }

    /// What becomes of the values: texts as they are, numbers and booleans as JSON prints them, null removes the
    /// variable.
    pub fn variables(&self) -> BTreeMap<String, Option<String>> {
        let RunEnvironment::Values(values) = self else { return BTreeMap::new() };
        let variable = |(name, value): (&String, &Value)| {
            let value = match value {
                Value::Null => None,
                Value::String(text) => Some(text.clone()),
                other => Some(other.to_string()),
            };
            (name.clone(), value)
        };
        values.iter().map(variable).collect()
    }
}

impl fmt::Debug for RunEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The values are keys of services and the like.
        f.debug_tuple("RunEnvironment").field(&self.names()).finish()
    }
}

impl Serialize for RunEnvironment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            RunEnvironment::Values(values) => values.serialize(serializer),
            RunEnvironment::Names(names) => names.serialize(serializer),
        }
    }
}

/// Whether a text can name a conversation or its context: it becomes a file name and an argument of a command.
pub fn is_conversation_id(text: &str) -> bool {
    text.len() <= ID_BYTES_MAX
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

type ReadResult<T> = Result<T, RunRequestError>;

pub(super) fn text(key: &'static str, value: &Value) -> ReadResult<String> {
    value.as_str().map(str::to_owned).ok_or_else(|| RunRequestError::bad_value(key, "a text"))
}

/// A text that may become an argument of a command: it cannot pose as an option.
pub(super) fn word(key: &'static str, value: &Value) -> ReadResult<String> {
    let word = text(key, value)?;
    let fits = !word.is_empty()
        && word.len() <= WORD_BYTES_MAX
        && word.starts_with(|first: char| first.is_ascii_alphanumeric())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:/@-".contains(&byte))
        && !word.contains("..");
    if fits {
        return Ok(word);
    }
    let rule = "letters, digits and . _ : / @ -, at most 128, starting with a letter or digit";
    Err(RunRequestError::bad_value(key, rule))
}

pub(super) fn context(key: &'static str, value: &Value) -> ReadResult<String> {
    let name = word(key, value)?;
    if is_conversation_id(&name) {
        return Ok(name);
    }
    let rule = "the name of a context: letters, digits, - _ and .";
    Err(RunRequestError::bad_value(key, rule))
}

pub(super) fn count(key: &'static str, value: &Value) -> ReadResult<u64> {
    value.as_u64().ok_or_else(|| RunRequestError::bad_value(key, "a whole number, 0 or more"))
}

pub(super) fn flag(key: &'static str, value: &Value) -> ReadResult<bool> {
    value.as_bool().ok_or_else(|| RunRequestError::bad_value(key, "true or false"))
}

/// How many seconds are too many depends on the settings of the runner.
pub(super) fn seconds(key: &'static str, value: &Value) -> ReadResult<Number> {
    match value {
        Value::Number(seconds) => Ok(seconds.clone()),
        _ => Err(RunRequestError::bad_value(key, "a number of seconds above 0")),
    }
}

pub(super) fn output(key: &'static str, value: &Value) -> ReadResult<OutputFormat> {
    let word = text(key, value)?;
    OutputFormat::parse(&word).ok_or_else(|| RunRequestError::bad_value(key, "md or json"))
}

pub(super) fn tier(key: &'static str, value: &Value) -> ReadResult<RunTier> {
    let tier = match value {
        Value::Number(number) => number.as_u64().and_then(|number| u8::try_from(number).ok()),
        Value::String(text) => return name_of_tier(key, text),
        _ => None,
    };
    tier.filter(|number| (1..=3).contains(number)).map(RunTier::Number).ok_or_else(|| bad_tier(key))
}

fn name_of_tier(key: &'static str, text: &str) -> ReadResult<RunTier> {
    let name = RunTier::NAMES.into_iter().find(|name| *name == text);
    name.map(RunTier::Name).ok_or_else(|| bad_tier(key))
}

fn bad_tier(key: &'static str) -> RunRequestError {
    RunRequestError::bad_value(key, "1, 2, 3, pro, flash or lite")
}

/// Whether each is a segment is for whoever knows segments; what is no text is none, like the empty text.
pub(super) fn span(key: &'static str, value: &Value) -> ReadResult<Vec<String>> {
    let segments = value.as_array().filter(|segments| segments.len() <= SPAN_MAX);
    let segments = segments.ok_or_else(|| RunRequestError::bad_value(key, "a list of segments"))?;
    Ok(segments.iter().map(|segment| segment.as_str().unwrap_or_default().to_owned()).collect())
}

pub(super) fn environment(key: &'static str, value: &Value) -> ReadResult<RunEnvironment> {
    if let Value::Array(names) = value
        && names.iter().all(Value::is_string)
    {
        let names = names.iter().filter_map(|name| name.as_str().map(str::to_owned));
        return Ok(RunEnvironment::Names(names.collect()));
    }
    let Some(values) = value.as_object().filter(|values| values.len() <= VARIABLES_MAX) else {
        return Err(RunRequestError::bad_value(key, "an object of at most 256 variables"));
    };
    for (name, value) in values {
        if !is_variable(name) || OWN_VARIABLES.contains(&name.as_str()) {
            return Err(RunRequestError::ForbiddenVariable { name: name.clone() });
        }
        match value {
            Value::String(text) if text.contains('\0') => {}
            Value::Null | Value::String(_) | Value::Bool(_) | Value::Number(_) => continue,
            Value::Array(_) | Value::Object(_) => {}
        }
        return Err(RunRequestError::BadVariable { name: name.clone() });
    }
    Ok(RunEnvironment::Values(values.clone()))
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
