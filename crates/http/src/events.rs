//! What happens, as it happens: the bus and single runs as server-sent events.
//!
//! Each event has an id; who comes back with the last one it saw (`Last-Event-ID`) gets what it missed, as far as it is
//! kept, and is told if something is missing. A reader that is too slow loses messages of the bus and learns how many;
//! a run comes whole, from its log. What must stay true: a stream ends with the daemon, and costs nobody else anything.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use runs::runner::RunFollower;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use talents::UseId;
use talents::bus::{
    BUS_TOPIC, BusFilter, BusMessage, Delivery, EventId, FilterClause, Subscription,
};
use tokio::sync::{mpsc, watch};
use utoipa::{IntoParams, ToSchema};

use crate::input::{Asker, Name, QueryParameters};
use crate::problem::Problem;
use crate::run_lookup::{no_run, run_id, talents_host};
use crate::transfer::{Piece, Stream};
use crate::{App, Reply, listed};
use api::{Error, ErrorCode, Fault};
use service::access::for_owner;

/// How often a stream on which nothing happens says that it is there.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Pieces that wait for a slow reader; behind them are the bounded queue of the bus, or the log.
const PIECES: usize = 16;
/// Events of a run in one answer.
const EVENTS_MAX: usize = 1_000;
/// Streams at once; far fewer than there are connections.
pub(super) const STREAMS_MAX: usize = 64;
/// Words of one kind in a filter.
const WORDS_MAX: usize = 64;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct EventsParameters {
    /// Only these tracts, with commas between: `cortex`, `supervisor`, `think`, …
    tract: Option<String>,
    /// Only these events, with commas between.
    event: Option<String>,
    /// Only these runs, with commas between.
    use_id: Option<String>,
    /// The same as the header `Last-Event-ID`, for those who cannot send one.
    last_event_id: Option<String>,
}

/// One event of a stream.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SentEvent {
    /// A message as JSON.
    data: String,
    /// Brings back what was missed.
    id: Option<String>,
}

/// What happens on the bus, as server-sent events. The header `Last-Event-ID` brings back what was missed.
#[utoipa::path(
    get, path = "/api/events", tag = "runs", operation_id = "stream_events",
    params(EventsParameters),
    responses((
        status = 200, description = "Each `data` is a message of the bus", body = SentEvent,
        content_type = "text/event-stream",
    )),
)]
pub(super) async fn stream(
    State(app): State<App>,
    Asker(caller): Asker,
    headers: HeaderMap,
    QueryParameters(asked): QueryParameters<EventsParameters>,
) -> Reply {
    for_owner(&caller)?;
    let hub = talents_host(&app)?.hub();
    let filter = BusFilter::of(vec![FilterClause {
        topic: words("tract", asked.tract.as_deref())?,
        event: words("event", asked.event.as_deref())?,
        use_id: words("use_id", asked.use_id.as_deref())?,
    }]);
    let last = last_id(&headers).or(asked.last_event_id);
    let (subscription, gap) = match last.as_deref().map(EventId::parse) {
        Some(Some(last)) => {
            let resumed = hub.resume(filter, last);
            (resumed.subscription, resumed.gap)
        }
        // An id that is none of ours is older than everything.
        Some(None) => (hub.subscribe(filter), true),
        None => (hub.subscribe(filter), false),
    };
    begin(&app, Source::Bus(subscription, gap))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RunEventsParameters {
    /// Only what comes after the event with this `seq`.
    after: Option<u64>,
    /// 1 to 1000; 1000 if absent. A stream has no limit.
    limit: Option<usize>,
}

/// The events of a run so far, oldest first. With `Accept: text/event-stream` they come as they happen, to the end of
/// the run.
#[utoipa::path(
    get, path = "/api/runs/{id}/events", tag = "runs", operation_id = "list_run_events",
    params(("id" = String, Path, description = "The run's `use_id`"), RunEventsParameters),
    responses(
        (status = 200, description = "Events", body = Vec<Object>),
        (status = 404, description = "There is no such run"),
    ),
)]
pub(super) async fn of_run(
    State(app): State<App>,
    Asker(caller): Asker,
    headers: HeaderMap,
    Name(id): Name,
    QueryParameters(asked): QueryParameters<RunEventsParameters>,
) -> Reply {
    for_owner(&caller)?;
    let run = run_id(&id)?;
    let runner = talents_host(&app)?.runner().clone();
    let log = runner.events(&run).await.map_err(|error| unread(&run, &error))?;
    let Some(log) = log else { return Err(no_run(&run)) };
    let last = last_id(&headers).and_then(|id| id.parse().ok());
    let after = last.or(asked.after);
    if wants_stream(&headers) {
        return begin(&app, Source::Run(Box::new(runner.follow(&run, after))));
    }
    let limit = super::input::page(asked.limit, EVENTS_MAX)?.unwrap_or(EVENTS_MAX);
    let total = log.events.len();
    let later =
        log.events.into_iter().filter(|event| after.is_none_or(|last| event.seq() > Some(last)));
    listed(&later.take(limit).collect::<Vec<_>>(), 0, total)
}

