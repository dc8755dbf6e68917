//! What can go wrong with a provider, in the reason codes of the wire.

use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

/// What is shown of a service's complaint.
const COMPLAINT_CHARS: usize = 500;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ReasonCode {
    KeyInvalid,
    QuotaExceeded,
    Unavailable,
    ResponseInvalid,
    NetworkUnreachable,
    Timeout,
    NoOutput,
    Unknown,
}

impl ReasonCode {
    pub fn as_str(self) -> &'static str {
        match self {
            ReasonCode::KeyInvalid => "provider_key_invalid",
            ReasonCode::QuotaExceeded => "provider_quota_exceeded",
            ReasonCode::Unavailable => "provider_unavailable",
            ReasonCode::ResponseInvalid => "provider_response_invalid",
            ReasonCode::NetworkUnreachable => "network_unreachable",
            ReasonCode::Timeout => "chat_timeout",
            ReasonCode::NoOutput => "no_output",
            ReasonCode::Unknown => "unknown",
        }
    }
}

#[derive(Clone, Debug, Error, PartialEq)]
#[error("{message}")]
pub struct ProviderError {
    pub reason: ReasonCode,
    pub message: String,
    /// Asking again may help.
    pub passing: bool,
    /// When the provider wants to be asked again.
    pub retry_after: Option<Duration>,
    /// What had been said before it broke.
    pub partial: String,
    /// What a command line tool wrote to its stderr, at the end.
    pub trace: Option<String>,
}

impl ProviderError {
    pub fn new(reason: ReasonCode, message: impl Into<String>) -> ProviderError {
        ProviderError {
            reason,
            message: message.into(),
            passing: false,
            retry_after: None,
            partial: String::new(),
            trace: None,
        }
    }

    pub fn passing(reason: ReasonCode, message: impl Into<String>) -> ProviderError {
        ProviderError { passing: true, ..ProviderError::new(reason, message) }
    }

    pub fn code(&self) -> &'static str {
        self.reason.as_str()
    }
}

/// An answer with a status that is not 200.
pub(super) fn of_status(
    provider: &str,
    status: u16,
    body: &[u8],
    retry_after: Option<Duration>,
) -> ProviderError {
    let told = complaint(body);
    let lower = told.to_lowercase();
    let message = format!("{provider} answered {status}: {told}");
    let out_of_money =
        ["insufficient_quota", "billing", "credit balance", "exceeded your current quota"]
            .iter()
            .any(|words| lower.contains(words));
    let bad_key = lower.contains("api key not valid") || lower.contains("api_key_invalid");
    let (reason, passing) = match status {
        401 | 403 => (ReasonCode::KeyInvalid, false),
        400 if bad_key => (ReasonCode::KeyInvalid, false),
        // Money does not come back by waiting a minute.
        402 => (ReasonCode::QuotaExceeded, false),
        400 | 429 if out_of_money => (ReasonCode::QuotaExceeded, false),
        429 => (ReasonCode::QuotaExceeded, true),
        408 | 500 | 502 | 503 | 504 | 529 => (ReasonCode::Unavailable, true),
        _ => (ReasonCode::Unknown, false),
    };
    ProviderError {
        passing,
        retry_after: retry_after.or_else(|| retry_delay(body)),
        ..ProviderError::new(reason, message)
    }
}

/// An error that a service sends inside of a stream that began well.
pub(super) fn of_stream(provider: &str, kind: &str, told: &str) -> ProviderError {
    let message = format!("{provider}: {kind}: {}", one_line(told));
    let (reason, passing) = match kind {
        "overloaded_error" | "api_error" | "server_error" | "UNAVAILABLE" | "INTERNAL" => {
            (ReasonCode::Unavailable, true)
        }
        "rate_limit_error" | "rate_limit_exceeded" | "RESOURCE_EXHAUSTED" => {
            (ReasonCode::QuotaExceeded, true)
        }
        "insufficient_quota" | "billing_error" => (ReasonCode::QuotaExceeded, false),
        "authentication_error" | "permission_error" => (ReasonCode::KeyInvalid, false),
        _ => (ReasonCode::Unknown, false),
    };
    ProviderError { passing, ..ProviderError::new(reason, message) }
}

/// Google tells the pause in the body: `"retryDelay": "12s"`.
fn retry_delay(body: &[u8]) -> Option<Duration> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let details = value["error"]["details"].as_array()?;
    let text = details.iter().find_map(|detail| detail["retryDelay"].as_str())?;
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// What a service says is wrong, on one line and not too long.
fn complaint(body: &[u8]) -> String {
    let text = match serde_json::from_slice::<Value>(body) {
        Ok(value) => {
            let error = if value[0].is_object() { &value[0]["error"] } else { &value["error"] };
            let kind =
                error["code"].as_str().or(error["type"].as_str()).or(error["status"].as_str());
            match (kind, error["message"].as_str().or(error.as_str())) {
                (Some(kind), Some(message)) => format!("{message} ({kind})"),
                (None, Some(message)) => message.to_owned(),
                _ => value.to_string(),
            }
        }
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    one_line(&text)
}

pub(super) fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(COMPLAINT_CHARS).collect()
}

/// An error with its causes; the first alone often says nothing.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
