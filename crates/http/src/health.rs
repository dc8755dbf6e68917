//! Is it there, is it ready, what did it do; and what there is not.

#![allow(clippy::unused_async, reason = "routes are async, also those that need not wait")]

use api::ErrorCode;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use proof::actor::ActorName;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::timeout;
use utoipa::{IntoParams, ToSchema};

use crate::input::{Asker, QueryParameters, page};
use crate::problem::Problem;
use crate::{App, Reply};
use api::DEFAULT_ACTOR;
use api::mind::WarmupView;
use api::proof::RootRequest;
use host::Host;
use host::dispatch::HostOperation as _;
use host::log_tail::LOG_LINES_MAX;
use host::pools::WorkKind;
use service::Caller;
use service::access::for_owner;

/// Lines of the log in one answer, unless another number is asked for.
const LOG_LINES_DEFAULT: usize = 200;

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    /// Always `ok`.
    status: &'static str,
    /// Always `cortex`.
    service: &'static str,
    version: &'static str,
}

const HEALTHY: Health =
    Health { status: "ok", service: "cortex", version: env!("CARGO_PKG_VERSION") };

/// Somebody is there.
#[utoipa::path(
    get, path = "/health", tag = "health", operation_id = "health",
    responses((status = 200, description = "It is there", body = Health)),
)]
pub(super) async fn health() -> Response {
    Json(HEALTHY).into_response()
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Pulse {
    /// Always `ok`.
    status: &'static str,
}

/// The newest lines of the log.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LogLines {
    /// The oldest of them first, each as it was written.
    lines: Vec<String>,
    /// How many there have been since the daemon began.
    total: u64,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LogParameters {
    /// 1 to 1000; 200 if absent.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// What the daemon logged since it began, the newest lines of it. No memory's text and no secret is logged. For the
/// owner.
#[utoipa::path(
    get, path = "/api/logs", tag = "system", operation_id = "list_log_lines",
    params(LogParameters),
    responses((status = 200, description = "Lines as they were written", body = LogLines)),
)]
pub(super) async fn logs(
    Asker(caller): Asker,
    QueryParameters(asked): QueryParameters<LogParameters>,
) -> Reply {
    for_owner(&caller)?;
    let limit = page(asked.limit, LOG_LINES_MAX)?.unwrap_or(LOG_LINES_DEFAULT);
    let (lines, total) = host::log_tail::newest(limit);
    Ok(Json(LogLines { lines, total }).into_response())
}

/// Somebody is there, reads and writes. Needs no token, and tells nothing else.
#[utoipa::path(
    get, path = "/healthz", tag = "health", operation_id = "healthz",
    responses(
        (status = 200, description = "It is well", body = Pulse),
        (status = 503, description = "It does not read or write in time"),
    ),
)]
pub(super) async fn alive(State(app): State<App>) -> Reply {
    if app.pulse.is_well(&app.ops).await {
        return Ok(Json(Pulse { status: "ok" }).into_response());
    }
    Err(Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::NotReady,
        "the memory cannot be read and written in time",
    ))
}

/// How long reading and writing may take together.
const PULSE_WAIT: Duration = Duration::from_secs(2);
/// How long an outcome is told again: whoever asks often costs no more.
const PULSE_AGE: Duration = Duration::from_secs(1);

/// When it was last tried to read and to write, and whether that went well.
#[derive(Debug, Default)]
pub(super) struct PulseCache {
    last: Mutex<Option<(Instant, bool)>>,
}

impl PulseCache {
    async fn is_well(&self, ops: &Arc<Host>) -> bool {
        // Of many who ask at once, one tries and the others hear of it.
        let Ok(mut last) = timeout(2 * PULSE_WAIT, self.last.lock()).await else { return false };
        if let Some((at, well)) = *last
            && at.elapsed() < PULSE_AGE
        {
            return well;
        }
        let well = matches!(timeout(PULSE_WAIT, beat(Arc::clone(ops))).await, Ok(Ok(())));
        *last = Some((Instant::now(), well));
        well
    }
}

/// Reads the root of the default actor and writes a file of the home to the disk, in the places where others read and
/// write.
async fn beat(ops: Arc<Host>) -> Result<(), Problem> {
    let host = Arc::clone(&ops);
    let read = move || -> service::Result<()> {
        let caller = Caller::new(ActorName::parse(DEFAULT_ACTOR)?, "http");
        RootRequest {}.run(&host, &caller).map(drop)
    };
    ops.pools.run(WorkKind::Read, read).await??;
    let path = ops.folder().join("run").join("health");
    let write = move || -> std::io::Result<()> {
        let mut file = std::fs::File::create(&path)?;
        file.write_all(b"ok")?;
        file.sync_data()
    };
    let written = ops.pools.run(WorkKind::Write, write).await?;
    written.map_err(|error| Problem::from(api::Error::internal(error.to_string())))
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Readiness {
    /// Always `ready`.
    status: &'static str,
    /// Whose memory there is.
    actors: usize,
    /// How the services of the daemon are: `running`, `waiting`, `given_up` or `stopped`.
    #[schema(value_type = Object)]
    services: BTreeMap<String, Value>,
    /// How warm the mind of the default actor is. Requests are served in every state.
    warmup: WarmupView,
}

/// Ready when the home can be read.
#[utoipa::path(
    get, path = "/readyz", tag = "health", operation_id = "readyz",
    responses((status = 200, description = "It is ready", body = Readiness)),
)]
pub(super) async fn ready(State(app): State<App>) -> Reply {
    let look = |ops: &Host| {
        let caller =
            Caller::new(ActorName::parse(DEFAULT_ACTOR).map_err(service::Error::from)?, "http");
        Ok((ops.service.actor_count()?, ops.warmth(&caller)?))
    };
    match app.run(WorkKind::Read, look).await {
        Ok((actors, warmup)) => {
            let services = app.talents_host.iter().flat_map(|talents_host| talents_host.services());
            let services = services.map(|service| (service.name, json!(service.health))).collect();
            Ok(Json(Readiness { status: "ready", actors, services, warmup }).into_response())
        }
        Err(_) => Err(Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            ErrorCode::NotReady,
            "the home cannot be read",
        )),
    }
}

/// What was asked, in the text format of Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "health", operation_id = "metrics",
    responses((status = 200, description = "Counters", body = String, content_type = "text/plain")),
)]
pub(super) async fn metrics(State(app): State<App>) -> Response {
    let mut text = app.metrics.text(app.ops.service.open_count());
    if let Some(talents_host) = &app.talents_host {
        text.push_str(&crate::metrics::of_talents(&talents_host.counts()));
    }
    if let Some(node) = app.ops.node() {
        text.push_str(&crate::in_cluster::metrics(node));
    }
    text.push_str(&crate::metrics::of_minds(&app.ops.mind_counts()));
    // A home that cannot be listed has no reads to tell of. Listing reads files, or asks a database.
    let look = |ops: &Host| Ok(ops.service.ledger_checks()?);
    let checks = app.run(WorkKind::Read, look).await.unwrap_or_default();
    text.push_str(&crate::metrics::of_ledgers(&checks));
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

pub(super) async fn nowhere(uri: Uri) -> Problem {
    let shown: String = uri.path().chars().take(128).collect();
    Problem::new(StatusCode::NOT_FOUND, ErrorCode::NoRoute, format!("there is nothing at {shown}"))
}

pub(super) async fn not_so() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        ErrorCode::MethodNotAllowed,
        "this route does not take this method",
    )
}
