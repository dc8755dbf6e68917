//! Conversations over HTTP: a message goes in, the answer comes out whole or as it is written.
//!
//! What must stay true: a caller that goes away does not end the answer, which stays in the channel; a stream ends with
//! `done` or `error`, whatever happens.

use api::ErrorCode;
use api::run::{RunEvent, RunEventKind};
use axum::Json;
use axum::body::{Body as HttpBody, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use runs::runner::RunFollower;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use utoipa::{IntoParams, ToSchema};

use crate::events::wants_stream;
use crate::input::{Asker, Body, Name, QueryParameters, page};
use crate::problem::Problem;
use crate::run_lookup::{run_id, talents_host};
use crate::transfer::{Piece, Stream};
use crate::{App, Reply};
use api::channel::{
    ChannelBranchRequest, ChannelGetAnswer, ChannelGetRequest, ChannelListAnswer,
    ChannelListRequest, ChannelRemoveRequest, ChannelRunAnswer, ChannelSayRequest,
    ChannelStopAnswer, ChannelStopRequest, ChannelView, ChannelWorkerRequest,
};

const MESSAGES_MAX: usize = 1_000;
pub(super) const PIECES: usize = 16;

/// What somebody says.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct MessageBody {
    message: String,
    /// True for a channel that others read; counts when it is made.
    shared: bool,
    provider: Option<String>,
    model: Option<String>,
}

/// The answer to a message.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ChannelReply {
    channel: String,
    /// The run that answered.
    use_id: String,
    reply: String,
    /// Memories that were read for it.
    cited: Vec<u64>,
    /// What was taken out of the message. Empty if nothing was.
    redacted: String,
    #[schema(value_type = Object)]
    usage: Value,
    cost: Option<f64>,
}

/// Says something in a channel and waits for the answer. With `Accept: text/event-stream` it comes as it is written:
/// `delta` with `text`, `tool` with its name, then `done` with the whole answer, or `error`.
#[utoipa::path(
    post, path = "/api/channels/{channel}/messages", tag = "channels", operation_id = "say",
    params(("channel" = String, Path, description = "Its name; it is made if it is not there")),
    request_body = MessageBody,
    responses(
        (status = 200, description = "The answer", body = ChannelReply),
        (status = 409, description = "It still answers the last message, or no model is set up"),
        (status = 502, description = "No model answered"),
    ),
)]
pub(super) async fn say(
    State(app): State<App>,
    Asker(caller): Asker,
    headers: HeaderMap,
    Name(channel): Name,
    body: Body,
) -> Reply {
    let body: MessageBody = body.read()?;
    let request = ChannelSayRequest {
        channel,
        message: body.message,
        shared: body.shared,
        provider: body.provider,
        model: body.model,
        env: Map::new(),
    };
    let started = app.ask(caller, request).await?;
    let runner = talents_host(&app)?.runner().clone();
    let follow = runner.follow(&run_id(&started.use_id)?, None);
    if wants_stream(&headers) {
        let (send, pieces) = mpsc::channel(PIECES);
        tokio::spawn(stream(follow, started, send));
        let kind = [
            (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
            (header::CACHE_CONTROL, "no-store"),
        ];
        return Ok((kind, HttpBody::new(Stream(pieces))).into_response());
    }
    let end = end_of(follow, |_| std::future::ready(true)).await;
    Ok(Json(reply(started, end)?).into_response())
}

/// Waits for the end; `tell` sees each event and says whether anybody still listens.
async fn end_of<F>(mut follow: RunFollower, mut tell: impl FnMut(RunEvent) -> F) -> Option<RunEvent>
where
    F: Future<Output = bool>,
{
    while let Ok(Some(event)) = follow.next().await {
        if event.event.is_terminal() {
            return Some(event.event);
        }
        if !tell(event.event).await {
            return None;
        }
    }
    None
}

fn reply(started: ChannelRunAnswer, end: Option<RunEvent>) -> Result<ChannelReply, Problem> {
    let failed = |code: &str, why: String| {
        let code = ErrorCode::named(code);
        // Where no model is set up, none was asked.
        let is_asked = code != ErrorCode::NoModel;
        let status = if is_asked { StatusCode::BAD_GATEWAY } else { StatusCode::CONFLICT };
        Problem::new(status, code, why)
            .with_hint("the message is kept; say something again to go on")
    };
    let Some(end) = end else {
        return Err(failed("run_lost", "the run that answers is gone".to_owned()));
    };
    let text = |key: &str| end.text(key).unwrap_or_default().to_owned();
    if end.kind() != RunEventKind::Finish {
        let reason = Some(text("reason")).filter(|reason| !reason.is_empty());
        return Err(failed(reason.as_deref().unwrap_or("run_failed"), text("error")));
    }
    let cited = end.get("cited").and_then(Value::as_array);
    let cited = cited.into_iter().flatten().filter_map(Value::as_u64).collect();
    Ok(ChannelReply {
        channel: started.channel,
        use_id: started.use_id,
        reply: text("result"),
        cited,
        redacted: started.redacted,
        cost: end.get("cost").and_then(Value::as_f64),
        usage: end.get("usage").cloned().unwrap_or_default(),
    })
}

/// One event of a stream.
#[expect(clippy::unnecessary_wraps, reason = "it is what a body is made of")]
pub(super) fn piece(name: &str, data: &Value) -> Piece {
    Ok(Bytes::from(format!("event: {name}\ndata: {data}\n\n")))
}

/// Passes on what a run writes and uses, to its end.
pub(super) async fn pass_on(follow: RunFollower, send: &mpsc::Sender<Piece>) -> Option<RunEvent> {
    end_of(follow, |event| {
        let told = match event.kind() {
            RunEventKind::TextDelta => Some(piece("delta", &json!({"text": event.get("delta")}))),
            RunEventKind::ToolStart => Some(piece("tool", &json!({"tool": event.get("tool")}))),
            _ => None,
        };
        async move {
            match told {
                Some(told) => send.send(told).await.is_ok(),
                None => !send.is_closed(),
            }
        }
    })
    .await
}

async fn stream(follow: RunFollower, started: ChannelRunAnswer, send: mpsc::Sender<Piece>) {
    let start = json!({"channel": started.channel, "use_id": started.use_id});
    if send.send(piece("start", &start)).await.is_err() {
        return;
    }
    let end = pass_on(follow, &send).await;
    let last = match reply(started, end) {
        Ok(reply) => piece("done", &json!(reply)),
        Err(problem) => piece("error", &problem.value()),
    };
    // Sending fails if the caller is gone, who finds the answer in the channel later.
    let _ = send.send(last).await;
}

/// All channels.
#[utoipa::path(
    get, path = "/api/channels", tag = "channels", operation_id = "list_channels",
    responses((status = 200, description = "Channels by name", body = ChannelListAnswer)),
)]
pub(super) async fn list(State(app): State<App>, Asker(caller): Asker) -> Reply {
    app.reply(caller, ChannelListRequest {}).await
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ChannelParameters {
    /// The newest so many messages; 50 if absent.
    limit: Option<usize>,
}

/// A channel and what was said in it.
#[utoipa::path(
    get, path = "/api/channels/{channel}", tag = "channels", operation_id = "get_channel",
    params(("channel" = String, Path, description = "Its name"), ChannelParameters),
    responses(
        (status = 200, description = "The channel", body = ChannelGetAnswer),
        (status = 404, description = "There is no such channel"),
    ),
)]
pub(super) async fn read(
    State(app): State<App>,
    Asker(caller): Asker,
    Name(channel): Name,
    QueryParameters(asked): QueryParameters<ChannelParameters>,
) -> Reply {
    let limit = page(asked.limit, MESSAGES_MAX)?;
    app.reply(caller, ChannelGetRequest { channel, limit }).await
}

