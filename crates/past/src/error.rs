//! What can go wrong with the past, each with a stable code. Texts of sessions are in none of them.

use std::path::{Path, PathBuf};

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path}: {error}", path = path.display())]
    File { path: PathBuf, error: std::io::Error },
    /// A file of our own that is not what its name says.
    #[error("{path} is damaged: {what}", path = path.display())]
    Damage { path: PathBuf, what: String },
    /// A source whose form is not the one its agent is known for.
    #[error("{path} cannot be read: {what}", path = path.display())]
    Source { path: PathBuf, what: String },
    #[error("another process uses {path}; try again when it is done", path = path.display())]
    Busy { path: PathBuf },
    #[error("{reference:?} is no session or turn; write AGENT:SESSION or AGENT:SESSION#TURN")]
    Reference { reference: String },
    #[error("no session or turn {reference:?} is in the past")]
    Unknown { reference: String },
    #[error("{reference:?} means more than one session; give more of its id")]
    Ambiguous { reference: String },
    #[error("sessions of {agent} cannot be resumed by a command: {reason}")]
    NoResume { agent: &'static str, reason: &'static str },
    #[error("{field}: {problem}")]
    Invalid { field: &'static str, problem: String },
    /// The journaled part of forgetting failed; nothing was removed.
    #[error("the tombstone could not be journaled: {0}")]
    Tombstone(String),
}

impl From<transcripts::error::Error> for Error {
    fn from(error: transcripts::error::Error) -> Error {
        match error {
            transcripts::error::Error::File { path, error } => Error::File { path, error },
            transcripts::error::Error::Source { path, what } => Error::Source { path, what },
        }
    }
}

impl Error {
    pub(crate) fn file(path: &Path, error: std::io::Error) -> Error {
        Error::File { path: path.to_owned(), error }
    }

    pub(crate) fn damage(path: &Path, what: impl Into<String>) -> Error {
        Error::Damage { path: path.to_owned(), what: what.into() }
    }

    pub(crate) fn source(path: &Path, what: impl std::fmt::Display) -> Error {
        Error::Source { path: path.to_owned(), what: what.to_string() }
    }

    /// A word that programs may rely on.
    pub fn code(&self) -> &'static str {
        match self {
            Error::File { .. } => "past_file",
            Error::Damage { .. } => "past_damaged",
            Error::Source { .. } => "past_source",
            Error::Busy { .. } => "past_busy",
            Error::Reference { .. } => "past_reference",
            Error::Unknown { .. } => "past_unknown",
            Error::Ambiguous { .. } => "past_ambiguous",
            Error::NoResume { .. } => "past_no_resume",
            Error::Invalid { .. } => "past_invalid",
            Error::Tombstone(_) => "past_tombstone",
        }
    }
}
