//! What can go wrong with the database, told apart by what the caller should do.

use kernel::StorageFailure;

#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The address or a file it names is wrong.
    #[error("the address of the ledger: {0}")]
    Address(String),
    /// The database does not answer, or not now. Nothing was changed.
    #[error("the ledger cannot be reached: {0}")]
    Away(String),
    /// It answers, and says no.
    #[error("the ledger refused: {0}")]
    Refused(String),
    /// There is no ledger in this database yet.
    #[error("this database holds no ledger")]
    Empty,
    #[error("the ledger has version {found}; this program reads version {expected}")]
    Version { found: i32, expected: i32 },
    #[error("the journal of {actor} is another one: {reason}")]
    OtherPast { actor: String, reason: String },
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Kernel(#[from] kernel::Error),
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl From<Error> for kernel::Error {
    fn from(error: Error) -> kernel::Error {
        match error {
            Error::Kernel(error) => error,
            other => kernel::Error::LedgerAway(StorageFailure::from(other.to_string().as_str())),
        }
    }
}

/// How a failed statement is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The database did not do it, and may the next time.
    Again,
    /// The connection is gone: nobody knows whether it was done.
    Lost,
    /// A row with this key is there.
    Taken,
    /// It will say the same the next time.
    Final,
}

pub(crate) fn kind_of(error: &tokio_postgres::Error) -> FailureKind {
    match error.code() {
        None => FailureKind::Lost,
        Some(code) => kind_of_code(code.code()),
    }
}

/// Classes 40 (serialization), 53 (resources) and 55 (locks) may pass; a server that shuts down, starts or turned into
/// a standby may have committed before it said so.
fn kind_of_code(code: &str) -> FailureKind {
    match code {
        "23505" => FailureKind::Taken,
        "57P01" | "57P02" | "57P03" | "57P05" => FailureKind::Lost,
        "25006" | "57014" => FailureKind::Again,
        _ if code.starts_with("08") => FailureKind::Lost,
        _ if ["40", "53", "55"].iter().any(|class| code.starts_with(class)) => FailureKind::Again,
        _ => FailureKind::Final,
    }
}

/// What the database said, in one line.
pub(crate) fn text_of(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(said) => format!("{} ({})", said.message(), said.code().code()),
        None => {
            use std::error::Error as _;
            match error.source() {
                Some(source) => format!("{error}: {source}"),
                None => error.to_string(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_pass_is_tried_again() {
        for (code, kind) in [
            ("23505", FailureKind::Taken),
            ("40001", FailureKind::Again),
            ("40P01", FailureKind::Again),
            ("53300", FailureKind::Again),
            ("25006", FailureKind::Again),
            ("57P01", FailureKind::Lost),
            ("08006", FailureKind::Lost),
            ("42P01", FailureKind::Final),
            ("28P01", FailureKind::Final),
        ] {
            assert_eq!(kind_of_code(code), kind, "{code}");
        }
    }
}
