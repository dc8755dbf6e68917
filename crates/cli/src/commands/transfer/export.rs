//! `cortex export`: everything that is remembered, as lines to import again or as notes to read.

use std::path::PathBuf;

use api::transfer::{ExportReport, ExportRequest};
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::wiring::streams;

/// Exports memories, with their versions, edges, sessions and prompts.
///
/// jsonl holds everything that `cortex import` needs to make the same memories again: one JSON object per line, a
/// header first and an end last. It goes to standard output unless -o names a file, which is replaced only if it is an
/// export.
///
/// markdown writes a folder for Obsidian: one note per memory, by project, edges as [[links]]. Exporting into the same
/// folder again brings it up to date. Files that you edited or added are never touched; any other folder is refused.
///
/// Archived memories are part of an export, forgotten ones only with --all, erased ones never.
///
/// JSON (with -o): {format, path, memories, edges} and {sessions, prompts, lost} or {written, unchanged, removed, kept,
/// kept_files}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex export -o memories.jsonl
  cortex export --project web | gzip > web.jsonl.gz
  cortex export --format markdown -o ~/notes/cortex")]
pub(crate) struct ExportArgs {
    /// jsonl to import again, markdown to read
    #[arg(long, value_enum, default_value = "jsonl")]
    format: ExportFormat,
    /// Only this project
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Forgotten memories too
    #[arg(long)]
    all: bool,
    /// File, or folder for markdown
    #[arg(short, long, value_name = "PATH", required_if_eq("format", "markdown"))]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    Jsonl,
    Markdown,
}

pub(crate) fn run(args: &ExportArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = ExportRequest { project: args.project.clone(), all: args.all };
    let Some(given) = &args.output else {
        let report = streams::export_lines(inv, request, out)?;
        say_lost(report.lost, out);
        return out.flush();
    };
    let (path, shown) = (inv.path(given), given.display().to_string());
    match args.format {
        ExportFormat::Jsonl => {
            let ExportReport { memories, edges, sessions, prompts, lost } =
                streams::export_file(inv, request, &path, out)?;
            say_lost(lost, out);
            let view = json!({
                "format": "jsonl", "path": shown, "memories": memories, "edges": edges,
                "sessions": sessions, "prompts": prompts, "lost": lost,
            });
            out.either(
                &view,
                format_args!(
                    "exported {memories} memories, {edges} edges, {sessions} sessions and {prompts} prompts to {shown}"
                ),
            )
        }
        ExportFormat::Markdown => {
            let done = streams::export_folder(inv, request, &path, out)?;
            for name in &done.kept_files {
                out.say(format_args!("left as it is: {name}"));
            }
            let view = json!({
                "format": "markdown", "path": shown, "memories": done.memories, "edges": done.edges,
                "written": done.written, "unchanged": done.unchanged, "removed": done.removed,
                "kept": done.kept, "kept_files": done.kept_files,
            });
            out.either(
                &view,
                format_args!(
                    "exported {} memories to {shown}: {} files written, {} unchanged, \
                     {} removed, {} of yours left alone",
                    done.memories, done.written, done.unchanged, done.removed, done.kept
                ),
            )
        }
    }
}

fn say_lost(lost: u64, out: &Output) {
    if lost > 0 {
        out.say(format_args!(
            "{lost} memories are damaged and were left out: `cortex verify` names them, a backup has them"
        ));
    }
}
