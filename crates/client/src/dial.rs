//! A connection to the socket of a home whose other end is known to be this user's.
//!
//! What must stay true: the folder of the socket is this user's alone, and where the system tells who listens (Linux)
//! it is this user too; a socket whose queue is full is waited for as long as the caller's patience, not longer.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use api::{Error, ErrorCode, Fault, Result};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};

use crate::place::{DaemonPlace, failed};
use crate::private;

/// Connects to the socket; `None` if nobody is there.
pub(crate) fn dial(place: &DaemonPlace) -> Result<Option<UnixStream>> {
    let path = place.socket();
    let stream = match connect(place, &path) {
        Ok(stream) => stream,
        // Nobody there, or only the file that a killed daemon left behind.
        Err(error) if is_nobody(&error) => return Ok(None),
        Err(error) if is_late(&error) => {
            return Err(late("a place in the queue of its socket", place.patience, None));
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let message = format!("{} is not yours to use: {error}", path.display());
            return Err(Error::new(ErrorCode::PeerRefused, Fault::Server, message)
                .with_hint("use a home of your own: --home DIR or CORTEX_HOME"));
        }
        Err(error) => return Err(failed(&path, &error)),
    };
    private::check_socket_folder(&place.socket_folder())?;
    check_peer(&stream)?;
    for timeout in [Timeout::Recv, Timeout::Send] {
        set_socket_timeout(stream.as_fd(), timeout, Some(place.patience))
            .map_err(|error| failed(&path, &error.into()))?;
    }
    Ok(Some(stream))
}

fn connect(place: &DaemonPlace, path: &std::path::Path) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    // Linux lets a connection wait in a full queue, without end unless this is set.
    set_socket_timeout(&socket, Timeout::Send, Some(place.patience))?;
    rustix::net::connect(&socket, &address)?;
    Ok(UnixStream::from(socket))
}

fn is_nobody(error: &io::Error) -> bool {
    // A path that is too long for a socket leads to none: the home has not said where its sockets are.
    error.raw_os_error() == Some(rustix::io::Errno::NAMETOOLONG.raw_os_error())
        || matches!(
            error.kind(),
            io::ErrorKind::NotFound
                | io::ErrorKind::ConnectionRefused
                | io::ErrorKind::NotADirectory
                | io::ErrorKind::InvalidFilename
        )
}

/// The process at the other end, where the system tells.
#[cfg(target_os = "linux")]
pub(crate) fn process_of(stream: &UnixStream) -> Option<i32> {
    let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
    Some(peer.pid.as_raw_nonzero().get())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn process_of(_: &UnixStream) -> Option<i32> {
    None
}

/// Whoever listens must be this user: nothing is said to anybody else.
#[cfg(target_os = "linux")]
fn check_peer(stream: &UnixStream) -> Result<()> {
    let peer = rustix::net::sockopt::socket_peercred(stream)
        .map_err(|error| Error::internal(format!("who listens is not known: {error}")))?;
    check_uid(peer.uid.as_raw())
}

/// Elsewhere the folder alone decides: only its owner can have put a socket there.
#[cfg(not(target_os = "linux"))]
fn check_peer(_: &UnixStream) -> Result<()> {
    Ok(())
}

/// Both ends of a socket must be the same user.
pub fn check_uid(found: u32) -> Result<()> {
    let own = private::own_uid();
    if found == own {
        return Ok(());
    }
    let message = format!("the other end of the socket is user {found}, not you (user {own})");
    Err(Error::new(ErrorCode::PeerRefused, Fault::Server, message)
        .with_hint("a home is for its owner; use one of your own with --home DIR"))
}

/// Nobody waits any longer: what for, how long it was, and what to do.
pub(crate) fn late(awaited: &str, wait: Duration, process: Option<i32>) -> Error {
    let seconds = wait.as_secs_f32();
    let who = process.map_or_else(String::new, |pid| format!(" (process {pid})"));
    let message = format!("the daemon{who} did not answer in {seconds} s; waited for {awaited}");
    let hint = match process {
        Some(pid) => format!(
            "--wait SECONDS waits longer; if it was stopped, `kill -CONT {pid}` lets it go on and \
             `kill -9 {pid}` ends it"
        ),
        None => "--wait SECONDS waits longer".to_owned(),
    };
    Error::new(ErrorCode::DaemonSlow, Fault::Busy, message).with_hint(hint)
}

pub(crate) fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
