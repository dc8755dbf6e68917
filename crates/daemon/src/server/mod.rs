//! The life of a daemon: owns the home, accepts, tidies up, ends when told to or when nobody is left.

mod background;
pub mod command;
mod connection;
mod forward;
pub mod owner;
mod web;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use api::{Error, ErrorCode, Fault, Result};
use client::connection::DaemonClient;
use client::place::{DaemonPlace, failed};
use cluster::PostgresLedger;
use service::config::http::HttpServerSettings;
use service::{Environment, Service, Settings, SystemEnvironment, renewal};
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep_until;

use crate::cluster_checkpoints;
use crate::cluster_host::{ClusterOptions, follow, told};
use crate::talents_host::{TalentsHost, TalentsSettings};
use background::Rounds;
use command::RunCommand;
use host::Host;
use owner::OwnerKeys;
use web::{ServeHttp, Web, bind, web};

pub use web::{HttpParts, HttpState, OwnProcess};

/// Connections at once.
pub(crate) const CONNECTIONS_MAX: usize = 512;
/// How long requests may take that were under way when the daemon was told to end.
const GRACE: Duration = Duration::from_secs(20);
/// The same for HTTP, whose callers may keep connections open for no reason.
const WEB_GRACE: Duration = Duration::from_secs(3);
/// A time that is never reached.
const NEVER: Duration = Duration::from_hours(1);
/// Files that the daemon asks the system for: every connection is one.
const FILES_WANTED: u64 = 16_384;

/// How a daemon is to behave.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    pub settings: Settings,
    /// The variables that decide about the configuration.
    pub variables: BTreeMap<String, String>,
    /// Ends after this long without a connection; never if absent.
    pub idle: Option<Duration>,
    /// Is a node of a cluster.
    pub cluster: Option<ClusterOptions>,
    /// Serves HTTP as well.
    pub http: Option<HttpServerSettings>,
    /// Serves HTTP from the moment somebody asks for a link to the page, if not before.
    pub http_on_request: Option<HttpServerSettings>,
    /// Runs talents.
    pub talents: TalentsSettings,
    /// Runs command lines for callers.
    pub run_command: RunCommand,
    /// Answers HTTP.
    pub serve_http: ServeHttp,
}

/// What connections share.
#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) host: Arc<Host>,
    pub(super) place: DaemonPlace,
    pub(super) started: Instant,
    pub(super) connections: AtomicUsize,
    pub(super) requests: AtomicU64,
    pub(super) idle: Option<Duration>,
    /// Somebody wants the daemon to end.
    pub(super) end: watch::Sender<bool>,
    /// Nobody is served any more.
    pub(super) over: watch::Sender<bool>,
    pub(super) web: Web,
    pub(super) owner: Arc<OwnerKeys>,
    pub(super) run_command: RunCommand,
    /// The host of talents, or why there is none: the memory is served all the same.
    pub(super) talents: std::result::Result<Arc<TalentsHost>, String>,
}

