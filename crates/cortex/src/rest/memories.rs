//! Memories, by the name that clients know them by: observations. Also search.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Value, json};

use super::input::{Asked, Asker, Body, Id, page};
use super::problem::Problem;
use super::{App, Reply, created, listed};
use crate::ops::change::{
    ArchiveRequest, DeleteRequest, PinRequest, RestoreRequest, UpdateRequest,
};
use crate::ops::error::{Error, Fault};
use crate::ops::proof::ProveRequest;
use crate::ops::read::{GetAnswer, GetRequest, LIST_MAX, ListRequest};
use crate::ops::save::{SaveRequest, Saved};
use crate::ops::search::SearchRequest;
use crate::ops::stats::EntitiesRequest;
use crate::ops::{Caller, Ops};

/// Set by the server, whatever a caller sends.
const SET_BY_SERVER: [&str; 3] = ["id", "created_at", "updated_at"];
/// What comes back with a memory and says where it stands; sent again, it means nothing.
const STANDING: [&str; 12] = [
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
];
/// What comes back with a memory and is changed elsewhere: fine as long as it says what is so already.
const CHANGED_ELSEWHERE: [&str; 6] =
    ["session_id", "memory_type", "fields", "pinned", "archived", "confidence"];
/// Hits of a search that names no limit.
const HITS: usize = 20;

/// A memory that was just found, and a little more about it; nothing if somebody deleted it meanwhile.
pub(super) fn found(
    ops: &Ops,
    caller: &Caller,
    id: u64,
    more: &[(&str, Value)],
) -> Result<Option<Value>, Problem> {
    let get = GetRequest { id, quiet: true, ..GetRequest::default() };
    let answer = match ops.get(caller, get) {
        Err(error) if error.fault == Fault::Missing => return Ok(None),
        outcome => outcome?,
    };
    let mut view = to_json(&answer.memory)?;
    for (name, value) in more {
        view[*name] = value.clone();
    }
    Ok(Some(view))
}

/// A memory in full, without counting that as its use.
fn shown(ops: &Ops, caller: &Caller, id: u64) -> Result<GetAnswer, Problem> {
    let get = GetRequest { id, quiet: true, ..GetRequest::default() };
    Ok(ops.get(caller, get)?)
}

pub(super) fn to_json(value: &impl serde::Serialize) -> Result<Value, Problem> {
    serde_json::to_value(value).map_err(|error| Error::internal(error.to_string()).into())
}

pub(super) async fn list(
    State(app): State<App>,
    Asker(caller): Asker,
    Asked(mut request): Asked<ListRequest>,
) -> Reply {
    request.limit = page(request.limit, LIST_MAX)?;
    let answer = app.ask(caller, request).await?;
    Ok(listed(&answer.memories, answer.total))
}

pub(super) async fn create(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: SaveRequest = body.without(&SET_BY_SERVER).read()?;
    if request.content.trim().is_empty() {
        return Err(Error::invalid("content", "is required").into());
    }
    let (status, id, view) = app
        .run(move |ops| {
            let saved = ops.save(&caller, request)?;
            let mut view = to_json(&shown(ops, &caller, saved.id)?.memory)?;
            view["status"] = to_json(&saved.status)?;
            view["redacted"] = saved.redacted.into();
            view["suggested_topic_key"] = saved.suggested_topic_key.into();
            Ok((saved.status, saved.id, view))
        })
        .await?;
    let mut response = match status {
        Saved::Created | Saved::Replayed => created(&view),
        // It is there already, under the id of the answer.
        Saved::Updated | Saved::Duplicate => Json(view).into_response(),
    };
    let place = HeaderValue::try_from(format!("/api/observations/{id}"));
    response.headers_mut().extend(place.ok().map(|place| (header::LOCATION, place)));
    Ok(response)
}

pub(super) async fn read(
    State(app): State<App>,
    Asker(caller): Asker,
    Id(id): Id,
    Asked(request): Asked<GetRequest>,
) -> Reply {
    app.reply(caller, GetRequest { id, ..request }).await
}

