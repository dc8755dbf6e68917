//! Claude Code: `projects/<folder>/<session>.jsonl` and `<session>/subagents/agent-<id>.jsonl`, a record per line.
//!
//! Closed source; the form is that of versions up to 2.1 as other tools read it, last checked 2026-11. A message is
//! spread over lines, a block each. `toolUseResult` repeats the output, so only its exit code is read.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{PastReader, SourceInput, has_ending, stem, words};
use crate::cleaner::{Cleaner, RecordPlace};
use crate::error::Result;
use crate::json::{JsonContent, JsonFlag, JsonNumber, JsonText, JsonTime};
use crate::session::{PastAgent, SessionInfo, SessionKind};
use crate::surroundings::PastSurroundings;
use crate::tools;

#[derive(Debug)]
pub(crate) struct ClaudeCode;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: JsonText<'a>,
    #[serde(borrow)]
    uuid: JsonText<'a>,
    #[serde(borrow)]
    session_id: JsonText<'a>,
    timestamp: JsonTime,
    #[serde(borrow)]
    cwd: JsonText<'a>,
    #[serde(borrow)]
    git_branch: JsonText<'a>,
    #[serde(borrow)]
    version: JsonText<'a>,
    #[serde(borrow)]
    agent_id: JsonText<'a>,
    is_sidechain: JsonFlag,
    is_meta: JsonFlag,
    is_compact_summary: JsonFlag,
    is_visible_in_transcript_only: JsonFlag,
    #[serde(borrow)]
    message: Message<'a>,
    tool_use_result: ExitData,
    #[serde(
        borrow,
        alias = "title",
        alias = "customTitle",
        alias = "aiTitle",
        alias = "agentName"
    )]
    summary: JsonText<'a>,
    #[serde(borrow, alias = "url")]
    pr_url: JsonText<'a>,
    #[serde(borrow)]
    subtype: JsonText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    id: JsonText<'a>,
    #[serde(borrow)]
    content: JsonContent<'a, Block<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: JsonText<'a>,
    #[serde(borrow)]
    text: JsonText<'a>,
    #[serde(borrow)]
    id: JsonText<'a>,
    #[serde(borrow)]
    name: JsonText<'a>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_use_id: JsonText<'a>,
    #[serde(borrow)]
    content: JsonContent<'a, TextBlock<'a>>,
    is_error: JsonFlag,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TextBlock<'a> {
    #[serde(borrow)]
    text: JsonText<'a>,
}

/// The only part of `toolUseResult` that the result itself does not say. It may be a text, too.
#[derive(Debug, Default)]
struct ExitData(Option<i32>);

impl<'de> Deserialize<'de> for ExitData {
    fn deserialize<D: serde::Deserializer<'de>>(
        input: D,
    ) -> std::result::Result<ExitData, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Fields {
            #[serde(alias = "exitCode", alias = "code")]
            exit_code: JsonNumber,
        }
        Ok(match JsonContent::<Fields>::deserialize(input)? {
            JsonContent::Blocks(fields) if fields.len() == 1 => {
                ExitData(fields[0].exit_code.0.and_then(|code| i32::try_from(code).ok()))
            }
            _ => ExitData(None),
        })
    }
}

/// Types of records that hold nothing a person would look for.
const SKIPPED: [&str; 13] = [
    "attachment",
    "file-history-snapshot",
    "file-history-delta",
    "queue-operation",
    "last-prompt",
    "mode",
    "permission-mode",
    "worktree-state",
    "relocated",
    "continued-in",
    "progress",
    "hook",
    "started",
];

impl PastReader for ClaudeCode {
    fn agent(&self) -> PastAgent {
        PastAgent::ClaudeCode
    }

    fn version(&self) -> u32 {
        1
    }

    fn roots(&self, surroundings: &PastSurroundings) -> Vec<PathBuf> {
        vec![surroundings.variable_or("CLAUDE_CONFIG_DIR", ".claude").join("projects")]
    }

    fn is_source(&self, path: &Path) -> bool {
        has_ending(path, ".jsonl")
    }

    fn grows(&self, _path: &Path) -> bool {
        true
    }

    fn read(&self, input: &mut SourceInput<'_>, out: &mut Cleaner<'_>) -> Result<()> {
        let file = FileName::of(input.path);
        input.each_record(out, |text, out| record(text, &file, out))
    }

    fn resume(
        &self,
        session: &str,
        _source: &Path,
    ) -> std::result::Result<Vec<String>, &'static str> {
        Ok(words(&["claude", "--resume", session]))
    }
}

/// What the name of a file says: the session, or the child and its parent.
#[derive(Debug)]
struct FileName {
    stem: String,
    is_child: bool,
    parent: Option<String>,
}

