//! The HTTP interface: JSON for programs, and the tools of agents at `/mcp`.
//!
//! - `guard`: which hosts, origins and tokens are let in, on every route.
//! - `input`, `problem`: requests into operations, errors into problem details.
//! - `memories`, `relations`, `sessions`, `overview`, `health`: the routes.
//! - `agents`: the tools at `/mcp`.
//! - `metrics`: what was asked, for Prometheus.
//!
//! What must stay true: routes only translate; every operation runs on a thread that may block; lists are arrays, never
//! null, with the true total in `X-Total-Count`; a page of another site never gets an answer.

mod agents;
mod guard;
mod health;
mod input;
mod memories;
mod metrics;
mod overview;
mod problem;
mod relations;
mod sessions;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use kernel::Digest;
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::ops::error::{Error, Fault};
use crate::ops::wire::Operation;
use crate::ops::{Caller, Ops};
use guard::Guard;
use metrics::Metrics;
use problem::Problem;

/// Where to listen, and who is let in.
#[derive(Clone)]
pub struct Http {
    address: SocketAddr,
    hosts: Vec<String>,
    token: Option<Digest>,
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let secured = self.token.is_some();
        f.debug_struct("Http")
            .field("address", &self.address)
            .field("hosts", &self.hosts)
            .field("secured", &secured)
            .finish()
    }
}

/// Bytes a token must have at least: one that can be guessed is none.
const TOKEN_BYTES_MIN: usize = 16;

impl Http {
    /// `hosts`: names under which it may be reached, beside those of this machine. An address that others can reach needs
    /// a token.
    pub fn new(
        ip: IpAddr,
        port: u16,
        hosts: Vec<String>,
        token: Option<&str>,
    ) -> Result<Http, Error> {
        let wrong = |message: String| Error::new("config", Fault::Caller, message);
        if token.is_some_and(|token| token.len() < TOKEN_BYTES_MIN) {
            let message = format!("the HTTP token has fewer than {TOKEN_BYTES_MIN} bytes");
            return Err(wrong(message));
        }
        if !ip.is_loopback() && token.is_none() {
            let message = format!("http.host {ip} can be reached by others, and no token is set");
            return Err(wrong(message)
                .with_hint("set the variable that http.token_env names, or http.token_file"));
        }
        let token = token.map(guard::token_digest);
        Ok(Http { address: SocketAddr::new(ip, port), hosts, token })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// What routes share.
#[derive(Clone, Debug)]
pub(crate) struct App {
    ops: Arc<Ops>,
    metrics: Arc<Metrics>,
}

impl App {
    /// Runs work on a thread that may block. A panic is an answer too.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Ops) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let ops = Arc::clone(&self.ops);
        tokio::task::spawn_blocking(move || work(&ops)).await.unwrap_or_else(|_| {
            Err(Error::internal("the operation failed unexpectedly; the log says more").into())
        })
    }

    /// Runs one operation.
    async fn ask<R: Operation>(&self, caller: Caller, request: R) -> Result<R::Answer, Problem> {
        self.run(move |ops| Ok(request.run(ops, &caller)?)).await
    }

    /// Runs one operation and answers with what it returned.
    async fn reply<R: Operation>(&self, caller: Caller, request: R) -> Reply {
        self.ask(caller, request).await.map(|answer| Json(answer).into_response())
    }
}

/// What a route answers.
type Reply = Result<Response, Problem>;

/// A page of a list; the header says how many there are in all.
fn listed(items: &impl Serialize, total: usize) -> Response {
    let mut response = Json(items).into_response();
    let name = HeaderName::from_static("x-total-count");
    response.headers_mut().insert(name, HeaderValue::from(total));
    response
}

fn created(body: &impl Serialize) -> Response {
    (StatusCode::CREATED, Json(body)).into_response()
}

/// A listener that is bound; nobody is answered yet.
pub async fn bind(http: &Http) -> std::io::Result<TcpListener> {
    TcpListener::bind(http.address).await
}

/// Answers until `end` says so; what is under way then is finished.
pub async fn serve(
    listener: TcpListener,
    http: Http,
    ops: Arc<Ops>,
    mut end: watch::Receiver<bool>,
) -> std::io::Result<()> {
    let tools = agents::tools(&http, Arc::clone(&ops)).map_err(std::io::Error::other)?;
    let open_streams = tools.config.cancellation_token.clone();
    let router = router(&http, ops, tools);
    let ended = async move {
        // An error means that the daemon is gone, which is an end as well.
        let _gone = end.wait_for(|end| *end).await;
        open_streams.cancel();
    };
    axum::serve(listener, router).with_graceful_shutdown(ended).await
}

fn router(http: &Http, ops: Arc<Ops>, tools: agents::Tools) -> Router {
    let app = App { ops, metrics: Arc::new(Metrics::new(Instant::now())) };
    let guard = Guard::new(http, Arc::clone(&app.metrics));
    Router::new()
        .route("/health", get(health::health))
        .route("/healthz", get(health::health))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::metrics))
        .route("/api/observations", get(memories::list).post(memories::create))
        .route("/api/observations/passive", post(overview::capture))
        .route(
            "/api/observations/{id}",
            get(memories::read)
                .put(memories::update)
                .patch(memories::update)
                .delete(memories::delete),
        )
        .route("/api/observations/{id}/archive", post(memories::archive))
        .route("/api/observations/{id}/restore", post(memories::restore))
        .route("/api/observations/{id}/pin", put(memories::pin).delete(memories::unpin))
        .route("/api/observations/{id}/entities", get(memories::entities))
        .route("/api/observations/{id}/proof", get(memories::prove))
        .route("/api/search", get(memories::search))
        .route("/api/sessions", get(sessions::list).post(sessions::start))
        .route("/api/sessions/{id}", get(sessions::read))
        .route("/api/sessions/{id}/end", post(sessions::end))
        .route("/api/sessions/{id}/summary", post(sessions::summary))
        .route("/api/prompts", get(sessions::prompts).post(sessions::save_prompt))
        .route("/api/graph/edges", post(relations::relate))
        .route("/api/graph/edges/{id}", axum::routing::delete(relations::unrelate))
        .route("/api/graph/{id}", get(relations::walk))
        .route("/api/graph/{id}/related", get(relations::related))
        .route("/api/scores/{id}", get(relations::score))
        .route("/api/scores/{id}/recalculate", post(relations::recalculate))
        .route("/api/context", get(overview::context))
        .route("/api/timeline", get(overview::timeline))
        .route("/api/stats", get(overview::stats))
        .route("/api/projects", get(overview::projects))
        .route("/api/projects/merge", post(overview::merge_projects))
        .route("/api/topic-keys/suggest", post(overview::suggest))
        .route("/api/root", get(overview::root))
        .route_service("/mcp", tools)
        .fallback(health::nowhere)
        .method_not_allowed_fallback(health::not_so)
        .with_state(app)
        .layer(axum::middleware::from_fn_with_state(Arc::new(guard), guard::watch))
}
