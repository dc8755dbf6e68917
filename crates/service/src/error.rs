//! What can go wrong inside an operation: the error of the layer that refused, as that layer made it.
//!
//! Code inside matches on the typed error; its code, whose fault it is and a hint for people are added once, where an
//! answer leaves ([`api::Error`]). The source chain stays whole until then, for the log.

use api::{CommandHint, ErrorCode, Fault};
use kernel::Error as KernelError;
use mind::error::MindError;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] KernelError),
    /// The mind refused or failed.
    #[error(transparent)]
    Mind(#[from] MindError),
    /// An operation refused, in the words that its caller reads.
    #[error(transparent)]
    Operation(#[from] api::Error),
}

impl Error {
    pub fn new(code: ErrorCode, fault: Fault, message: impl Into<String>) -> Error {
        api::Error::new(code, fault, message).into()
    }

    /// A field of the request is wrong.
    pub fn invalid(field: &'static str, reason: impl Into<String>) -> Error {
        KernelError::invalid(field, reason).into()
    }

    pub fn missing(what: &'static str, id: impl ToString) -> Error {
        KernelError::not_found(what, id).into()
    }

    /// A file or folder that the machine did not give.
    pub fn io(what: impl std::fmt::Display, error: &std::io::Error) -> Error {
        api::Error::io(what, error).into()
    }

    /// The program broke one of its own rules; the text says which.
    pub fn internal(message: impl Into<String>) -> Error {
        api::Error::internal(message).into()
    }

    /// What to do, in words for people. It takes the place of the hint that the error would have had.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Error {
        api::Error::from(self).with_hint(hint).into()
    }

    pub fn code(&self) -> ErrorCode {
        match self {
            Error::Store(error) | Error::Mind(MindError::Store(error)) => {
                ErrorCode::named(error.code())
            }
            Error::Mind(error) => ErrorCode::named(error.code()),
            Error::Operation(error) => error.code,
        }
    }

    pub fn fault(&self) -> Fault {
        match self {
            Error::Store(error) | Error::Mind(MindError::Store(error)) => fault_of(error),
            Error::Mind(error) => mind_fault(error).0,
            Error::Operation(error) => error.fault,
        }
    }

    /// True when the same request may succeed later without a change.
    pub fn is_retryable(&self) -> bool {
        match self {
            Error::Store(error) | Error::Mind(MindError::Store(error)) => error.is_retryable(),
            Error::Mind(_) => self.fault() == Fault::Busy,
            Error::Operation(error) => error.retry,
        }
    }
}

impl From<kernel::ProofError> for Error {
    fn from(error: kernel::ProofError) -> Error {
        KernelError::from(error).into()
    }
}

impl From<Error> for api::Error {
    fn from(error: Error) -> api::Error {
        let hint = match &error {
            Error::Store(error) | Error::Mind(MindError::Store(error)) => hint_of(error),
            Error::Mind(error) => mind_fault(error).1.map(str::to_owned),
            Error::Operation(error) => return error.clone(),
        };
        api::Error {
            code: error.code(),
            fault: error.fault(),
            retry: error.is_retryable(),
            message: error.to_string(),
            hint,
        }
    }
}

/// Whose fault an error of the mind is, and what to do about it.
fn mind_fault(error: &MindError) -> (Fault, Option<&'static str>) {
    match error {
        MindError::Store(error) => (fault_of(error), None),
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
    }
}

fn fault_of(error: &KernelError) -> Fault {
    match error.fault() {
        kernel::KernelFault::Caller => Fault::Caller,
        kernel::KernelFault::Missing => Fault::Missing,
        kernel::KernelFault::Conflict => Fault::Conflict,
        kernel::KernelFault::Forbidden => Fault::Forbidden,
        kernel::KernelFault::Busy => Fault::Busy,
        kernel::KernelFault::Server => Fault::Server,
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
        KernelError::NotFound { what: "memory", .. } => CommandHint::ListMemories.text(),
        KernelError::NotFound { what: "actor", .. } => {
            "`cortex actors` lists whose memory there is; `cortex save` starts a new one"
        }
        KernelError::NotFound { what: "version", .. } => "`cortex history ID` lists the versions",
        KernelError::NotFound { what: "snapshot", .. } => {
            "`cortex snapshot --list` lists the snapshots"
        }
        KernelError::NotFound { what: "grant", .. } => "`cortex scope-list` lists the grants",
        KernelError::NotFound { what: "session", .. } => CommandHint::StartSession.text(),
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
        KernelError::Overtaken => "try again in a moment",
        KernelError::LedgerAway(_) => {
            "try again in a moment; `cortex ledger status` says whether the database answers"
        }
        KernelError::OutcomeUnknown(_) => {
            "send the same request again with the same Idempotency-Key: it is done once"
        }
        KernelError::RateLimited(_) => "wait a second and try again",
        KernelError::DiskFull(_) => "free some space and try again; what was saved before is safe",
        KernelError::Poisoned => "run the command again; if it repeats, check the disk",
        KernelError::Corrupt { .. } | KernelError::NonCanonical { .. } => {
            "`cortex verify` lists the damage; `cortex rebuild` heals the index, a backup or `cortex salvage` the rest"
        }
        KernelError::Outdated { .. } => "`cortex rebuild` makes it again",
        KernelError::Schema { .. } => "use the version of cortex that wrote it",
        KernelError::ProofRefused(_) => "do not trust this file; ask for a new proof",
        KernelError::RootMismatch { .. } => {
            "the file is sound but speaks of another state than you trust"
        }
        KernelError::Storage(_) => {
            let hint = error.io_kind().and_then(api::error::machine_hint);
            return hint.map(str::to_owned);
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

#[cfg(test)]
mod tests {
    use api::error::exit;

    use super::*;

    #[test]
    fn a_key_that_the_interfaces_allow_is_one_that_the_store_takes() {
        assert_eq!(api::caller::KEY_BYTES_MAX, kernel::limits::NAME_BYTES_MAX);
    }

    #[test]
    fn bounds_and_defaults_that_interfaces_tell_are_those_of_the_store() {
        assert_eq!(api::memory::CONTENT_BYTES_MAX, kernel::limits::CONTENT_BYTES_MAX);
        assert_eq!(api::bundle::BUNDLE_TOKENS_DEFAULT, kernel::limits::BUDGET_TOKENS_DEFAULT);
        let of_store = KernelError::TooLarge { field: "content", size: 2, max: 1 };
        let of_interface = api::Error::too_large("content", 2, 1);
        assert_eq!(api::Error::from(Error::from(of_store)), of_interface);
    }

    #[test]
    fn every_code_of_the_layers_below_is_known() {
        for code in KernelError::CODES {
            assert_ne!(ErrorCode::named(code), ErrorCode::UnknownCode, "{code}");
        }
    }

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
            (KernelError::Overtaken, exit::BUSY, 503),
            (KernelError::LedgerAway("x".into()), exit::BUSY, 503),
            (KernelError::OutcomeUnknown("x".into()), exit::BUSY, 503),
        ] {
            let mapped = api::Error::from(Error::from(error.clone()));
            assert_eq!((mapped.exit_code(), mapped.http_status()), (code, status), "{error}");
            let wire = serde_json::to_string(&mapped).unwrap();
            assert_eq!(serde_json::from_str::<api::Error>(&wire).unwrap(), mapped);
        }
    }
}
