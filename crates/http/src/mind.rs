//! The mind over HTTP: bulletin, jobs, undo, budget, and the admin chat.

use api::run::{RunEvent, RunEventKind};
use axum::body::Body as HttpBody;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;
use runs::runner::RunFollower;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;
use utoipa::{IntoParams, ToSchema};

use crate::channels::{PIECES, pass_on, piece};
use crate::events::wants_stream;
use crate::input::{Asker, Body, Name, QueryParameters, page};
use crate::run_lookup::{run_id, talents_host};
use crate::transfer::{Piece, Stream};
use crate::{App, Reply, listed};
use api::admin::{AdminAnswer, AdminRequest};
use api::bulletin::{BulletinAnswer, BulletinHistoryRequest, BulletinRequest, BulletinView};
use api::mind::{
    BudgetAnswer, BudgetRequest, DueAnswer, DueRequest, EVENTS_MAX, JobView, JobsAnswer,
    JobsRequest, KeepAnswer, KeepRequest, MemoryRecallAnswer, MemoryRecallRequest, PauseJobRequest,
    ProcessEventsAnswer, ProcessEventsRequest, RUNS_MAX, ResetAnswer, ResetRequest, RunAnswer,
    RunJobRequest, RunView, RunsAnswer, RunsRequest, ShowRunRequest, UndoAnswer, UndoRequest,
};
use host::operations::admin::{AdminRun, AdminTurn};
use host::pools::WorkKind;

/// Bulletins one page of the history holds.
const HISTORY_MAX: usize = 200;

/// What matters now, as every session starts with it.
#[utoipa::path(
    get, path = "/api/bulletin", tag = "mind", operation_id = "get_bulletin",
    params(BulletinRequest),
    responses((status = 200, description = "The bulletin, or nothing if none was made yet", body = BulletinAnswer)),
)]
pub(super) async fn bulletin(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(request): QueryParameters<BulletinRequest>,
) -> Reply {
    app.reply(caller, request).await
}

/// Bulletins so far, newest first. `X-Total-Count` says how many are kept.
#[utoipa::path(
    get, path = "/api/bulletin/history", tag = "mind", operation_id = "list_bulletins",
    params(BulletinHistoryRequest),
    responses((status = 200, description = "Newest first", body = [BulletinView])),
)]
pub(super) async fn history(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(mut request): QueryParameters<BulletinHistoryRequest>,
) -> Reply {
    request.limit = page(request.limit, HISTORY_MAX)?;
    let answer = app.ask(caller, request).await?;
    listed(&answer.bulletins, 0, answer.total)
}

/// Asks the memory as the mind does: `mode` recent, important, typed (by `memory_types`) or hybrid (by `query`).
#[utoipa::path(
    post, path = "/api/memory_recall", tag = "mind", operation_id = "memory_recall",
    request_body = MemoryRecallRequest,
    responses((status = 200, description = "Best first", body = MemoryRecallAnswer)),
)]
pub(super) async fn recall(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: MemoryRecallRequest = body.read()?;
    app.reply(caller, request).await
}

/// The jobs of the mind, its warm-up, and what is left alone because it keeps failing.
#[utoipa::path(
    get, path = "/api/mind/jobs", tag = "mind", operation_id = "list_jobs",
    responses((status = 200, description = "Jobs", body = JobsAnswer)),
)]
pub(super) async fn jobs(State(app): State<App>, Asker(caller): Asker) -> Reply {
    app.reply(caller, JobsRequest {}).await
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RunBody {
    /// Only say what would be changed.
    dry_run: bool,
}

/// Runs a job now and answers when it has ended.
#[utoipa::path(
    post, path = "/api/mind/jobs/{job}/run", tag = "mind", operation_id = "run_job",
    params(("job" = String, Path, description = "bulletin, maintenance, patterns or pages")),
    request_body = RunBody,
    responses((status = 200, description = "What was done", body = RunAnswer)),
)]
pub(super) async fn run_job(
    State(app): State<App>,
    Asker(caller): Asker,
    Name(job): Name,
    body: Body,
) -> Reply {
    let RunBody { dry_run } = body.read()?;
    app.reply(caller, RunJobRequest { job, dry_run }).await
}

