//! Edges, walks along them, and scores.

use api::ErrorCode;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::input::{Asker, Body, Id, QueryParameters};
use crate::problem::Problem;
use crate::search::found;
use crate::{App, Reply, created, listed};
use api::graph::{GraphAnswer, GraphRequest, RelateRequest, UnrelateRequest};
use api::memory::{EdgeView, Memory};
use api::score::{FactorsView, ScoreRequest};
use host::pools::WorkKind;

/// Relates one memory to another.
#[utoipa::path(
    post, path = "/api/graph/edges", tag = "graph", operation_id = "relate",
    request_body = RelateRequest,
    responses((status = 201, description = "The edge", body = EdgeView)),
)]
pub(super) async fn relate(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: RelateRequest = body.without(&["id", "created_at"]).read()?;
    let answer = app.ask(caller, request).await?;
    if !answer.changed {
        let message = format!("this edge exists already, with id {}", answer.edge.id);
        return Err(Problem::new(StatusCode::CONFLICT, ErrorCode::Exists, message));
    }
    Ok(created(&answer.edge))
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Unrelated)]
pub(super) struct UnrelateReply {
    /// Always `deleted`.
    status: &'static str,
    id: u64,
}

/// Takes an edge away.
#[utoipa::path(
    delete, path = "/api/graph/edges/{id}", tag = "graph", operation_id = "unrelate",
    params(("id" = u64, Path, minimum = 1)),
    responses((status = 200, description = "It is gone", body = UnrelateReply)),
)]
pub(super) async fn unrelate(State(app): State<App>, Asker(caller): Asker, Id(id): Id) -> Reply {
    let answer =
        app.ask(caller, UnrelateRequest { edge_id: id, ..UnrelateRequest::default() }).await?;
    Ok(Json(UnrelateReply { status: "deleted", id: answer.edge_id }).into_response())
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WalkParameters {
    /// How far; 1 if absent.
    #[param(minimum = 1, maximum = 10)]
    depth: Option<u32>,
    /// One relation; any if absent.
    relation_type: Option<String>,
}

impl WalkParameters {
    fn into_request(self, id: u64) -> GraphRequest {
        GraphRequest {
            id,
            depth: self.depth,
            relations: self.relation_type.into_iter().collect(),
            ..GraphRequest::default()
        }
    }
}

/// What a memory is connected to, either way: memories and edges.
#[utoipa::path(
    get, path = "/api/graph/{id}", tag = "graph", operation_id = "walk",
    params(("id" = u64, Path, minimum = 1), WalkParameters),
    responses((status = 200, description = "Nearest first", body = GraphAnswer)),
)]
pub(super) async fn walk(
    State(app): State<App>,
    Asker(caller): Asker,
    Id(id): Id,
    QueryParameters(asked): QueryParameters<WalkParameters>,
) -> Reply {
    app.reply(caller, asked.into_request(id)).await
}

/// A memory and how far away it is.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RelatedMemory {
    #[serde(flatten)]
    memory: Memory,
    hop: u32,
}

/// The memories at the other ends in full, nearest first.
#[utoipa::path(
    get, path = "/api/graph/{id}/related", tag = "graph", operation_id = "list_related",
    params(("id" = u64, Path, minimum = 1), WalkParameters),
    responses((status = 200, description = "All that a walk reaches", body = [RelatedMemory])),
)]
pub(super) async fn related(
    State(app): State<App>,
    Asker(caller): Asker,
    Id(id): Id,
    QueryParameters(asked): QueryParameters<WalkParameters>,
) -> Reply {
    let memories = app
        .run(WorkKind::Read, move |ops| {
            let mut memories = Vec::new();
            for node in ops.service.graph(&caller, asked.into_request(id))?.nodes {
                let Some(memory) = found(ops, &caller, node.id)? else { continue };
                memories.push(RelatedMemory { memory, hop: node.hop });
            }
            Ok(memories)
        })
        .await?;
    listed(&memories, 0, memories.len())
}

/// What a memory is worth, and why. `last_accessed` is there also when it is null.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ScoreView {
    observation_id: u64,
    /// 0 to 5.
    score: f64,
    access_count: u64,
    #[schema(required)]
    last_accessed: Option<String>,
    /// The moment it was computed for: scores are never stored.
    updated_at: String,
    incoming_edges: u32,
    citations: u64,
    /// How often it stood in a list or a briefing; that is no access.
    shown: u64,
    /// What ranking by salience goes by, 0 to 1.
    salience: f64,
    factors: FactorsView,
    /// What time has left of the declared importance, 0 to 1.
    importance: f64,
}

/// What a memory is worth now, from its kind, its age and its use.
#[utoipa::path(
    get, path = "/api/scores/{id}", tag = "graph", operation_id = "get_score",
    params(("id" = u64, Path, minimum = 1)),
    responses((status = 200, description = "The score", body = ScoreView)),
)]
pub(super) async fn score(State(app): State<App>, Asker(caller): Asker, Id(id): Id) -> Reply {
    let answer = app.ask(caller, ScoreRequest { id }).await?;
    let view = ScoreView {
        observation_id: answer.observation_id,
        score: answer.score,
        access_count: answer.access_count,
        last_accessed: answer.last_accessed,
        updated_at: answer.updated_at,
        incoming_edges: answer.incoming_edges,
        citations: answer.citations,
        shown: answer.shown,
        salience: answer.salience,
        factors: answer.factors,
        importance: answer.importance,
    };
    Ok(Json(view).into_response())
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Recalculated)]
pub(super) struct RecalculateReply {
    /// 0 to 5.
    score: f64,
    observation_id: u64,
}

/// Scores are never stored, so this is the score now.
#[utoipa::path(
    post, path = "/api/scores/{id}/recalculate", tag = "graph", operation_id = "recalculate_score",
    params(("id" = u64, Path, minimum = 1)),
    responses((status = 200, description = "The score", body = RecalculateReply)),
)]
pub(super) async fn recalculate(State(app): State<App>, Asker(caller): Asker, Id(id): Id) -> Reply {
    let answer = app.ask(caller, ScoreRequest { id }).await?;
    Ok(Json(RecalculateReply { score: answer.score, observation_id: id }).into_response())
}
