//! Talents and their runs: asked for, listed, looked at, cancelled.
//!
//! What must stay true: every route asks first whether the caller is the owner.

use std::sync::Arc;

use api::run::{RunQuery, RunRequest, RunScope, RunStatus};
use api::server_tools::{ApprovalView, ApprovalsAnswer, ApprovalsRequest, DecideRequest};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::IntoResponse;
use runs::runner::{RunSelector, run_of};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::{IntoParams, ToSchema};

use crate::input::{Asker, Body, Name, QueryParameters};
use crate::problem::Problem;
use crate::run_lookup::{no_run, run_id, talents_host};
use crate::{App, Reply, with_total};
use api::{Error, ErrorCode};
use host::pools::WorkKind;
use service::access::for_owner;

/// The caller of runs that come over HTTP; callers with different names are served in turn.
const CALLER: &str = "http";

/// What became of a request.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RunReceipt {
    /// accepted or queued.
    state: String,
    use_id: String,
    /// Place in the queue; 1 is next.
    position: Option<usize>,
    /// True if the same request was a run before.
    replayed: Option<bool>,
}

/// Asks for a run of a talent. It goes on when this is answered; its events tell how.
#[utoipa::path(
    post, path = "/api/runs", tag = "runs", operation_id = "start_run",
    request_body = RunRequest,
    responses((status = 202, description = "It runs, or waits for its turn", body = RunReceipt)),
)]
pub(super) async fn create(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    for_owner(&caller)?;
    let receipt = talents_host(&app)?.runner().submit_fields(&body.0, CALLER).await;
    let Some(run) = run_of(&receipt) else { return Err(rejected(receipt)) };
    let mut response = (StatusCode::ACCEPTED, Json(receipt)).into_response();
    if let Ok(place) = HeaderValue::from_str(&format!("/api/runs/{run}")) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

fn rejected(receipt: api::run::RunReceipt) -> Problem {
    let api::run::RunReceipt::Rejected { code, reason } = receipt else {
        return Error::internal("a run without an id").into();
    };
    let status = match code {
        "unknown_talent" => StatusCode::NOT_FOUND,
        "id_taken" | "provider_mismatch" => StatusCode::CONFLICT,
        "queue_full" | "shutting_down" => StatusCode::SERVICE_UNAVAILABLE,
        "log_failed" | "internal" => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    Problem::new(status, ErrorCode::named(code), reason)
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RunsParameters {
    name: Option<String>,
    facet: Option<String>,
    /// YYYYMMDD.
    day: Option<String>,
    chat_id: Option<String>,
    parent: Option<String>,
    /// completed or error.
    status: Option<String>,
    /// live, historical or all; all if absent.
    scope: Option<String>,
    offset: usize,
    /// 1 to 100; 10 if absent.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
}

/// Runs that go on or wait (`live`), and those that have ended, newest first (`runs`).
#[utoipa::path(
    get, path = "/api/runs", tag = "runs", operation_id = "list_runs",
    params(RunsParameters),
    responses((
        status = 200, description = "{live, runs, total, has_more}; X-Total-Count has the total", body = Object,
    )),
)]
pub(super) async fn list(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(asked): QueryParameters<RunsParameters>,
) -> Reply {
    for_owner(&caller)?;
    let word = |name: &str, given: Option<&str>, words: &[&str]| match given {
        Some(given) if !words.contains(&given) => {
            Err(Error::invalid("query", format!("{name} must be {}", words.join(" or "))))
        }
        _ => Ok(()),
    };
    word("status", asked.status.as_deref(), &["completed", "error"])?;
    word("scope", asked.scope.as_deref(), &["live", "historical", "all"])?;
    let query = RunQuery {
        name: asked.name,
        facet: asked.facet,
        day: asked.day,
        chat_id: asked.chat_id,
        parent: asked.parent,
        status: asked.status.map(|status| match status.as_str() {
            "completed" => RunStatus::Completed,
            _ => RunStatus::Error,
        }),
        offset: asked.offset,
        limit: crate::input::page(asked.limit, 100)?.unwrap_or(0),
    };
    let scope = match asked.scope.as_deref() {
        Some("live") => RunScope::Live,
        Some("historical") => RunScope::Historical,
        _ => RunScope::All,
    };
    let runs = talents_host(&app)?.runner().list(scope, &query);
    Ok(with_total(Json(&runs).into_response(), runs.total))
}

/// One run: what is known of it while it goes on, and what the index has of it when it has ended.
#[utoipa::path(
    get, path = "/api/runs/{id}", tag = "runs", operation_id = "get_run",
    params(("id" = String, Path, description = "The run's `use_id`")),
    responses(
        (status = 200, description = "The run; `state` is queued, running, completed or error", body = Object),
        (status = 404, description = "There is no such run"),
    ),
)]
pub(super) async fn read(State(app): State<App>, Asker(caller): Asker, Name(id): Name) -> Reply {
    for_owner(&caller)?;
    let run = run_id(&id)?;
    let host = talents_host(&app)?;
    let live = host.runner().list(RunScope::Live, &RunQuery::default()).live;
    if let Some(live) = live.into_iter().find(|live| live.use_id == id) {
        let state = if live.position.is_some() { "queued" } else { "running" };
        return Ok(Json(with_state(state, json!(live))).into_response());
    }
    match host.runner().row(&run) {
        Some(row) => {
            let state = json!(row.status);
            let state = state.as_str().unwrap_or_default();
            Ok(Json(with_state(state, json!(row))).into_response())
        }
        None => Err(no_run(&run)),
    }
}

