//! Grant files and key files of whoever runs a command.

use std::path::Path;

use kernel::Error;
use kernel::actor::ActorName;

use super::failure::{Failure, Outcome};
use crate::ops::grant_file::{GrantFile, key_of};
use crate::ops::{Delegate, GrantFiles};

/// Bytes of a grant or key file that are read at most.
const GRANT_FILE_BYTES_MAX: u64 = 1_048_576;

/// Reads the grants and the key to use them with. Also gives whose memory they are about.
pub(crate) fn load(files: GrantFiles) -> Outcome<(ActorName, Delegate)> {
    let file = files.grant.clone();
    let text = read_text(&file)?;
    let read: GrantFile = serde_json::from_str(&text)
        .map_err(|error| Error::invalid("grant", format!("{}: {error}", file.display())))?;
    let key = match &files.key {
        Some(path) => Some(
            key_of(&read_text(path)?)
                .ok_or_else(|| Error::invalid("key", format!("{} holds no key", path.display())))?,
        ),
        None => None,
    };
    let actor = ActorName::parse(&read.actor)?;
    Ok((actor, read.into_delegate(key, Some(files))?))
}

fn read_text(path: &Path) -> Outcome<String> {
    use std::io::Read as _;
    let file = std::fs::File::open(path).map_err(|error| Failure::file(path, error))?;
    let mut text = String::new();
    file.take(GRANT_FILE_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(|error| Failure::file(path, error))?;
    Ok(text)
}
