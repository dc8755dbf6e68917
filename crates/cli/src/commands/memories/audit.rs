//! `cortex audit`: which memories need attention, and why; also of another tool's store, before it is imported.

use std::path::{Path, PathBuf};

use api::audit::{AuditAnswer, AuditRequest, Concern, FindingView};
use api::render::people;
use clap::Args;
use serde::Serialize;
use service::{Service, Settings};
use transfer::{self, Format, ImportReport, Importer};

use crate::commands::transfer::import::unguessable;
use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::{Output, ProgressLine};

/// Shows which memories need attention: copies, contradictions, secrets, what is out of date or was never used.
///
/// It only looks and changes nothing. Of copies the oldest is kept out of the count. The newest 2,000 memories are also
/// compared by meaning. With a file or folder it looks into what another memory tool keeps (all that `cortex import`
/// reads) and stores nothing; ids are then those the memories would get in an empty home, and use is not known.
///
/// JSON: {memories, compared, findings: [{problem, count, says, remedy, examples: [{ids, title, why}]}], source: {…}};
/// problem is secret, contradicting, disagreeing, copied, alike, outdated, prompt, vague, unused, unplaced or projects;
/// source is what `cortex import` would say of the file
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex audit
  cortex audit --project web --limit 50
  cortex audit ~/.claude-mem/claude-mem.db")]
pub(crate) struct AuditArgs {
    /// File or folder of another memory tool, or an export
    file: Option<PathBuf>,
    /// What the file is, if it is not recognised
    #[arg(long, value_enum, value_name = "FORMAT", requires = "file")]
    from: Option<Format>,
    /// Only this project
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Examples of each finding
    #[arg(long, value_name = "N", default_value_t = 5)]
    limit: usize,
}

impl AuditArgs {
    /// Another tool's store has nothing to do with the home and its daemon.
    pub(crate) fn is_local(&self) -> bool {
        self.file.is_some()
    }

    fn request(&self) -> AuditRequest {
        AuditRequest { project: self.project.clone(), limit: Some(self.limit) }
    }
}

#[derive(Debug, Serialize)]
struct AuditReport {
    #[serde(flatten)]
    answer: AuditAnswer,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<ImportReport>,
}

pub(crate) fn run(args: &AuditArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    inv.owner_only("audit")?;
    let report = match &args.file {
        None => AuditReport {
            answer: inv.ops().service.audit(inv.caller(), args.request())?,
            source: None,
        },
        Some(file) => {
            let name = format!("cortex-audit-{:016x}", u64::from_le_bytes(inv.random()?));
            let scratch = std::env::temp_dir().join(name);
            let outcome = of_source(args, file, &scratch, inv, out);
            let removed = std::fs::remove_dir_all(&scratch);
            let report = outcome?;
            removed.map_err(|error| Failure::file(&scratch, error))?;
            report
        }
    };
    if out.is_json() { out.object(&report) } else { show(&report, out) }
}

/// Reads a store into a home that is thrown away, and looks at it there.
fn of_source(
    args: &AuditArgs,
    file: &Path,
    scratch: &Path,
    inv: &Invocation,
    out: &Output,
) -> CommandResult<AuditReport> {
    let service = Service::new(scratch, Settings::default(), std::time::Duration::ZERO);
    let caller = inv.caller();
    let cortex = service.cortex(caller)?;
    let salt = || inv.salt().map_err(|failure| unguessable(&failure));
    let importer = Importer {
        cortex: &cortex,
        now: caller.now()?,
        by: &caller.by,
        salt: &salt,
        // Nothing secret is copied, not even for a moment; the count is what is told.
        mask_secrets: true,
        project: None,
        dry_run: false,
    };
    let mut read = ProgressLine::new(out, "read");
    let source = transfer::import(
        &importer,
        args.from,
        &inv.path(file),
        &mut |done, total| read.at(done, total),
        &mut |_, _| {},
    )?;
    drop(cortex);
    let mut answer = service.audit(caller, args.request())?;
    service.close(caller.now()?)?;
    // An import brings no uses along.
    answer.findings.retain(|finding| finding.problem != Concern::Unused);
    if source.redacted > 0 {
        let count = usize::try_from(source.redacted).unwrap_or(usize::MAX);
        let remedy = "`cortex import` masks them on the way in".to_owned();
        let finding = FindingView { remedy, ..FindingView::new(Concern::Secret, count) };
        answer.findings.insert(0, finding);
    }
    Ok(AuditReport { answer, source: Some(source) })
}

fn show(report: &AuditReport, out: &mut Output) -> CommandResult {
    if let Some(source) = &report.source {
        let left = source.skipped.total;
        out.line(format_args!("{} store: {left} rows cannot be imported", source.format))?;
    }
    out.text(people::audit(&report.answer))
}