/// Lets a job wait until it is resumed.
#[utoipa::path(
    post, path = "/api/mind/jobs/{job}/pause", tag = "mind", operation_id = "pause_job",
    params(("job" = String, Path, description = "bulletin, maintenance, patterns or pages")),
    responses((status = 200, description = "The job", body = JobView)),
)]
pub(super) async fn pause_job(
    State(app): State<App>,
    Asker(caller): Asker,
    Name(job): Name,
) -> Reply {
    app.reply(caller, PauseJobRequest { job, paused: true }).await
}

/// Lets a paused job go on.
#[utoipa::path(
    post, path = "/api/mind/jobs/{job}/resume", tag = "mind", operation_id = "resume_job",
    params(("job" = String, Path, description = "bulletin, maintenance, patterns or pages")),
    responses((status = 200, description = "The job", body = JobView)),
)]
pub(super) async fn resume_job(
    State(app): State<App>,
    Asker(caller): Asker,
    Name(job): Name,
) -> Reply {
    app.reply(caller, PauseJobRequest { job, paused: false }).await
}

/// Runs, newest first: those that changed memories, and the reports of all.
#[utoipa::path(
    get, path = "/api/mind/runs", tag = "mind", operation_id = "list_mind_runs",
    params(RunsRequest),
    responses((status = 200, description = "Runs", body = RunsAnswer)),
)]
pub(super) async fn runs(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(mut request): QueryParameters<RunsRequest>,
) -> Reply {
    request.limit = page(request.limit, RUNS_MAX)?;
    app.reply(caller, request).await
}

/// Everything that a run changed, with its reasons.
#[utoipa::path(
    get, path = "/api/mind/runs/{run}", tag = "mind", operation_id = "get_mind_run",
    params(("run" = String, Path, description = "The name of a run")),
    responses((status = 200, description = "The run", body = RunView)),
)]
pub(super) async fn show(State(app): State<App>, Asker(caller): Asker, Name(run): Name) -> Reply {
    app.reply(caller, ShowRunRequest { run }).await
}

/// Takes back what a run changed. What somebody changed since is left alone and named.
#[utoipa::path(
    post, path = "/api/mind/undo", tag = "mind", operation_id = "undo_run",
    request_body = UndoRequest,
    responses((status = 200, description = "What was taken back", body = UndoAnswer)),
)]
pub(super) async fn undo(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: UndoRequest = body.read()?;
    app.reply(caller, request).await
}

/// What is about to be put away by itself, the next first.
#[utoipa::path(
    get, path = "/api/mind/due", tag = "mind", operation_id = "list_due",
    responses((status = 200, description = "Memories and the active days they have left", body = DueAnswer)),
)]
pub(super) async fn due(State(app): State<App>, Asker(caller): Asker) -> Reply {
    app.reply(caller, DueRequest {}).await
}

/// Keeps memories: they are not put away by themselves, and are brought back if they were.
#[utoipa::path(
    post, path = "/api/mind/keep", tag = "mind", operation_id = "keep_memories",
    request_body = KeepRequest,
    responses((status = 200, description = "What is kept", body = KeepAnswer)),
)]
pub(super) async fn keep(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: KeepRequest = body.read()?;
    app.reply(caller, request).await
}

/// Tries again whatever was left alone because it failed: providers, tools, jobs.
#[utoipa::path(
    post, path = "/api/mind/reset", tag = "mind", operation_id = "reset_mind",
    responses((status = 200, description = "What was left alone", body = ResetAnswer)),
)]
pub(super) async fn reset(State(app): State<App>, Asker(caller): Asker) -> Reply {
    app.reply(caller, ResetRequest {}).await
}

