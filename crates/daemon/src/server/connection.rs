//! One connection: greeting, then requests, each answered before the next is read.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use api::{Error, ErrorCode, Fault, Result};
use client::protocol;
use client::protocol::{
    CallBody, DaemonReply, DaemonRequest, Greeting, Hello, LINE_BYTES_MAX, ReplyBody, RequestBody,
    Welcome,
};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use service::Caller;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::server::{ServerState, forward};
use host::pools::WorkKind;

pub(super) type ConnectionReader = BufReader<OwnedReadHalf>;

/// What came over the line.
pub(super) enum Incoming<T> {
    Message(T),
    /// It was no message; the text says why.
    Wrong(Error),
    /// Nothing more will come.
    Over,
}

pub(super) async fn attend(stream: UnixStream, shared: Arc<ServerState>) {
    // The folder is the owner's alone; should it ever not be, nobody else is answered all the same.
    let peer = stream.peer_cred().map_err(|error| Error::internal(error.to_string()));
    if let Err(error) = peer.and_then(|peer| client::dial::check_uid(peer.uid())) {
        tracing::warn!("a connection was refused: {}", error.message);
        return;
    }
    if !shared.enter() {
        let busy = Error::new(ErrorCode::TooManyConnections, Fault::Busy, "too many are connected");
        // A caller that left does not need to know that there was no place for it.
        let _ = greet(stream.into_split().1, Greeting::Error(busy)).await;
        return;
    }
    converse(stream, &shared).await;
    shared.leave();
}

async fn greet(mut write: OwnedWriteHalf, greeting: Greeting) -> Result<OwnedWriteHalf> {
    send(&mut write, &greeting).await?;
    Ok(write)
}

async fn converse(stream: UnixStream, shared: &Arc<ServerState>) {
    let (read, write) = stream.into_split();
    let mut read = BufReader::new(read);
    let hello = match receive::<Hello>(&mut read).await {
        Incoming::Message(hello) => protocol::check_hello(&hello),
        Incoming::Wrong(error) => Err(error),
        Incoming::Over => return,
    };
    let greeting = match hello {
        Ok(()) => Greeting::Welcome(Welcome {
            cortex: protocol::PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            home: shared.place.home.clone(),
        }),
        Err(error) => Greeting::Error(error),
    };
    let refused = matches!(greeting, Greeting::Error(_));
    let Ok(mut write) = greet(write, greeting).await else { return };
    if refused {
        return;
    }
    let mut over = shared.over.subscribe();
    loop {
        let incoming = tokio::select! {
            biased;
            incoming = receive::<DaemonRequest>(&mut read) => incoming,
            _ = over.wait_for(|over| *over) => return,
        };
        let request = match incoming {
            Incoming::Over => return,
            Incoming::Wrong(error) => {
                let reply = DaemonReply { id: None, body: ReplyBody::Error(error) };
                if send(&mut write, &reply).await.is_err() {
                    return;
                }
                continue;
            }
            Incoming::Message(request) => request,
        };
        shared.requests.fetch_add(1, Ordering::Relaxed);
        let id = request.id;
        let answer = match request.body {
            RequestBody::Ask(body) => answer(shared, *body).await,
            RequestBody::Run(body) => {
                if forward::run(id, body, shared, &mut read, &mut write).await.is_err() {
                    return;
                }
                continue;
            }
            RequestBody::Status => raw(&status(shared)),
            RequestBody::Open => open(shared).await.and_then(|link| raw(&link)),
            RequestBody::Stop => {
                let said = reply(&mut write, id, raw(&json!({"stopping": true}))).await;
                shared.end.send_replace(true);
                if said.is_ok() {
                    // The caller learns that all is on disk when this connection ends, which the server does last.
                    ending_is_complete(shared).await;
                }
                return;
            }
            RequestBody::Input(_) => {
                Err(protocol::garbled(&"no command runs that could read input"))
            }
        };
        if reply(&mut write, id, answer).await.is_err() {
            return;
        }
    }
}

