//! The token of a home: whoever shows it over HTTP is the home's owner.
//!
//! It lies in the file `token` of the home, readable by the owner alone, so that the owner's programs find it by
//! themselves and nobody types it. What must stay true: it is 32 bytes of chance; a file that others could have read
//! counts for nothing and is replaced; it is in no log and on no command line.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use api::{Error, ErrorCode, Fault, Result};

use crate::private::{self, failed};

/// The name of the file in the home.
const FILE: &str = "token";
/// Bytes of chance in a token.
const SECRET_BYTES: usize = 32;
/// Characters of a token: two hexadecimal digits per byte.
const DIGITS: usize = 2 * SECRET_BYTES;

/// Where the token of a home is.
pub fn path(home: &Path) -> PathBuf {
    home.join(FILE)
}

/// The token of the home, if there is one that nobody else could have read.
pub fn read(home: &Path) -> Result<Option<String>> {
    let path = path(home);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&path, &error)),
    };
    let found = file.metadata().map_err(|error| failed(&path, &error))?;
    if !private::is_secret(&found) {
        return Ok(None);
    }
    let mut text = String::new();
    let limit = DIGITS as u64 + 2;
    file.take(limit).read_to_string(&mut text).map_err(|error| failed(&path, &error))?;
    let text = text.trim();
    let is_token = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    Ok(is_token.then(|| text.to_owned()))
}

/// The token of the home, made if there is none that counts. Of many who make one at once, all get the same.
pub fn ensure(home: &Path) -> Result<String> {
    if let Some(token) = read(home)? {
        return Ok(token);
    }
    let (path, fresh) = (path(home), fresh(home)?);
    let linked = std::fs::hard_link(&fresh, &path);
    let outcome = match (&linked, read(home)) {
        // Somebody was faster, with a token that counts.
        (_, Ok(Some(token))) => Ok(Some(token)),
        (_, Err(error)) => Err(error),
        // What lies there is no token, or others could have read it.
        (_, Ok(None)) => {
            std::fs::rename(&fresh, &path).map_err(|error| failed(&path, &error))?;
            return settled(home);
        }
    };
    // It has its place now, or another has: this name is not needed any more, and the next start would not mind it.
    let _ = std::fs::remove_file(&fresh);
    outcome.and_then(|token| token.map_or_else(|| settled(home), Ok))
}

/// Makes a new token; the one before is worth nothing from now on, nor are the cookies that came of it.
pub fn renew(home: &Path) -> Result<String> {
    let (path, fresh) = (path(home), fresh(home)?);
    // Either the old token is there or the new one, whole.
    std::fs::rename(&fresh, &path).map_err(|error| failed(&path, &error))?;
    settled(home)
}

fn settled(home: &Path) -> Result<String> {
    read(home)?.ok_or_else(|| {
        let message = format!("{} cannot be kept from other users", path(home).display());
        Error::new(ErrorCode::HomeFolder, Fault::Server, message)
            .with_hint("use a home on a file system that knows users and modes")
    })
}

/// A file with a token in it, beside the place where it belongs.
fn fresh(home: &Path) -> Result<PathBuf> {
    private::close_folder(home)?;
    let fresh = home.join(format!(".{FILE}-{}", &secret()?[..16]));
    write(&fresh, &secret()?).map_err(|error| failed(&fresh, &error))?;
    Ok(fresh)
}

fn write(path: &Path, token: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(format!("{token}\n").as_bytes())?;
    file.sync_all()
}

/// A text that nobody can guess.
pub fn secret() -> Result<String> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::internal(format!("random bytes: {error}")))?;
    Ok(proof::digest::encode_hex(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    // F1
    #[test]
    fn a_token_is_made_once_for_its_owner_alone() {
        let home = tempfile::TempDir::new().unwrap();
        assert_eq!(read(home.path()).unwrap(), None);
        let token = ensure(home.path()).unwrap();
        assert_eq!(token.len(), 64);
        assert_eq!(ensure(home.path()).unwrap(), token);
        let next = renew(home.path()).unwrap();
        assert_ne!(next, token);
        assert_eq!(read(home.path()).unwrap(), Some(next));
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1, "nothing else is left");
    }

    // F1
    #[cfg(unix)]
    #[test]
    fn a_token_that_others_could_read_is_replaced() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::TempDir::new().unwrap();
        let token = ensure(home.path()).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path(home.path())), 0o600);
        let open = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(path(home.path()), open).unwrap();
        assert_eq!(read(home.path()).unwrap(), None);
        assert_ne!(ensure(home.path()).unwrap(), token);
        assert_eq!(mode(&path(home.path())), 0o600);
        std::fs::write(path(home.path()), "guess").unwrap();
        assert_eq!(read(home.path()).unwrap(), None);
    }
}
