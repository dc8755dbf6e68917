//! Requests at a node of a cluster: which actor they are for, whether their token is for it, and which node answers.
//!
//! What must stay true: a token for some actors gets at nothing but their memories, and is refused in the same words
//! whether the actor it asks for is there or not. A request is passed on once at most. A request that changes something
//! has a key before it is passed on, so that it happens once even if this node has to answer it after all. Every answer
//! says how long the journal was that it saw.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use cluster::Node;
use cluster::node::{NODE_HEADER, PassedRequest, draw_key};
use cluster::tokens::{TokenAccess, TokenRole};
use host::Host;
use proof::actor::ActorName;
use service::Delegate;

use crate::input::{self, AT_LEAST};
use crate::problem::Problem;
use api::{DEFAULT_ACTOR, ErrorCode};

const ACTOR: HeaderName = HeaderName::from_static("x-cortex-actor");
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const SIZE: HeaderName = HeaderName::from_static("x-cortex-journal-size");
const SERVED_BY: HeaderName = HeaderName::from_static("x-cortex-served-by");

/// What is about the memory of one actor: a token for some actors gets at these.
const OF_ACTORS: [&str; 20] = [
    "/api/audit",
    "/api/bulletin",
    "/api/context",
    "/api/entities",
    "/api/export",
    "/api/graph",
    "/api/import",
    "/api/memory_recall",
    "/api/observations",
    "/api/projects",
    "/api/prompts",
    "/api/proofs",
    "/api/root",
    "/api/scopes",
    "/api/scores",
    "/api/search",
    "/api/sessions",
    "/api/stats",
    "/api/timeline",
    "/api/topic-keys",
];

/// What is not passed on: it streams, or is about this node.
const STAYS: [&str; 3] = ["/api/export", "/api/import", "/api/scopes"];

/// True if another node passes a request on, or says so.
pub(super) fn is_passed_on(headers: &HeaderMap) -> bool {
    headers.contains_key(NODE_HEADER)
}

/// Lets in what another node passes on. Its body is part of what is sealed.
pub(super) async fn let_pass(node: &Node, request: &mut Request) -> Result<(), Problem> {
    let body = std::mem::replace(request.body_mut(), Body::empty());
    let body = input::collect_in_time(body).await?;
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let passed = node.passed_on(request.method(), &path, request.headers(), &body);
    let Some(passed) = passed else {
        return Err(Problem::new(
            StatusCode::UNAUTHORIZED,
            ErrorCode::TokenRefused,
            "no node of this cluster sealed this request",
        )
        .with_hint(
            "clients leave the header X-Cortex-Node out; nodes need clocks that agree to a minute",
        ));
    };
    *request.body_mut() = Body::from(body);
    request.extensions_mut().insert(passed.who.clone());
    request.extensions_mut().insert(passed);
    Ok(())
}

