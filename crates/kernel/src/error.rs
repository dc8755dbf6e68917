//! What can go wrong, once for the whole kernel.
//!
//! Each error has a stable `code` that interfaces map to exit codes and wire errors; hints for people are added at the
//! edge.

use std::io::ErrorKind;
use std::sync::Arc;

use proof::Digest;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Who has to act before the same call can succeed. Interfaces map it to exit codes and status codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelFault {
    /// The request is wrong as it stands.
    Caller,
    /// What the request names is not there.
    Missing,
    /// The state forbids it now: another version, ended, already done.
    Conflict,
    /// A grant does not allow it.
    Forbidden,
    /// Too much at once, or not ready; the caller may try again.
    Busy,
    /// The store, the machine or the program failed.
    Server,
}

/// What the machine or the store's engine said, kept as the error it was.
///
/// Two failures are equal if they say the same: the error underneath cannot be compared.
#[derive(Clone, Debug)]
pub struct StorageFailure {
    message: String,
    io_kind: Option<ErrorKind>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl StorageFailure {
    /// A failure that `error` is the cause of.
    pub fn new(
        message: impl Into<String>,
        error: impl std::error::Error + Send + Sync + 'static,
    ) -> StorageFailure {
        StorageFailure { message: message.into(), io_kind: None, source: Some(Arc::new(error)) }
    }

    /// The machine refused something about a file.
    fn io(message: String, error: std::io::Error) -> StorageFailure {
        let io_kind = Some(error.kind());
        StorageFailure { io_kind, ..StorageFailure::new(message, error) }
    }
}

impl From<&str> for StorageFailure {
    fn from(message: &str) -> StorageFailure {
        StorageFailure { message: message.to_owned(), io_kind: None, source: None }
    }
}

impl PartialEq for StorageFailure {
    fn eq(&self, other: &StorageFailure) -> bool {
        (&self.message, self.io_kind) == (&other.message, other.io_kind)
    }
}

impl Eq for StorageFailure {}

impl std::fmt::Display for StorageFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StorageFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{field}: {reason}")]
    Invalid { field: &'static str, reason: String },
    #[error("{field} has {size} bytes; at most {max} are allowed")]
    TooLarge { field: &'static str, size: usize, max: usize },
    #[error("{field} has {count} items; at most {max} are allowed")]
    TooMany { field: &'static str, count: usize, max: usize },
    #[error("unknown memory type {0:?}")]
    UnknownType(String),
    #[error("bad actor name {0:?}: use 1-64 of a-z 0-9 . _ -, starting with a letter or digit")]
    BadActor(String),
    #[error("bad URI {uri:?}: {reason}")]
    BadUri { uri: String, reason: &'static str },

    #[error("no {what} {id}")]
    NotFound { what: &'static str, id: String },
    #[error("memory {0} is forgotten")]
    Tombstoned(u64),
    #[error("memory {0} was erased")]
    Erased(u64),
    #[error("memory {id} is at version {current}, not {expected}")]
    VersionConflict { id: u64, expected: u32, current: u32 },
    #[error("idempotency key {0:?} was used for a different request")]
    IdempotencyConflict(String),
    #[error("memory {0} cannot have an edge to itself")]
    SelfEdge(u64),
    #[error("the request changes nothing")]
    NoOp,
    #[error("session {0:?} has ended")]
    SessionEnded(String),

    #[error("a find needs a limit or a token budget")]
    Unbounded,
    #[error("a find needs a type or a tag")]
    TooBroad,
    #[error("unknown field {0:?}")]
    UnknownField(String),
    #[error("field {field} cannot be compared with {with}")]
    NotComparable { field: String, with: &'static str },
    #[error("the cursor does not belong to this query")]
    BadCursor,
    #[error("{needed} tokens are needed for what may not be left out; the budget is {budget}")]
    BudgetUnreachable { needed: u64, budget: u64 },
    #[error("rate limit reached for {0}")]
    RateLimited(String),

    #[error("grant refused: {0}")]
    GrantRefused(String),
    #[error("outside the grant: {0}")]
    OutsideGrant(String),

    #[error("proof refused: {0}")]
    ProofRefused(String),
    #[error("roots differ: expected {expected}, found {found}")]
    RootMismatch { expected: Digest, found: Digest },

    #[error("{what} is not canonical: {reason}")]
    NonCanonical { what: &'static str, reason: String },
    #[error("the store is damaged at {place}: {reason}")]
    Corrupt { place: String, reason: String },
    #[error("the store was written by schema {found}; this build reads schema {expected}")]
    Schema { found: u32, expected: u32 },
    /// Rows of a hook that this build does not read. Opening the actor makes them again.
    #[error("{what} was made by another version of this program: {reason}")]
    Outdated { what: &'static str, reason: String },
    #[error("another process has this actor open")]
    Busy,
    /// Another node wrote first. The writer takes over what it wrote and tries again.
    #[error("other nodes write to this actor all the time")]
    Overtaken,
    #[error("the shared ledger cannot be reached, nothing was saved: {0}")]
    LedgerAway(#[source] StorageFailure),
    #[error(
        "the connection broke while this was saved, and nobody can say yet whether it was: {0}"
    )]
    OutcomeUnknown(#[source] StorageFailure),
    #[error("a write failed earlier; reopen the actor to continue")]
    Poisoned,
    #[error("the actor is closed")]
    Closed,
    #[error("the disk is full, nothing was saved: {0}")]
    DiskFull(#[source] StorageFailure),
    #[error("storage: {0}")]
    Storage(#[source] StorageFailure),
}

/// Declares the code of each error, once, and the list of all codes.
macro_rules! codes {
    ($($error:pat => $code:literal,)+) => {
        impl Error {
            /// Every code there is.
            pub const CODES: &[&str] = &[$($code),+];

            /// A name for programs; it never changes once released.
            pub fn code(&self) -> &'static str {
                match self { $($error => $code),+ }
            }
        }
    };
}

codes! {
    Error::Invalid { .. } => "invalid",
    Error::TooLarge { .. } => "too_large",
    Error::TooMany { .. } => "too_many",
    Error::UnknownType(_) => "unknown_type",
    Error::BadActor(_) => "bad_actor",
    Error::BadUri { .. } => "bad_uri",
    Error::NotFound { .. } => "not_found",
    Error::Tombstoned(_) => "tombstoned",
    Error::Erased(_) => "erased",
    Error::VersionConflict { .. } => "version_conflict",
    Error::IdempotencyConflict(_) => "idempotency_conflict",
    Error::SelfEdge(_) => "self_edge",
    Error::NoOp => "no_op",
    Error::SessionEnded(_) => "session_ended",
    Error::Unbounded => "unbounded",
    Error::TooBroad => "too_broad",
    Error::UnknownField(_) => "unknown_field",
    Error::NotComparable { .. } => "not_comparable",
    Error::BadCursor => "bad_cursor",
    Error::BudgetUnreachable { .. } => "budget_unreachable",
    Error::RateLimited(_) => "rate_limited",
    Error::GrantRefused(_) => "grant_refused",
    Error::OutsideGrant(_) => "outside_grant",
    Error::ProofRefused(_) => "proof_refused",
    Error::RootMismatch { .. } => "root_mismatch",
    Error::NonCanonical { .. } => "non_canonical",
    Error::Corrupt { .. } => "corrupt",
    Error::Schema { .. } => "schema",
    Error::Outdated { .. } => "outdated",
    Error::Busy => "busy",
    Error::Overtaken => "overtaken",
    Error::LedgerAway(_) => "ledger_away",
    Error::OutcomeUnknown(_) => "outcome_unknown",
    Error::Poisoned => "poisoned",
    Error::Closed => "closed",
    Error::DiskFull(_) => "disk_full",
    Error::Storage(_) => "storage",
}

/// An error about a record, a tree or a proof keeps its code and its message.
impl From<proof::Error> for Error {
    fn from(error: proof::Error) -> Error {
        match error {
            proof::Error::Invalid { field, reason } => Error::Invalid { field, reason },
            proof::Error::TooLarge { field, size, max } => Error::TooLarge { field, size, max },
            proof::Error::UnknownType(name) => Error::UnknownType(name),
            proof::Error::BadActor(name) => Error::BadActor(name),
            proof::Error::ProofRefused(reason) => Error::ProofRefused(reason),
            proof::Error::NonCanonical { what, reason } => Error::NonCanonical { what, reason },
            proof::Error::Corrupt { place, reason } => Error::Corrupt { place, reason },
            proof::Error::Schema { found, expected } => Error::Schema { found, expected },
        }
    }
}

impl Error {
    pub fn invalid(field: &'static str, reason: impl Into<String>) -> Error {
        Error::Invalid { field, reason: reason.into() }
    }

    /// The machine refused something about a file.
    pub(crate) fn io(what: impl std::fmt::Display, error: std::io::Error) -> Error {
        let kind = error.kind();
        let failure = StorageFailure::io(format!("{what}: {error}"), error);
        if is_want_of_room(kind) { Error::DiskFull(failure) } else { Error::Storage(failure) }
    }

    /// The same error where it is not known that nothing was saved.
    pub(crate) fn unsettled(self) -> Error {
        match self {
            Error::DiskFull(failure) => Error::Storage(failure),
            other => other,
        }
    }

    /// What kind of error the machine gave, where one is the cause.
    pub fn io_kind(&self) -> Option<ErrorKind> {
        match self {
            Error::DiskFull(failure) | Error::Storage(failure) => failure.io_kind,
            _ => None,
        }
    }

    pub fn corrupt(place: impl Into<String>, reason: impl Into<String>) -> Error {
        Error::Corrupt { place: place.into(), reason: reason.into() }
    }

    pub fn outdated(what: &'static str, reason: impl Into<String>) -> Error {
        Error::Outdated { what, reason: reason.into() }
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers name ids and texts alike")]
    pub fn not_found(what: &'static str, id: impl ToString) -> Error {
        Error::NotFound { what, id: id.to_string() }
    }

    /// Whose turn it is. There is no arm for the rest: a new error must say whose fault it is.
    pub fn fault(&self) -> KernelFault {
        match self {
            Error::Invalid { .. }
            | Error::TooLarge { .. }
            | Error::TooMany { .. }
            | Error::UnknownType(_)
            | Error::BadActor(_)
            | Error::BadUri { .. }
            | Error::SelfEdge(_)
            | Error::NoOp
            | Error::Unbounded
            | Error::TooBroad
            | Error::UnknownField(_)
            | Error::NotComparable { .. }
            | Error::BadCursor
            | Error::BudgetUnreachable { .. }
            | Error::ProofRefused(_) => KernelFault::Caller,
            Error::NotFound { .. } => KernelFault::Missing,
            Error::Tombstoned(_)
            | Error::Erased(_)
            | Error::VersionConflict { .. }
            | Error::IdempotencyConflict(_)
            | Error::SessionEnded(_) => KernelFault::Conflict,
            Error::GrantRefused(_) | Error::OutsideGrant(_) => KernelFault::Forbidden,
            Error::RateLimited(_)
            | Error::Busy
            | Error::Closed
            | Error::Overtaken
            | Error::LedgerAway(_)
            | Error::OutcomeUnknown(_) => KernelFault::Busy,
            Error::RootMismatch { .. }
            | Error::NonCanonical { .. }
            | Error::Corrupt { .. }
            | Error::Schema { .. }
            | Error::Outdated { .. }
            | Error::Poisoned
            | Error::DiskFull(_)
            | Error::Storage(_) => KernelFault::Server,
        }
    }

    /// True when the same request may succeed later without a change.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Error::Busy
                | Error::RateLimited(_)
                | Error::Poisoned
                | Error::Closed
                | Error::Overtaken
                | Error::LedgerAway(_)
                | Error::OutcomeUnknown(_)
                | Error::DiskFull(_)
        )
    }
}

/// True if the machine refused something because there is no room for it.
pub(crate) fn is_want_of_room(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::error::Error as _;

    use super::*;

    #[test]
    fn every_code_is_one_word_and_given_once() {
        let codes: BTreeSet<_> = Error::CODES.iter().collect();
        assert_eq!(codes.len(), Error::CODES.len());
        let is_word = |code: &str| code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        assert!(Error::CODES.iter().all(|code| is_word(code)));
    }

    #[test]
    fn a_refusal_of_the_machine_keeps_its_kind_and_its_source() {
        let denied = || std::io::Error::from(ErrorKind::PermissionDenied);
        let error = Error::io("/srv/store", denied());
        assert_eq!(error.to_string(), format!("storage: /srv/store: {}", denied()));
        assert_eq!(error.io_kind(), Some(ErrorKind::PermissionDenied));
        let failure = error.source().expect("what the machine said");
        assert_eq!(failure.source().map(ToString::to_string), Some(denied().to_string()));
        let full = Error::io("/srv/store", ErrorKind::StorageFull.into());
        assert_eq!((full.code(), full.io_kind()), ("disk_full", Some(ErrorKind::StorageFull)));
        assert_eq!(Error::Busy.io_kind(), None);
    }

    #[test]
    fn errors_about_records_keep_their_code_and_their_message() {
        for error in [
            proof::Error::invalid("field", "reason"),
            proof::Error::TooLarge { field: "field", size: 2, max: 1 },
            proof::Error::UnknownType("x".into()),
            proof::Error::BadActor("x".into()),
            proof::Error::ProofRefused("x".into()),
            proof::Error::NonCanonical { what: "record", reason: "x".into() },
            proof::Error::corrupt("place", "reason"),
            proof::Error::Schema { found: 2, expected: 1 },
        ] {
            let told = (error.code(), error.to_string());
            let error = Error::from(error);
            assert_eq!((error.code(), error.to_string()), told);
        }
    }
}
