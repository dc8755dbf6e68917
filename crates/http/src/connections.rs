//! The connections of HTTP: how many there may be, how long each may take, and which gives way when all are taken.
//!
//! What must stay true: a caller that sends half a request, or nothing, costs a place until somebody else wants it,
//! also if it was let in and only the body is missing;
//! a caller that does not read what it asked for is cut off; the connections of HTTP are fewer than the files that the
//! process may have, so that the socket of the owner is served whatever happens here.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use crate::peer::Peer;
use crate::visits::Visit;
use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use service::config::http::HttpServerSettings;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::time::{Sleep, sleep};
use tokio_rustls::TlsAcceptor;

/// Connections at once.
const CONNECTIONS_MAX: usize = 192;
/// How long the head of a request may take, and how long a connection may wait for its next one.
const HEAD_WAIT: Duration = Duration::from_secs(20);
/// Bytes of the head of a request.
const HEAD_BYTES_MAX: usize = 65_536;
/// How long a caller may take to read anything of what it was sent.
const WRITE_WAIT: Duration = Duration::from_secs(20);
/// How long to wait when the system has no more files to give.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// For whoever finds every place taken by a request that goes on.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    Retry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// On an answer to somebody who was let in: such a connection is not the first to give way.
#[derive(Clone, Copy, Debug)]
pub(super) struct AdmissionMark;

/// Answers on a listener until `ended`; what is under way then is finished.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    ended: impl Future<Output = ()>,
) -> io::Result<()> {
    let table = Arc::new(ConnectionTable::default());
    let (end, ending) = watch::channel(false);
    let mut ended = pin!(ended);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut ended => break,
        };
        match accepted {
            Ok((stream, far)) => match table.enter() {
                Some(place) => {
                    let peer = stream.local_addr().ok().map(|near| Arc::new(Peer::new(near, far)));
                    let (router, ending) = (router.clone(), ending.clone());
                    // Answers are small and wanted at once.
                    let _ = stream.set_nodelay(true);
                    match &tls {
                        None => drop(tokio::spawn(converse(stream, peer, router, place, ending))),
                        Some(tls) => {
                            let handshake = tls.accept(stream);
                            tokio::spawn(async move {
                                if let Some(stream) = made_in_time(handshake, &place).await {
                                    converse(stream, peer, router, place, ending).await;
                                }
                            });
                        }
                    }
                }
                None => {
                    // A caller that is not even told so loses nothing by it.
                    let _ = stream.try_write(FULL);
                }
            },
            // Out of files, perhaps; those who are connected go on.
            Err(error) => {
                tracing::warn!("a connection was not accepted: {error}");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    end.send_replace(true);
    // Each connection holds a receiver for as long as it goes on.
    drop(ending);
    end.closed().await;
    Ok(())
}

/// A connection whose beginning is over. Who does not finish that costs a place until it is late, or until somebody
/// else wants the place.
async fn made_in_time<S>(making: impl Future<Output = io::Result<S>>, place: &Place) -> Option<S> {
    tokio::select! {
        made = tokio::time::timeout(HEAD_WAIT, making) => made.ok()?.ok(),
        () = place.state.gives_way.notified() => None,
    }
}

/// What shows the certificate, if one is set.
pub(super) fn acceptor(http: &HttpServerSettings) -> io::Result<Option<TlsAcceptor>> {
    let Some((certificate, key)) = &http.tls else { return Ok(None) };
    let wrong = |path: &Path, why: &dyn std::fmt::Display| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {why}", path.display()))
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| wrong(certificate, &error))?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|error| wrong(certificate, &error))?;
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
}

