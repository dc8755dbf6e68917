//! The HTTP interface: JSON for programs, and the tools of agents at `/mcp`.
//!
//! - `connections`: how many there may be, and how long each may take.
//! - `guard`: which hosts and credentials are let in, on every route; `origin`: which pages; `scoped`: delegates, and
//!   `visits`: how much they may ask at once.
//! - `in_cluster`: which actor, token and node a request is for, where nodes share a ledger.
//! - `browser`: the link that makes a browser the owner's, and what a person reads who is not let in.
//! - `peer`: whose the other end of a connection is, for cookies.
//! - `input`, `problem`: requests into operations, errors into problem details.
//! - `journal`: what happened and who was told, counts, settings, bulk changes.
//! - `memories`, `search`, `relations`, `sessions`, `overview`, `proofs`, `transfer`, `past`, `health`: the routes.
//! - `runs`, `events`: talents, and what happens, as it happens; `run_lookup`: which run a path names; `talent_texts`:
//!   what talents say.
//! - `document`, `docs`, `examples`: what the routes take and give, as OpenAPI and as a page to read.
//! - `mind`: bulletin, jobs, undo, budget, admin chat; `pages`: questions that stand; `channels`: conversations.
//! - `agent_tools`: the tools at `/mcp`; `agent_setup`: connecting the coding agents of this machine.
//! - `metrics`: what was asked, for Prometheus.
//! - `page`: the page for people, embedded.
//!
//! What must stay true: routes only translate; every operation runs on a thread that may block; lists are arrays, never
//! null, with the true total in `X-Total-Count`; whoever shows nothing learns only that somebody is there; a page
//! of another origin never gets an answer.

mod agent_setup;
mod agent_tools;
mod bounds;
mod browser;
mod channels;
mod connections;
mod docs;
mod document;
mod events;
mod examples;
mod guard;
mod health;
mod in_cluster;
mod input;
mod journal;
mod memories;
mod metrics;
mod mind;
mod origin;
mod overview;
mod page;
mod pages;
mod past;
mod peer;
mod problem;
mod proofs;
mod relations;
mod run_lookup;
mod runs;
mod scoped;
mod search;
mod sessions;
mod talent_texts;
mod transfer;
mod visits;

use std::sync::Arc;
use std::time::Instant;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use serde::Serialize;
use service::config::http::HttpServerSettings;
use tokio::sync::{Semaphore, watch};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use agent_setup::AgentPlaces;
use api::{Call, Error, Operation};
use daemon::server::HttpParts;
use daemon::server::owner::OwnerKeys;
use daemon::talents_host::TalentsHost;
use guard::Guard;
use health::PulseCache;
use host::Host;
use host::dispatch::HostOperation;
use host::pools::WorkKind;
use metrics::Metrics;
use problem::Problem;
use service::Caller;

/// What routes share.
#[derive(Clone, Debug)]
struct App {
    ops: Arc<Host>,
    owner: Arc<OwnerKeys>,
    pulse: Arc<PulseCache>,
    metrics: Arc<Metrics>,
    /// Absent if talents cannot run here.
    talents_host: Option<Arc<TalentsHost>>,
    agents: AgentPlaces,
    /// Places for streams of events.
    streams: Arc<Semaphore>,
    ending: watch::Receiver<bool>,
    /// The document of all routes, as JSON and as a page.
    document: Arc<str>,
}

impl App {
    /// Runs work on a thread that may block, in a place of its kind.
    async fn run<T: Send + 'static>(
        &self,
        kind: WorkKind,
        work: impl FnOnce(&Host) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let ops = Arc::clone(&self.ops);
        self.ops.pools.run(kind, move || work(&ops)).await?
    }

    /// Runs one operation.
    async fn ask<R: HostOperation>(
        &self,
        caller: Caller,
        request: R,
    ) -> Result<R::Answer, Problem> {
        self.run(WorkKind::of(R::NAME), move |ops| Ok(request.run(ops, &caller)?)).await
    }

    /// Answers with what one operation returned.
    fn reply(
        &self,
        caller: Caller,
        request: impl Operation,
    ) -> impl Future<Output = Reply> + Send + '_ {
        self.reply_to(caller, request.into_call())
    }

    /// Knows no type of a request or an answer, so that the way of a request is compiled once and not for each route.
    async fn reply_to(&self, caller: Caller, call: Call) -> Reply {
        let kind = WorkKind::of(call.name());
        let answer = self.run(kind, move |ops| Ok(ops.answer(&caller, call)?)).await?;
        let body = Box::<str>::from(answer).into_string();
        Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
    }
}

