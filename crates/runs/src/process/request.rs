//! A request as the talent process works with it: names are checked types, and what the runner left open is decided.
//!
//! `api::run` has the keys and the bounds of their values. The process also reads requests that no runner has
//! checked, so what becomes a file name or an argument of a command is checked here too.

use api::run::{
    DEFAULT_TALENT, OutputFormat, RunRequest, RunRequestError, RunTier, is_conversation_id,
};
use jiff::Zoned;
use llm::models::ModelTier;
use serde_json::{Number, Value};

use super::error::RunError;
use talents::names::{Day, Facet, NameError, Segment, TalentName, UseId};

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
        RunRequest::from_log(&given)
            .map_err(|error| RunError::request(wording(&error)))
            .and_then(|request| check(request, now))
            .map_err(|error| refused(use_id, error))
    }
}

/// A request that cannot be done.
#[derive(Debug)]
pub(super) struct RequestRefusal {
    /// The id of the run, if that could be read.
    pub(super) use_id: Option<String>,
    pub(super) error: RunError,
}

fn wording(error: &RunRequestError) -> String {
    match error {
        RunRequestError::ProtectedKey { key } => format!("a request may not set {key:?}"),
        RunRequestError::BadValue { key, rule } => format!("{key:?} must be {rule}"),
        other => other.to_string(),
    }
}

fn check(given: RunRequest, now: &Zoned) -> Result<TalentRequest, RunError> {
    let use_id = match (&given.use_id, given.ts) {
        (Some(text), _) => name(UseId::parse(text))?,
        (None, Some(ts)) => UseId::from_millis(ts),
        (None, None) => {
            return Err(RunError::request("the request has neither \"use_id\" nor \"ts\""));
        }
    };
    let span: Vec<Segment> = given
        .span
        .iter()
        .flatten()
        .map(|segment| name(Segment::parse(segment)))
        .collect::<Result<_, _>>()?;
    if (given.segment.is_some() || !span.is_empty()) && given.day.is_none() {
        return Err(RunError::request("\"segment\" and \"span\" need \"day\""));
    }
    if given.segment.is_some() && !span.is_empty() {
        return Err(RunError::request("\"segment\" and \"span\" exclude each other"));
    }
    let talent = given.name.as_deref().unwrap_or(DEFAULT_TALENT);
    Ok(TalentRequest {
        use_id,
        name: name(TalentName::parse(talent))?,
        prompt: given.prompt.filter(|text| !text.trim().is_empty()),
        provider: given.provider,
        model: given.model,
        tier: given.tier.and_then(tier),
        max_output_tokens: count("max_output_tokens", given.max_output_tokens)?,
        thinking_budget: count("thinking_budget", given.thinking_budget)?,
        session_id: id("session_id", given.session_id)?,
        chat_id: id("chat_id", given.chat_id)?,
        facet: given.facet.map(|text| name(Facet::parse(&text))).transpose()?,
        output: given.output,
        day: match given.day {
            Some(text) => name(Day::parse(&text))?,
            None => Day::from(now.date()),
        },
        segment: given.segment.map(|text| name(Segment::parse(&text))).transpose()?,
        span,
        output_path: given.output_path,
        refresh: given.refresh.unwrap_or(false),
        timeout_seconds: given.timeout_seconds.as_ref().map(whole_seconds).transpose()?,
        schedule: given.schedule,
        channel: given.channel,
        context: given.context,
    })
}

fn name<T>(parsed: Result<T, NameError>) -> Result<T, RunError> {
    parsed.map_err(|error| RunError::request(error.to_string()))
}

fn tier(given: RunTier) -> Option<ModelTier> {
    ModelTier::parse(&given.number().to_string())
}

/// Whole seconds, at least one; parts of one count as one.
fn whole_seconds(given: &Number) -> Result<u64, RunError> {
    match given.as_f64() {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be positive and within 32 bits"
        )]
        Some(seconds) if seconds > 0.0 && seconds <= f64::from(u32::MAX) => {
            Ok(seconds.ceil() as u64)
        }
        _ => Err(RunError::request("\"timeout_seconds\" must be a number above 0")),
    }
}

fn count(key: &str, given: Option<u64>) -> Result<Option<u32>, RunError> {
    let Some(given) = given else { return Ok(None) };
    match u32::try_from(given) {
        Ok(count) if count > 0 => Ok(Some(count)),
        _ => Err(RunError::request(format!("{key:?} must be a whole number above 0"))),
    }
}

/// An id of a conversation: it becomes a file name and an argument of a command.
fn id(key: &str, given: Option<String>) -> Result<Option<String>, RunError> {
    match given {
        Some(text) if !is_conversation_id(&text) => {
            Err(RunError::request(format!("{key:?} must be letters, digits, - _ and .")))
        }
        given => Ok(given),
    }
}

#[cfg(test)]
mod tests {
    use api::run::SPAN_MAX;
    use serde_json::json;

    use super::*;

    fn read(given: &Value) -> Result<TalentRequest, String> {
        let now: Zoned = "2026-01-15T12:00[UTC]".parse().expect("a moment");
        TalentRequest::parse(&given.to_string(), &now).map_err(|refused| refused.error.to_string())
    }

    // The runner took 1,000 segments and the process 2,000: what one refused the other would have done.
    #[test]
    fn a_span_has_the_bound_that_the_runner_has() {
        let span = |count: usize| json!({"use_id": "1", "day": "20260115", "span": vec!["120000_300"; count]});
        assert_eq!(read(&span(SPAN_MAX)).expect("taken").span.len(), 1_000);
        let refused = read(&span(SPAN_MAX + 1)).expect_err("refused");
        assert_eq!(refused, "\"span\" must be a list of segments");
    }

    #[test]
    fn what_no_runner_has_checked_is_checked() {
        let cases = [
            (json!({"use_id": "1", "tools": []}), "a request may not set \"tools\""),
            (json!({"use_id": "1", "prompt": 5}), "\"prompt\" must be a text"),
            (json!({"prompt": "x"}), "the request has neither \"use_id\" nor \"ts\""),
            (json!({"use_id": "1", "refresh": 1}), "\"refresh\" must be true or false"),
            (
                json!({"use_id": "1", "max_output_tokens": 0}),
                "\"max_output_tokens\" must be a whole number above 0",
            ),
            (
                json!({"use_id": "1", "chat_id": "a/b"}),
                "\"chat_id\" must be letters, digits, - _ and .",
            ),
            (
                json!({"use_id": "1", "segment": "120000_300"}),
                "\"segment\" and \"span\" need \"day\"",
            ),
        ];
        for (given, message) in cases {
            assert_eq!(read(&given).expect_err("refused"), message, "{given}");
        }
        let odd = json!({"ts": 7, "event": "request", "unknown": 1, "timeout_seconds": 1.2});
        let request = read(&odd).expect("a request");
        assert_eq!((request.use_id.as_str(), request.timeout_seconds), ("7", Some(2)));
    }
}