async fn converse<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    peer: Option<Arc<Peer>>,
    router: Router,
    place: Place,
    mut ending: watch::Receiver<bool>,
) {
    let (state, table) = (Arc::clone(&place.state), Arc::clone(&place.table));
    let (router, requests) = (TowerToHyperService::new(router), Arc::clone(&state));
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        if let Some(peer) = &peer {
            request.extensions_mut().insert(Arc::clone(peer));
        }
        let goes_on = RequestMark::new(&requests);
        let (table, state) = (Arc::clone(&table), Arc::clone(&requests));
        let answer = router.call(request.map(|body| ArrivingBody::new(body, table, state)));
        async move {
            let mut response = answer.await?;
            if response.extensions().get::<AdmissionMark>().is_some() {
                goes_on.0.admitted.store(true, Ordering::Relaxed);
            }
            let visit = response.extensions_mut().remove::<Arc<Visit>>();
            let watched = |body| Body::new(WatchedBody { body, _goes_on: goes_on, _visit: visit });
            Ok::<_, std::convert::Infallible>(response.map(watched))
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_WAIT).max_buf_size(HEAD_BYTES_MAX);
    let connection = builder.serve_connection(TokioIo::new(PatientStream::new(stream)), service);
    let mut connection = pin!(connection);
    tokio::select! {
        // A caller that breaks off or takes too long is none of our errors.
        _ = connection.as_mut() => return,
        () = state.gives_way.notified() => return,
        _ = ending.wait_for(|ending| *ending) => {}
    }
    connection.as_mut().graceful_shutdown();
    // As above.
    let _ = connection.await;
}

/// The connections that there are, the oldest first.
#[derive(Debug, Default)]
struct ConnectionTable {
    open: Mutex<(u64, BTreeMap<u64, Arc<ConnectionState>>)>,
    /// Pieces of bodies that came so far.
    pieces: AtomicU64,
}

/// What is known of a connection.
#[derive(Debug, Default)]
struct ConnectionState {
    /// Requests whose answer is not sent yet.
    requests: AtomicUsize,
    /// While the body of a request is not whole: the number of its newest piece, which is above 0.
    arriving: AtomicU64,
    /// Somebody was let in here before.
    admitted: AtomicBool,
    /// Somebody else wants the place.
    gives_way: Notify,
}

/// A place among the connections, for as long as it is held.
#[derive(Debug)]
struct Place {
    number: u64,
    state: Arc<ConnectionState>,
    table: Arc<ConnectionTable>,
}