/// What a route answers.
type Reply = Result<Response, Problem>;

/// Bytes of a list in one answer; the first item comes whatever it has.
const LIST_BYTES_MAX: usize = 8 * 1_048_576;

/// A page of a list that starts at `offset`; a header says how many there are in all. A page with more bytes than an
/// answer may have ends before, and another header says where the next one starts.
fn listed<T: Serialize>(items: &[T], offset: usize, total: usize) -> Reply {
    let mut body = vec![b'['];
    let mut next = None;
    for (place, item) in items.iter().enumerate() {
        let text = serde_json::to_vec(item).map_err(|error| Error::internal(error.to_string()))?;
        if place > 0 && body.len() + text.len() > LIST_BYTES_MAX {
            next = Some(offset + place);
            break;
        }
        if place > 0 {
            body.push(b',');
        }
        body.extend_from_slice(&text);
    }
    body.push(b']');
    let response = ([(header::CONTENT_TYPE, "application/json")], body).into_response();
    let mut response = with_total(response, total);
    if let Some(next) = next {
        response
            .headers_mut()
            .insert(HeaderName::from_static("x-next-offset"), HeaderValue::from(next));
    }
    Ok(response)
}

/// An answer with how many there are in all.
fn with_total(mut response: Response, total: usize) -> Response {
    let name = HeaderName::from_static("x-total-count");
    response.headers_mut().insert(name, HeaderValue::from(total));
    response
}

fn created(body: &impl Serialize) -> Response {
    (StatusCode::CREATED, Json(body)).into_response()
}

/// Answers until `end` says so; what is under way then is finished.
pub async fn serve(parts: HttpParts) -> std::io::Result<()> {
    let HttpParts {
        listener,
        settings: http,
        host: ops,
        owner,
        talents: talents_host,
        process,
        ending: mut end,
    } = parts;
    transfer::sweep(ops.folder());
    let (tools, end_streams) =
        agent_tools::route(Arc::clone(&ops)).map_err(std::io::Error::other)?;
    let places = AgentPlaces::of(process);
    let router = router(&http, ops, owner, (talents_host, places), end.clone(), tools);
    let ended = async move {
        // An error means that the daemon is gone, which is an end as well.
        let _ = end.wait_for(|end| *end).await;
        end_streams();
    };
    let tls = connections::acceptor(&http)?;
    connections::serve(listener, tls, router, ended).await
}

