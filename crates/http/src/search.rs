//! Search: by a question, and by what is near a memory.

use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::input::{Asker, Id, QueryParameters};
use crate::memories::shown;
use crate::problem::Problem;
use crate::{App, Reply, listed};
use api::memory::Memory;
use api::search::{ArmView, HitView, SearchRequest};
use api::{ErrorCode, Fault};
use host::Host;
use host::dispatch::HostOperation as _;
use host::pools::WorkKind;
use service::Caller;

/// Hits of a search that names no limit.
const HITS: usize = 20;

/// A memory and how well it fits the question.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FoundMemory {
    #[serde(flatten)]
    memory: Memory,
    /// 0 to 1.
    rank: f64,
    /// The same in a word: strong, likely or weak. Empty where nothing was asked in words.
    level: String,
    /// At most 300 characters around the best passage.
    preview: String,
    /// current, superseded …
    standing: String,
    /// What each arm of the search said.
    arms: Vec<ArmView>,
}

/// A memory that was just found; nothing if somebody deleted it meanwhile. Does not count as its use.
pub(super) fn found(ops: &Host, caller: &Caller, id: u64) -> Result<Option<Memory>, Problem> {
    match shown(ops, caller, id) {
        Err(error) if error.fault() == Fault::Missing => Ok(None),
        outcome => Ok(Some(outcome?.memory)),
    }
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SearchParameters {
    /// A question in ordinary words.
    #[param(required)]
    q: Option<String>,
    project: Option<String>,
    scope: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    session_id: Option<String>,
    /// Only memories with this tag.
    tag: Option<String>,
    /// Made at this time or later.
    since: Option<String>,
    /// Made before this time.
    until: Option<String>,
    /// What held at this time.
    as_of: Option<String>,
    /// 20 if absent.
    #[param(minimum = 1)]
    limit: Option<usize>,
    /// True: looking is not using. For a search as it is typed.
    quiet: bool,
}

/// Finds memories by a question, best first.
#[utoipa::path(
    get, path = "/api/search", tag = "memories", operation_id = "search",
    params(SearchParameters),
    responses((status = 200, description = "Hits", body = [FoundMemory])),
)]
pub(super) async fn search(
    State(app): State<App>,
    Asker(caller): Asker,
    QueryParameters(asked): QueryParameters<SearchParameters>,
) -> Reply {
    let Some(query) = asked.q.filter(|q| !q.is_empty()) else {
        return Err(Problem::new(
            StatusCode::BAD_REQUEST,
            ErrorCode::NoQuery,
            "query parameter 'q' is required",
        ));
    };
    let request = SearchRequest {
        query,
        kind: asked.kind,
        project: asked.project,
        scope: asked.scope,
        session_id: asked.session_id,
        tags: asked.tag.into_iter().collect(),
        since: asked.since,
        until: asked.until,
        as_of: asked.as_of,
        limit: Some(asked.limit.unwrap_or(HITS)),
        quiet: asked.quiet,
        ..SearchRequest::default()
    };
    answer(&app, caller, request).await
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SimilarParameters {
    project: Option<String>,
    scope: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    /// 20 if absent.
    #[param(minimum = 1)]
    limit: Option<usize>,
    /// True: it is no use of what is found, and nobody was told.
    quiet: bool,
}

/// What is near a memory by meaning, nearest first.
#[utoipa::path(
    get, path = "/api/observations/{id}/similar", tag = "memories",
    operation_id = "list_similar_observations",
    params(("id" = u64, Path, minimum = 1), SimilarParameters),
    responses((status = 200, description = "Hits", body = [FoundMemory])),
)]
pub(super) async fn similar(
    State(app): State<App>,
    Asker(caller): Asker,
    Id(id): Id,
    QueryParameters(asked): QueryParameters<SimilarParameters>,
) -> Reply {
    let request = SearchRequest {
        similar_to: Some(id),
        kind: asked.kind,
        project: asked.project,
        scope: asked.scope,
        limit: Some(asked.limit.unwrap_or(HITS)),
        quiet: asked.quiet,
        ..SearchRequest::default()
    };
    answer(&app, caller, request).await
}

/// Hits with the memories in full.
async fn answer(app: &App, caller: Caller, request: SearchRequest) -> Reply {
    let hits = app
        .run(WorkKind::Read, move |ops| {
            let mut hits = Vec::new();
            for hit in request.run(ops, &caller)?.hits {
                // A delegate may be allowed to find but not to read, and each reading would count as a use of its
                // grant.
                let memory = match caller.delegate {
                    Some(_) => previewed(&hit),
                    None => match found(ops, &caller, hit.id)? {
                        Some(memory) => memory,
                        None => continue,
                    },
                };
                hits.push(FoundMemory {
                    memory,
                    rank: hit.rank,
                    level: hit.level,
                    preview: hit.preview,
                    standing: hit.standing,
                    arms: hit.arms,
                });
            }
            Ok(hits)
        })
        .await?;
    listed(&hits, 0, hits.len())
}

/// What a hit shows of a memory, with the preview for its content.
fn previewed(hit: &HitView) -> Memory {
    Memory {
        id: hit.id,
        title: hit.title.clone(),
        content: hit.preview.clone(),
        kind: hit.kind.clone(),
        project: hit.project.clone(),
        scope: hit.scope.clone(),
        session_id: hit.session_id.clone(),
        topic_key: hit.topic_key.clone(),
        created_at: hit.created_at.clone(),
        updated_at: hit.updated_at.clone(),
        uri: hit.uri.clone(),
        memory_type: hit.memory_type.clone(),
        pinned: hit.pinned,
        by: hit.by.clone(),
        author: hit.author,
        proposed: hit.proposed,
        ..Memory::default()
    }
}
