//! Export and import. A stream is no message, so both are asked with a writer or a path instead of as a call.

use std::io::Write;
use std::path::Path;

use api::audit::{AuditAnswer, AuditRequest};
use api::transfer::{ExportReport, ExportRequest, FolderReport, ImportReport, ImportRequest};

use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::Output;

/// Writes what is selected to standard output, one JSON object per line. A reader who has seen enough is no failure.
pub fn export_lines(
    inv: &Invocation,
    request: ExportRequest,
    out: &mut Output,
) -> CommandResult<ExportReport> {
    let caller = inv.watching(out);
    let exported = transfer::operations::export(inv.service(), &caller, request, out.writer());
    exported.map_err(|error| match error {
        transfer::Error::Io { error, .. } => Failure::output(error),
        other => other.into(),
    })
}

/// The same into a file, which appears whole or not at all.
pub fn export_file(
    inv: &Invocation,
    request: ExportRequest,
    path: &Path,
    out: &Output,
) -> CommandResult<ExportReport> {
    let caller = inv.watching(out);
    Ok(transfer::write_atomically(path, |file: &mut dyn Write| {
        transfer::operations::export(inv.service(), &caller, request, file)
    })?)
}

/// A folder of notes, brought up to date.
pub fn export_folder(
    inv: &Invocation,
    request: ExportRequest,
    path: &Path,
    out: &Output,
) -> CommandResult<FolderReport> {
    let caller = inv.watching(out);
    Ok(transfer::operations::export_folder(inv.service(), &caller, request, path)?)
}

/// Takes in what a file or folder holds and is not here yet.
pub fn import(
    inv: &Invocation,
    request: &ImportRequest,
    path: &Path,
    out: &Output,
) -> CommandResult<ImportReport> {
    let caller = inv.watching(out);
    Ok(transfer::operations::import_path(inv.service(), &caller, request, path)?)
}

/// Looks at what another tool keeps, in a home that is thrown away.
pub fn audit_source(
    inv: &Invocation,
    from: Option<&str>,
    request: AuditRequest,
    path: &Path,
    out: &Output,
) -> CommandResult<(AuditAnswer, ImportReport)> {
    let name = format!("cortex-audit-{:016x}", u64::from_le_bytes(inv.random()?));
    let scratch = std::env::temp_dir().join(name);
    let caller = inv.watching(out);
    let audited = transfer::operations::audit_source(&scratch, &caller, from, request, path);
    let removed = std::fs::remove_dir_all(&scratch);
    let audited = audited?;
    removed.map_err(|error| Failure::file(&scratch, error))?;
    Ok(audited)
}