/// Every route, with its entry in the document. Nothing is routed that is not described, but for `/mcp`, which speaks a
/// protocol of its own.
fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(browser::open))
        .routes(routes!(health::health))
        .routes(routes!(health::alive))
        .routes(routes!(health::ready))
        .routes(routes!(health::metrics))
        .routes(routes!(health::logs))
        .routes(routes!(docs::document))
        .routes(routes!(memories::list, memories::create))
        .routes(routes!(overview::capture))
        .routes(routes!(memories::read, memories::update, memories::amend, memories::delete))
        .routes(routes!(memories::archive))
        .routes(routes!(memories::confirm))
        .routes(routes!(memories::restore))
        .routes(routes!(memories::pin, memories::unpin))
        .routes(routes!(memories::entities))
        .routes(routes!(search::similar))
        .routes(routes!(proofs::prove))
        .routes(routes!(search::search))
        .routes(routes!(sessions::list, sessions::start))
        .routes(routes!(sessions::read))
        .routes(routes!(sessions::end))
        .routes(routes!(sessions::summary))
        .routes(routes!(sessions::prompts, sessions::save_prompt))
        .routes(routes!(relations::relate))
        .routes(routes!(relations::unrelate))
        .routes(routes!(relations::walk))
        .routes(routes!(relations::related))
        .routes(routes!(relations::score))
        .routes(routes!(relations::recalculate))
        .routes(routes!(overview::context))
        .routes(routes!(overview::briefing))
        .routes(routes!(overview::bundle))
        .routes(routes!(overview::timeline))
        .routes(routes!(overview::stats))
        .routes(routes!(overview::audit))
        .routes(routes!(overview::projects))
        .routes(routes!(overview::list_entities))
        .routes(routes!(overview::merge_projects))
        .routes(routes!(overview::separate_project))
        .routes(routes!(overview::suggest))
        .routes(routes!(journal::journal))
        .routes(routes!(journal::entry))
        .routes(routes!(journal::activity))
        .routes(routes!(journal::tellings))
        .routes(routes!(journal::counts))
        .routes(routes!(journal::tags))
        .routes(routes!(journal::actors))
        .routes(routes!(journal::change_many))
        .routes(routes!(journal::settings, journal::set_setting))
        .routes(routes!(proofs::root))
        .routes(routes!(proofs::verify))
        .routes(routes!(proofs::scopes, proofs::grant))
        .routes(routes!(proofs::revoke))
        .routes(routes!(events::stream))
        .routes(routes!(runs::list, runs::create))
        .routes(routes!(runs::approvals))
        .routes(routes!(runs::decide))
        .routes(routes!(runs::read, runs::cancel))
        .routes(routes!(events::of_run))
        .routes(routes!(runs::talents))
        .routes(routes!(talent_texts::read, talent_texts::write))
        .routes(routes!(transfer::export))
        .routes(routes!(transfer::import))
        .routes(routes!(transfer::backup))
        .routes(routes!(channels::list))
        .routes(routes!(channels::read, channels::remove))
        .routes(routes!(channels::say))
        .routes(routes!(channels::branch))
        .routes(routes!(channels::worker))
        .routes(routes!(channels::stop))
        .routes(routes!(mind::bulletin))
        .routes(routes!(mind::history))
        .routes(routes!(mind::recall))
        .routes(routes!(pages::list, pages::add))
        .routes(routes!(pages::show, pages::remove))
        .routes(routes!(pages::history))
        .routes(routes!(pages::restore))
        .routes(routes!(mind::jobs))
        .routes(routes!(mind::run_job))
        .routes(routes!(mind::pause_job))
        .routes(routes!(mind::resume_job))
        .routes(routes!(mind::runs))
        .routes(routes!(mind::show))
        .routes(routes!(mind::undo))
        .routes(routes!(mind::due))
        .routes(routes!(mind::keep))
        .routes(routes!(mind::reset))
        .routes(routes!(mind::events))
        .routes(routes!(mind::budget, mind::set_budget))
        .routes(routes!(mind::chat))
        .routes(routes!(past::state))
        .routes(routes!(past::search))
        .routes(routes!(past::sessions))
        .routes(routes!(past::session))
        .routes(routes!(past::turn))
        .routes(routes!(past::work))
        .routes(routes!(past::read))
        .routes(routes!(past::keep))
        .routes(routes!(past::forget))
        .routes(routes!(past::restore))
        .routes(routes!(agent_setup::list))
        .routes(routes!(agent_setup::change))
}

fn router(
    http: &HttpServerSettings,
    ops: Arc<Host>,
    owner: Arc<OwnerKeys>,
    (talents_host, agents): (Option<Arc<TalentsHost>>, AgentPlaces),
    ending: watch::Receiver<bool>,
    tools: Router<App>,
) -> Router {
    let (routes, described) = routes().split_for_parts();
    let document = document::complete(&described);
    let app = App {
        ops,
        owner: Arc::clone(&owner),
        pulse: Arc::default(),
        metrics: Arc::new(Metrics::new(Instant::now())),
        talents_host,
        agents,
        streams: Arc::new(Semaphore::new(events::STREAMS_MAX)),
        ending,
        document: document.to_string().into(),
    };
    let guard = Guard::new(http, owner, Arc::clone(&app.metrics), Arc::clone(&app.ops));
    routes
        .merge(tools)
        .merge(page::routes())
        .fallback(health::nowhere)
        .method_not_allowed_fallback(health::not_so)
        .with_state(app)
        .layer(axum::middleware::from_fn_with_state(Arc::new(guard), guard::watch))
}
