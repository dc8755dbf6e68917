//! Is it there, is it ready, what did it do; and what there is not.

#![allow(clippy::unused_async, reason = "routes are async, also those that need not wait")]

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::problem::Problem;
use super::{App, Reply};
use crate::ops::error::Error;

pub(super) async fn health() -> Response {
    let version = env!("CARGO_PKG_VERSION");
    Json(json!({"status": "ok", "service": "cortex", "version": version})).into_response()
}

/// Ready when the home can be read.
pub(super) async fn ready(State(app): State<App>) -> Reply {
    let read = app.run(|ops| Ok(ops.home().actors().map_err(Error::from)?)).await;
    match read {
        Ok(actors) => Ok(Json(json!({"status": "ready", "actors": actors.len()})).into_response()),
        Err(_) => Err(Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "not_ready",
            "the home cannot be read",
        )),
    }
}

pub(super) async fn metrics(State(app): State<App>) -> Response {
    let text = app.metrics.text(app.ops.home().open_count());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

pub(super) async fn nowhere(uri: Uri) -> Problem {
    let shown: String = uri.path().chars().take(128).collect();
    Problem::new(StatusCode::NOT_FOUND, "no_route", format!("there is nothing at {shown}"))
}

pub(super) async fn not_so() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "this route does not take this method",
    )
}
