//! A request, checked before anything is touched.

use jiff::Zoned;
use serde_json::{Map, Value};

use super::chats::is_id;
use super::error::RunError;
use crate::names::{Day, Facet, Segment, TalentName, UseId};
use crate::talent_files::OutputFormat;
use llm::models::ModelTier;

/// Keys of a talent that a request can never change.
const NEVER: &[&str] = &["type", "tools", "cwd", "path", "grant", "hook", "write"];
const SPAN_MAX: usize = 2_000;

#[derive(Clone, Debug)]
pub struct TalentRequest {
    pub use_id: UseId,
    pub name: TalentName,
    pub prompt: Option<String>,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub tier: Option<ModelTier>,
    pub max_output_tokens: Option<u32>,
    pub thinking_budget: Option<u32>,
    pub session_id: Option<String>,
    pub chat_id: Option<String>,
    pub facet: Option<Facet>,
    pub output: Option<OutputFormat>,
    pub day: Day,
    pub segment: Option<Segment>,
    pub span: Vec<Segment>,
    pub output_path: Option<String>,
    pub refresh: bool,
    pub timeout_seconds: Option<u64>,
    pub schedule: Option<String>,
    /// The conversation that this run belongs to.
    pub channel: Option<String>,
    /// The name of what was said before; a run of a channel without it is a worker.
    pub context: Option<String>,
}

impl TalentRequest {
    /// Reads a line.
    pub(super) fn parse(line: &str, now: &Zoned) -> Result<TalentRequest, Box<RequestRefusal>> {
        let refused = |use_id, error| Box::new(RequestRefusal { use_id, error });
        let value: Value = serde_json::from_str(line).map_err(|error| {
            refused(None, RunError::request(format!("the request is no JSON: {error}")))
        })?;
        let Value::Object(given) = value else {
            return Err(refused(None, RunError::request("the request is no object")));
        };
        let use_id = given.get("use_id").and_then(Value::as_str).map(str::to_owned);
        read(&given, now).map_err(|error| refused(use_id, error))
    }
}

/// A request that cannot be done.
#[derive(Debug)]
pub(super) struct RequestRefusal {
    /// The id of the run, if that could be read.
    pub(super) use_id: Option<String>,
    pub(super) error: RunError,
}

fn read(given: &Map<String, Value>, now: &Zoned) -> Result<TalentRequest, RunError> {
    if let Some(key) = NEVER.iter().find(|key| given.contains_key(**key)) {
        return Err(RunError::request(format!("a request may not set {key:?}")));
    }
    let fields = Fields(given);
    let use_id = match (fields.text("use_id")?, given.get("ts").and_then(Value::as_u64)) {
        (Some(text), _) => name(UseId::parse(&text))?,
        (None, Some(ts)) => UseId::from_millis(ts),
        (None, None) => {
            return Err(RunError::request("the request has neither \"use_id\" nor \"ts\""));
        }
    };
    let output =
        match fields.text("output")? {
            None => None,
            Some(text) => Some(OutputFormat::parse(&text).ok_or_else(|| {
                RunError::request(format!("\"output\" is {text:?}, not md or json"))
            })?),
        };
    let tier = match given.get("tier").filter(|value| !value.is_null()) {
        None => None,
        Some(value) => Some(
            ModelTier::from_value(value)
                .ok_or_else(|| RunError::request(format!("\"tier\" is {value}, not 1, 2 or 3")))?,
        ),
    };
    let talent = fields.text("name")?.unwrap_or_else(|| "default".to_owned());
    let request = TalentRequest {
        use_id,
        name: name(TalentName::parse(&talent))?,
        prompt: fields.text("prompt")?.filter(|text| !text.trim().is_empty()),
        provider: fields.text("provider")?,
        model: fields.text("model")?,
        tier,
        max_output_tokens: fields
            .count("max_output_tokens")?
            .and_then(|count| u32::try_from(count).ok()),
        thinking_budget: fields
            .count("thinking_budget")?
            .and_then(|count| u32::try_from(count).ok()),
        session_id: fields.id("session_id")?,
        chat_id: fields.id("chat_id")?,
        facet: fields.text("facet")?.map(|text| name(Facet::parse(&text))).transpose()?,
        output,
        day: match fields.text("day")? {
            Some(text) => name(Day::parse(&text))?,
            None => Day::from(now.date()),
        },
        segment: fields.text("segment")?.map(|text| name(Segment::parse(&text))).transpose()?,
        span: fields.span()?,
        output_path: fields.text("output_path")?,
        refresh: fields.flag("refresh")?,
        timeout_seconds: fields.seconds("timeout_seconds")?,
        schedule: fields.text("schedule")?,
        channel: fields.text("channel")?,
        context: fields.id("context")?,
    };
    if (request.segment.is_some() || !request.span.is_empty()) && fields.text("day")?.is_none() {
        return Err(RunError::request("\"segment\" and \"span\" need \"day\""));
    }
    if request.segment.is_some() && !request.span.is_empty() {
        return Err(RunError::request("\"segment\" and \"span\" exclude each other"));
    }
    // Values of the environment came with the process; a runner sends their names only.
    if let Some(env) = fields.value("env")
        && !env.is_object()
        && !env.is_array()
    {
        return Err(RunError::request("\"env\" must be an object, or a list of names"));
    }
    Ok(request)
}

fn name<T>(parsed: Result<T, crate::names::NameError>) -> Result<T, RunError> {
    parsed.map_err(|error| RunError::request(error.to_string()))
}

struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    fn value(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    fn text(&self, key: &str) -> Result<Option<String>, RunError> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(RunError::request(format!("{key:?} must be a text"))),
        }
    }

    fn flag(&self, key: &str) -> Result<bool, RunError> {
        match self.value(key) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(RunError::request(format!("{key:?} must be true or false"))),
        }
    }

    /// Whole seconds, at least one; parts of one count as one.
    fn seconds(&self, key: &str) -> Result<Option<u64>, RunError> {
        match self.value(key).map(Value::as_f64) {
            None => Ok(None),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked to be positive and within 32 bits"
            )]
            Some(Some(seconds)) if seconds > 0.0 && seconds <= f64::from(u32::MAX) => {
                Ok(Some(seconds.ceil() as u64))
            }
            Some(_) => Err(RunError::request(format!("{key:?} must be a number above 0"))),
        }
    }

    fn count(&self, key: &str) -> Result<Option<u64>, RunError> {
        match self.value(key) {
            None => Ok(None),
            Some(value) => match value
                .as_u64()
                .filter(|count| (1..=u64::from(u32::MAX)).contains(count))
            {
                Some(count) => Ok(Some(count)),
                None => Err(RunError::request(format!("{key:?} must be a whole number above 0"))),
            },
        }
    }

    /// An id of a conversation: it becomes a file name and an argument of a command.
    fn id(&self, key: &str) -> Result<Option<String>, RunError> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        if is_id(&text) {
            Ok(Some(text))
        } else {
            Err(RunError::request(format!("{key:?} must be letters, digits, - _ and .")))
        }
    }

    fn span(&self) -> Result<Vec<Segment>, RunError> {
        let bad = || RunError::request("\"span\" must be a list of segments");
        match self.value("span") {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) if items.len() <= SPAN_MAX => items
                .iter()
                .map(|item| name(Segment::parse(item.as_str().ok_or_else(bad)?)))
                .collect(),
            Some(_) => Err(bad()),
        }
    }
}
