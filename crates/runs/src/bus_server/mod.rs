//! The socket: other processes take part in the bus.
//!
//! The socket belongs to its owner alone (0600) from the moment it has its name: it is made under another name,
//! closed to others, and then renamed. A socket that somebody answers is never taken away from them; one that
//! nobody answers is a leftover of a crash and is replaced. It is apart from `bus` because it also replays run
//! logs, which the bus knows nothing of.

mod connection;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use thiserror::Error;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use self::connection::Peer;
use talents::Layout;
use talents::bus::Hub;

/// Longest path of a socket on the systems we run on, less the name it has while it is made.
const SOCKET_PATH_BYTES_MAX: usize = 100;

/// Why the socket is not served.
#[derive(Debug, Error)]
pub enum BusError {
    #[error("{0} is served by another process")]
    Taken(PathBuf),
    #[error("{0} is not a socket; it is left as it is")]
    NotASocket(PathBuf),
    #[error("the path {0} is too long for a socket; at most {SOCKET_PATH_BYTES_MAX} bytes")]
    PathTooLong(PathBuf),
    #[error("socket {0}: {1}")]
    Io(PathBuf, #[source] io::Error),
}

impl BusError {
    pub fn code(&self) -> &'static str {
        match self {
            BusError::Taken(_) => "bus_taken",
            BusError::NotASocket(_) => "bus_not_a_socket",
            BusError::PathTooLong(_) => "bus_path_too_long",
            BusError::Io(..) => "bus_io",
        }
    }
}

/// What the connections share: who is there, and what went wrong.
#[derive(Debug)]
struct ServerState {
    hub: Hub,
    layout: Layout,
    peers: Mutex<BTreeMap<u64, Arc<Peer>>>,
    connected: AtomicU64,
    turned_away: AtomicU64,
    cut_stalled: AtomicU64,
    /// Bad lines by code, clients that left included.
    bad_lines: Mutex<BTreeMap<&'static str, u64>>,
}

impl ServerState {
    /// The answer to `status`.
    fn status(&self) -> Value {
        let peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        let clients: Vec<Value> = peers.values().map(|peer| peer.status()).collect();
        let bad_lines = self.bad_lines.lock().unwrap_or_else(PoisonError::into_inner);
        json!({
            "bus": self.hub.status(),
            "clients": clients,
            "connected": self.connected.load(Ordering::Relaxed),
            "turned_away": self.turned_away.load(Ordering::Relaxed),
            "cut_stalled": self.cut_stalled.load(Ordering::Relaxed),
            "refused": self.hub.refused(),
            "bad_lines": *bad_lines,
        })
    }
}

/// A socket that is served.
#[derive(Debug)]
pub struct BusServer {
    path: PathBuf,
    /// Which file is ours, so that another's socket of the same name is not removed.
    inode: (u64, u64),
    lobby: Arc<ServerState>,
    stop: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

impl BusServer {
    /// Binds the socket and serves it until `stop`.
    pub async fn start(hub: Hub, layout: Layout, path: &Path) -> Result<BusServer, BusError> {
        let failed = |error| BusError::Io(path.to_owned(), error);
        let (listener, inode) = bind(path).await?;
        let lobby = Arc::new(ServerState {
            hub,
            layout,
            peers: Mutex::default(),
            connected: AtomicU64::new(0),
            turned_away: AtomicU64::new(0),
            cut_stalled: AtomicU64::new(0),
            bad_lines: Mutex::default(),
        });
        let (stop, stopped) = watch::channel(false);
        let listener = UnixListener::from_std(listener).map_err(failed)?;
        let task = tokio::spawn(accept(listener, Arc::clone(&lobby), stopped));
        Ok(BusServer { path: path.to_owned(), inode, lobby, stop, task })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Counters of the bus and of every client, as `status` on the bus tells them.
    pub fn status(&self) -> Value {
        self.lobby.status()
    }

    /// Lets clients have what waits for them, closes, and removes the socket.
    pub async fn stop(self) -> Result<(), BusError> {
        self.stop.send_replace(true);
        let ended = self.task.await.map_err(io::Error::other);
        if fs::symlink_metadata(&self.path).is_ok_and(|meta| (meta.dev(), meta.ino()) == self.inode)
        {
            fs::remove_file(&self.path).map_err(|error| BusError::Io(self.path.clone(), error))?;
        }
        ended.map_err(|error| BusError::Io(self.path, error))
    }
}

async fn bind(path: &Path) -> Result<(std::os::unix::net::UnixListener, (u64, u64)), BusError> {
    let failed = |error| BusError::Io(path.to_owned(), error);
    if path.as_os_str().len() > SOCKET_PATH_BYTES_MAX {
        return Err(BusError::PathTooLong(path.to_owned()));
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
        Ok(meta) if !meta.file_type().is_socket() => {
            return Err(BusError::NotASocket(path.to_owned()));
        }
        Ok(_) => match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // Whoever answers, or is only too busy to answer, is alive.
            Ok(_) | Err(_) => return Err(BusError::Taken(path.to_owned())),
        },
    }
    let made = path.with_extension("new");
    match fs::remove_file(&made) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let listener = std::os::unix::net::UnixListener::bind(&made).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    fs::set_permissions(&made, fs::Permissions::from_mode(0o600)).map_err(failed)?;
    let meta = fs::symlink_metadata(&made).map_err(failed)?;
    fs::rename(&made, path).map_err(failed)?;
    Ok((listener, (meta.dev(), meta.ino())))
}

async fn accept(
    listener: UnixListener,
    lobby: Arc<ServerState>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    let mut next_peer = 0u64;
    let signal = stopped.clone();
    loop {
        let stream = tokio::select! {
            _ = stopped.wait_for(|stopped| *stopped) => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = stream else {
            // Out of file descriptors, most likely. Clients leave in time; without the wait this loop would spin.
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            continue;
        };
        if connections.len() >= lobby.hub.settings().clients_max {
            lobby.turned_away.fetch_add(1, Ordering::Relaxed);
            connection::turn_away(&stream);
            continue;
        }
        next_peer += 1;
        lobby.connected.fetch_add(1, Ordering::Relaxed);
        connections.spawn(connection::serve(stream, Arc::clone(&lobby), next_peer, signal.clone()));
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}
