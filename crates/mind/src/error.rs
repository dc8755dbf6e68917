//! What the mind refuses, each with a name for programs that never changes.

use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MindError {
    #[error("{key}: {reason}")]
    Setting { key: String, reason: String },
    #[error("there is no job named {0:?}")]
    UnknownJob(String),
    #[error("{job} is already running as {run}")]
    JobRunning { job: String, run: String },
    #[error("run {run} of {job} is not the one that runs")]
    NotThatRun { job: String, run: String },
    #[error("{field}: {reason}")]
    Question { field: &'static str, reason: String },
    #[error("there is no run named {0:?} in the journal")]
    UnknownRun(String),
    #[error("run {0:?} was undone before")]
    AlreadyUndone(String),
    #[error("{process} {id:?} is not known")]
    UnknownProcess { process: &'static str, id: String },
    #[error("channel {channel}: {reason}")]
    Channel { channel: String, reason: String },
    #[error(transparent)]
    Store(#[from] kernel::Error),
}

pub type Result<T> = std::result::Result<T, MindError>;

impl MindError {
    pub fn code(&self) -> &'static str {
        match self {
            MindError::Setting { .. } => "bad_setting",
            MindError::UnknownJob(_) => "unknown_job",
            MindError::JobRunning { .. } => "job_running",
            MindError::NotThatRun { .. } => "not_that_run",
            MindError::Question { .. } => "bad_question",
            MindError::UnknownRun(_) => "unknown_run",
            MindError::AlreadyUndone(_) => "already_undone",
            MindError::UnknownProcess { .. } => "unknown_process",
            MindError::Channel { .. } => "channel_refused",
            MindError::Store(error) => error.code(),
        }
    }

    pub(crate) fn setting(key: impl Into<String>, reason: impl Into<String>) -> MindError {
        MindError::Setting { key: key.into(), reason: reason.into() }
    }

    pub(crate) fn question(field: &'static str, reason: impl Into<String>) -> MindError {
        MindError::Question { field, reason: reason.into() }
    }
}

impl From<kernel::ProofError> for MindError {
    fn from(error: kernel::ProofError) -> MindError {
        MindError::Store(error.into())
    }
}
