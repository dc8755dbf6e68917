//! What is going on: context, timeline, counts, projects, the root; and texts that memories are made from.

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use serde::Deserialize;

use super::input::{Asked, Asker, Body, page};
use super::{App, Reply};
use crate::ops::capture::{CaptureRequest, SuggestRequest};
use crate::ops::context::{ContextRequest, LIMIT_MAX};
use crate::ops::proof::RootRequest;
use crate::ops::stats::{MergeRequest, ProjectsRequest, StatsRequest};
use crate::ops::timeline::{SIDE_MAX, TimelineRequest};

pub(super) async fn context(
    State(app): State<App>,
    Asker(caller): Asker,
    Asked(mut request): Asked<ContextRequest>,
) -> Reply {
    request.limit = page(request.limit, LIMIT_MAX)?;
    app.reply(caller, request).await
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TimelineAsked {
    observation_id: u64,
    before: Option<usize>,
    after: Option<usize>,
}

pub(super) async fn timeline(
    State(app): State<App>,
    Asker(caller): Asker,
    Asked(asked): Asked<TimelineAsked>,
) -> Reply {
    let request = TimelineRequest {
        id: asked.observation_id,
        before: page(asked.before, SIDE_MAX)?,
        after: page(asked.after, SIDE_MAX)?,
    };
    app.reply(caller, request).await
}

pub(super) async fn stats(State(app): State<App>, Asker(caller): Asker) -> Reply {
    app.reply(caller, StatsRequest {}).await
}

pub(super) async fn projects(State(app): State<App>, Asker(caller): Asker) -> Reply {
    app.reply(caller, ProjectsRequest {}).await
}

pub(super) async fn merge_projects(
    State(app): State<App>,
    Asker(caller): Asker,
    body: Body,
) -> Reply {
    let request: MergeRequest = body.read()?;
    app.reply(caller, request).await
}

pub(super) async fn root(State(app): State<App>, Asker(caller): Asker) -> Reply {
    app.reply(caller, RootRequest {}).await
}

pub(super) async fn capture(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: CaptureRequest = body.read()?;
    Ok(Json(app.ask(caller, request).await?).into_response())
}

pub(super) async fn suggest(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: SuggestRequest = body.read()?;
    app.reply(caller, request).await
}
