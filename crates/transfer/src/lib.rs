//! Memories that leave and arrive: export to JSONL and Markdown, import from our own export and from other memory
//! tools.
//!
//! An import goes through four modules. A reader knows one foreign format (`claude_mem`, `engram`, `from_cortex`,
//! `markdown_notes`, `mem0`, `server_memory`; `detect` chooses one) and turns what it finds into neutral records
//! (`record`). `normalize` makes them legal for the kernel. They wait in `staging`, a private temporary database, until
//! all of them are known; then `writer` takes them in the order of their dates and asks the kernel for what is missing.
//! An export is `export` (JSONL, whose lines are `export_line`) or `markdown` (a folder of notes).
//!
//! What must stay true:
//!
//! - Running an import twice adds nothing. Every record has an origin, `system:id`; the kernel's idempotency keys are
//!   made of it, so the store itself knows what arrived, also after a kill in the middle.
//! - A bad row is left out, counted and named with the reason. It never stops the rest.
//! - Nothing is cut silently, and what cannot be kept is said in the report.
//! - Memory is bounded: rows go to the staging database one by one, commits are of bounded size.
//! - Files of others are read only, and no file that we did not make is overwritten.

mod claude_mem;
mod clean;
mod dates;
mod detect;
mod engram;
mod export;
mod export_line;
mod from_cortex;
mod import;
mod markdown;
mod markdown_notes;
mod mem0;
mod normalize;
pub mod operations;
mod origin;
mod record;
mod report;
mod server_memory;
mod sqlite;
mod staging;
mod table_rows;
mod writer;

use std::path::Path;

pub use api::transfer::ImportReport;
pub use detect::Format;
pub use export::{Selection, jsonl, write_atomically};
pub use import::{Importer, import};
pub use markdown::write_folder;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Told how far a long job is: done, and in all.
pub type TransferProgress<'p> = dyn FnMut(u64, u64) + 'p;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Kernel(#[from] kernel::Error),
    /// An operation that the transfer needs said no.
    #[error(transparent)]
    Operation(#[from] service::Error),
    #[error("{what}: {error}")]
    Io { what: String, error: std::io::Error },
    /// The source is not what it is said to be, or nothing that we know.
    #[error("{what}: {reason}")]
    Source { what: String, reason: String },
    /// Something is there that we did not make.
    #[error("{what}: {reason}")]
    Foreign { what: String, reason: &'static str },
    /// Our own temporary database failed: no space, no temporary folder.
    #[error("the temporary database of the import: {0}")]
    Staging(#[from] rusqlite::Error),
}

impl From<kernel::ProofError> for Error {
    fn from(error: kernel::ProofError) -> Error {
        Error::Kernel(error.into())
    }
}

impl Error {
    fn file(path: &Path, error: std::io::Error) -> Error {
        Error::Io { what: path.display().to_string(), error }
    }

    fn source(path: &Path, reason: impl std::fmt::Display) -> Error {
        Error::Source { what: path.display().to_string(), reason: format!("{reason}") }
    }
}
