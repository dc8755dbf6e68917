//! `cortex import`: memories of other tools, and our own exports.

use std::path::PathBuf;

use api::transfer::{ImportReport, ImportRequest};
use api::{Error, ErrorCode, Fault};
use clap::{Args, ValueEnum};

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::{Output, plain};
use crate::wiring::streams;

/// Rows named on a terminal; --json names a thousand.
const NAMED_MAX: usize = 20;

/// Imports memories from an export or from another memory tool.
///
/// The format is recognised by what the file or folder holds; --from names it. The source is only read, also while its
/// tool is running. Importing again adds nothing: each memory remembers where it came from, and only what changed there
/// since is updated, as a new version. A row that cannot be kept is left out and named with the reason. Private blocks
/// and secrets are replaced on the way in.
///
/// Dates of origin become the dates of the memories where the journal allows it, because its entries never run
/// backwards: that is, for everything newer than its last entry, so for all of it in a new home. What is older keeps
/// its date in valid_from.
///
/// JSON: {format, dry_run, found, memories: {new, changed, unchanged}, versions, edges, sessions, prompts:
/// {new, unchanged}, forgotten, dates: {as_created, as_valid_from, absent, lost}, redacted, tags_left_out,
/// references_left_out, skipped: {total, by_reason, rows: [{what, reason}]}, incomplete}; incomplete says
/// where the source breaks off, and then the exit code is 2
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex import ~/.engram/engram.db --dry-run
  cortex import ~/.claude-mem/claude-mem.db
  cortex import memory.jsonl --from server-memory --project web
  cortex import ~/notes/vault --project notes")]
pub(crate) struct ImportArgs {
    /// File or folder
    path: PathBuf,
    /// What it is, if it is not recognised
    #[arg(long, value_enum, value_name = "FORMAT")]
    from: Option<SourceFormat>,
    /// Project of what names none
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Count and check only; change nothing
    #[arg(long)]
    dry_run: bool,
}

/// What a file or folder may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SourceFormat {
    /// JSONL of `cortex export`
    Cortex,
    /// SQLite database of engram
    Engram,
    /// SQLite database of the Go program cortex
    GoCortex,
    /// SQLite database of claude-mem
    ClaudeMem,
    /// JSONL of the reference MCP memory server
    ServerMemory,
    /// JSON of mem0 or OpenMemory
    Mem0,
    /// Folder of Markdown notes: Obsidian, basic-memory, `cortex export --format markdown`
    #[value(alias = "obsidian", alias = "basic-memory")]
    Markdown,
}

impl SourceFormat {
    pub(crate) fn name(self) -> &'static str {
        match self {
            SourceFormat::Cortex => "cortex",
            SourceFormat::Engram => "engram",
            SourceFormat::GoCortex => "go-cortex",
            SourceFormat::ClaudeMem => "claude-mem",
            SourceFormat::ServerMemory => "server-memory",
            SourceFormat::Mem0 => "mem0",
            SourceFormat::Markdown => "markdown",
        }
    }
}

pub(crate) fn run(args: &ImportArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = ImportRequest {
        from: args.from.map(|format| format.name().to_owned()),
        project: args.project.clone(),
        dry_run: args.dry_run,
    };
    let report = streams::import(inv, &request, &inv.path(&args.path), out)?;
    if out.is_json() {
        out.object(&report)?;
    } else {
        show(&report, out)?;
    }
    let Some(place) = &report.incomplete else { return Ok(()) };
    let memories = &report.memories;
    let kept = memories.new + memories.changed + memories.unchanged;
    let message =
        format!("the source is incomplete: {place}; {kept} memories before that were kept");
    Err(Error::new(ErrorCode::BadSource, Fault::Caller, message)
        .with_hint("get the whole file and import it again; what is here already is not doubled")
        .into())
}

fn show(report: &ImportReport, out: &mut Output) -> CommandResult {
    let ImportReport { memories, edges, sessions, prompts, dates, skipped, .. } = report;
    let verb = if report.dry_run { "would import" } else { "imported" };
    out.line(format_args!("{verb} from {}:", report.format))?;
    out.line(format_args!(
        "  memories  {} new, {} changed, {} unchanged",
        memories.new, memories.changed, memories.unchanged
    ))?;
    for (kind, count) in &report.found {
        out.line(format_args!("    {kind}  {count}"))?;
    }
    for (name, counts) in [("edges", edges), ("sessions", sessions), ("prompts", prompts)] {
        if counts.new + counts.unchanged > 0 {
            out.line(format_args!(
                "  {name:<9} {} new, {} unchanged",
                counts.new, counts.unchanged
            ))?;
        }
    }
    for (count, words) in [
        (report.versions, "versions added to memories that were here"),
        (report.forgotten, "memories forgotten, as they are at their origin"),
        (report.redacted, "texts with something private replaced"),
        (report.tags_left_out, "tags left out, because a memory has at most 32"),
        (report.references_left_out, "references left out, because what they name is not here"),
        (dates.as_valid_from, "dates kept as valid_from, because the journal is newer"),
        (dates.lost, "dates of prompts, sessions and edges not kept, because the journal is newer"),
    ] {
        if count > 0 {
            out.line(format_args!("  {count} {words}"))?;
        }
    }
    if skipped.total > 0 {
        out.line(format_args!("left out {}:", skipped.total))?;
        for row in skipped.rows.iter().take(NAMED_MAX) {
            out.line(format_args!("  {}: {}", plain(&row.what), plain(&row.reason)))?;
        }
        let more = skipped.total.saturating_sub(NAMED_MAX as u64);
        if more > 0 {
            out.line(format_args!("  and {more} more; --json names the first thousand"))?;
        }
    }
    Ok(())
}
