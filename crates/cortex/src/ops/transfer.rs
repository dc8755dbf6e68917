//! Everything that is remembered, out as lines and in again, also from other memory tools.
//!
//! A stream is no message: these two are called with a writer or a file, and are not among the requests of the socket.

use std::io::Write;
use std::path::Path;

use clap::ValueEnum as _;
use serde::{Deserialize, Serialize};

use super::Ops;
use super::caller::Caller;
use super::error::{Error, Fault, Result};
use crate::transfer::{self, Exported, Format, ImportReport, Importer, Selection};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct ExportRequest {
    /// Only this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Forgotten memories too.
    pub all: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct ImportRequest {
    /// What it is, if it is not recognised: cortex, engram, go-cortex, claude-mem, server-memory or mem0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Project of what names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Count and check only; change nothing.
    pub dry_run: bool,
}

impl Ops {
    /// Writes what is selected, one JSON object per line, from one consistent state.
    pub(crate) fn export(
        &self,
        caller: &Caller,
        request: ExportRequest,
        out: &mut dyn Write,
    ) -> Result<Exported> {
        let (_, reading) = self.reading(caller)?;
        let selection = Selection { project: request.project, all: request.all };
        Ok(transfer::jsonl(&reading, &selection, caller.now()?, out, &mut |_, _| {})?)
    }

    /// Takes in what a file holds and is not here yet. Importing it again adds nothing.
    pub(crate) fn import(
        &self,
        caller: &Caller,
        request: ImportRequest,
        path: &Path,
    ) -> Result<ImportReport> {
        let format = request.from.as_deref().map(format).transpose()?;
        let cortex = self.cortex(caller)?;
        let salt = || {
            caller.salt().map_err(|error| transfer::Error::Io {
                what: "random bytes".to_owned(),
                error: std::io::Error::other(error.to_string()),
            })
        };
        let importer = Importer {
            cortex: &cortex,
            now: caller.now()?,
            by: &caller.by,
            salt: &salt,
            mask_secrets: self.settings.redact_secrets,
            project: request.project.as_deref(),
            dry_run: request.dry_run,
        };
        Ok(transfer::import(&importer, format, path, &mut |_, _| {}, &mut |_, _| {})?)
    }
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

impl From<transfer::Error> for Error {
    fn from(error: transfer::Error) -> Error {
        match error {
            transfer::Error::Kernel(error) => error.into(),
            // Where it lay is of no interest to whoever sent it.
            transfer::Error::Source { reason, .. } => {
                Error::new("bad_source", Fault::Caller, reason)
            }
            transfer::Error::Foreign { .. } => {
                Error::new("foreign", Fault::Conflict, error.to_string())
            }
            transfer::Error::Io { .. } | transfer::Error::Stage(_) => {
                Error::new("io", Fault::Server, error.to_string())
            }
        }
    }
}