/// Removes a channel and its transcript. Memories that came of it stay, and so does what was said to it in the journal.
#[utoipa::path(
    delete, path = "/api/channels/{channel}", tag = "channels", operation_id = "remove_channel",
    params(("channel" = String, Path, description = "Its name")),
    responses(
        (status = 200, description = "What it was", body = ChannelView),
        (status = 404, description = "There is no such channel"),
        (status = 409, description = "It is in use"),
    ),
)]
pub(super) async fn remove(
    State(app): State<App>,
    Asker(caller): Asker,
    Name(channel): Name,
) -> Reply {
    app.reply(caller, ChannelRemoveRequest { channel }).await
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct BranchBody {
    /// What the branch is to think about.
    description: String,
}

/// Starts a branch: it knows all that was said, and its conclusion becomes a note in the channel.
#[utoipa::path(
    post, path = "/api/channels/{channel}/branches", tag = "channels", operation_id = "branch",
    params(("channel" = String, Path, description = "Its name")),
    request_body = BranchBody,
    responses(
        (status = 202, description = "It thinks", body = ChannelRunAnswer),
        (status = 404, description = "There is no such channel"),
    ),
)]
pub(super) async fn branch(
    State(app): State<App>,
    Asker(caller): Asker,
    Name(channel): Name,
    body: Body,
) -> Reply {
    let BranchBody { description } = body.read()?;
    let request = ChannelBranchRequest { channel, description, env: Map::new() };
    let started = app.ask(caller, request).await?;
    Ok((StatusCode::ACCEPTED, Json(started)).into_response())
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WorkerBody {
    /// What it is to do; it knows nothing else.
    task: String,
    /// `default` if absent.
    talent: Option<String>,
}

/// Starts a worker: a run of a talent that knows only its task. Its result becomes a note in the channel.
#[utoipa::path(
    post, path = "/api/channels/{channel}/workers", tag = "channels", operation_id = "start_worker",
    params(("channel" = String, Path, description = "Its name")),
    request_body = WorkerBody,
    responses(
        (status = 202, description = "It works", body = ChannelRunAnswer),
        (status = 404, description = "There is no such channel, or no such talent"),
    ),
)]
pub(super) async fn worker(
    State(app): State<App>,
    Asker(caller): Asker,
    Name(channel): Name,
    body: Body,
) -> Reply {
    let WorkerBody { task, talent } = body.read()?;
    let request = ChannelWorkerRequest { channel, task, talent, env: Map::new() };
    let started = app.ask(caller, request).await?;
    Ok((StatusCode::ACCEPTED, Json(started)).into_response())
}

/// Stops the answer that is under way, the branches and the workers of a channel.
#[utoipa::path(
    post, path = "/api/channels/{channel}/stop", tag = "channels", operation_id = "stop_channel",
    params(("channel" = String, Path, description = "Its name")),
    responses(
        (status = 200, description = "Runs that were asked to stop", body = ChannelStopAnswer),
        (status = 404, description = "There is no such channel"),
    ),
)]
pub(super) async fn stop(
    State(app): State<App>,
    Asker(caller): Asker,
    Name(channel): Name,
) -> Reply {
    app.reply(caller, ChannelStopRequest { channel }).await
}
