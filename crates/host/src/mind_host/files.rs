//! The file in an actor's folder that holds what its mind keeps over a restart.
//!
//! What must stay true: a file that cannot be read is put aside, not lost; the file is replaced whole or not at all.

use std::fs;
use std::path::Path;

use mind::MindState;
use serde::{Deserialize, Serialize};
use service::error::{Error, Result};
use service::files::replace_file;

/// The file in an actor's folder that holds what its mind keeps.
const FILE: &str = "mind.json";
/// What could not be read is put aside under this name.
const ASIDE: &str = "mind.unreadable.json";
/// Raised when the shape of that file changes.
const FORMAT: u32 = 1;

/// What is kept over a restart.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PersistedMind {
    format: u32,
    /// Journal entries whose prompts were looked at.
    pub(super) prompts: u64,
    pub(super) mind: MindState,
}

impl PersistedMind {
    pub(super) fn new(prompts: u64, mind: MindState) -> PersistedMind {
        PersistedMind { format: FORMAT, prompts, mind }
    }
}

/// Writes down what is kept.
pub(super) fn store(folder: &Path, persisted: &PersistedMind) -> Result<()> {
    let path = folder.join(FILE);
    let bytes =
        serde_json::to_vec(persisted).map_err(|error| Error::internal(error.to_string()))?;
    replace_file(&path, &bytes).map_err(|error| Error::io(path.display(), &error))
}

/// What was kept; `None` if there is nothing, or nothing that can be read, which is then put aside.
pub(super) fn load(folder: &Path) -> Result<Option<PersistedMind>> {
    let file = &folder.join(FILE);
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io(file.display(), &error)),
    };
    match serde_json::from_slice::<PersistedMind>(&bytes) {
        Ok(kept) if kept.format == FORMAT => Ok(Some(kept)),
        read => {
            let why = read.map_or_else(|error| error.to_string(), |kept| kept.format.to_string());
            let aside = file.with_file_name(ASIDE);
            tracing::warn!("{} was put aside, it cannot be read: {why}", file.display());
            fs::rename(file, &aside).map_err(|error| Error::io(aside.display(), &error))?;
            Ok(None)
        }
    }
}

/// Is anything kept for the actor in this folder?
pub(crate) fn is_kept(folder: &Path) -> bool {
    folder.join(FILE).exists() || folder.join(ASIDE).exists()
}

/// Removes all that is kept.
pub(crate) fn discard(folder: &Path) -> Result<()> {
    for name in [FILE, ASIDE] {
        let path = folder.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(path.display(), &error));
            }
            _ => {}
        }
    }
    Ok(())
}
