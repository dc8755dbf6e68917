//! Sessions and prompts.

use api::ErrorCode;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::Serialize;
use utoipa::ToSchema;

use crate::input::{Asker, Body, Name, QueryParameters, page};
use crate::problem::Problem;
use crate::{App, Reply, created, listed};
use api::prompt::{PROMPTS_MAX, PromptListRequest, PromptSaveRequest, PromptView};
use api::save::SaveAnswer;
use api::session::{
    SESSIONS_MAX, SessionEndRequest, SessionGetRequest, SessionListRequest, SessionStartRequest,
    SessionView, SummaryRequest,
};

/// Lists sessions, newest first. `X-Total-Count` says how many there are in all.
#[utoipa::path(
    get, path = "/api/sessions", tag = "sessions", operation_id = "list_sessions",
    params(SessionListRequest),
    responses((status = 200, description = "A page of sessions", body = [SessionView])),
)]
pub(super) async fn list(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(mut request): QueryParameters<SessionListRequest>,
) -> Reply {
    request.limit = page(request.limit, SESSIONS_MAX)?.or(Some(SESSIONS_MAX));
    let offset = request.offset;
    let answer = app.ask(caller, request).await?;
    listed(&answer.sessions, offset, answer.total)
}

/// Starts a session. Starting one that lives is no mistake; one that has ended cannot start again.
#[utoipa::path(
    post, path = "/api/sessions", tag = "sessions", operation_id = "start_session",
    request_body = SessionStartRequest,
    responses(
        (status = 201, description = "It is new", body = SessionView),
        (status = 200, description = "It lives already", body = SessionView),
    ),
)]
pub(super) async fn start(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: SessionStartRequest = body.without(&["started_at"]).read()?;
    let session = app.ask(caller, request).await?;
    match (session.ended_at.is_some(), session.changed) {
        (_, true) => Ok(created(&session)),
        (false, false) => Ok(Json(session).into_response()),
        (true, false) => Err(has_ended()),
    }
}

fn has_ended() -> Problem {
    Problem::new(StatusCode::CONFLICT, ErrorCode::SessionEnded, "session has already ended")
        .with_hint("start a session with a new id")
}

/// One session.
#[utoipa::path(
    get, path = "/api/sessions/{id}", tag = "sessions", operation_id = "get_session",
    params(("id" = String, Path)),
    responses((status = 200, description = "The session", body = SessionView)),
)]
pub(super) async fn read(State(app): State<App>, Asker(caller): Asker, Name(id): Name) -> Reply {
    app.reply(caller, SessionGetRequest { id }).await
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EndedSession {
    /// Always `ended`.
    status: &'static str,
    #[serde(flatten)]
    session: SessionView,
}

/// Ends a session. One that has ended is not ended again.
#[utoipa::path(
    post, path = "/api/sessions/{id}/end", tag = "sessions", operation_id = "end_session",
    params(("id" = String, Path)),
    request_body = Option<SessionEndRequest>,
    responses((status = 200, description = "The session", body = EndedSession)),
)]
pub(super) async fn end(
    State(app): State<App>,
    Asker(caller): Asker,
    Name(id): Name,
    body: Body,
) -> Reply {
    let session = app.ask(caller, SessionEndRequest { id, ..body.read()? }).await?;
    if !session.changed {
        return Err(has_ended());
    }
    Ok(Json(EndedSession { status: "ended", session }).into_response())
}

/// Saves what a session came to. The session goes on.
#[utoipa::path(
    post, path = "/api/sessions/{id}/summary", tag = "sessions", operation_id = "summarise_session",
    params(("id" = String, Path)),
    request_body = SummaryRequest,
    responses((status = 201, description = "The memory that holds it", body = SaveAnswer)),
)]
pub(super) async fn summary(
    State(app): State<App>,
    Asker(caller): Asker,
    Name(id): Name,
    body: Body,
) -> Reply {
    let request = SummaryRequest { session_id: Some(id), ..body.read()? };
    Ok(created(&app.ask(caller, request).await?))
}

/// Lists prompts, newest first. `X-Total-Count` says how many match in all.
#[utoipa::path(
    get, path = "/api/prompts", tag = "sessions", operation_id = "list_prompts",
    params(PromptListRequest),
    responses((status = 200, description = "A page of prompts", body = [PromptView])),
)]
pub(super) async fn prompts(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(mut request): QueryParameters<PromptListRequest>,
) -> Reply {
    request.limit = page(request.limit, PROMPTS_MAX)?;
    let offset = request.offset;
    let answer = app.ask(caller, request).await?;
    listed(&answer.prompts, offset, answer.total)
}

/// Keeps what somebody asked.
#[utoipa::path(
    post, path = "/api/prompts", tag = "sessions", operation_id = "save_prompt",
    request_body = PromptSaveRequest,
    responses((status = 201, description = "The prompt", body = PromptView)),
)]
pub(super) async fn save_prompt(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: PromptSaveRequest = body.read()?;
    Ok(created(&app.ask(caller, request).await?))
}
