//! Errors on the wire: problem details (RFC 9457) with the stable code, whether to try again, and a hint.
//!
//! `error` repeats the text for clients that look for it there.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use api::{Error, ErrorCode, Fault};

/// An error with the status it is answered with.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    error: Error,
}

impl Problem {
    pub(super) fn new(status: StatusCode, code: ErrorCode, message: impl Into<String>) -> Problem {
        let fault = match status {
            StatusCode::NOT_FOUND => Fault::Missing,
            StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED | StatusCode::MISDIRECTED_REQUEST => {
                Fault::Forbidden
            }
            StatusCode::CONFLICT => Fault::Conflict,
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::REQUEST_TIMEOUT => Fault::Busy,
            _ => Fault::Caller,
        };
        Problem { status, error: Error::new(code, fault, message) }
    }

    /// The request cannot be understood.
    pub(super) fn bad(code: ErrorCode, message: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// As it stands in a stream.
    pub(super) fn value(&self) -> serde_json::Value {
        serde_json::json!({
            "code": self.error.code,
            "status": self.status.as_u16(),
            "detail": self.error.message,
            "hint": self.error.hint,
        })
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    pub(super) fn detail(&self) -> &str {
        &self.error.message
    }

    pub(super) fn hint(&self) -> Option<&str> {
        self.error.hint.as_deref()
    }

    #[must_use]
    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Problem {
        self.error = self.error.with_hint(hint);
        self
    }
}

impl From<service::Error> for Problem {
    fn from(error: service::Error) -> Problem {
        Error::from(error).into()
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        let status =
            StatusCode::from_u16(error.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Problem { status, error }
    }
}

/// An error as it is sent.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ProblemView {
    /// A name for this kind of problem.
    #[serde(rename = "type")]
    kind: String,
    /// The words of the status.
    title: &'static str,
    status: u16,
    /// What is wrong with this request.
    detail: String,
    /// A name for programs; never changes once released.
    code: &'static str,
    /// True when the same request may succeed later.
    retry: bool,
    /// The same as `detail`.
    error: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Problem { status, error } = self;
        let view = ProblemView {
            kind: format!("urn:cortex:problem:{}", error.code),
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            detail: error.message.clone(),
            code: error.code.as_str(),
            retry: error.retry,
            error: error.message,
            hint: error.hint,
        };
        let mut response = (status, Json(view)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        match status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}
