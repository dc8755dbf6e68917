//! Files and folders that must be one user's alone, and who that user is.
//!
//! What must stay true: whatever another user could have put there is refused with what to do, never used. On systems
//! without user ids in the file system every folder passes.

use std::fs::Metadata;
use std::io;
use std::path::Path;

use api::{Error, ErrorCode, Fault, Result};

/// Bits of a mode that let others in.
const OTHERS: u32 = 0o077;
/// Bits of a mode that let others change a folder.
const OTHERS_WRITE: u32 = 0o022;

/// The user that this process acts for.
#[cfg(unix)]
pub fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(unix)]
fn is_own(found: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(found) == own_uid()
}

#[cfg(unix)]
fn lets_others(found: &Metadata, bits: u32) -> bool {
    std::os::unix::fs::MetadataExt::mode(found) & bits != 0
}

#[cfg(not(unix))]
fn is_own(_: &Metadata) -> bool {
    true
}

#[cfg(not(unix))]
fn lets_others(_: &Metadata, _: u32) -> bool {
    false
}

/// A file or folder that could not be used, and why.
pub fn failed(path: &Path, error: &io::Error) -> Error {
    Error::new(ErrorCode::Io, Fault::Server, format!("{}: {error}", path.display()))
}

/// True for a file that only this user could have read and written.
pub(crate) fn is_secret(found: &Metadata) -> bool {
    found.is_file() && is_own(found) && !lets_others(found, OTHERS)
}

/// True for a real folder, no link to one, that only this user could have looked into.
pub(crate) fn is_private_folder(folder: &Path) -> bool {
    std::fs::symlink_metadata(folder)
        .is_ok_and(|found| found.is_dir() && is_own(&found) && !lets_others(&found, OTHERS))
}

/// Makes a folder for its owner alone. One that is there already is closed to others; another user's is refused.
pub(crate) fn close_folder(folder: &Path) -> Result<()> {
    make_folder(folder)?;
    // A link is followed: it lies in a folder of the owner, who may keep the home on another disk.
    let found = std::fs::metadata(folder).map_err(|error| failed(folder, &error))?;
    if !is_own(&found) {
        let message = format!("{} belongs to another user", folder.display());
        return Err(Error::new(ErrorCode::HomeFolder, Fault::Server, message)
            .with_hint("give a folder of your own with --home DIR, or have this one given to you with chown -R"));
    }
    #[cfg(unix)]
    if lets_others(&found, OTHERS) {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(folder, mode).map_err(|error| {
            let message =
                format!("{} is open to others and cannot be closed: {error}", folder.display());
            Error::new(ErrorCode::HomeFolder, Fault::Server, message)
                .with_hint("chmod 700 it, or give another folder with --home DIR")
        })?;
    }
    Ok(())
}

fn make_folder(folder: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| failed(folder, &error))
}

/// A socket is spoken to only in a folder where nobody else could have put it.
pub(crate) fn check_socket_folder(folder: &Path) -> Result<()> {
    let found = std::fs::symlink_metadata(folder).map_err(|error| failed(folder, &error))?;
    if found.is_dir() && is_own(&found) && !lets_others(&found, OTHERS_WRITE) {
        return Ok(());
    }
    let message =
        format!("{} is not a folder of yours alone, so nobody there is trusted", folder.display());
    Err(Error::new(ErrorCode::SocketFolder, Fault::Server, message)
        .with_hint("use a home of your own (--home DIR); chmod 700 closes a folder to others"))
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    // F3
    #[test]
    fn an_open_folder_is_closed_and_links_are_no_private_folders() {
        let folder = tempfile::TempDir::new().unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir(&home).unwrap();
        std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(check_socket_folder(&home).unwrap_err().code, ErrorCode::SocketFolder);
        close_folder(&home).unwrap();
        assert_eq!(mode(&home), 0o700);
        assert!(is_private_folder(&home));
        check_socket_folder(&home).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&home, &link).unwrap();
        assert!(!is_private_folder(&link));
        assert_eq!(check_socket_folder(&link).unwrap_err().code, ErrorCode::SocketFolder);
    }

    // F3
    #[test]
    fn a_folder_of_another_user_is_refused() {
        if own_uid() != 0 {
            eprintln!("NOT TESTED: folders of another user need root to be made");
            return;
        }
        let folder = tempfile::TempDir::new().unwrap();
        std::os::unix::fs::chown(folder.path(), Some(65_534), None).unwrap();
        let error = close_folder(folder.path()).unwrap_err();
        assert_eq!(error.code, ErrorCode::HomeFolder);
        assert!(error.hint.is_some());
        assert_eq!(check_socket_folder(folder.path()).unwrap_err().code, ErrorCode::SocketFolder);
    }
}