/// Changes what is sent and leaves the rest. A memory that was read can be sent back whole.
pub(super) async fn update(
    State(app): State<App>,
    Asker(caller): Asker,
    Id(id): Id,
    body: Body,
) -> Reply {
    let mut body = body.without(&SET_BY_SERVER).without(&STANDING);
    let answer = app
        .run(move |ops| {
            if CHANGED_ELSEWHERE.iter().any(|name| body.0.contains_key(*name)) {
                let current = to_json(&shown(ops, &caller, id)?.memory)?;
                for name in CHANGED_ELSEWHERE {
                    if body.0.shift_remove(name).is_some_and(|sent| sent != current[name]) {
                        return Err(Error::invalid(name, "cannot be changed here").into());
                    }
                }
            }
            let request = UpdateRequest { id, ..body.read()? };
            Ok(ops.update(&caller, request)?)
        })
        .await?;
    Ok(Json(answer).into_response())
}

pub(super) async fn delete(
    State(app): State<App>,
    Asker(caller): Asker,
    Id(id): Id,
    Asked(request): Asked<DeleteRequest>,
) -> Reply {
    let answer = app.ask(caller, DeleteRequest { id, ..request }).await?;
    let view = json!({"status": "deleted", "id": answer.id, "hard": answer.hard});
    Ok(Json(view).into_response())
}

pub(super) async fn archive(
    State(app): State<App>,
    Asker(caller): Asker,
    Id(id): Id,
    body: Body,
) -> Reply {
    app.reply(caller, ArchiveRequest { id, ..body.read()? }).await
}

pub(super) async fn restore(
    State(app): State<App>,
    Asker(caller): Asker,
    Id(id): Id,
    body: Body,
) -> Reply {
    app.reply(caller, RestoreRequest { id, ..body.read()? }).await
}

pub(super) async fn pin(State(app): State<App>, Asker(caller): Asker, Id(id): Id) -> Reply {
    app.reply(caller, PinRequest { id, pinned: true }).await
}

pub(super) async fn unpin(State(app): State<App>, Asker(caller): Asker, Id(id): Id) -> Reply {
    app.reply(caller, PinRequest { id, pinned: false }).await
}

pub(super) async fn entities(State(app): State<App>, Asker(caller): Asker, Id(id): Id) -> Reply {
    let answer = app.ask(caller, EntitiesRequest { id }).await?;
    Ok(listed(&answer.entities, answer.entities.len()))
}

pub(super) async fn prove(
    State(app): State<App>,
    Asker(caller): Asker,
    Id(id): Id,
    Asked(request): Asked<ProveRequest>,
) -> Reply {
    app.reply(caller, ProveRequest { id, ..request }).await
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SearchAsked {
    q: Option<String>,
    project: Option<String>,
    scope: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    session_id: Option<String>,
    since: Option<String>,
    until: Option<String>,
    as_of: Option<String>,
    limit: Option<usize>,
}

/// Each hit is the memory and how well it fits.
pub(super) async fn search(
    State(app): State<App>,
    Asker(caller): Asker,
    Asked(asked): Asked<SearchAsked>,
) -> Reply {
    let Some(query) = asked.q.filter(|q| !q.trim().is_empty()) else {
        return Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "no_query",
            "query parameter 'q' is required",
        ));
    };
    let request = SearchRequest {
        query,
        kind: asked.kind,
        project: asked.project,
        scope: asked.scope,
        session_id: asked.session_id,
        since: asked.since,
        until: asked.until,
        as_of: asked.as_of,
        limit: Some(asked.limit.unwrap_or(HITS)),
        ..SearchRequest::default()
    };
    let hits = app
        .run(move |ops| {
            let answer = ops.search(&caller, request)?;
            let mut hits = Vec::new();
            for hit in answer.hits {
                let more = [
                    ("rank", hit.rank.into()),
                    ("preview", hit.preview.into()),
                    ("standing", hit.standing.into()),
                ];
                hits.extend(found(ops, &caller, hit.id, &more)?);
            }
            Ok(hits)
        })
        .await?;
    Ok(Json(hits).into_response())
}