/// Answers a request of somebody who was let in: here, or by the node of its actor.
pub(super) async fn answer(
    node: &Arc<Node>,
    ops: &Arc<Host>,
    mut request: Request,
    next: Next,
) -> Response {
    let actor = match actor_of(&mut request) {
        Ok(actor) => actor,
        Err(problem) => return problem.into_response(),
    };
    let passed = request.extensions().get::<PassedRequest>().cloned();
    let mut response = match elsewhere(node, &request, &actor, passed.is_some()) {
        Some(peer) => pass_on(node, &peer, request, next).await,
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    if !headers.contains_key(SERVED_BY) {
        if let Some(size) = size_of(ops, &actor) {
            headers.insert(SIZE, HeaderValue::from(size));
        }
        if let Ok(name) = HeaderValue::from_str(node.name()) {
            headers.insert(SERVED_BY, name);
        }
    }
    if let Some(passed) = passed {
        passed.seal(headers);
    }
    response
}

/// The actor of a request. A token for one actor need not name it; one that is not for the actor is refused.
fn actor_of(request: &mut Request) -> Result<String, Problem> {
    let named =
        request.headers().get(ACTOR).map(|value| value.to_str().unwrap_or_default().to_owned());
    if let Some(delegate) = request.extensions().get::<Arc<Delegate>>() {
        return Ok(named.unwrap_or_else(|| delegate.actor().to_owned()));
    }
    let access = request.extensions().get::<TokenAccess>().cloned();
    let only = access.as_ref().and_then(TokenAccess::only_actor).map(str::to_owned);
    let is_named = named.is_some();
    let actor = named.or(only).unwrap_or_else(|| DEFAULT_ACTOR.to_owned());
    let Some(access) = access.filter(|access| !access.is_administrator()) else { return Ok(actor) };
    let path = request.uri().path();
    let is_of_actors = path == "/mcp"
        || OF_ACTORS.iter().any(|known| {
            path.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
    if !is_of_actors || ActorName::parse(&actor).is_err() || !access.allows(&actor) {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            ErrorCode::OutsideGrant,
            "this token is for other actors, or not for this",
        )
        .with_hint("name an actor of the token with X-Cortex-Actor, or ask an administrator for another token"));
    }
    if !is_named && let Ok(value) = HeaderValue::from_str(&actor) {
        request.headers_mut().insert(ACTOR, value);
    }
    Ok(actor)
}

/// The other node that should answer; `None`: this one does.
fn elsewhere(
    node: &Node,
    request: &Request,
    actor: &str,
    is_passed: bool,
) -> Option<cluster::Peer> {
    let path = request.uri().path();
    let goes = path.starts_with("/api/")
        && OF_ACTORS.iter().any(|known| path.starts_with(known))
        && !STAYS.iter().any(|stays| path.starts_with(stays));
    let wants_here = is_passed
        || request.extensions().get::<Arc<Delegate>>().is_some()
        || request.headers().contains_key(AT_LEAST);
    if !goes || wants_here { None } else { node.elsewhere(actor) }
}

async fn pass_on(node: &Node, peer: &cluster::Peer, mut request: Request, next: Next) -> Response {
    if request.method() != Method::GET && !request.headers().contains_key(KEY) {
        let key = draw_key().ok().and_then(|key| HeaderValue::from_str(&key).ok());
        if let Some(key) = key {
            request.headers_mut().insert(KEY, key);
        }
    }
    let who = request.extensions().get::<TokenAccess>().cloned().unwrap_or_else(administrator);
    let (parts, body) = request.into_parts();
    let body = match input::collect_in_time(body).await {
        Ok(body) => body,
        Err(problem) => return problem.into_response(),
    };
    let mut copy = axum::http::Request::new(body.clone());
    *copy.method_mut() = parts.method.clone();
    *copy.uri_mut() = parts.uri.clone();
    *copy.headers_mut() = parts.headers.clone();
    match node.forward(peer, copy, &who).await {
        Ok(answer) => answer.map(Body::from),
        // The ledger keeps entries apart whoever answers, and the key makes a change happen once.
        Err(_) => next.run(Request::from_parts(parts, Body::from(body))).await,
    }
}

/// Whoever has the token of this home.
fn administrator() -> TokenAccess {
    let (id, actors) = ("owner".to_owned(), "*".to_owned());
    TokenAccess { id, role: TokenRole::Administrator, actors }
}

fn size_of(ops: &Host, actor: &str) -> Option<u64> {
    let actor = ActorName::parse(actor).ok()?;
    let cortex = ops.service.home().if_open(&actor)?;
    let reading = cortex.read().ok()?;
    reading.view().counters().ok().map(|counters| counters.size)
}

/// What the cluster has to tell, for Prometheus.
pub(super) fn metrics(node: &Node) -> String {
    use cluster::counters::{APPEND_BOUNDS_MS, read};
    use std::fmt::Write as _;
    let counters = node.counters();
    let mut text = String::new();
    let kinds = [
        (
            "cortex_ledger_conflicts_total",
            "Appends that another node overtook.",
            &counters.conflicts,
        ),
        (
            "cortex_ledger_ways_asked_total",
            "Times others were asked to let this node append.",
            &counters.ways_asked,
        ),
        ("cortex_ledger_appended_entries_total", "Entries appended.", &counters.appended_entries),
        ("cortex_ledger_resolved_total", "Lost answers found again.", &counters.resolved),
        ("cortex_ledger_unknown_total", "Answers lost for good.", &counters.unknown),
        ("cortex_ledger_away_total", "Times it could not be reached.", &counters.away),
        ("cortex_ledger_retries_total", "Statements sent again.", &counters.retries),
        ("cortex_ledger_connections_total", "Connections made.", &counters.connections_made),
        ("cortex_ledger_reads_total", "Looks at a journal.", &counters.reads),
        (
            "cortex_ledger_catch_up_entries_total",
            "Entries of others taken over.",
            &counters.read_entries,
        ),
        ("cortex_ledger_cache_evictions_total", "Copies thrown away.", &counters.cache_evictions),
        ("cortex_ledger_cache_hits_total", "Actors opened from a copy.", &counters.cache_hits),
        ("cortex_ledger_cache_misses_total", "Actors opened without one.", &counters.cache_misses),
        ("cortex_ledger_checkpoints_made_total", "Checkpoints made.", &counters.checkpoints_made),
        (
            "cortex_ledger_checkpoints_taken_total",
            "Actors begun from one.",
            &counters.checkpoints_taken,
        ),
        (
            "cortex_ledger_checkpoints_refused_total",
            "Checkpoints of no use.",
            &counters.checkpoints_refused,
        ),
        ("cortex_node_forwarded_total", "Requests passed on.", &counters.forwarded),
        (
            "cortex_node_forward_failures_total",
            "Requests that could not be.",
            &counters.forward_failures,
        ),
        ("cortex_node_news_total", "Times another node came or went.", &counters.node_news),
    ];
    for (name, about, count) in kinds {
        let count = read(count);
        writeln!(text, "# HELP {name} {about}\n# TYPE {name} counter\n{name} {count}")
            .expect("a String takes any text");
    }
    let alive = node.peers().iter().filter(|peer| peer.is_alive).count() as u64;
    for (name, about, value) in [
        (
            "cortex_ledger_follower_lag_entries",
            "Entries that an open copy lacked.",
            read(&counters.lag),
        ),
        ("cortex_nodes_alive", "Nodes with a heartbeat.", alive),
    ] {
        writeln!(text, "# HELP {name} {about}\n# TYPE {name} gauge\n{name} {value}")
            .expect("a String takes any text");
    }
    let name = "cortex_ledger_append_duration_seconds";
    writeln!(text, "# HELP {name} Until an append was committed.\n# TYPE {name} histogram")
        .expect("a String takes any text");
    // Milliseconds and microseconds of any program's life are exact in a float.
    #[allow(clippy::cast_precision_loss)]
    let seconds = |count: u64, per_second: f64| count as f64 / per_second;
    for (within, bound) in counters.append_within.iter().zip(APPEND_BOUNDS_MS) {
        let (bound, within) = (seconds(bound, 1e3), read(within));
        writeln!(text, "{name}_bucket{{le=\"{bound}\"}} {within}")
            .expect("a String takes any text");
    }
    let (total, sum) = (read(&counters.appends), seconds(read(&counters.append_micros), 1e6));
    writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {total}\n{name}_sum {sum}\n{name}_count {total}")
        .expect("a String takes any text");
    text
}
