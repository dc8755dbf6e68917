//! The tools of agents over HTTP, at `/mcp` (Streamable HTTP).
//!
//! The guard of all routes comes first and alone judges host and origin: the protocol's own check has a list that is
//! made once, and the names of a node are not. No folder says which project an agent works in, so the address may
//! (`/mcp?project=web`), or the header `X-Cortex-Project`. No sessions: every request stands for itself, in the
//! revisions that know sessions too, so that a daemon that was started anew goes on where the old one was.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use proof::actor::ActorName;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::App;
use crate::input::{BODY_BYTES_MAX, caller_of, collect_in_time};
use crate::problem::Problem;
use api::DEFAULT_ACTOR;
use api::author::Author;
use api::{ErrorCode, Result};
use axum::http::StatusCode;
use host::pools::WorkKind;
use host::{Host, HostHandle};
use mcp::Server;
use mcp::backend::Backend;
use mcp::tools::Choice;
use service::Caller;

type Tools = StreamableHttpService<Server, NeverSessionManager>;

/// The route, and what ends the answers that are still being given.
pub(super) fn route(
    ops: Arc<Host>,
) -> Result<(Router<App>, impl FnOnce() + Send + 'static + use<>)> {
    let host = Arc::clone(&ops);
    let tools = tools(ops)?;
    let end = tools.config.cancellation_token.clone();
    let router = Router::new()
        .route_service("/mcp", tools)
        .layer(axum::middleware::from_fn_with_state(host, name_caller));
    Ok((router, move || end.cancel()))
}

/// Says with every request who asks.
async fn name_caller(State(host): State<Arc<Host>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    match caller_of(&parts, "mcp") {
        Ok(mut caller) => {
            caller.author = Author::Agent;
            caller.project = named_project(&parts).or(caller.project);
            // The whole body first: who sends half of it takes no place from those who ask.
            let body = match collect_in_time(body).await {
                Ok(bytes) => axum::body::Body::from(bytes),
                Err(problem) => return problem.into_response(),
            };
            let place = match host.pools.enter(WorkKind::Tool).await {
                Ok(place) => place,
                Err(busy) => return Problem::from(busy).into_response(),
            };
            parts.extensions.insert(Backend(Arc::new(HostHandle { host, caller })));
            let answer = next.run(Request::from_parts(parts, body));
            let answered = tokio::time::timeout(WorkKind::Tool.limit(), answer).await;
            drop(place);
            match answered {
                Ok(response) => response,
                Err(_) => Problem::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    ErrorCode::Deadline,
                    "the request took too long",
                )
                .into_response(),
            }
        }
        Err(problem) => problem.into_response(),
    }
}

/// The project that an address names: `/mcp?project=web`.
fn named_project(parts: &axum::http::request::Parts) -> Option<String> {
    let axum::extract::Query(asked) =
        axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).ok()?;
    asked.into_iter().find(|(name, _)| name == "project").map(|(_, project)| project)
}

fn tools(ops: Arc<Host>) -> Result<Tools> {
    let mut caller =
        Caller::new(ActorName::parse(DEFAULT_ACTOR).map_err(service::Error::from)?, "mcp");
    caller.author = Author::Agent;
    let server =
        Server::new(Backend(Arc::new(HostHandle { host: ops, caller })), &Choice::parse("all")?);
    let config = StreamableHttpServerConfig::default()
        // The guard has judged both, for each request, with what this list could not know.
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_BYTES_MAX);
    Ok(StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config))
}
