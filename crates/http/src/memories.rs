//! Memories, by the name that clients know them by: observations.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::input::{Asker, Body, Id, QueryParameters, page};
use crate::problem::Problem;
use crate::{App, Reply, created, listed};
use api::change::{
    ArchiveRequest, ChangeAnswer, ConfirmAnswer, ConfirmRequest, DeleteRequest, PinRequest,
    RestoreRequest, UpdateRequest,
};
use api::memory::Memory;
use api::read::{GetAnswer, GetRequest, LIST_MAX, ListRequest};
use api::save::{EntityView, SaveAnswer, SaveRequest, SaveStatus};
use api::stats::EntitiesRequest;
use api::{Error, Fault};
use host::Host;
use host::pools::WorkKind;
use service::Caller;

/// Set by the server, whatever a caller sends.
const SET_BY_SERVER: [&str; 3] = ["id", "created_at", "updated_at"];
/// What comes back with a memory and says where it stands; sent again, it means nothing.
const STANDING: [&str; 15] = [
    "uri",
    "version",
    "latest",
    "duplicates",
    "deleted_at",
    "erased",
    "accesses",
    "by",
    "origin",
    "history",
    "superseded_by",
    "contradicted_by",
    "citations",
    "entry",
    "deleted_reason",
];

/// A memory that was saved.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SavedMemory {
    #[serde(flatten)]
    memory: Memory,
    status: SaveStatus,
    /// What was taken out: private blocks, secrets. Empty if nothing was.
    redacted: String,
    /// A key under which the next save of this topic would update it. Empty if it has one.
    suggested_topic_key: String,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Deleted)]
pub(super) struct DeleteReply {
    /// Always `deleted`.
    status: &'static str,
    id: u64,
    /// True: the content is gone for good.
    hard: bool,
}

/// A memory as it is; does not count as its use.
pub(super) fn shown(ops: &Host, caller: &Caller, id: u64) -> service::Result<GetAnswer> {
    ops.service.get(caller, GetRequest { id, quiet: true, ..GetRequest::default() })
}

/// Lists memories, newest first. `X-Total-Count` says how many match in all. A page of more than 8 MiB ends before its
/// limit; `X-Next-Offset` says where to go on.
#[utoipa::path(
    get, path = "/api/observations", tag = "memories", operation_id = "list_observations",
    params(ListRequest),
    responses((status = 200, description = "A page of memories", body = [Memory])),
)]
pub(super) async fn list(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(mut request): QueryParameters<ListRequest>,
) -> Reply {
    request.limit = page(request.limit, LIST_MAX)?;
    let offset = request.offset;
    let answer = app.ask(caller, request).await?;
    listed(&answer.memories, offset, answer.total)
}

/// Saves a memory, or the next version of the one that its topic key names.
#[utoipa::path(
    post, path = "/api/observations", tag = "memories", operation_id = "save_observation",
    request_body = SaveRequest,
    responses(
        (status = 201, description = "It is new", body = SavedMemory),
        (status = 200, description = "It was there: a new version, or counted", body = SavedMemory),
    ),
)]
pub(super) async fn create(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: SaveRequest = body.without(&SET_BY_SERVER).read()?;
    for (field, text) in [("title", &request.title), ("content", &request.content)] {
        if text.trim().is_empty() {
            return Err(Error::invalid(field, "is required").into());
        }
    }
    let saved = app
        .run(WorkKind::Write, move |ops| {
            let saved = ops.service.save_unhinted(&caller, request)?;
            // The copy that has it is new enough to show it.
            let caller = Caller { at_least: Some(saved.seq), ..caller };
            let memory = match shown(ops, &caller, saved.id) {
                // A delegate that may write but not read knows what it wrote.
                Err(error) if error.fault() == Fault::Forbidden => written(&saved),
                outcome => outcome?.memory,
            };
            Ok(SavedMemory {
                memory,
                status: saved.status,
                redacted: saved.redacted,
                suggested_topic_key: saved.suggested_topic_key,
            })
        })
        .await?;
    let mut response = match saved.status {
        SaveStatus::Created | SaveStatus::Replayed => created(&saved),
        // It is there already, under the id of the answer.
        SaveStatus::Updated | SaveStatus::Duplicate => Json(&saved).into_response(),
    };
    let place = HeaderValue::try_from(format!("/api/observations/{}", saved.memory.id));
    response.headers_mut().extend(place.ok().map(|place| (header::LOCATION, place)));
    Ok(response)
}

