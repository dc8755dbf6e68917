//! Where a home's lock and socket are, and who may open the home.
//!
//! What must stay true: home and sockets are in folders of their owner alone; a path too long for a socket leads to a
//! folder that nobody can guess, never to one that another user could have made first.
//!
//! `run/lock` is locked by the daemon alone, or shared by processes that open the home themselves for one command. The
//! lock is the operating system's: it goes with the process that held it, so there is none to clean up.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use api::{Error, ErrorCode, Fault, Result};

use crate::private;

pub use crate::private::failed;

/// Longest path that every system takes for a socket, with room to spare.
const SOCKET_PATH_MAX: usize = 100;
/// The names of the sockets of the daemon and of its bus.
const SOCKET: &str = "cortex.sock";
const BUS: &str = "callosum.sock";
/// The file that says where the sockets of a home are whose own path is too long.
const ELSEWHERE: &str = "sockets";
/// How long to wait between looks at a lock or socket that somebody is about to change.
pub const STEP: Duration = Duration::from_millis(5);
/// How long a daemon may be silent before nobody waits for it any longer, unless told otherwise.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The files of a home that belong to its daemon.
#[derive(Clone, Debug)]
pub struct DaemonPlace {
    pub home: PathBuf,
    /// How long its daemon may be silent.
    pub patience: Duration,
}

impl DaemonPlace {
    pub fn new(home: &Path) -> DaemonPlace {
        let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
        DaemonPlace { home, patience: PATIENCE }
    }

    /// The same place, for a caller who waits this long.
    #[must_use]
    pub fn waiting(mut self, patience: Duration) -> DaemonPlace {
        // A time-out of nothing would mean none at all to the system.
        self.patience = patience.max(STEP);
        self
    }

    pub fn socket(&self) -> PathBuf {
        self.socket_folder().join(SOCKET)
    }

    /// The socket of the bus, beside that of the daemon.
    pub fn callosum(&self) -> PathBuf {
        self.socket_folder().join(BUS)
    }

    /// The folder of both sockets: in the home, or where the home says because its own path is too long.
    pub(crate) fn socket_folder(&self) -> PathBuf {
        let near = self.run_folder();
        if fits(&near) {
            return near;
        }
        self.elsewhere().unwrap_or(near)
    }

    /// Where the home says its sockets are. Only its owner can have written that.
    fn elsewhere(&self) -> Option<PathBuf> {
        let path = self.run_folder().join(ELSEWHERE);
        let file = File::open(path).ok()?;
        if !private::is_secret(&file.metadata().ok()?) {
            return None;
        }
        let mut text = String::new();
        file.take(SOCKET_PATH_MAX as u64).read_to_string(&mut text).ok()?;
        Some(PathBuf::from(text.trim_end())).filter(|folder| folder.is_absolute() && fits(folder))
    }

    /// Finds a short folder of our own for the sockets, under a name that nobody can guess, and notes it in the home.
    fn settle_elsewhere(&self) -> Result<()> {
        if self.elsewhere().is_some_and(|folder| private::is_private_folder(&folder)) {
            return Ok(());
        }
        let name = format!("cortex-{}", &crate::token::secret()?[..16]);
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let runtime =
            runtime.filter(|folder| folder.is_absolute() && private::is_private_folder(folder));
        let shared = [std::env::temp_dir(), PathBuf::from("/tmp")];
        let folder =
            runtime.into_iter().chain(shared).map(|above| above.join(&name)).find(|f| fits(f));
        let Some(folder) = folder else {
            let message = format!("{} is too long a path for a socket", self.home.display());
            return Err(Error::new(ErrorCode::SocketFolder, Fault::Caller, message).with_hint(
                "set XDG_RUNTIME_DIR to a short folder of yours, or use a shorter --home",
            ));
        };
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        // Not recursive: a folder that is there already is somebody's, and this fails.
        builder.create(&folder).map_err(|error| failed(&folder, &error))?;
        let note = self.run_folder().join(ELSEWHERE);
        let fresh = self.run_folder().join(format!(".{ELSEWHERE}-{}", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let text = folder.as_os_str().as_encoded_bytes();
        options
            .open(&fresh)
            .and_then(|mut file| file.write_all(text))
            .and_then(|()| std::fs::rename(&fresh, &note))
            .map_err(|error| failed(&note, &error))
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

    /// Makes the folders, and closes those that are there to everybody but their owner.
    pub fn prepare(&self) -> Result<()> {
        private::close_folder(&self.home)?;
        private::close_folder(&self.run_folder())?;
        if !fits(&self.run_folder()) {
            self.settle_elsewhere()?;
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

/// The longer of the two names decides, so that both sockets are in one folder.
fn fits(folder: &Path) -> bool {
    folder.join(BUS).as_os_str().len() <= SOCKET_PATH_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    // F3
    #[test]
    fn a_long_home_has_short_sockets_in_a_folder_that_nobody_can_guess() {
        let folder = tempfile::TempDir::new().unwrap();
        let mut seen = Vec::new();
        for name in ["a", "b"] {
            let home = folder.path().join(name.repeat(150));
            let place = DaemonPlace::new(&home);
            assert!(!home.exists(), "looking makes nothing");
            place.prepare().unwrap();
            let found = place.socket_folder();
            assert!(place.callosum().as_os_str().len() <= SOCKET_PATH_MAX);
            assert_eq!(place.callosum().parent(), place.socket().parent());
            assert!(private::is_private_folder(&found), "{}", found.display());
            place.prepare().unwrap();
            assert_eq!(DaemonPlace::new(&home).socket_folder(), found, "it stays where it is");
            // Whatever else lies there is not used: a new folder is made.
            std::fs::remove_dir(&found).unwrap();
            std::os::unix::fs::symlink(folder.path(), &found).unwrap();
            place.prepare().unwrap();
            assert_ne!(place.socket_folder(), found);
            std::fs::remove_file(&found).unwrap();
            seen.push(place.socket_folder());
        }
        assert_ne!(seen[0], seen[1]);
        for folder in seen {
            std::fs::remove_dir(folder).unwrap();
        }
        assert!(DaemonPlace::new(Path::new("/h")).socket().ends_with("run/cortex.sock"));
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
