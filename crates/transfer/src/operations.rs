//! Export and import as operations of a home. A stream is no message: these two are called with a writer or a file, and
//! are not among the calls of the socket.

use clap::ValueEnum;
use std::io::Write;
use std::path::Path;

use api::transfer::{ExportRequest, ImportRequest};
use api::{ErrorCode, Fault};
use service::error::{Error, Result};
use service::{Caller, Service};

use crate::{ExportReport, Format, ImportReport, Importer, Selection};

/// Writes what is selected, one JSON object per line, from one consistent state.
pub fn export(
    service: &Service,
    caller: &Caller,
    request: ExportRequest,
    out: &mut dyn Write,
) -> Result<ExportReport> {
    let (_, reading) = service.reading(caller)?;
    let selection = Selection { project: request.project, all: request.all };
    Ok(crate::jsonl(&reading, &selection, caller.now()?, out, &mut |_, _| {})?)
}

/// Takes in what a file holds and is not here yet. Importing it again adds nothing.
pub fn import(
    service: &Service,
    caller: &Caller,
    request: &ImportRequest,
    path: &Path,
) -> Result<ImportReport> {
    let format = request.from.as_deref().map(format).transpose()?;
    let cortex = service.cortex(caller)?;
    let salt = || {
        caller.salt().map_err(|error| crate::Error::Io {
            what: "random bytes".to_owned(),
            error: std::io::Error::other(error.to_string()),
        })
    };
    let importer = Importer {
        cortex: &cortex,
        now: caller.now()?,
        by: &caller.by,
        salt: &salt,
        mask_secrets: service.settings().redact_secrets,
        project: request.project.as_deref(),
        dry_run: request.dry_run,
    };
    Ok(crate::import::import(&importer, format, path, &mut |_, _| {}, &mut |_, _| {})?)
}

fn format(name: &str) -> Result<Format> {
    let files = || Format::value_variants().iter().filter(|format| **format != Format::Markdown);
    Format::from_str(name, true).ok().filter(|format| *format != Format::Markdown).ok_or_else(
        || {
            let names: Vec<&str> = files().map(|format| format.name()).collect();
            Error::invalid("from", format!("is not one of {}", names.join(", ")))
        },
    )
}

impl From<crate::Error> for Error {
    fn from(error: crate::Error) -> Error {
        match error {
            crate::Error::Kernel(error) => error.into(),
            // Where it lay is of no interest to whoever sent it.
            crate::Error::Source { reason, .. } => {
                Error::new(ErrorCode::BadSource, Fault::Caller, reason)
            }
            crate::Error::Foreign { .. } => {
                Error::new(ErrorCode::Foreign, Fault::Conflict, error.to_string())
            }
            crate::Error::Io { .. } | crate::Error::Staging(_) => {
                Error::new(ErrorCode::Io, Fault::Server, error.to_string())
            }
        }
    }
}
