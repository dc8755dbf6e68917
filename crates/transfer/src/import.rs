//! One import from beginning to end: a reader fills the staging database, then the writer does what is missing.
//!
//! What must stay true: nothing is written to the store before the whole source was read.

use std::path::Path;

use api::transfer::ImportReport;
use kernel::Cortex;
use kernel::memory::{Millis, Salt};

use crate::detect::{Format, detect};
use crate::normalize::Normalizer;
use crate::staging::StagingDatabase;
use crate::writer::ImportWriter;
use crate::{
    Error, Result, TransferProgress, claude_mem, clean, engram, from_cortex, markdown_notes, mem0,
    server_memory,
};

/// Where to, and what comes from outside: time, chance, who.
pub struct Importer<'i> {
    pub cortex: &'i Cortex,
    pub now: Millis,
    pub by: &'i str,
    /// The run that what is written belongs to, by which it is taken back.
    pub run: Option<&'i str>,
    pub salt: &'i dyn Fn() -> Result<Salt>,
    /// Private blocks are always taken out; secrets unless the person says otherwise.
    pub mask_secrets: bool,
    /// Project of what names none.
    pub project: Option<&'i str>,
    /// Look and count only.
    pub dry_run: bool,
}

impl std::fmt::Debug for Importer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Importer")
            .field("by", &self.by)
            .field("project", &self.project)
            .field("dry_run", &self.dry_run)
            .finish_non_exhaustive()
    }
}

pub fn import(
    importer: &Importer<'_>,
    format: Option<Format>,
    path: &Path,
    reading: &mut TransferProgress<'_>,
    writing: &mut TransferProgress<'_>,
) -> Result<ImportReport> {
    let found = std::fs::metadata(path).map_err(|error| Error::file(path, error))?;
    if !found.is_file() && !found.is_dir() {
        // Whoever opens a pipe waits for somebody who writes, perhaps without end; a device has no end.
        return Err(Error::source(path, "is neither a file nor a folder"));
    }
    let format = match format {
        Some(format) => format,
        None => detect(path)?,
    };
    let project = match importer.project {
        Some(project) => Some(clean::name(project).ok_or_else(|| Error::Source {
            what: "--project".into(),
            reason: "is empty".into(),
        })?),
        None => None,
    };
    let mut report = ImportReport {
        format: format.name().to_owned(),
        dry_run: importer.dry_run,
        ..ImportReport::default()
    };
    let mut staging = StagingDatabase::new()?;
    {
        let mut normalizer = Normalizer {
            staging: &staging,
            report: &mut report,
            project,
            mask_secrets: importer.mask_secrets,
            verbatim: format == Format::Cortex,
            progress: reading,
        };
        match format {
            Format::Cortex => from_cortex::read(path, &mut normalizer)?,
            Format::Engram => engram::read(path, engram::ENGRAM, &mut normalizer)?,
            Format::GoCortex => engram::read(path, engram::GO_CORTEX, &mut normalizer)?,
            Format::ClaudeMem => claude_mem::read(path, &mut normalizer)?,
            Format::ServerMemory => server_memory::read(path, &mut normalizer)?,
            Format::Mem0 => mem0::read(path, &mut normalizer)?,
            Format::Markdown => markdown_notes::read(path, &mut normalizer)?,
        }
    }
    staging.close()?;
    let who = (importer.now, importer.by, importer.run);
    let hand = ImportWriter::new(
        importer.cortex,
        &staging,
        &mut report,
        who,
        importer.salt,
        importer.dry_run,
    )?;
    hand.run(writing)?;
    report.run = importer.run.filter(|_| !importer.dry_run).map(str::to_owned);
    Ok(report)
}