fn written(saved: &SaveAnswer) -> Memory {
    Memory {
        id: saved.id,
        title: saved.title.clone(),
        kind: saved.kind.clone(),
        project: saved.project.clone(),
        scope: saved.scope.clone(),
        session_id: saved.session_id.clone(),
        topic_key: saved.topic_key.clone(),
        created_at: saved.at.clone(),
        updated_at: saved.at.clone(),
        uri: saved.uri.clone(),
        memory_type: saved.memory_type.clone(),
        version: saved.version,
        latest: saved.version,
        ..Memory::default()
    }
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ReadParameters {
    /// The newest if absent.
    version: Option<u32>,
    /// With every version there ever was.
    history: bool,
    /// Forgotten and archived ones too.
    include_put_away: bool,
    /// True: looking is not using.
    quiet: bool,
}

/// One memory in full. Counts as its use, unless `quiet`.
#[utoipa::path(
    get, path = "/api/observations/{id}", tag = "memories", operation_id = "get_observation",
    params(("id" = u64, Path, minimum = 1), ReadParameters),
    responses((status = 200, description = "The memory", body = GetAnswer)),
)]
pub(super) async fn read(
    State(app): State<App>,
    Asker(caller): Asker,
    Id(id): Id,
    QueryParameters(asked): QueryParameters<ReadParameters>,
) -> Reply {
    let ReadParameters { version, history, include_put_away, quiet } = asked;
    let request =
        GetRequest { id, version, history, include_put_away, quiet, ..GetRequest::default() };
    app.reply(caller, request).await
}

/// Changes what is sent and leaves the rest. A memory that was read can be sent back whole.
#[utoipa::path(
    put, path = "/api/observations/{id}", tag = "memories", operation_id = "update_observation",
    params(("id" = u64, Path, minimum = 1)),
    request_body = UpdateRequest,
    responses((status = 200, description = "The memory as it is now", body = ChangeAnswer)),
)]
pub(super) async fn update(
    State(app): State<App>,
    Asker(caller): Asker,
    Id(id): Id,
    body: Body,
) -> Reply {
    change(&app, caller, id, body).await
}

/// The same as `PUT`.
#[utoipa::path(
    patch, path = "/api/observations/{id}", tag = "memories", operation_id = "amend_observation",
    params(("id" = u64, Path, minimum = 1)),
    request_body = UpdateRequest,
    responses((status = 200, description = "The memory as it is now", body = ChangeAnswer)),
)]
pub(super) async fn amend(
    State(app): State<App>,
    Asker(caller): Asker,
    Id(id): Id,
    body: Body,
) -> Reply {
    change(&app, caller, id, body).await
}

async fn change(app: &App, caller: Caller, id: u64, body: Body) -> Reply {
    let mut body = body.without(&SET_BY_SERVER).without(&STANDING);
    let answer = app
        .run(WorkKind::Write, move |ops| {
            // A memory that was read comes back with all it has; what is sent as it is asks for no change.
            let current = match shown(ops, &caller, id) {
                // A delegate that may write but not read sends what it wants changed.
                Err(error) if error.fault() == Fault::Forbidden => Value::Null,
                outcome => to_json(&outcome?.memory)?,
            };
            let asks = |name: &String, sent: &Value| current.get(name) != Some(sent);
            if body.0.iter().any(|(name, sent)| asks(name, sent)) {
                body.0.retain(|name, sent| asks(name, sent));
            }
            if body.0.get("memory_type").is_some_and(|sent| *sent != current["memory_type"]) {
                return Err(Error::invalid("memory_type", "cannot be changed").into());
            }
            body.0.remove("memory_type");
            let request = UpdateRequest { id, ..body.read()? };
            Ok(ops.service.update(&caller, request)?)
        })
        .await?;
    Ok(Json(answer).into_response())
}

