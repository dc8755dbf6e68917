//! What can go wrong, in one shape for every interface.
//!
//! A stable [`ErrorCode`], whose [`Fault`] it is, whether the same call may work later, and a hint for people. The
//! mapping to exit codes, HTTP status and wire errors is here and nowhere else.

mod codes;
mod hint;

use serde::{Deserialize, Serialize};

pub use codes::ErrorCode;
pub use hint::CommandHint;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Who has to act before the same call can succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The request is wrong as it stands.
    Caller,
    /// What it names is not there.
    Missing,
    /// The state forbids it now: another version, ended, already done.
    Conflict,
    /// A grant or a rule does not allow it.
    Forbidden,
    /// Too much at once, or not ready; try again.
    Busy,
    /// The store, the machine or the program failed.
    Server,
}

/// Exit codes. They are a promise to scripts: codes are added, never changed.
pub mod exit {
    pub const CHECK_FAILED: u8 = 1;
    pub const BAD_INPUT: u8 = 2;
    pub const NOT_FOUND: u8 = 3;
    pub const CONFLICT: u8 = 4;
    pub const REFUSED: u8 = 5;
    pub const BUSY: u8 = 6;
    pub const STORE: u8 = 7;
}

/// An error as every interface tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    pub code: ErrorCode,
    pub fault: Fault,
    /// True when the same request may succeed later without a change.
    pub retry: bool,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Error {
    pub fn new(code: ErrorCode, fault: Fault, message: impl Into<String>) -> Error {
        Error { code, fault, retry: fault == Fault::Busy, message: message.into(), hint: None }
    }

    /// A field of the request is wrong.
    pub fn invalid(field: &str, reason: impl std::fmt::Display) -> Error {
        Error::new(ErrorCode::Invalid, Fault::Caller, format!("{field}: {reason}"))
    }

    /// A field of the request has more bytes than it may have.
    pub fn too_large(field: &str, size: usize, max: usize) -> Error {
        let message = format!("{field} has {size} bytes; at most {max} are allowed");
        Error::new(ErrorCode::TooLarge, Fault::Caller, message)
    }

    /// What the request names is not there.
    pub fn missing(what: &str, id: impl std::fmt::Display) -> Error {
        Error::new(ErrorCode::NotFound, Fault::Missing, format!("no {what} {id}"))
    }

    /// A file or folder that the machine did not give. What to do about it follows from the kind of refusal.
    pub fn io(what: impl std::fmt::Display, error: &std::io::Error) -> Error {
        let told = Error::new(ErrorCode::Io, Fault::Server, format!("{what}: {error}"));
        match machine_hint(error.kind()) {
            Some(hint) => told.with_hint(hint),
            None => told,
        }
    }

    /// The program broke one of its own rules; the text says which.
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(ErrorCode::Internal, Fault::Server, message)
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    pub fn exit_code(&self) -> u8 {
        match (self.code, self.fault) {
            (ErrorCode::ProofRefused | ErrorCode::RootMismatch, _) => exit::CHECK_FAILED,
            // The request is fine but for changing nothing.
            (ErrorCode::NoOp, _) | (_, Fault::Caller) => exit::BAD_INPUT,
            (_, Fault::Missing) => exit::NOT_FOUND,
            (_, Fault::Conflict) => exit::CONFLICT,
            (_, Fault::Forbidden) => exit::REFUSED,
            (_, Fault::Busy) => exit::BUSY,
            (_, Fault::Server) => exit::STORE,
        }
    }

    pub fn http_status(&self) -> u16 {
        match (self.code, self.fault) {
            (ErrorCode::TooLarge, _) => 413,
            (ErrorCode::RateLimited, _) => 429,
            (ErrorCode::BadJson, _) => 400,
            (ErrorCode::DiskFull, _) => 507,
            (_, Fault::Caller) => 422,
            (_, Fault::Missing) => 404,
            (_, Fault::Conflict) => 409,
            (_, Fault::Forbidden) => 403,
            // After a failed write the next call opens the actor anew.
            (ErrorCode::Poisoned, _) | (_, Fault::Busy) => 503,
            (_, Fault::Server) => 500,
        }
    }

    /// The JSON-RPC code, where a protocol has no better place for an error.
    pub fn rpc_code(&self) -> i32 {
        match self.fault {
            Fault::Caller | Fault::Conflict => -32602,
            Fault::Missing => -32002,
            Fault::Forbidden => -32001,
            Fault::Busy => -32000,
            Fault::Server => -32603,
        }
    }
}

/// What to do where the machine refuses a file of the home.
pub fn machine_hint(kind: std::io::ErrorKind) -> Option<&'static str> {
    use std::io::ErrorKind;
    match kind {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            Some("the home must be yours to write; --home DIR or CORTEX_HOME names another")
        }
        ErrorKind::NotADirectory => Some(
            "a part of this path is a file, not a folder; --home DIR or CORTEX_HOME names another",
        ),
        _ => None,
    }
}
