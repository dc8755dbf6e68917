//! What can go wrong, once for the whole kernel.
//!
//! Each error has a stable `code` that interfaces map to exit codes and wire errors; hints for people are added at the edge.

use std::io::ErrorKind;

use proof::Digest;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Who has to act before the same call can succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request is wrong as it stands.
    Caller,
    /// The request is fine but the state forbids it now.
    State,
    /// The store or the machine failed.
    Store,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
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
    #[error("a write failed earlier; reopen the actor to continue")]
    Poisoned,
    #[error("the actor is closed")]
    Closed,
    #[error("the disk is full, nothing was saved: {0}")]
    DiskFull(String),
    #[error("storage: {0}")]
    Storage(String),
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
    pub(crate) fn io(what: impl std::fmt::Display, error: &std::io::Error) -> Error {
        let text = format!("{what}: {error}");
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                Error::DiskFull(text)
            }
            _ => Error::Storage(text),
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

    /// A name for programs; never changes once released.
    pub fn code(&self) -> &'static str {
        match self {
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
            Error::Poisoned => "poisoned",
            Error::Closed => "closed",
            Error::DiskFull(_) => "disk_full",
            Error::Storage(_) => "storage",
        }
    }

    pub fn fault(&self) -> Fault {
        match self {
            Error::NotFound { .. }
            | Error::Tombstoned(_)
            | Error::Erased(_)
            | Error::VersionConflict { .. }
            | Error::IdempotencyConflict(_)
            | Error::NoOp
            | Error::SessionEnded(_)
            | Error::RateLimited(_)
            | Error::Busy
            | Error::Closed => Fault::State,
            Error::Corrupt { .. }
            | Error::Schema { .. }
            | Error::Outdated { .. }
            | Error::Poisoned
            | Error::DiskFull(_)
            | Error::Storage(_)
            | Error::RootMismatch { .. } => Fault::Store,
            _ => Fault::Caller,
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
                | Error::DiskFull(_)
        )
    }
}
