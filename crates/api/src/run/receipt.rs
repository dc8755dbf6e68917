//! The answer to a request for a run.

use serde::Serialize;

use super::request::RunRequestError;

/// Why a request is not taken.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct RunRejection {
    pub code: &'static str,
    pub reason: String,
}

impl RunRejection {
    pub fn new(code: &'static str, reason: impl Into<String>) -> RunRejection {
        RunRejection { code, reason: reason.into() }
    }
}

impl From<RunRequestError> for RunRejection {
    fn from(error: RunRequestError) -> RunRejection {
        RunRejection::new(error.code(), error.to_string())
    }
}

/// What became of a request.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum RunReceipt {
    /// It runs, or (`replayed`) the same request was a run before.
    Accepted {
        use_id: String,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        replayed: bool,
    },
    /// It waits; 1 is next.
    Queued {
        use_id: String,
        position: usize,
    },
    Rejected {
        code: &'static str,
        reason: String,
    },
}

impl RunReceipt {
    /// The id of the run, if there is one.
    pub fn use_id(&self) -> Option<&str> {
        match self {
            RunReceipt::Accepted { use_id, .. } | RunReceipt::Queued { use_id, .. } => Some(use_id),
            RunReceipt::Rejected { .. } => None,
        }
    }
}

impl From<RunRejection> for RunReceipt {
    fn from(rejection: RunRejection) -> RunReceipt {
        RunReceipt::Rejected { code: rejection.code, reason: rejection.reason }
    }
}