/// Waits until this is the only connection left.
async fn ending_is_complete(shared: &ServerState) {
    while shared.connections.load(Ordering::SeqCst) > 1 {
        tokio::time::sleep(client::place::STEP).await;
    }
}

/// Runs an operation in a place of its kind.
async fn answer(shared: &Arc<ServerState>, body: CallBody) -> Result<Box<RawValue>> {
    let host = Arc::clone(&shared.host);
    let CallBody { from, ask } = body;
    let kind = WorkKind::of(ask.name());
    let work = move || Ok(host.answer(&Caller::from_info(&from)?, ask)?);
    shared.host.pools.run(kind, work).await?
}

fn raw(answer: &Value) -> Result<Box<RawValue>> {
    to_raw_value(answer).map_err(|error| Error::internal(error.to_string()))
}

/// A link that opens the page as the owner, once. HTTP begins with the first, if it was not served before.
async fn open(shared: &ServerState) -> Result<Value> {
    let link = shared.owner.new_link()?;
    let web = shared.web.begin(shared).await;
    let Some(page) = web.page(&link) else {
        let why = web.problem().unwrap_or("this daemon serves no HTTP");
        return Err(Error::new(ErrorCode::NotServed, Fault::Missing, why).with_hint(
            "`cortex stop`, then `cortex serve` serves it; http.background = true does so always",
        ));
    };
    Ok(json!({"page": page, "http": web.address()}))
}

fn status(shared: &ServerState) -> Value {
    let talents = match &shared.talents {
        Ok(talents) => talents.status(),
        Err(why) => json!({"problem": why}),
    };
    let web = shared.web.state();
    json!({
        "running": true,
        "pid": std::process::id(),
        "version": env!("CARGO_PKG_VERSION"),
        "home": shared.place.home.display().to_string(),
        "socket": shared.place.socket().display().to_string(),
        "http": web.address(),
        "http_problem": web.problem(),
        "page": shared.owner.link().ok().and_then(|link| web.page(&link)),
        "uptime_seconds": shared.started.elapsed().as_secs(),
        "connections": shared.connections.load(Ordering::SeqCst),
        "requests": shared.requests.load(Ordering::Relaxed),
        "open_actors": shared.host.service.home().open_count(),
        "ends_when_idle_for_seconds": shared.idle().map(|idle| idle.as_secs()),
        "hands": talents,
    })
}

async fn reply(write: &mut OwnedWriteHalf, id: u64, answer: Result<Box<RawValue>>) -> Result<()> {
    let body = match answer {
        Ok(value) => ReplyBody::Ok(value),
        Err(error) => ReplyBody::Error(error),
    };
    send(write, &DaemonReply { id: Some(id), body }).await
}

pub(super) async fn send(write: &mut OwnedWriteHalf, value: &impl serde::Serialize) -> Result<()> {
    let bytes = protocol::line(value)?;
    write
        .write_all(&bytes)
        .await
        .map_err(|error| Error::new(ErrorCode::CallerGone, Fault::Busy, error.to_string()))
}

/// The next message. A line that is too long is read to its end and not kept.
pub(super) async fn receive<T: serde::de::DeserializeOwned>(
    read: &mut ConnectionReader,
) -> Incoming<T> {
    let mut bytes = Vec::new();
    let limit = LINE_BYTES_MAX as u64 + 1;
    match (&mut *read).take(limit).read_until(b'\n', &mut bytes).await {
        Ok(0) | Err(_) => return Incoming::Over,
        Ok(_) => {}
    }
    if bytes.last() == Some(&b'\n') {
        return match serde_json::from_slice(&bytes) {
            Ok(message) => Incoming::Message(message),
            Err(error) => Incoming::Wrong(protocol::garbled(&error)),
        };
    }
    if bytes.len() <= LINE_BYTES_MAX {
        return Incoming::Over;
    }
    loop {
        let (used, done) = match read.fill_buf().await {
            Ok([]) | Err(_) => return Incoming::Over,
            Ok(buffer) => match buffer.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (buffer.len(), false),
            },
        };
        read.consume(used);
        if done {
            return Incoming::Wrong(protocol::too_large());
        }
    }
}
