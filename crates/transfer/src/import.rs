//! One import from beginning to end: read everything onto the stage, then let the hand do what is missing.

use std::path::Path;

use kernel::Cortex;
use kernel::memory::{Millis, Salt};

use crate::detect::{Format, detect};
use crate::hand::Hand;
use crate::report::ImportReport;
use crate::sink::Sink;
use crate::stage::Stage;
use crate::{
    Error, Progress, Result, claude_mem, clean, engram, from_cortex, mem0, server_memory, vault,
};

/// Where to, and what comes from outside: time, chance, who.
pub struct Importer<'i> {
    pub cortex: &'i Cortex,
    pub now: Millis,
    pub by: &'i str,
    pub salt: &'i dyn Fn() -> Result<Salt>,
    /// Private blocks are always taken out; secrets unless the person says otherwise.
    pub mask_secrets: bool,
    /// Project of what names none.
    pub project: Option<&'i str>,
    /// Look and count only.
    pub dry_run: bool,
}

pub fn import(
    importer: &Importer<'_>,
    format: Option<Format>,
    path: &Path,
    reading: &mut Progress<'_>,
    writing: &mut Progress<'_>,
) -> Result<ImportReport> {
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
        format: format.name(),
        dry_run: importer.dry_run,
        ..ImportReport::default()
    };
    let mut stage = Stage::new()?;
    {
        let mut sink = Sink {
            stage: &stage,
            report: &mut report,
            project,
            mask_secrets: importer.mask_secrets,
            verbatim: format == Format::Cortex,
            progress: reading,
        };
        match format {
            Format::Cortex => from_cortex::read(path, &mut sink)?,
            Format::Engram => engram::read(path, engram::ENGRAM, &mut sink)?,
            Format::GoCortex => engram::read(path, engram::GO_CORTEX, &mut sink)?,
            Format::ClaudeMem => claude_mem::read(path, &mut sink)?,
            Format::ServerMemory => server_memory::read(path, &mut sink)?,
            Format::Mem0 => mem0::read(path, &mut sink)?,
            Format::Markdown => vault::read(path, &mut sink)?,
        }
    }
    stage.close()?;
    let who = (importer.now, importer.by);
    let hand =
        Hand::new(importer.cortex, &stage, &mut report, who, importer.salt, importer.dry_run)?;
    hand.run(writing)?;
    Ok(report)
}