/// Serves the home until it ends. `ready` is called once, when callers can connect.
pub fn serve(
    place: &DaemonPlace,
    options: &ServeOptions,
    ready: impl FnOnce(&HttpState, &OwnerKeys),
) -> Result<ServeOutcome> {
    if let Some(client) = DaemonClient::connect(place)? {
        return Ok(ServeOutcome::ByAnother(Some(client.welcome().pid)));
    }
    let Some(lock) = place.own(place.patience)? else {
        return Ok(ServeOutcome::ByAnother(
            DaemonClient::connect_soon(place, place.patience)?.map(|client| client.welcome().pid),
        ));
    };
    raise_file_limit();
    leave_no_cores();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(host::pools::BLOCKING_THREADS)
        .thread_name("daemon")
        .enable_all()
        .build()
        .map_err(|error| Error::new(ErrorCode::Io, Fault::Server, format!("a runtime: {error}")))?;
    let service = Service::new(&place.home, options.settings.clone(), place.patience)
        .with_embedder(options.variables.clone(), options.talents.environment.clone())
        .telling(renewal::told(|line| tracing::info!("{line}")));
    let (ledger, service) = match &options.cluster {
        None => (None, service),
        Some(cluster) => {
            let (ledger, service) = cluster.share(service)?;
            ledger.wait(ledger.check()).map_err(told)?;
            (Some(ledger), service)
        }
    };
    let host = Arc::new(Host::new(service, options.variables.clone()));
    let outcome = runtime.block_on(live(place, options, (Arc::clone(&host), ledger), ready));
    // Everything that blocks has ended or had its grace; what is left must not keep the process.
    runtime.shutdown_timeout(Duration::from_secs(1));
    let closed = host.service.close_soon(SystemEnvironment.now()?);
    drop(host);
    // Only now may somebody else own the home.
    drop(lock);
    outcome?;
    closed?;
    Ok(ServeOutcome::Here)
}

/// Asks for as many files as connections and actors may need. What the system does not give is done without.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(FILES_WANTED, |most| most.min(FILES_WANTED));
    if limit.current.is_some_and(|current| current < wanted) {
        // The bounds on connections hold below the usual limit, too.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit });
    }
}

/// A daemon that breaks leaves no file with what it had in memory.
fn leave_no_cores() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    if let Err(error) = setrlimit(Resource::Core, none) {
        tracing::warn!("core files cannot be switched off: {error}");
    }
}

/// Who served.
#[derive(Debug, PartialEq, Eq)]
pub enum ServeOutcome {
    /// This process did, and has ended well.
    Here,
    /// Another daemon does; its process, if it answers.
    ByAnother(Option<u32>),
}