impl ConnectionTable {
    fn open(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, Arc<ConnectionState>>)> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place. If all are taken, the oldest connection that waits for a request gives way: one on which nobody was let
    /// in yet if there is any, else one that is idle, else the one whose body has not gone on for longest.
    fn enter(self: &Arc<ConnectionTable>) -> Option<Place> {
        let mut guard = self.open();
        let (next, open) = &mut *guard;
        if open.len() >= CONNECTIONS_MAX {
            let waits = |state: &ConnectionState| state.requests.load(Ordering::Relaxed) == 0;
            let is_new = |state: &ConnectionState| !state.admitted.load(Ordering::Relaxed);
            let number = open
                .iter()
                .find(|(_, state)| waits(state) && is_new(state))
                .or_else(|| open.iter().find(|(_, state)| waits(state)))
                .or_else(|| {
                    let newest = |state: &ConnectionState| state.arriving.load(Ordering::Relaxed);
                    let halves = open.iter().filter(|(_, state)| newest(state) > 0);
                    halves.min_by_key(|(_, state)| newest(state))
                })
                .map(|(number, _)| *number)?;
            if let Some(state) = open.remove(&number) {
                state.gives_way.notify_one();
            }
        }
        *next += 1;
        let state = Arc::new(ConnectionState::default());
        open.insert(*next, Arc::clone(&state));
        Some(Place { number: *next, state, table: Arc::clone(self) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.table.open().1.remove(&self.number);
    }
}

/// Says that a request goes on, until its answer is sent.
#[derive(Debug)]
struct RequestMark(Arc<ConnectionState>);

impl RequestMark {
    fn new(state: &Arc<ConnectionState>) -> RequestMark {
        state.requests.fetch_add(1, Ordering::Relaxed);
        RequestMark(Arc::clone(state))
    }
}

impl Drop for RequestMark {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The body of a request, which says while it is not whole.
struct ArrivingBody<B> {
    body: B,
    table: Arc<ConnectionTable>,
    state: Arc<ConnectionState>,
}

impl<B: HttpBody> ArrivingBody<B> {
    fn new(body: B, table: Arc<ConnectionTable>, state: Arc<ConnectionState>) -> ArrivingBody<B> {
        let arriving = ArrivingBody { body, table, state };
        if !arriving.body.is_end_stream() {
            arriving.note_piece();
        }
        arriving
    }

    fn note_piece(&self) {
        let number = self.table.pieces.fetch_add(1, Ordering::Relaxed) + 1;
        self.state.arriving.store(number, Ordering::Relaxed);
    }
}

impl<B> Drop for ArrivingBody<B> {
    fn drop(&mut self) {
        self.state.arriving.store(0, Ordering::Relaxed);
    }
}

impl<B: HttpBody + Unpin> HttpBody for ArrivingBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let piece = ready!(Pin::new(&mut self.body).poll_frame(context));
        if matches!(piece, Some(Ok(_))) && !self.body.is_end_stream() {
            self.note_piece();
        } else {
            self.state.arriving.store(0, Ordering::Relaxed);
        }
        Poll::Ready(piece)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer, which says when it is sent.
struct WatchedBody {
    body: Body,
    _goes_on: RequestMark,
    _visit: Option<Arc<Visit>>,
}

impl HttpBody for WatchedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A stream whose other end must go on reading what it is sent.
#[derive(Debug)]
struct PatientStream<S> {
    stream: S,
    /// Runs while something waits to be read by the other end.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> PatientStream<S> {
    fn new(stream: S) -> PatientStream<S> {
        PatientStream { stream, stalled: None }
    }

    /// A write that has to wait may do so for a while.
    fn patience<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(WRITE_WAIT)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PatientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PatientStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.patience(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.patience(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(table: &Arc<ConnectionTable>) -> Vec<Place> {
        (0..CONNECTIONS_MAX).map(|_| table.enter().unwrap()).collect()
    }

    // F9
    #[tokio::test]
    async fn whoever_sends_nothing_gives_way_before_whoever_was_let_in() {
        let table = Arc::new(ConnectionTable::default());
        let held = full(&table);
        for place in &held[..2] {
            place.state.admitted.store(true, Ordering::Relaxed);
        }
        let busy = RequestMark::new(&held[2].state);
        let fresh = table.enter().unwrap();
        held[3].state.gives_way.notified().await;
        assert_eq!(table.open().1.len(), CONNECTIONS_MAX);
        for place in &held {
            place.state.admitted.store(true, Ordering::Relaxed);
        }
        fresh.state.admitted.store(true, Ordering::Relaxed);
        let _other = table.enter().unwrap();
        held[0].state.gives_way.notified().await;
        drop((held, busy));
        assert_eq!(table.open().1.len(), 2, "places are given back");
    }

    // F9
    #[tokio::test]
    async fn a_connection_that_never_begins_is_closed_when_its_place_is_wanted() {
        let table = Arc::new(ConnectionTable::default());
        let held = full(&table);
        let _other = table.enter().unwrap();
        let never = std::future::pending::<io::Result<()>>();
        assert!(made_in_time(never, &held[0]).await.is_none());
        let made = std::future::ready(Ok(()));
        assert!(made_in_time(made, &held[1]).await.is_some());
    }

    // F9
    #[test]
    fn a_request_that_goes_on_gives_way_to_nobody() {
        let table = Arc::new(ConnectionTable::default());
        let held = full(&table);
        let busy: Vec<RequestMark> =
            held.iter().map(|place| RequestMark::new(&place.state)).collect();
        assert!(table.enter().is_none());
        drop(busy);
        assert!(table.enter().is_some());
    }

    // F9
    #[tokio::test]
    async fn of_bodies_that_do_not_come_the_longest_silent_gives_way() {
        let table = Arc::new(ConnectionTable::default());
        let held = full(&table);
        let _busy: Vec<RequestMark> =
            held.iter().map(|place| RequestMark::new(&place.state)).collect();
        let body = |place: &Place, text: &'static str| {
            let body = Body::from(text);
            ArrivingBody::new(body, Arc::clone(&table), Arc::clone(&place.state))
        };
        drop(body(&held[0], "gone before it was whole"));
        let _none = body(&held[1], "");
        let _older = body(&held[3], "half");
        let _newer = body(&held[2], "half");
        let first = table.enter().unwrap();
        held[3].state.gives_way.notified().await;
        let busy = RequestMark::new(&first.state);
        let second = table.enter().unwrap();
        held[2].state.gives_way.notified().await;
        let _third = RequestMark::new(&second.state);
        assert!(table.enter().is_none(), "all others have what they need to be answered");
        drop(busy);
    }
}