fn unread(run: &UseId, error: &std::io::Error) -> Problem {
    Error::new(ErrorCode::LogUnreadable, Fault::Server, format!("run {run}: {error}")).into()
}

fn last_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get("last-event-id")?.to_str().ok()?;
    (!id.is_empty()).then(|| id.to_owned())
}

pub(super) fn wants_stream(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/event-stream"))
}

fn words(name: &str, given: Option<&str>) -> Result<Vec<String>, Problem> {
    let words = given.unwrap_or_default().split(',').map(str::trim);
    let words: Vec<String> = words.filter(|word| !word.is_empty()).map(str::to_owned).collect();
    if words.len() > WORDS_MAX {
        return Err(
            Error::invalid("query", format!("{name} has more than {WORDS_MAX} words")).into()
        );
    }
    Ok(words)
}

/// Begins a stream, if there are not too many: each holds a connection for as long as somebody listens.
fn begin(app: &App, source: Source) -> Reply {
    let Ok(place) = Arc::clone(&app.streams).try_acquire_owned() else {
        let message = format!("{STREAMS_MAX} streams of events are open already");
        return Err(Error::new(ErrorCode::TooManyClients, Fault::Busy, message)
            .with_hint("close one, or try again in a moment")
            .into());
    };
    let (send, pieces) = mpsc::channel(PIECES);
    let ending = app.ending.clone();
    tokio::spawn(async move {
        tell(source, send, ending).await;
        drop(place);
    });
    Ok(answer(pieces))
}

fn answer(pieces: mpsc::Receiver<Piece>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        // For proxies that gather answers before they pass them on.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::new(Stream(pieces))).into_response()
}

enum Source {
    Bus(Subscription, bool),
    Run(Box<RunFollower>),
}

impl Source {
    /// The next piece of the stream; `None` when there will be none.
    async fn next(&mut self) -> Option<String> {
        match self {
            Source::Bus(_, gap) if *gap => {
                *gap = false;
                Some(own("gap", &json!("messages before this one are no longer kept")))
            }
            Source::Bus(subscription, _) => Some(match subscription.next().await {
                Delivery::Event(event) => piece(Some(&event.id.to_string()), &event.line),
                Delivery::Dropped(count) => own("dropped", &json!(count)),
            }),
            Source::Run(follow) => match follow.next().await {
                Ok(Some(event)) => Some(piece(Some(&event.seq.to_string()), &event.line)),
                Ok(None) | Err(_) => None,
            },
        }
    }
}

/// Something that the stream says about itself, in the words of the bus.
fn own(event: &str, value: &Value) -> String {
    let key = if event == "dropped" { "count" } else { "reason" };
    let message = BusMessage::new(BUS_TOPIC, event).with(key, value.clone());
    piece(None, &Value::Object(message.into_fields()).to_string())
}

/// One event. A line of JSON has no line break, so it is one `data` line.
fn piece(id: Option<&str>, line: &str) -> String {
    match id {
        Some(id) => format!("id: {id}\ndata: {line}\n\n"),
        None => format!("data: {line}\n\n"),
    }
}

async fn tell(mut source: Source, send: mpsc::Sender<Piece>, mut ending: watch::Receiver<bool>) {
    let mut next = "retry: 2000\n\n".to_owned();
    loop {
        if send.send(Ok(Bytes::from(next))).await.is_err() {
            return;
        }
        next = tokio::select! {
            // Without this a stream nobody reads would be noticed only at the next event.
            () = send.closed() => return,
            _ = ending.wait_for(|end| *end) => return,
            next = tokio::time::timeout(HEARTBEAT, source.next()) => match next {
                Ok(Some(next)) => next,
                Ok(None) => return,
                Err(_) => ": still here\n\n".to_owned(),
            },
        };
    }
}
