//! `cortex audit`: which memories need attention, and why; also of another tool's store, before it is imported.

use std::path::PathBuf;

use api::audit::{AuditAnswer, AuditRequest};
use api::render::people;
use api::transfer::ImportReport;
use clap::Args;
use serde::Serialize;

use crate::commands::transfer::import::SourceFormat;
use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::wiring::streams;

/// Shows which memories need attention: copies, contradictions, secrets, what is out of date or was never used.
///
/// It only looks and changes nothing. Of copies the oldest is kept out of the count. The newest 2,000 memories are
/// also compared by meaning. A look ends after 32 MiB of text and says where the next goes on (--before). With a file
/// or folder it looks into what another memory tool keeps (all that `cortex import` reads) and stores nothing; ids
/// are then those the memories would get in an empty home, and use is not known.
///
/// JSON: {memories, compared, findings: [{problem, count, says, remedy, examples: [{ids, title, why}]}], next,
/// source: {…}}; problem is secret, contradicting, disagreeing, copied, alike, outdated, prompt, vague, unused,
/// unplaced or projects; source is what `cortex import` would say of the file
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
    from: Option<SourceFormat>,
    /// Only this project
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Examples of each finding
    #[arg(long, value_name = "N", default_value_t = 5)]
    limit: usize,
    /// Only memories before this one: where an earlier look ended
    #[arg(long, value_name = "ID")]
    before: Option<u64>,
}

impl AuditArgs {
    /// Another tool's store has nothing to do with the home and its daemon.
    pub(crate) fn is_local(&self) -> bool {
        self.file.is_some()
    }

    fn request(&self) -> AuditRequest {
        let AuditArgs { project, limit, before, .. } = self;
        AuditRequest { project: project.clone(), limit: Some(*limit), before: *before }
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
        None => AuditReport { answer: inv.ask(args.request())?, source: None },
        Some(file) => {
            let from = args.from.map(SourceFormat::name);
            let (answer, source) =
                streams::audit_source(inv, from, args.request(), &inv.path(file), out)?;
            AuditReport { answer, source: Some(source) }
        }
    };
    if out.is_json() { out.object(&report) } else { show(&report, out) }
}

fn show(report: &AuditReport, out: &mut Output) -> CommandResult {
    if let Some(source) = &report.source {
        let left = source.skipped.total;
        out.line(format_args!("{} store: {left} rows cannot be imported", source.format))?;
    }
    out.text(people::audit(&report.answer))
}