async fn live(
    place: &DaemonPlace,
    options: &ServeOptions,
    (host, ledger): (Arc<Host>, Option<Arc<PostgresLedger>>),
    ready: impl FnOnce(&HttpState, &OwnerKeys),
) -> Result<()> {
    // The lock is ours, so whatever lies here was left behind.
    let socket = place.socket();
    match std::fs::remove_file(&socket) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(failed(&socket, &error));
        }
        _ => {}
    }
    let listener = UnixListener::bind(&socket).map_err(|error| failed(&socket, &error))?;
    let owner = Arc::new(OwnerKeys::new(&place.home)?);
    let (end, mut ending) = watch::channel(false);
    // What an earlier daemon left is ended before anybody is answered.
    let talents = talents(place, options, &host).await;
    let bound = bind(options).await;
    let following = match (&options.cluster, &ledger, &bound) {
        (Some(cluster), Some(ledger), Some(Ok((_, address)))) => {
            let is_tls = options.http.as_ref().is_some_and(HttpServerSettings::is_tls);
            let node = cluster.join(ledger, &place.home, (*address, is_tls)).await?;
            tracing::info!(node = node.name(), url = node.url(), ledger = ledger.place(), "joined");
            host.join(Arc::clone(&node));
            if cluster.ledger.checkpoints.is_some() {
                let (host, node, entries) = (&host, &node, cluster.checkpoint_entries);
                let (host, node) = (Arc::clone(host), Arc::clone(node));
                tokio::spawn(cluster_checkpoints::make(host, node, entries, ending.clone()));
            }
            let following = follow(Arc::clone(&host), node, cluster.cache_bytes, ending.clone());
            Some(tokio::spawn(following))
        }
        _ => None,
    };
    let (state, task) = web(options, bound, &host, &owner, talents.as_ref().ok(), &ending).await;
    let web = Web::new(state, task, options);
    let shared = Arc::new(ServerState {
        host,
        place: place.clone(),
        started: Instant::now(),
        connections: AtomicUsize::new(0),
        requests: AtomicU64::new(0),
        idle: options.idle,
        end,
        over: watch::Sender::new(false),
        web,
        owner,
        run_command: options.run_command,
        talents,
    });
    let signals = |kind| signal(kind).map_err(|error| Error::internal(error.to_string()));
    let mut terminate = signals(SignalKind::terminate())?;
    let mut interrupt = signals(SignalKind::interrupt())?;
    let mut hang_up = signals(SignalKind::hangup())?;
    let mut rounds = Rounds::new();
    let mut idle_since = tokio::time::Instant::now();
    let mut open = JoinSet::new();
    let http = shared.web.state().address();
    tracing::info!(home = %place.home.display(), http, "serving");
    ready(&shared.web.state(), &shared.owner);
    loop {
        let idle_at = shared.idle().map(|idle| idle_since + idle);
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    open.spawn(connection::attend(stream, Arc::clone(&shared)));
                }
                // Out of files, perhaps; those who are connected go on.
                Err(error) => {
                    tracing::warn!("a connection was not accepted: {error}");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            Some(_) = open.join_next(), if !open.is_empty() => {
                idle_since = tokio::time::Instant::now();
            }
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hang_up.recv() => {}
            _ = ending.changed() => break,
            () = sleep_until(idle_at.unwrap_or_else(|| idle_since + NEVER)),
                if idle_at.is_some() && open.is_empty() =>
            {
                if !shared.talents.as_ref().is_ok_and(|talents| talents.is_busy()) {
                    break;
                }
                idle_since = tokio::time::Instant::now();
            }
            work = rounds.next() => work.begin(&shared.host),
        }
    }
    tracing::info!("ending");
    shared.host.service.end_embedding();
    // Those who are connected are answered until the runs have ended: a run may want to write down what it knows.
    shared.end.send_replace(true);
    if let Ok(talents) = &shared.talents {
        let mut stopping = std::pin::pin!(talents.stop());
        loop {
            tokio::select! {
                () = &mut stopping => break,
                Ok((stream, _)) = listener.accept() => {
                    open.spawn(connection::attend(stream, Arc::clone(&shared)));
                }
            }
        }
    }
    shared.host.end_minds();
    drop(listener);
    let removed = std::fs::remove_file(&socket);
    shared.over.send_replace(true);
    let finished = async { while open.join_next().await.is_some() {} };
    if tokio::time::timeout(GRACE, finished).await.is_err() {
        tracing::warn!("some requests did not finish in time");
    }
    if let Some(task) = following
        && tokio::time::timeout(WEB_GRACE, task).await.is_err()
    {
        tracing::debug!("the others find out by themselves that this node is gone");
    }
    if let Some(mut task) = shared.web.task()
        && tokio::time::timeout(WEB_GRACE, &mut task).await.is_err()
    {
        // A caller that holds its connection and says nothing must not keep the home.
        task.abort();
    }
    removed.map_err(|error| failed(&socket, &error))
}

/// Starts the host of talents. What is wrong with it is no reason not to serve the memory.
async fn talents(
    place: &DaemonPlace,
    options: &ServeOptions,
    host: &Arc<Host>,
) -> std::result::Result<Arc<TalentsHost>, String> {
    let started =
        TalentsHost::start(place, options.talents.clone(), options.variables.clone(), host).await;
    started.map(Arc::new).map_err(|error| {
        tracing::warn!("talents cannot run: {} ({})", error.message, error.code);
        error.message
    })
}

impl ServerState {
    /// A place among the connections; `false` if all are taken.
    pub(super) fn enter(&self) -> bool {
        let taken = self.connections.fetch_add(1, Ordering::SeqCst);
        if taken >= CONNECTIONS_MAX {
            self.leave();
            return false;
        }
        true
    }

    pub(super) fn leave(&self) {
        self.connections.fetch_sub(1, Ordering::SeqCst);
    }

    /// After how long without a connection it ends. Whoever opened the page wants a daemon that stays.
    pub(super) fn idle(&self) -> Option<Duration> {
        self.idle.filter(|_| !self.web.was_requested())
    }
}