/// What happened to channels, branches and workers, oldest first.
#[utoipa::path(
    get, path = "/api/mind/events", tag = "mind", operation_id = "list_process_events",
    params(ProcessEventsRequest),
    responses((status = 200, description = "Events", body = ProcessEventsAnswer)),
)]
pub(super) async fn events(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(mut request): QueryParameters<ProcessEventsRequest>,
) -> Reply {
    request.limit = page(request.limit, EVENTS_MAX)?;
    app.reply(caller, request).await
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct BudgetParameters {
    /// Lines of the ledger; 20 if absent.
    limit: Option<usize>,
    /// UTC days to look back on, today included; none if absent.
    days: Option<usize>,
}

/// What models cost today and on days before, and what is left.
#[utoipa::path(
    get, path = "/api/budget", tag = "mind", operation_id = "get_budget",
    params(BudgetParameters),
    responses((status = 200, description = "Today", body = BudgetAnswer)),
)]
pub(super) async fn budget(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(asked): QueryParameters<BudgetParameters>,
) -> Reply {
    let limit = page(asked.limit, api::mind::budget::LEDGER_MAX)?;
    let days = page(asked.days, api::mind::budget::DAYS_MAX)?;
    app.reply(caller, BudgetRequest { kill_switch: None, limit, days }).await
}

/// Throws the kill switch, or allows models again.
#[utoipa::path(
    post, path = "/api/budget", tag = "mind", operation_id = "set_budget",
    request_body = BudgetRequest,
    responses((status = 200, description = "Today", body = BudgetAnswer)),
)]
pub(super) async fn set_budget(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: BudgetRequest = body.read()?;
    app.reply(caller, request).await
}

/// Answers an administrator: by rules, and by a model that is configured what no rule understands. With `Accept:
/// text/event-stream` the answer comes as it is written: `delta` with `text` each, `tool` with what a model uses, then
/// `done` with the whole answer.
#[utoipa::path(
    post, path = "/api/cortex/chat", tag = "mind", operation_id = "admin_chat",
    request_body = AdminRequest,
    responses((status = 200, description = "The answer", body = AdminAnswer)),
)]
pub(super) async fn chat(
    State(app): State<App>,
    Asker(caller): Asker,
    headers: HeaderMap,
    body: Body,
) -> Reply {
    let request: AdminRequest = body.read()?;
    if !wants_stream(&headers) {
        return app.reply(caller, request).await;
    }
    let turn = app.run(WorkKind::Write, move |ops| Ok(ops.admin_begin(&caller, request)?)).await?;
    let (send, pieces) = mpsc::channel(PIECES);
    match turn {
        AdminTurn::Answered(answer) => {
            tokio::spawn(async move {
                for line in answer.response.lines() {
                    let line = json!({ "text": format!("{line}\n") });
                    if send.send(piece("delta", &line)).await.is_err() {
                        return;
                    }
                }
                // Sending fails if the caller is gone, and then nobody wants the answer.
                let _ = send.send(piece("done", &json!(answer))).await;
            });
        }
        AdminTurn::Asked(run) => {
            let follow = talents_host(&app)?.runner().follow(&run_id(&run.use_id)?, None);
            tokio::spawn(told_by_model(follow, run, send));
        }
    }
    let kind = [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((kind, HttpBody::new(Stream(pieces))).into_response())
}

async fn told_by_model(follow: RunFollower, run: AdminRun, send: mpsc::Sender<Piece>) {
    let start = json!({ "use_id": run.use_id });
    if send.send(piece("start", &start)).await.is_err() {
        return;
    }
    let end = pass_on(follow, &send).await;
    let text = |end: &RunEvent, key: &str| end.text(key).unwrap_or_default().to_owned();
    let outcome = match end {
        Some(end) if end.kind() == RunEventKind::Finish => Ok(text(&end, "result")),
        Some(end) => Err(text(&end, "error")),
        None => Err("the run that answers is gone".to_owned()),
    };
    // Sending fails if the caller is gone; what the run did is in its log.
    let _ = send.send(piece("done", &json!(run.ended(outcome)))).await;
}
