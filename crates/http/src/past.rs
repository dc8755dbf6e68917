//! The past: what coding agents wrote down, read, asked, kept and forgotten over HTTP.
//!
//! What must stay true: these are the operations of the command line with the same fields; only the owner is answered;
//! a citation in an address is escaped, because it has a `#` in it.

use axum::extract::{Path, State};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::input::{Asker, Body, QueryParameters};
use crate::problem::Problem;
use crate::{App, Reply};
use api::ErrorCode;
use api::past::{
    PastForgetAnswer, PastForgetRequest, PastKeepAnswer, PastKeepRequest, PastReadAnswer,
    PastReadRequest, PastRestoreAnswer, PastRestoreRequest, PastSearchAnswer, PastSearchRequest,
    PastSessionsAnswer, PastSessionsRequest, PastShowAnswer, PastShowRequest, PastStateAnswer,
    PastStateRequest, PastWorkAnswer, PastWorkKind, PastWorkRequest,
};

/// What was read of which agents, and how much of it is kept only here.
#[utoipa::path(
    get, path = "/api/past", tag = "past", operation_id = "read_past_state",
    responses((status = 200, description = "The past as a whole", body = PastStateAnswer)),
)]
pub(super) async fn state(State(app): State<App>, Asker(caller): Asker) -> Reply {
    app.reply(caller, PastStateRequest {}).await
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PastSearchParameters {
    /// A question in ordinary words.
    #[param(required)]
    q: String,
    agent: Option<String>,
    /// The last part of a folder.
    project: Option<String>,
    folder: Option<String>,
    /// `AGENT:SESSION`.
    session: Option<String>,
    since: Option<String>,
    until: Option<String>,
    /// True: also commands, outputs and edits.
    work: bool,
    /// 10 if absent.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
}

/// Turns that answer a question, of all agents, best first.
#[utoipa::path(
    get, path = "/api/past/search", tag = "past", operation_id = "search_past",
    params(PastSearchParameters),
    responses((status = 200, description = "Turns", body = PastSearchAnswer)),
)]
pub(super) async fn search(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(asked): QueryParameters<PastSearchParameters>,
) -> Reply {
    let request = PastSearchRequest {
        query: asked.q,
        agent: asked.agent,
        folder: asked.folder,
        project: asked.project,
        session: asked.session,
        since: asked.since,
        until: asked.until,
        work: asked.work,
        limit: asked.limit,
    };
    app.reply(caller, request).await
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PastSessionsParameters {
    agent: Option<String>,
    folder: Option<String>,
    since: Option<String>,
    /// True: also sessions that agents led.
    children: bool,
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
}

/// Sessions, newest first.
#[utoipa::path(
    get, path = "/api/past/sessions", tag = "past", operation_id = "list_past_sessions",
    params(PastSessionsParameters),
    responses((status = 200, description = "Sessions", body = PastSessionsAnswer)),
)]
pub(super) async fn sessions(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(asked): QueryParameters<PastSessionsParameters>,
) -> Reply {
    let request = PastSessionsRequest {
        agent: asked.agent,
        folder: asked.folder,
        since: asked.since,
        children: asked.children,
        limit: asked.limit,
    };
    app.reply(caller, request).await
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PastShowParameters {
    /// Turns before and after the one that is named.
    around: u32,
    /// True: also commands, reads, edits and outputs.
    work: bool,
    /// True: all turns, however many.
    whole: bool,
}

impl PastShowParameters {
    fn into_request(self, reference: String) -> PastShowRequest {
        PastShowRequest { reference, around: self.around, work: self.work, whole: self.whole }
    }
}

/// The turns of a session.
#[utoipa::path(
    get, path = "/api/past/sessions/{ref}", tag = "past", operation_id = "read_past_session",
    params(("ref" = String, Path, description = "`AGENT:SESSION`"), PastShowParameters),
    responses((status = 200, description = "The session and its turns", body = PastShowAnswer)),
)]
pub(super) async fn session(
    State(app): State<App>,
    Asker(caller): Asker,
    Path(reference): Path<String>,
    QueryParameters(asked): QueryParameters<PastShowParameters>,
) -> Reply {
    app.reply(caller, asked.into_request(reference)).await
}