impl FileName {
    fn of(path: &Path) -> FileName {
        let stem = stem(path, ".jsonl");
        let child = stem.strip_prefix("agent-").map(str::to_owned);
        let folder = path
            .parent()
            .filter(|folder| folder.file_name().is_some_and(|name| name == "subagents"));
        let parent = folder
            .and_then(Path::parent)
            .and_then(Path::file_name)
            .map(|name| name.to_string_lossy().into_owned());
        FileName { is_child: child.is_some(), stem: child.unwrap_or(stem), parent }
    }
}

fn record(text: &str, file: &FileName, out: &mut Cleaner<'_>) {
    if text.trim().is_empty() {
        out.counts.skipped += 1;
        return;
    }
    let Ok(record) = serde_json::from_str::<Record<'_>>(text) else {
        out.counts.malformed += 1;
        return;
    };
    let kind = record.kind.as_str();
    if SKIPPED.contains(&kind) {
        out.counts.skipped += 1;
        return;
    }
    let is_title = matches!(kind, "summary" | "ai-title" | "custom-title" | "agent-name");
    if !is_title && !matches!(kind, "user" | "assistant" | "system" | "pr-link") {
        out.counts.unknown(kind);
        return;
    }
    out.session(info(&record, file, is_title));
    let place = RecordPlace { native: record.uuid.some(), at: record.timestamp.0 };
    match kind {
        "user" => user(&record, place, out),
        "assistant" => assistant(&record, place, out),
        "pr-link" => out.note(place, record.pr_url.as_str()),
        _ if is_title => {}
        // Boundaries of compaction, errors of the service: the summary itself is a user's record.
        _ => out.counts.skipped += 1,
    }
}

fn info(record: &Record<'_>, file: &FileName, is_title: bool) -> SessionInfo {
    let id = if file.is_child { record.agent_id.some().unwrap_or(&file.stem) } else { &file.stem };
    let mut info = SessionInfo::new(PastAgent::ClaudeCode, id);
    if file.is_child || record.is_sidechain.0 && record.agent_id.some().is_some() {
        info.kind = SessionKind::Child;
        info.parent = record.session_id.owned().or_else(|| file.parent.clone());
    }
    info.folder = record.cwd.owned();
    info.branch = record.git_branch.owned();
    info.version = record.version.owned();
    if is_title {
        info.title = record.summary.owned();
    }
    info.meet(record.timestamp.0.unwrap_or(0));
    info
}

fn user(record: &Record<'_>, place: RecordPlace<'_>, out: &mut Cleaner<'_>) {
    let is_summary = record.is_compact_summary.0;
    let is_silent = record.is_meta.0 || record.is_visible_in_transcript_only.0;
    let speech = |out: &mut Cleaner<'_>, text: &str| {
        if is_summary {
            out.summary(place, text);
        } else if is_silent {
            out.counts.noise += 1;
        } else {
            out.prompt(place, text);
        }
    };
    match &record.message.content {
        JsonContent::Text(text) => speech(out, text),
        JsonContent::Blocks(blocks) => {
            let texts: Vec<&str> = blocks
                .iter()
                .filter(|block| block.kind.as_str() == "text")
                .map(|block| block.text.as_str())
                .collect();
            if !texts.is_empty() {
                speech(out, &texts.join("\n"));
            }
            for block in blocks.iter().filter(|block| block.kind.as_str() == "tool_result") {
                result(block, record.tool_use_result.0, place, out);
            }
        }
    }
}

fn result(block: &Block<'_>, exit: Option<i32>, place: RecordPlace<'_>, out: &mut Cleaner<'_>) {
    let place = RecordPlace { native: block.tool_use_id.some(), ..place };
    match &block.content {
        JsonContent::Text(text) => {
            let said = text
                .strip_prefix("Exit code ")
                .and_then(|rest| rest.lines().next()?.trim().parse().ok());
            out.output(place, text, block.is_error.0, exit.or(said));
        }
        JsonContent::Blocks(parts) => {
            let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
            out.output(place, &texts.join("\n"), block.is_error.0, exit);
        }
    }
}

fn assistant(record: &Record<'_>, place: RecordPlace<'_>, out: &mut Cleaner<'_>) {
    // All lines of a message have its id, and together they are one answer.
    let spoken = RecordPlace { native: record.message.id.some().or(place.native), ..place };
    match &record.message.content {
        JsonContent::Text(text) => out.answer(spoken, text),
        JsonContent::Blocks(blocks) => {
            for block in blocks {
                match block.kind.as_str() {
                    "text" => out.answer(spoken, block.text.as_str()),
                    "tool_use" | "server_tool_use" => {
                        let place = RecordPlace { native: block.id.some(), ..place };
                        let input = block.input.map_or("", RawValue::get);
                        tools::call(out, place, block.name.as_str(), input);
                    }
                    // Thinking is an empty text with a signature.
                    _ => {}
                }
            }
        }
    }
}