fn with_state(state: &str, run: Value) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("state".to_owned(), state.into());
    if let Value::Object(fields) = run {
        shown.extend(fields);
    }
    shown
}

/// Tells a run to end. It then ends with an `error` whose reason is `cancelled`.
#[utoipa::path(
    delete, path = "/api/runs/{id}", tag = "runs", operation_id = "cancel_run",
    params(("id" = String, Path, description = "The run's `use_id`")),
    responses(
        (status = 202, description = "It was told", body = Object),
        (status = 404, description = "There is no such run"),
        (status = 409, description = "It has ended"),
    ),
)]
pub(super) async fn cancel(State(app): State<App>, Asker(caller): Asker, Name(id): Name) -> Reply {
    for_owner(&caller)?;
    let run = run_id(&id)?;
    let runner = talents_host(&app)?.runner();
    if !runner.cancel(&RunSelector::Run(run.clone())).is_empty() {
        return Ok((StatusCode::ACCEPTED, Json(json!({"cancelled": [id]}))).into_response());
    }
    match runner.row(&run) {
        Some(_) => {
            let message = format!("run {run} has ended");
            Err(Problem::new(StatusCode::CONFLICT, ErrorCode::RunEnded, message))
        }
        None => Err(no_run(&run)),
    }
}

/// Calls of tools that wait for a person, the oldest first.
#[utoipa::path(
    get, path = "/api/approvals", tag = "runs", operation_id = "list_approvals",
    responses((status = 200, description = "What waits", body = ApprovalsAnswer)),
)]
pub(super) async fn approvals(State(app): State<App>, Asker(caller): Asker) -> Reply {
    app.reply(caller, ApprovalsRequest {}).await
}

/// What a person says to a call.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ApprovalBody {
    approve: bool,
}

/// Says yes or no to a call of a tool that waits. Only the owner can; an agent cannot.
#[utoipa::path(
    post, path = "/api/approvals/{id}", tag = "runs", operation_id = "decide_approval",
    params(("id" = String, Path, description = "The approval")),
    request_body = ApprovalBody,
    responses(
        (status = 200, description = "As it was decided", body = ApprovalView),
        (status = 404, description = "Nothing of this name waits"),
    ),
)]
pub(super) async fn decide(
    State(app): State<App>,
    Asker(caller): Asker,
    Name(id): Name,
    body: Body,
) -> Reply {
    let ApprovalBody { approve } = body.read()?;
    app.reply(caller, DecideRequest { id, approve }).await
}

/// The talents that can be run, what is wrong with the files of others, and which providers could be asked.
#[utoipa::path(
    get, path = "/api/talents", tag = "runs", operation_id = "list_talents",
    responses((
        status = 200, body = Object,
        description = "{talents: [{name, title, type, source, …}], problems: [], providers: [{name, ready, problem}]}",
    )),
)]
pub(super) async fn talents(State(app): State<App>, Asker(caller): Asker) -> Reply {
    for_owner(&caller)?;
    let live = Arc::clone(talents_host(&app)?);
    let view = app
        .run(WorkKind::Read, move |_| {
            let context = live.context()?;
            let shelf = &context.catalog;
            let talents: Vec<Value> = shelf.all().map(|talent| context.shown(talent)).collect();
            let problems: Vec<String> = shelf.problems().iter().map(ToString::to_string).collect();
            let providers = context.providers();
            Ok(json!({"talents": talents, "problems": problems, "providers": providers}))
        })
        .await?;
    Ok(Json(view).into_response())
}
