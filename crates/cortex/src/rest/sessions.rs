//! Sessions and prompts.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;

use super::input::{Asked, Asker, Body, Name, page};
use super::memories::to_json;
use super::problem::Problem;
use super::{App, Reply, created, listed};
use crate::ops::prompt::{PROMPTS_MAX, PromptListRequest, PromptSaveRequest};
use crate::ops::session::{
    SESSIONS_MAX, SessionEndRequest, SessionGetRequest, SessionListRequest, SessionStartRequest,
    SummaryRequest,
};

pub(super) async fn list(
    State(app): State<App>,
    Asker(caller): Asker,
    Asked(mut request): Asked<SessionListRequest>,
) -> Reply {
    request.limit = page(request.limit, SESSIONS_MAX)?.or(Some(SESSIONS_MAX));
    let answer = app.ask(caller, request).await?;
    Ok(listed(&answer.sessions, answer.total))
}

/// Starting a session that lives is no mistake; one that has ended cannot start again.
pub(super) async fn start(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: SessionStartRequest = body.without(&["started_at"]).read()?;
    let session = app.ask(caller, request).await?;
    match (session.ended_at.is_some(), session.changed) {
        (_, true) => Ok(created(&session)),
        (false, false) => Ok(Json(session).into_response()),
        (true, false) => {
            Err(Problem::new(StatusCode::CONFLICT, "session_ended", "session has already ended")
                .with_hint("start a session with a new id"))
        }
    }
}

pub(super) async fn read(State(app): State<App>, Asker(caller): Asker, Name(id): Name) -> Reply {
    app.reply(caller, SessionGetRequest { id }).await
}

pub(super) async fn end(
    State(app): State<App>,
    Asker(caller): Asker,
    Name(id): Name,
    body: Body,
) -> Reply {
    let request = SessionEndRequest { id, ..body.read()? };
    let mut view = to_json(&app.ask(caller, request).await?)?;
    view["status"] = "ended".into();
    Ok(Json(view).into_response())
}

pub(super) async fn summary(
    State(app): State<App>,
    Asker(caller): Asker,
    Name(id): Name,
    body: Body,
) -> Reply {
    let request = SummaryRequest { session_id: Some(id), ..body.read()? };
    Ok(created(&app.ask(caller, request).await?))
}

pub(super) async fn prompts(
    State(app): State<App>,
    Asker(caller): Asker,
    Asked(mut request): Asked<PromptListRequest>,
) -> Reply {
    request.limit = page(request.limit, PROMPTS_MAX)?;
    let answer = app.ask(caller, request).await?;
    Ok(listed(&answer.prompts, answer.total))
}

pub(super) async fn save_prompt(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: PromptSaveRequest = body.read()?;
    Ok(created(&app.ask(caller, request).await?))
}