fn to_json(value: &impl Serialize) -> Result<Value, Problem> {
    serde_json::to_value(value).map_err(|error| Error::internal(error.to_string()).into())
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct DeleteParameters {
    /// Delete the content for good, in every version.
    hard: bool,
    reason: Option<String>,
}

/// Forgets a memory; `restore` brings it back. With `hard`, erases it for good.
#[utoipa::path(
    delete, path = "/api/observations/{id}", tag = "memories", operation_id = "delete_observation",
    params(("id" = u64, Path, minimum = 1), DeleteParameters),
    responses((status = 200, description = "It is gone", body = DeleteReply)),
)]
pub(super) async fn delete(
    State(app): State<App>,
    Asker(caller): Asker,
    Id(id): Id,
    QueryParameters(asked): QueryParameters<DeleteParameters>,
) -> Reply {
    let request =
        DeleteRequest { id, hard: asked.hard, reason: asked.reason, ..DeleteRequest::default() };
    let answer = app.ask(caller, request).await?;
    let view = DeleteReply { status: "deleted", id: answer.id, hard: answer.hard };
    Ok(Json(view).into_response())
}

/// Puts a memory away: it is no longer found, and `restore` brings it back.
#[utoipa::path(
    post, path = "/api/observations/{id}/archive", tag = "memories",
    operation_id = "archive_observation",
    params(("id" = u64, Path, minimum = 1)),
    request_body = Option<ArchiveRequest>,
    responses((status = 200, description = "The memory as it is now", body = ChangeAnswer)),
)]
pub(super) async fn archive(
    State(app): State<App>,
    Asker(caller): Asker,
    Id(id): Id,
    body: Body,
) -> Reply {
    app.reply(caller, ArchiveRequest { id, ..body.read()? }).await
}

/// Confirms a rule or preference that an agent or an import proposed. For the owner alone.
#[utoipa::path(
    post, path = "/api/observations/{id}/confirm", tag = "memories",
    operation_id = "confirm_observation",
    params(("id" = u64, Path, minimum = 1)),
    responses((status = 200, description = "What became of it", body = ConfirmAnswer)),
)]
pub(super) async fn confirm(State(app): State<App>, Asker(caller): Asker, Id(id): Id) -> Reply {
    app.reply(caller, ConfirmRequest { ids: vec![id] }).await
}

/// Brings a forgotten or archived memory back.
#[utoipa::path(
    post, path = "/api/observations/{id}/restore", tag = "memories",
    operation_id = "restore_observation",
    params(("id" = u64, Path, minimum = 1)),
    request_body = Option<RestoreRequest>,
    responses((status = 200, description = "The memory as it is now", body = ChangeAnswer)),
)]
pub(super) async fn restore(
    State(app): State<App>,
    Asker(caller): Asker,
    Id(id): Id,
    body: Body,
) -> Reply {
    app.reply(caller, RestoreRequest { id, ..body.read()? }).await
}

/// Pins a memory: it leads every context and is never archived by itself.
#[utoipa::path(
    put, path = "/api/observations/{id}/pin", tag = "memories", operation_id = "pin_observation",
    params(("id" = u64, Path, minimum = 1)),
    responses((status = 200, description = "The memory as it is now", body = ChangeAnswer)),
)]
pub(super) async fn pin(State(app): State<App>, Asker(caller): Asker, Id(id): Id) -> Reply {
    app.reply(caller, PinRequest { id, pinned: true }).await
}

/// Takes the pin away.
#[utoipa::path(
    delete, path = "/api/observations/{id}/pin", tag = "memories",
    operation_id = "unpin_observation",
    params(("id" = u64, Path, minimum = 1)),
    responses((status = 200, description = "The memory as it is now", body = ChangeAnswer)),
)]
pub(super) async fn unpin(State(app): State<App>, Asker(caller): Asker, Id(id): Id) -> Reply {
    app.reply(caller, PinRequest { id, pinned: false }).await
}

/// Files, symbols, packages … that a memory names.
#[utoipa::path(
    get, path = "/api/observations/{id}/entities", tag = "memories",
    operation_id = "list_entities_of_observation",
    params(("id" = u64, Path, minimum = 1)),
    responses((status = 200, description = "All of them", body = [EntityView])),
)]
pub(super) async fn entities(State(app): State<App>, Asker(caller): Asker, Id(id): Id) -> Reply {
    let answer = app.ask(caller, EntitiesRequest { id }).await?;
    listed(&answer.entities, 0, answer.entities.len())
}
