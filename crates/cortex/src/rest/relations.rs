//! Edges, walks along them, and scores.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Value, json};

use super::input::{Asked, Asker, Body, Id};
use super::memories::{found, to_json};
use super::problem::Problem;
use super::{App, Reply, created};
use crate::ops::graph::{GraphRequest, RelateRequest, UnrelateRequest};
use crate::ops::score::ScoreRequest;

pub(super) async fn relate(State(app): State<App>, Asker(caller): Asker, body: Body) -> Reply {
    let request: RelateRequest = body.without(&["id", "created_at"]).read()?;
    let answer = app.ask(caller, request).await?;
    if !answer.changed {
        let message = format!("this edge exists already, with id {}", answer.edge.id);
        return Err(Problem::new(StatusCode::CONFLICT, "exists", message));
    }
    Ok(created(&answer.edge))
}

pub(super) async fn unrelate(State(app): State<App>, Asker(caller): Asker, Id(id): Id) -> Reply {
    let answer = app.ask(caller, UnrelateRequest { edge_id: id }).await?;
    Ok(Json(json!({"status": "deleted", "id": answer.edge_id})).into_response())
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WalkAsked {
    depth: Option<u32>,
    /// One relation; any if absent.
    relation_type: Option<String>,
}

impl WalkAsked {
    fn into_request(self, id: u64) -> GraphRequest {
        GraphRequest { id, depth: self.depth, relations: self.relation_type.into_iter().collect() }
    }
}

pub(super) async fn walk(
    State(app): State<App>,
    Asker(caller): Asker,
    Id(id): Id,
    Asked(asked): Asked<WalkAsked>,
) -> Reply {
    app.reply(caller, asked.into_request(id)).await
}

/// The memories at the other ends, nearest first.
pub(super) async fn related(
    State(app): State<App>,
    Asker(caller): Asker,
    Id(id): Id,
    Asked(asked): Asked<WalkAsked>,
) -> Reply {
    let memories = app
        .run(move |ops| {
            let answer = ops.graph(&caller, asked.into_request(id))?;
            let mut memories = Vec::new();
            for node in answer.nodes {
                let more = [("hop", node.hop.into())];
                memories.extend(found(ops, &caller, node.id, &more)?);
            }
            Ok(memories)
        })
        .await?;
    Ok(Json(memories).into_response())
}

pub(super) async fn score(State(app): State<App>, Asker(caller): Asker, Id(id): Id) -> Reply {
    let answer = app.ask(caller, ScoreRequest { id }).await?;
    let mut view = to_json(&answer)?;
    if answer.last_accessed.is_none() {
        view["last_accessed"] = Value::Null;
    }
    Ok(Json(view).into_response())
}

/// Scores are never stored, so this is the score now.
pub(super) async fn recalculate(State(app): State<App>, Asker(caller): Asker, Id(id): Id) -> Reply {
    let answer = app.ask(caller, ScoreRequest { id }).await?;
    Ok(Json(json!({"score": answer.score, "observation_id": id})).into_response())
}
