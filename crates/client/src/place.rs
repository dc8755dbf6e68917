//! Where a home's lock and socket are, and who may open the home.
//!
//! `run/lock` is locked by the daemon alone, or shared by processes that open the home themselves for one command. The
//! lock is the operating system's: it goes with the process that held it, so there is none to clean up.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proof::Digest;

use api::{Error, ErrorCode, Fault, Result};

/// Longest path that every system takes for a socket, with room to spare.
const SOCKET_PATH_MAX: usize = 100;
/// The name of the bus's socket.
const BUS: &str = "callosum.sock";
/// How long to wait between looks at a lock or socket that somebody is about to change.
pub const STEP: Duration = Duration::from_millis(5);

/// The files of a home that belong to its daemon.
#[derive(Clone, Debug)]
pub struct DaemonPlace {
    pub home: PathBuf,
    pub socket: PathBuf,
}

impl DaemonPlace {
    pub fn new(home: &Path) -> DaemonPlace {
        let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
        let near = home.join("run");
        // The longer of the two names decides, so that both sockets are in one folder.
        let socket = if near.join(BUS).as_os_str().len() <= SOCKET_PATH_MAX {
            near.join("cortex.sock")
        } else {
            // One folder per home, named by the home's path; made for its owner alone.
            let name = home.as_os_str().as_encoded_bytes();
            let digest = Digest::of("cortex/socket/1", &[name]).to_string();
            std::env::temp_dir().join(format!("cortex-{}", &digest[..16])).join("cortex.sock")
        };
        DaemonPlace { home, socket }
    }

    /// The socket of the bus, beside that of the daemon.
    pub fn callosum(&self) -> PathBuf {
        self.socket.with_file_name(BUS)
    }

    pub(crate) fn run_folder(&self) -> PathBuf {
        self.home.join("run")
    }

    pub(crate) fn lock_file(&self) -> PathBuf {
        self.run_folder().join("lock")
    }

    pub fn log_file(&self) -> PathBuf {
        self.home.join("logs").join("daemon.log")
    }

    /// Makes the folders, readable by their owner only.
    pub fn prepare(&self) -> Result<()> {
        private_folder(&self.run_folder())?;
        if let Some(folder) = self.socket.parent().filter(|folder| *folder != self.run_folder()) {
            private_folder(folder)?;
            check_owner(folder, &self.run_folder())?;
        }
        Ok(())
    }

    fn open_lock(&self) -> Result<File> {
        let path = self.lock_file();
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| failed(&path, &error))
    }

    /// The right to own the home as its daemon; waits for processes that use it for one command.
    pub fn own(&self, wait: Duration) -> Result<Option<File>> {
        self.prepare()?;
        let file = self.open_lock()?;
        let until = Instant::now() + wait;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::Error(error)) => return Err(failed(&self.lock_file(), &error)),
                Err(TryLockError::WouldBlock) if Instant::now() >= until => return Ok(None),
                Err(TryLockError::WouldBlock) => std::thread::sleep(STEP),
            }
        }
    }

    /// The right to open the home in this process for a while; `None` if a daemon owns it, or is about to.
    pub fn share(&self) -> Result<Option<File>> {
        self.prepare()?;
        let file = self.open_lock()?;
        match file.try_lock_shared() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(&self.lock_file(), &error)),
        }
    }
}

fn private_folder(folder: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| failed(folder, &error))
}

/// A folder in a place that all share must be ours: whoever owns it could listen in our stead.
#[cfg(unix)]
fn check_owner(folder: &Path, ours: &Path) -> Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let owner = |path: &Path| std::fs::symlink_metadata(path).map_err(|e| failed(path, &e));
    let (found, own) = (owner(folder)?, owner(ours)?);
    if found.is_dir() && found.uid() == own.uid() && found.mode().trailing_zeros() >= 6 {
        return Ok(());
    }
    let message = format!("{} belongs to somebody else", folder.display());
    Err(Error::new(ErrorCode::SocketFolder, Fault::Server, message)
        .with_hint("choose a home with a shorter path, or remove that folder"))
}

#[cfg(not(unix))]
fn check_owner(_: &Path, _: &Path) -> Result<()> {
    Ok(())
}

pub fn failed(path: &Path, error: &io::Error) -> Error {
    Error::new(ErrorCode::Io, Fault::Server, format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_home_has_a_short_socket_of_its_own() {
        let long = |c: &str| PathBuf::from("/h").join(c.repeat(150));
        let (a, b) = (DaemonPlace::new(&long("a")), DaemonPlace::new(&long("b")));
        for length in 60..150 {
            let place = DaemonPlace::new(&PathBuf::from("/h").join("a".repeat(length)));
            assert!(place.callosum().as_os_str().len() <= SOCKET_PATH_MAX);
            assert_eq!(place.callosum().parent(), place.socket.parent());
        }
        assert_ne!(a.socket, b.socket);
        assert_eq!(a.socket, DaemonPlace::new(&long("a")).socket);
        assert!(DaemonPlace::new(Path::new("/h")).socket.ends_with("run/cortex.sock"));
    }

    #[test]
    fn many_share_or_one_owns() {
        let folder = tempfile::TempDir::new().unwrap();
        let place = DaemonPlace::new(folder.path());
        let shared = (place.share().unwrap().unwrap(), place.share().unwrap().unwrap());
        assert!(place.own(Duration::ZERO).unwrap().is_none());
        drop(shared);
        let owned = place.own(Duration::ZERO).unwrap().unwrap();
        assert!(place.share().unwrap().is_none());
        drop(owned);
        assert!(place.share().unwrap().is_some());
    }
}