/// One turn, and those around it.
#[utoipa::path(
    get, path = "/api/past/turns/{ref}", tag = "past", operation_id = "read_past_turn",
    params(
        ("ref" = String, Path, description = "`AGENT:SESSION#TURN`, with `#` as `%23`"), PastShowParameters,
    ),
    responses((status = 200, description = "The session and the turn", body = PastShowAnswer)),
)]
pub(super) async fn turn(
    State(app): State<App>,
    Asker(caller): Asker,
    Path(reference): Path<String>,
    QueryParameters(asked): QueryParameters<PastShowParameters>,
) -> Reply {
    app.reply(caller, asked.into_request(reference)).await
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PastWorkParameters {
    /// error, command, file, friction or removed.
    #[param(inline)]
    about: PastWorkKind,
    /// The error, words of a command, or the path of a file.
    text: String,
    project: Option<String>,
    since: Option<String>,
    #[param(minimum = 1, maximum = 100)]
    limit: Option<usize>,
}

/// What was done: fixes of an error, commands that went well, turns about a file.
#[utoipa::path(
    get, path = "/api/past/work", tag = "past", operation_id = "read_past_work",
    params(PastWorkParameters),
    responses((status = 200, description = "The list that was asked for", body = PastWorkAnswer)),
)]
pub(super) async fn work(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(asked): QueryParameters<PastWorkParameters>,
) -> Reply {
    let request = PastWorkRequest {
        about: asked.about,
        text: asked.text,
        project: asked.project,
        since: asked.since,
        limit: asked.limit,
        ..PastWorkRequest::default()
    };
    app.reply(caller, request).await
}

/// Reads what agents wrote since the last time, in the home of the person whose daemon this is.
#[utoipa::path(
    post, path = "/api/past/read", tag = "past", operation_id = "read_past",
    request_body = PastReadRequest,
    responses((status = 200, description = "What was read", body = PastReadAnswer)),
)]
pub(super) async fn read(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let mut request: PastReadRequest = body.read()?;
    // A file that is not there is a mistake of whoever asks, not a failure of ours.
    if let Some(path) = &request.path
        && !std::path::Path::new(path).is_file()
    {
        return Err(Problem::bad(ErrorCode::Invalid, format!("path: there is no file {path:?}")));
    }
    let (home, variables) = app.ops.past_surroundings();
    let mut caller = caller;
    caller.person_home = caller.person_home.or(home);
    for (name, value) in variables {
        request.variables.entry(name.clone()).or_insert_with(|| value.clone());
    }
    app.reply(caller, request).await
}

/// Makes a memory of a turn.
#[utoipa::path(
    post, path = "/api/past/keep", tag = "past", operation_id = "keep_past_turn",
    request_body = PastKeepRequest,
    responses((status = 200, description = "The memory", body = PastKeepAnswer)),
)]
pub(super) async fn keep(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    app.reply(caller, body.read::<PastKeepRequest>()?).await
}

/// Forgets sessions or turns for good.
#[utoipa::path(
    post, path = "/api/past/forget", tag = "past", operation_id = "forget_past",
    request_body = PastForgetRequest,
    responses((status = 200, description = "What was forgotten", body = PastForgetAnswer)),
)]
pub(super) async fn forget(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    app.reply(caller, body.read::<PastForgetRequest>()?).await
}

/// Lifts what was forgotten; it comes back if its source is still there.
#[utoipa::path(
    post, path = "/api/past/restore", tag = "past", operation_id = "restore_past",
    request_body = PastRestoreRequest,
    responses((status = 200, description = "Whether it is back", body = PastRestoreAnswer)),
)]
pub(super) async fn restore(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    app.reply(caller, body.read::<PastRestoreRequest>()?).await
}
