//! What can go wrong with a record, a tree or a proof.
//!
//! Each error has a stable `code` that interfaces map to exit codes and wire errors. The kernel has the same variants
//! with the same codes and messages among its own, so an error does not change on its way up.

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{field}: {reason}")]
    Invalid { field: &'static str, reason: String },
    #[error("{field} has {size} bytes; at most {max} are allowed")]
    TooLarge { field: &'static str, size: usize, max: usize },
    #[error("unknown memory type {0:?}")]
    UnknownType(String),
    #[error("bad actor name {0:?}: use 1-64 of a-z 0-9 . _ -, starting with a letter or digit")]
    BadActor(String),
    #[error("proof refused: {0}")]
    ProofRefused(String),
    #[error("{what} is not canonical: {reason}")]
    NonCanonical { what: &'static str, reason: String },
    #[error("the store is damaged at {place}: {reason}")]
    Corrupt { place: String, reason: String },
    #[error("the store was written by schema {found}; this build reads schema {expected}")]
    Schema { found: u32, expected: u32 },
}

impl Error {
    pub fn invalid(field: &'static str, reason: impl Into<String>) -> Error {
        Error::Invalid { field, reason: reason.into() }
    }

    pub fn corrupt(place: impl Into<String>, reason: impl Into<String>) -> Error {
        Error::Corrupt { place: place.into(), reason: reason.into() }
    }

    /// A name for programs; it never changes once released.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Invalid { .. } => "invalid",
            Error::TooLarge { .. } => "too_large",
            Error::UnknownType(_) => "unknown_type",
            Error::BadActor(_) => "bad_actor",
            Error::ProofRefused(_) => "proof_refused",
            Error::NonCanonical { .. } => "non_canonical",
            Error::Corrupt { .. } => "corrupt",
            Error::Schema { .. } => "schema",
        }
    }
}
