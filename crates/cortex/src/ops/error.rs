//! What can go wrong, in one shape for every interface.
//!
//! A stable `code`, whose `fault` it is, whether the same call may work later, and a hint for people. The mapping to exit
//! codes, HTTP status and wire errors is here and nowhere else.

use kernel::Error as KernelError;
use serde::{Deserialize, Serialize};

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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// A name for programs; never changes once released.
    pub code: String,
    pub fault: Fault,
    /// True when the same request may succeed later without a change.
    pub retry: bool,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Error {
    pub fn new(code: &str, fault: Fault, message: impl Into<String>) -> Error {
        Error {
            code: code.to_owned(),
            fault,
            retry: fault == Fault::Busy,
            message: message.into(),
            hint: None,
        }
    }

    /// A field of the request is wrong.
    pub fn invalid(field: &'static str, reason: impl Into<String>) -> Error {
        KernelError::invalid(field, reason).into()
    }

    pub fn missing(what: &'static str, id: impl ToString) -> Error {
        KernelError::not_found(what, id).into()
    }

    /// The program broke one of its own rules; the text says which.
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new("internal", Fault::Server, message)
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }

    pub fn exit_code(&self) -> u8 {
        match (self.code.as_str(), self.fault) {
            ("proof_refused" | "root_mismatch", _) => exit::CHECK_FAILED,
            // The request is fine but for changing nothing.
            ("no_op", _) | (_, Fault::Caller) => exit::BAD_INPUT,
            (_, Fault::Missing) => exit::NOT_FOUND,
            (_, Fault::Conflict) => exit::CONFLICT,
            (_, Fault::Forbidden) => exit::REFUSED,
            (_, Fault::Busy) => exit::BUSY,
            (_, Fault::Server) => exit::STORE,
        }
    }

    pub fn http_status(&self) -> u16 {
        match (self.code.as_str(), self.fault) {
            ("too_large", _) => 413,
            ("rate_limited", _) => 429,
            ("bad_json", _) => 400,
            ("disk_full", _) => 507,
            (_, Fault::Caller) => 422,
            (_, Fault::Missing) => 404,
            (_, Fault::Conflict) => 409,
            (_, Fault::Forbidden) => 403,
            // After a failed write the next call opens the actor anew.
            ("poisoned", _) | (_, Fault::Busy) => 503,
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

impl From<KernelError> for Error {
    fn from(error: KernelError) -> Error {
        Error {
            code: error.code().to_owned(),
            fault: fault_of(&error),
            retry: error.is_retryable(),
            message: error.to_string(),
            hint: hint_of(&error),
        }
    }
}

impl From<mind::error::MindError> for Error {
    fn from(error: mind::error::MindError) -> Error {
        use mind::error::MindError;
        let (fault, hint) = match &error {
            MindError::Store(error) => return error.clone().into(),
            MindError::UnknownJob(_) => (Fault::Missing, Some("`cortex mind jobs` lists the jobs")),
            MindError::UnknownRun(_) => (Fault::Missing, Some("`cortex mind log` lists the runs")),
            MindError::UnknownProcess { .. } => (Fault::Missing, None),
            MindError::JobRunning { .. } | MindError::NotThatRun { .. } => {
                (Fault::Conflict, Some("`cortex mind jobs` says since when it runs"))
            }
            MindError::AlreadyUndone(_) => (Fault::Conflict, None),
            MindError::Setting { .. } | MindError::Question { .. } | MindError::Channel { .. } => {
                (Fault::Caller, None)
            }
        };
        let mapped = Error::new(error.code(), fault, error.to_string());
        match hint {
            Some(hint) => mapped.with_hint(hint),
            None => mapped,
        }
    }
}

fn fault_of(error: &KernelError) -> Fault {
    match error {
        KernelError::NotFound { .. } => Fault::Missing,
        KernelError::VersionConflict { .. }
        | KernelError::IdempotencyConflict(_)
        | KernelError::Tombstoned(_)
        | KernelError::Erased(_)
        | KernelError::SessionEnded(_) => Fault::Conflict,
        KernelError::GrantRefused(_) | KernelError::OutsideGrant(_) => Fault::Forbidden,
        KernelError::Busy | KernelError::RateLimited(_) | KernelError::Closed => Fault::Busy,
        KernelError::Corrupt { .. }
        | KernelError::Schema { .. }
        | KernelError::Outdated { .. }
        | KernelError::NonCanonical { .. }
        | KernelError::Poisoned
        | KernelError::RootMismatch { .. }
        | KernelError::DiskFull(_)
        | KernelError::Storage(_) => Fault::Server,
        // What is left is about the request as it stands; so are kinds of errors that are yet to come.
        _ => Fault::Caller,
    }
}

fn hint_of(error: &KernelError) -> Option<String> {
    let hint = match error {
        KernelError::UnknownType(_) => {
            let names: Vec<_> = kernel::memory::MemoryType::ALL.iter().map(|t| t.name()).collect();
            return Some(format!("the types are {}", names.join(", ")));
        }
        KernelError::UnknownField(_) => {
            let names = kernel::find::field_names();
            return Some(format!("the fields are {}", names.join(", ")));
        }
        KernelError::VersionConflict { id, .. } => {
            return Some(format!("read it again with `cortex get {id}`, then repeat your change"));
        }
        KernelError::Tombstoned(id) => {
            return Some(format!("`cortex restore {id}` brings it back"));
        }
        KernelError::NotFound { what: "memory", .. } => {
            "`cortex find` lists what there is; `cortex actors` lists whose memory there is"
        }
        KernelError::NotFound { what: "actor", .. } => {
            "`cortex actors` lists whose memory there is; `cortex save` starts a new one"
        }
        KernelError::NotFound { what: "version", .. } => "`cortex history ID` lists the versions",
        KernelError::NotFound { what: "snapshot", .. } => {
            "`cortex snapshot --list` lists the snapshots"
        }
        KernelError::NotFound { what: "grant", .. } => "`cortex scope-list` lists the grants",
        KernelError::NotFound { what: "session", .. } => "`cortex session start NAME` starts one",
        KernelError::Erased(_) => {
            "erased content is gone for good; its history stays in the journal"
        }
        KernelError::IdempotencyConflict(_) => "use a new key for a new request",
        KernelError::SessionEnded(_) => "start a session with a new name",
        KernelError::NoOp => "name at least one thing to change",
        KernelError::BadUri { .. } => "a URI looks like cortex://default/Fact/12#3",
        KernelError::BadCursor => "give the cursor back with the same query, unchanged",
        KernelError::BudgetUnreachable { .. } => "raise --budget",
        KernelError::Unbounded => "give --limit or --budget",
        KernelError::TooBroad => "add --type or --tag",
        KernelError::GrantRefused(_) | KernelError::OutsideGrant(_) => {
            "ask the owner for a grant that covers this; the owner sees `cortex scope-list`"
        }
        KernelError::Busy => "another process has this actor open; wait longer with --wait SECONDS",
        KernelError::RateLimited(_) => "wait a second and try again",
        KernelError::DiskFull(_) => "free some space and try again; what was saved before is safe",
        KernelError::Poisoned => "run the command again; if it repeats, check the disk",
        KernelError::Corrupt { .. } | KernelError::NonCanonical { .. } => {
            "`cortex verify` lists the damage; `cortex rebuild` heals what is derived, a backup the rest"
        }
        KernelError::Outdated { .. } => "`cortex rebuild` makes it again",
        KernelError::Schema { .. } => "use the version of cortex that wrote it",
        KernelError::ProofRefused(_) => "do not trust this file; ask for a new proof",
        KernelError::RootMismatch { .. } => {
            "the file is sound but speaks of another state than you trust"
        }
        KernelError::Storage(reason) => return machine_hint(reason).map(str::to_owned),
        _ => return None,
    };
    Some(hint.to_owned())
}

/// What to do where the machine refuses a file. Its own words end with the number of the error, the same on every Unix.
pub(crate) fn machine_hint(message: &str) -> Option<&'static str> {
    let says = |number: u8| message.contains(&format!("(os error {number})"));
    if says(13) || says(30) {
        Some("the home must be yours to write; --home DIR or CORTEX_HOME names another")
    } else if says(20) {
        Some("a part of this path is a file, not a folder; --home DIR or CORTEX_HOME names another")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_of_error_has_its_exit_code_and_status() {
        for (error, code, status) in [
            (KernelError::ProofRefused(String::new()), exit::CHECK_FAILED, 422),
            (KernelError::NoOp, exit::BAD_INPUT, 422),
            (KernelError::UnknownType("x".into()), exit::BAD_INPUT, 422),
            (KernelError::TooLarge { field: "content", size: 2, max: 1 }, exit::BAD_INPUT, 413),
            (KernelError::not_found("memory", 1), exit::NOT_FOUND, 404),
            (KernelError::Tombstoned(1), exit::CONFLICT, 409),
            (KernelError::GrantRefused(String::new()), exit::REFUSED, 403),
            (KernelError::Busy, exit::BUSY, 503),
            (KernelError::RateLimited("x".into()), exit::BUSY, 429),
            (KernelError::corrupt("x", "y"), exit::STORE, 500),
            (KernelError::DiskFull("x".into()), exit::STORE, 507),
            (KernelError::Poisoned, exit::STORE, 503),
        ] {
            let mapped = Error::from(error.clone());
            assert_eq!((mapped.exit_code(), mapped.http_status()), (code, status), "{error}");
            let wire = serde_json::to_string(&mapped).unwrap();
            assert_eq!(serde_json::from_str::<Error>(&wire).unwrap(), mapped);
        }
    }
}
