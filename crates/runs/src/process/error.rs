//! Why a run ended without a result, and how that looks on the wire.

use std::time::Duration;

use api::run::ErrorPayload;
use jiff::Zoned;
use thiserror::Error;

use super::events::OutputClosedError;
use llm::models::NoModelError;
use llm::providers::ProviderError;
use talents::chronicle::ChronicleError;
use talents::talent_files::{RenderError, TalentError};

/// What is kept of an answer that broke off.
const TAIL_CHARS: usize = 400;

#[derive(Debug, Error)]
pub enum RunError {
    #[error("{why}")]
    Request { why: String },
    #[error(transparent)]
    Talent(#[from] TalentError),
    #[error("the talent's template, {0}")]
    Template(#[from] RenderError),
    #[error(transparent)]
    Model(#[from] NoModelError),
    #[error(transparent)]
    Chronicle(#[from] ChronicleError),
    #[error("{error}")]
    Provider { provider: String, error: ProviderError },
    #[error("{why}")]
    Chat { code: &'static str, why: String },
    /// What must be asked at once does not fit.
    #[error(
        "{asked} tokens are estimated, and {model} takes {window}; \
         providers.windows.{model:?} says how many it takes"
    )]
    Window { model: String, asked: u64, window: u64 },
    /// Nothing more may be spent; what there was of the answer is kept.
    #[error("{why}")]
    Budget { why: String, partial: String },
    #[error("the run did not end within {} s", limit.as_secs())]
    Timeout { limit: Duration },
    #[error("the run was told to stop")]
    Cancelled,
    #[error("nobody reads the events")]
    Unread,
}

impl RunError {
    pub(super) fn request(why: impl Into<String>) -> RunError {
        RunError::Request { why: why.into() }
    }

    pub(super) fn timeout(limit: Duration) -> RunError {
        RunError::Timeout { limit }
    }

    pub(super) fn cancelled() -> RunError {
        RunError::Cancelled
    }

    pub fn code(&self) -> &'static str {
        match self {
            RunError::Request { .. } => "bad_request",
            RunError::Talent(error) => error.code(),
            RunError::Template(_) => "template_failed",
            RunError::Model(error) => error.code(),
            RunError::Chronicle(error) => error.code(),
            RunError::Provider { error, .. } => error.code(),
            RunError::Chat { code, .. } => code,
            RunError::Window { .. } => "window_exceeded",
            RunError::Budget { .. } => "budget_exhausted",
            RunError::Timeout { .. } => "chat_timeout",
            RunError::Cancelled => "cancelled",
            RunError::Unread => "unread",
        }
    }

    /// What there was of an answer when the run ended.
    pub(super) fn partial(&self) -> &str {
        match self {
            RunError::Provider { error, .. } => &error.partial,
            RunError::Budget { partial, .. } => partial,
            _ => "",
        }
    }

    pub(super) fn payload(&self, now: &Zoned) -> ErrorPayload {
        let mut payload = ErrorPayload {
            error: Some(self.to_string()),
            reason: Some(self.code().to_owned()),
            reason_code: Some(self.code().to_owned()),
            terminal: Some(true),
            ..ErrorPayload::default()
        };
        match self {
            RunError::Provider { provider, error } => {
                payload.provider = Some(provider.clone());
                payload.trace.clone_from(&error.trace);
                if let Some(pause) = error.retry_after {
                    let pause = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
                    let then = now.timestamp().as_millisecond().saturating_add(pause);
                    payload.reset_at_ms = Some(then);
                }
                tell_partial(&mut payload, &error.partial);
            }
            RunError::Budget { partial, .. } => tell_partial(&mut payload, partial),
            RunError::Model(error) => {
                let told: Vec<String> = error.reasons.iter().map(ToString::to_string).collect();
                payload.trace = Some(told.join("\n"));
            }
            _ => {}
        }
        payload
    }
}

/// Says how much of an answer there was, and how it ended.
fn tell_partial(payload: &mut ErrorPayload, partial: &str) {
    if partial.is_empty() {
        return;
    }
    let count = partial.chars().count();
    let tail: String = partial.chars().skip(count.saturating_sub(TAIL_CHARS)).collect();
    payload.partial_text_length = Some(count as u64);
    payload.partial_text_tail = Some(tail);
}

impl From<OutputClosedError> for RunError {
    fn from(_: OutputClosedError) -> RunError {
        RunError::Unread
    }
}
