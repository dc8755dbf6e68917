//! HTTP beside the socket: whether it is served, where, and with what. The interface itself comes in as a function.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use service::config::http::HttpServerSettings;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::owner::OwnerKeys;
use super::{ServeOptions, ServerState};
use crate::talents_host::TalentsHost;
use host::Host;

/// Answers HTTP on a listener until it is told to end. The interface brings it.
pub(crate) type ServeHttp =
    fn(HttpParts) -> Pin<Box<dyn Future<Output = std::io::Result<()>> + Send>>;

/// The process that serves: its program, and the variables it was started with, keys of others among them.
#[derive(Clone)]
pub struct OwnProcess {
    pub program: PathBuf,
    pub environment: BTreeMap<String, String>,
}

impl OwnProcess {
    fn of(options: &ServeOptions) -> OwnProcess {
        let talents = &options.talents;
        OwnProcess {
            program: talents.program.path.clone(),
            environment: talents.environment.clone(),
        }
    }
}

impl fmt::Debug for OwnProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnProcess").field("program", &self.program).finish_non_exhaustive()
    }
}

/// What HTTP is served with.
#[derive(Debug)]
pub struct HttpParts {
    pub listener: TcpListener,
    pub settings: HttpServerSettings,
    pub host: Arc<Host>,
    /// What shows the owner.
    pub owner: Arc<OwnerKeys>,
    /// Absent if talents cannot run here.
    pub talents: Option<Arc<TalentsHost>>,
    pub process: OwnProcess,
    pub ending: watch::Receiver<bool>,
}

/// Whether HTTP is served, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpState {
    /// Nobody asked for it.
    Off,
    At {
        address: SocketAddr,
        is_tls: bool,
    },
    /// It could not listen; the daemon serves its socket all the same.
    Failed(String),
}

impl HttpState {
    /// Where to reach it.
    pub fn address(&self) -> Option<String> {
        match self {
            HttpState::At { address, is_tls } => Some(format!("{}://{address}", scheme(*is_tls))),
            _ => None,
        }
    }

    /// Where a link opens the page. An address that means every one of the machine is reached at its own.
    pub fn page(&self, link: &str) -> Option<String> {
        let HttpState::At { address, is_tls } = self else { return None };
        let mut address = *address;
        if address.ip().is_unspecified() {
            address.set_ip(match address.ip() {
                IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
            });
        }
        Some(format!("{}://{address}/open/{link}", scheme(*is_tls)))
    }

    pub fn problem(&self) -> Option<&str> {
        match self {
            HttpState::Failed(why) => Some(why),
            _ => None,
        }
    }
}

fn scheme(is_tls: bool) -> &'static str {
    if is_tls { "https" } else { "http" }
}

/// HTTP as it is now, and how it begins when somebody wants the page.
#[derive(Debug)]
pub(crate) struct Web {
    state: Mutex<HttpState>,
    task: Mutex<Option<JoinHandle<()>>>,
    on_request: Option<HttpServerSettings>,
    serve_http: ServeHttp,
    process: OwnProcess,
    was_requested: AtomicBool,
    /// One request at a time begins it.
    turn: tokio::sync::Mutex<()>,
}

impl Web {
    pub(super) fn new(
        state: HttpState,
        task: Option<JoinHandle<()>>,
        options: &ServeOptions,
    ) -> Web {
        Web {
            state: Mutex::new(state),
            task: Mutex::new(task),
            on_request: options.http_on_request.clone(),
            serve_http: options.serve_http,
            process: OwnProcess::of(options),
            was_requested: AtomicBool::new(false),
            turn: tokio::sync::Mutex::new(()),
        }
    }

    pub(super) fn state(&self) -> HttpState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What answers, to be waited for at the end.
    pub(super) fn task(&self) -> Option<JoinHandle<()>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Did HTTP begin because somebody wanted the page?
    pub(super) fn was_requested(&self) -> bool {
        self.was_requested.load(Ordering::SeqCst)
    }

    /// Begins to listen if nothing does yet: on the port of the settings or, if another home has it, on a free one.
    pub(super) async fn begin(&self, shared: &ServerState) -> HttpState {
        let _turn_guard = self.turn.lock().await;
        let (HttpState::Off, Some(mut settings)) = (self.state(), self.on_request.clone()) else {
            return self.state();
        };
        let mut bound = TcpListener::bind(settings.address).await;
        if bound.is_err() {
            settings.address.set_port(0);
            bound = TcpListener::bind(settings.address).await;
        }
        let listening = bound.and_then(|listener| {
            let address = listener.local_addr()?;
            Ok((listener, address))
        });
        let state = match listening {
            Ok((listener, address)) => {
                let is_tls = settings.is_tls();
                let parts = HttpParts {
                    listener,
                    settings,
                    host: Arc::clone(&shared.host),
                    owner: Arc::clone(&shared.owner),
                    talents: shared.talents.as_ref().ok().cloned(),
                    process: self.process.clone(),
                    ending: shared.end.subscribe(),
                };
                let task = tokio::spawn(answer((self.serve_http)(parts)));
                *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
                self.was_requested.store(true, Ordering::SeqCst);
                tracing::info!(%address, "HTTP is served from now on");
                HttpState::At { address, is_tls }
            }
            // The next request tries again.
            Err(error) => {
                return HttpState::Failed(format!(
                    "cannot listen on {}: {error}",
                    settings.address
                ));
            }
        };
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state.clone();
        state
    }
}

/// Where HTTP listens, if that is wanted.
pub(super) type BoundListener = std::io::Result<(TcpListener, SocketAddr)>;

pub(super) async fn bind(options: &ServeOptions) -> Option<BoundListener> {
    let http = options.http.as_ref()?;
    Some(TcpListener::bind(http.address).await.and_then(|listener| {
        let address = listener.local_addr()?;
        Ok((listener, address))
    }))
}

/// Serves HTTP if that is wanted. A port that somebody else has is no reason not to serve the socket.
pub(super) async fn web(
    options: &ServeOptions,
    bound: Option<BoundListener>,
    host: &Arc<Host>,
    owner: &Arc<OwnerKeys>,
    talents: Option<&Arc<TalentsHost>>,
    ending: &watch::Receiver<bool>,
) -> (HttpState, Option<JoinHandle<()>>) {
    let (Some(http), Some(bound)) = (options.http.clone(), bound) else {
        return (HttpState::Off, None);
    };
    let parts = |listener, settings| HttpParts {
        listener,
        settings,
        host: Arc::clone(host),
        owner: Arc::clone(owner),
        talents: talents.cloned(),
        process: OwnProcess::of(options),
        ending: ending.clone(),
    };
    match bound {
        Ok((listener, address)) => {
            // The port of the mind's own documents. Whoever has it may keep it.
            if let Some(second) = http.second()
                && let Ok(listener) = TcpListener::bind(second.address).await
            {
                tokio::spawn(answer((options.serve_http)(parts(listener, second))));
            }
            let is_tls = http.is_tls();
            let task = tokio::spawn(answer((options.serve_http)(parts(listener, http))));
            (HttpState::At { address, is_tls }, Some(task))
        }
        Err(error) => {
            let why = format!("cannot listen on {}: {error}", http.address);
            tracing::warn!("HTTP is not served: {why}; CORTEX_PORT sets another port");
            (HttpState::Failed(why), None)
        }
    }
}

async fn answer(serving: impl Future<Output = std::io::Result<()>>) {
    if let Err(error) = serving.await {
        tracing::warn!("HTTP ended: {error}");
    }
}
