//! Export and import as operations of a home. A stream is no message: these are called with a writer or a path, and
//! are not among the calls of the socket.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use api::audit::{AuditAnswer, AuditRequest, Concern, FindingView};
use api::transfer::{ExportReport, ExportRequest, FolderReport, ImportReport, ImportRequest};
use api::{ErrorCode, Fault};
use kernel::Cortex;
use service::access::only_owner;
use service::error::Error;
use service::{Caller, Service, Settings};

use crate::{Format, Importer, Selection};

/// Writes what is selected, one JSON object per line, from one consistent state.
pub fn export(
    service: &Service,
    caller: &Caller,
    request: ExportRequest,
    out: &mut dyn Write,
) -> crate::Result<ExportReport> {
    only_owner(caller, "export")?;
    let reading = service.opened(caller)?.read()?;
    let selection = Selection { project: request.project, all: request.all };
    let mut told = |done, total| caller.tell("exported", done, total);
    crate::jsonl(&reading, &selection, caller.now()?, out, &mut told)
}

/// Writes what is selected as notes into a folder of ours, or into a new one.
pub fn export_folder(
    service: &Service,
    caller: &Caller,
    request: ExportRequest,
    folder: &Path,
) -> crate::Result<FolderReport> {
    only_owner(caller, "export")?;
    let reading = service.opened(caller)?.read()?;
    let selection = Selection { project: request.project, all: request.all };
    let mut told = |done, total| caller.tell("exported", done, total);
    crate::write_folder(&reading, &selection, folder, &mut told)
}

/// Takes in what an uploaded file holds and is not here yet. Importing it again adds nothing.
pub fn import(
    service: &Service,
    caller: &Caller,
    request: &ImportRequest,
    path: &Path,
) -> Result<ImportReport, Error> {
    let format = request.from.as_deref().map(file_format).transpose()?;
    let cortex = service.cortex(caller)?;
    let mask = service.settings().redact_secrets;
    Ok(taken_in(&cortex, caller, request, (format, path), mask)?)
}

/// Takes in what a file or folder of the owner holds and is not here yet. Secrets are always masked.
pub fn import_path(
    service: &Service,
    caller: &Caller,
    request: &ImportRequest,
    path: &Path,
) -> crate::Result<ImportReport> {
    only_owner(caller, "import")?;
    let format = request.from.as_deref().map(any_format).transpose()?;
    let cortex = service.cortex(caller)?;
    taken_in(&cortex, caller, request, (format, path), true)
}

/// Looks at what another tool keeps: its memories are taken into the home `scratch`, which the caller throws away.
pub fn audit_source(
    scratch: &Path,
    caller: &Caller,
    from: Option<&str>,
    request: AuditRequest,
    path: &Path,
) -> crate::Result<(AuditAnswer, ImportReport)> {
    let format = from.map(any_format).transpose()?;
    let service = Service::new(scratch, Settings::default(), Duration::ZERO);
    let cortex = service.cortex(caller)?;
    // Nothing secret is copied, not even for a moment; the count is what is told.
    let source = taken_in(&cortex, caller, &ImportRequest::default(), (format, path), true)?;
    drop(cortex);
    let mut answer = service.audit(caller, request)?;
    service.close(caller.now()?)?;
    // An import brings no uses along.
    answer.findings.retain(|finding| finding.problem != Concern::Unused);
    if source.redacted > 0 {
        let count = usize::try_from(source.redacted).unwrap_or(usize::MAX);
        let remedy = "`cortex import` masks them on the way in".to_owned();
        let finding = FindingView { remedy, ..FindingView::new(Concern::Secret, count) };
        answer.findings.insert(0, finding);
    }
    Ok((answer, source))
}

fn taken_in(
    cortex: &Cortex,
    caller: &Caller,
    request: &ImportRequest,
    (format, path): (Option<Format>, &Path),
    mask_secrets: bool,
) -> crate::Result<ImportReport> {
    let salt = || {
        caller.salt().map_err(|error| crate::Error::Io {
            what: "random bytes".to_owned(),
            error: std::io::Error::other(error.to_string()),
        })
    };
    let importer = Importer {
        cortex,
        now: caller.now()?,
        by: &caller.by,
        run: caller.run.as_deref(),
        salt: &salt,
        mask_secrets,
        project: request.project.as_deref(),
        dry_run: request.dry_run,
    };
    let mut read = |done, total| caller.tell("read", done, total);
    let mut wrote = |done, total| caller.tell("imported", done, total);
    crate::import::import(&importer, format, path, &mut read, &mut wrote)
}

/// A format that one file can be in.
fn file_format(name: &str) -> Result<Format, Error> {
    let of_a_file = |format: &Format| *format != Format::Markdown;
    Format::named(name).filter(of_a_file).ok_or_else(|| {
        let names: Vec<&str> =
            Format::ALL.iter().filter(|format| of_a_file(format)).map(|f| f.name()).collect();
        Error::invalid("from", format!("is not one of {}", names.join(", ")))
    })
}

fn any_format(name: &str) -> Result<Format, Error> {
    Format::named(name).ok_or_else(|| Error::invalid("from", format!("{name:?} is not known")))
}

impl From<crate::Error> for Error {
    fn from(error: crate::Error) -> Error {
        match error {
            crate::Error::Kernel(error) => error.into(),
            crate::Error::Operation(error) => error,
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
