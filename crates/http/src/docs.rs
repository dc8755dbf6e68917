//! `/openapi.json`. The page shows it at `/docs`, with a way to try what only reads.

#![allow(clippy::unused_async, reason = "routes are async, also those that need not wait")]

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::App;

/// This document.
#[utoipa::path(
    get, path = "/openapi.json", tag = "health", operation_id = "openapi",
    responses((status = 200, description = "OpenAPI 3.1", body = Object)),
)]
pub(super) async fn document(State(app): State<App>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], app.document.to_string()).into_response()
}
