//! What comes in: bodies, questions in the address, ids, and who asks. What is wrong with them is said as a problem.
//!
//! What must stay true: a body has a limit in bytes and in time; it is read only if it is declared to be JSON, which a
//! page of another site cannot do without asking first.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::HttpBody as _;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use proof::actor::ActorName;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::problem::Problem;
use crate::scoped;
use api::DEFAULT_ACTOR;
use api::{Error, ErrorCode};
use service::{Caller, Delegate};

/// How long the journal must be at least, in a cluster.
pub(super) const AT_LEAST: &str = "x-cortex-at-least";
/// Bytes of a body: the longest content, escaped, and what surrounds it.
pub(super) const BODY_BYTES_MAX: usize = 4 * 1_048_576;
/// Bytes that are read and thrown away, so that a caller who sends too much can still read why that is wrong.
const DRAINED_MAX: usize = 64 * 1_048_576;
/// How long a body may take.
const BODY_WAIT: Duration = Duration::from_secs(10);

/// A JSON object as the body; no body is an empty one.
#[derive(Debug)]
pub(super) struct Body(pub(super) Map<String, Value>);

impl<S: Send + Sync> FromRequest<S> for Body {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Body, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = collect_in_time(body).await?;
        if bytes.is_empty() {
            return Ok(Body(Map::new()));
        }
        // A page elsewhere can make a browser send a form or plain text without asking first, but not this.
        if !is_json(&parts.headers) {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                ErrorCode::NotJson,
                "the body must be JSON",
            )
            .with_hint("send the header Content-Type: application/json"));
        }
        serde_json::from_slice(&bytes)
            .map(Body)
            .map_err(|error| Problem::bad(ErrorCode::BadJson, format!("invalid JSON: {error}")))
    }
}

impl Body {
    /// The request that the object stands for.
    pub(super) fn read<T: DeserializeOwned>(self) -> Result<T, Problem> {
        serde_json::from_value(Value::Object(self.0))
            .map_err(|error| Problem::from(Error::invalid("body", error.to_string())))
    }

    /// Fields that come back with every memory and that a caller may send again; the server sets them.
    pub(super) fn without(mut self, names: &[&str]) -> Body {
        self.0.retain(|name, _| !names.contains(&name.as_str()));
        self
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let text = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = text.and_then(|text| text.split(';').next()).unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

/// The whole body, if it is not too long and comes in time.
pub(super) async fn collect_in_time(body: axum::body::Body) -> Result<Vec<u8>, Problem> {
    tokio::time::timeout(BODY_WAIT, collect(body)).await.map_err(|_| {
        let message = "the body did not come in time";
        Problem::new(StatusCode::REQUEST_TIMEOUT, ErrorCode::SlowBody, message)
    })?
}

async fn collect(mut body: axum::body::Body) -> Result<Vec<u8>, Problem> {
    let (mut bytes, mut seen) = (Vec::new(), 0_usize);
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|error| Problem::bad(ErrorCode::BadBody, error.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        seen += data.len();
        if seen > DRAINED_MAX {
            break;
        }
        if seen <= BODY_BYTES_MAX {
            bytes.extend_from_slice(&data);
        }
    }
    if seen > BODY_BYTES_MAX {
        return Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            ErrorCode::TooLarge,
            format!("the body has more than {BODY_BYTES_MAX} bytes"),
        ));
    }
    Ok(bytes)
}

/// What the address says after the question mark.
#[derive(Debug)]
pub(super) struct QueryParameters<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<QueryParameters<T>, Problem> {
        Query::try_from_uri(&parts.uri)
            .map(|Query(asked)| QueryParameters(asked))
            .map_err(|error| Problem::from(Error::invalid("query", error.body_text())))
    }
}

/// The number in a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Id(pub(super) u64);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Id, Problem> {
        let Name(text) = Name::from_request_parts(parts, state).await?;
        text.parse().ok().filter(|id| *id > 0).map(Id).ok_or_else(|| {
            Problem::bad(ErrorCode::BadId, "invalid id").with_hint("ids count from 1")
        })
    }
}

/// The name in a path.
#[derive(Clone, Debug)]
pub(super) struct Name(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Name, Problem> {
        axum::extract::Path::from_request_parts(parts, state)
            .await
            .map(|axum::extract::Path(text)| Name(text))
            .map_err(|_| Problem::bad(ErrorCode::BadId, "invalid id"))
    }
}

/// Who asks: the actor of the header `X-Cortex-Actor`, the project of `X-Cortex-Project`, the retry key of
/// `Idempotency-Key`, and how long the journal must be at least, of `X-Cortex-At-Least`.
pub(super) fn caller_of(parts: &Parts, by: &str) -> Result<Caller, Problem> {
    let text = |name: &str| match parts.headers.get(name).map(|value| value.to_str()) {
        None => Ok(None),
        Some(Ok(text)) => Ok(Some(text.to_owned())),
        Some(Err(_)) => {
            Err(Problem::bad(ErrorCode::BadHeader, format!("{name} is not plain text")))
        }
    };
    let actor = text("x-cortex-actor")?.map(|name| ActorName::parse(&name)).transpose();
    let actor = actor.map_err(service::Error::from)?;
    let mut caller = match parts.extensions.get::<Arc<Delegate>>() {
        Some(delegate) => scoped::caller(delegate)?,
        None => Caller::new(ActorName::parse(DEFAULT_ACTOR).map_err(service::Error::from)?, by),
    };
    // A grant for another's memory is then refused as such.
    caller.actor = actor.unwrap_or(caller.actor);
    caller.idempotency_key = text("idempotency-key")?;
    caller.project = text("x-cortex-project")?;
    caller.at_least = match text(AT_LEAST)? {
        None => None,
        Some(size) => Some(size.trim().parse().map_err(|_| {
            Problem::bad(ErrorCode::BadHeader, "X-Cortex-At-Least is the size of a journal")
        })?),
    };
    Ok(caller)
}

/// The name under which something is done: what a person did on the page can be told from what a program sent. Only a
/// browser sends this header, and pages of other origins have been turned away before.
fn author(headers: &HeaderMap) -> &'static str {
    let site = headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
    if site == Some("same-origin") { "page" } else { "http" }
}

#[derive(Clone, Debug)]
pub(super) struct Asker(pub(super) Caller);

impl<S: Send + Sync> FromRequestParts<S> for Asker {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Asker, Problem> {
        caller_of(parts, author(&parts.headers)).map(Asker)
    }
}

/// A page must say how long it is in numbers that are kept.
pub(super) fn page(limit: Option<usize>, most: usize) -> Result<Option<usize>, Problem> {
    match limit {
        Some(limit) if !(1..=most).contains(&limit) => {
            Err(Error::invalid("limit", format!("must lie between 1 and {most}")).into())
        }
        limit => Ok(limit),
    }
}
