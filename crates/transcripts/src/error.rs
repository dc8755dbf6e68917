//! What can go wrong with the file of an agent. Texts of sessions are in none of it.

use std::path::{Path, PathBuf};

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path}: {error}", path = path.display())]
    File { path: PathBuf, error: std::io::Error },
    /// A source whose form is not the one its agent is known for.
    #[error("{path} cannot be read: {what}", path = path.display())]
    Source { path: PathBuf, what: String },
}

impl Error {
    pub(crate) fn file(path: &Path, error: std::io::Error) -> Error {
        Error::File { path: path.to_owned(), error }
    }

    pub(crate) fn source(path: &Path, what: impl std::fmt::Display) -> Error {
        Error::Source { path: path.to_owned(), what: what.to_string() }
    }
}
