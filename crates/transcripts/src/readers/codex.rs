//! Codex CLI: `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`, also compressed, also in `archived_sessions`.
//!
//! Verified against the agent's source of 2026-08. Speech comes from events, everything else from items, so nothing is
//! there twice; only the oldest files have items without a wrapper, and there speech is an item too. What
//! `replacement_history` holds is a copy.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{PastReader, SourceInput, has_ending, words};
use crate::cleaner::{Cleaner, RecordPlace, UndoPoint};
use crate::error::Result;
use crate::json::{JsonContent, JsonNumber, JsonText, JsonTime};
use crate::session::{PastAgent, SessionInfo, SessionKind};
use crate::surroundings::PastSurroundings;
use crate::tools;

#[derive(Debug)]
pub(crate) struct Codex;

/// Forms of a rollout, as [`crate::cleaner::ReaderMemory::form`] has them.
mod form {
    /// No session is known yet.
    pub(super) const NEW: u8 = 0;
    pub(super) const EVENTS: u8 = 1;
    /// Items stand on lines of their own.
    pub(super) const BARE: u8 = 2;
    /// A session of the agent itself, about no work of a person.
    pub(super) const IGNORED: u8 = 3;
    /// Calls are there as items, so events about them are copies.
    pub(super) const EVENTS_AND_CALLS: u8 = 4;
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    timestamp: JsonTime,
    #[serde(borrow, rename = "type")]
    kind: JsonText<'a>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
    ordinal: JsonNumber,
    /// The first line of the oldest files is the session itself.
    #[serde(borrow)]
    id: JsonText<'a>,
    #[serde(borrow)]
    git: Git<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Meta<'a> {
    #[serde(borrow)]
    id: JsonText<'a>,
    #[serde(borrow)]
    cwd: JsonText<'a>,
    #[serde(borrow)]
    cli_version: JsonText<'a>,
    #[serde(borrow)]
    source: Option<&'a RawValue>,
    #[serde(borrow)]
    forked_from_id: JsonText<'a>,
    #[serde(borrow)]
    parent_thread_id: JsonText<'a>,
    #[serde(borrow)]
    git: Git<'a>,
    subagent_history_start_ordinal: JsonNumber,
    timestamp: JsonTime,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Git<'a> {
    #[serde(borrow)]
    branch: JsonText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Payload<'a> {
    #[serde(borrow, rename = "type")]
    kind: JsonText<'a>,
    #[serde(borrow)]
    id: JsonText<'a>,
    #[serde(borrow)]
    role: JsonText<'a>,
    #[serde(borrow)]
    content: JsonContent<'a, Part<'a>>,
    #[serde(borrow)]
    message: JsonText<'a>,
    #[serde(borrow, alias = "tool")]
    name: JsonText<'a>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    action: Option<&'a RawValue>,
    #[serde(borrow)]
    call_id: JsonText<'a>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    command: JsonContent<'a, JsonText<'a>>,
    #[serde(borrow)]
    aggregated_output: JsonText<'a>,
    exit_code: JsonNumber,
    num_turns: JsonNumber,
    #[serde(borrow)]
    thread_name: JsonText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Part<'a> {
    #[serde(borrow)]
    text: JsonText<'a>,
}

/// What a call answered: a text, blocks, or either of them in an object; perhaps as JSON inside a text.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputParts<'a> {
    #[serde(borrow, alias = "text")]
    output: JsonText<'a>,
    #[serde(borrow)]
    content: JsonContent<'a, Part<'a>>,
    success: Option<bool>,
    metadata: OutputData,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputData {
    exit_code: JsonNumber,
}

const SKIPPED_LINES: [&str; 6] = [
    "turn_context",
    "world_state",
    "inter_agent_communication",
    "inter_agent_communication_metadata",
    "security_risk_score",
    "ghost_snapshot",
];

impl PastReader for Codex {
    fn agent(&self) -> PastAgent {
        PastAgent::Codex
    }

    fn version(&self) -> u32 {
        1
    }

    fn roots(&self, surroundings: &PastSurroundings) -> Vec<PathBuf> {
        let home = surroundings.variable_or("CODEX_HOME", ".codex");
        vec![home.join("sessions"), home.join("archived_sessions")]
    }

    fn is_source(&self, path: &Path) -> bool {
        let is_rollout =
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rollout-"));
        // Both forms may be there for a moment; the plain one is newer.
        let compressed = has_ending(path, ".jsonl.zst") && !path.with_extension("").is_file();
        is_rollout && (has_ending(path, ".jsonl") || compressed)
    }

    fn grows(&self, _path: &Path) -> bool {
        true
    }

    fn read(&self, input: &mut SourceInput<'_>, out: &mut Cleaner<'_>) -> Result<()> {
        input.each_record(out, line)
    }

    fn resume(
        &self,
        session: &str,
        _source: &Path,
    ) -> std::result::Result<Vec<String>, &'static str> {
        Ok(words(&["codex", "resume", session]))
    }
}

fn line(text: &str, out: &mut Cleaner<'_>) {
    if text.trim().is_empty() {
        out.counts.skipped += 1;
        return;
    }
    let Ok(line) = serde_json::from_str::<Line<'_>>(text) else {
        out.counts.malformed += 1;
        return;
    };
    let at = line.timestamp.0;
    if out.memory.form == form::IGNORED {
        out.counts.skipped += 1;
        return;
    }
    let Some(payload) = line.payload else {
        return bare(text, &line, out);
    };
    // What a child inherited from its parent is in the parent's file.
    let inherited =
        line.ordinal.0.is_some_and(|ordinal| ordinal.unsigned_abs() < out.memory.own_from);
    if inherited && line.kind.as_str() != "session_meta" {
        out.counts.copies += 1;
        return;
    }
    match line.kind.as_str() {
        "session_meta" => meta(payload.get(), at, out),
        "response_item" => parsed(payload.get(), out, |payload, out| item(payload, at, out)),
        "event_msg" => parsed(payload.get(), out, |payload, out| event(payload, at, out)),
        "compacted" => parsed(payload.get(), out, |payload, out| {
            out.summary(RecordPlace { native: None, at }, payload.message.as_str());
        }),
        kind if SKIPPED_LINES.contains(&kind) => out.counts.skipped += 1,
        kind => out.counts.unknown(kind),
    }
}

fn parsed(text: &str, out: &mut Cleaner<'_>, take: impl FnOnce(&Payload<'_>, &mut Cleaner<'_>)) {
    match serde_json::from_str::<Payload<'_>>(text) {
        Ok(payload) => take(&payload, out),
        Err(_) => out.counts.malformed += 1,
    }
}

/// The oldest form: the session, then items, without a wrapper.
fn bare(text: &str, line: &Line<'_>, out: &mut Cleaner<'_>) {
    if out.memory.form == form::NEW && line.kind.some().is_none() && line.id.some().is_some() {
        out.memory.form = form::BARE;
        let mut info = SessionInfo::new(PastAgent::Codex, line.id.as_str());
        info.branch = line.git.branch.owned();
        info.meet(line.timestamp.0.unwrap_or(0));
        out.session(info);
        return;
    }
    if line.kind.some().is_none() {
        out.counts.skipped += 1;
        return;
    }
    parsed(text, out, |payload, out| item(payload, line.timestamp.0, out));
}

fn meta(text: &str, at: Option<i64>, out: &mut Cleaner<'_>) {
    let Ok(meta) = serde_json::from_str::<Meta<'_>>(text) else {
        out.counts.malformed += 1;
        return;
    };
    // A fork begins with copies of the lines of its origin, the session's among them: the first is its own.
    if out.memory.form != form::NEW {
        out.counts.copies += 1;
        return;
    }
    let source = meta.source.map_or("", RawValue::get);
    if source.contains("memory_consolidation") {
        out.memory.form = form::IGNORED;
        return;
    }
    out.memory.form = form::EVENTS;
    out.memory.own_from = meta.subagent_history_start_ordinal.0.unwrap_or(0).unsigned_abs();
    let mut info = SessionInfo::new(PastAgent::Codex, meta.id.as_str());
    info.parent = meta.parent_thread_id.owned().or_else(|| meta.forked_from_id.owned());
    if source.contains("\"subagent\"") {
        info.kind = SessionKind::Child;
    }
    info.folder = meta.cwd.owned();
    info.version = meta.cli_version.owned();
    info.branch = meta.git.branch.owned();
    info.meet(at.or(meta.timestamp.0).unwrap_or(0));
    out.session(info);
}

fn event(payload: &Payload<'_>, at: Option<i64>, out: &mut Cleaner<'_>) {
    let place = RecordPlace { native: None, at };
    match payload.kind.as_str() {
        "user_message" => out.prompt(place, payload.message.as_str()),
        "agent_message" => out.answer(place, payload.message.as_str()),
        "item_completed" => match payload.item {
            Some(item) => parsed(item.get(), out, |item, out| finished(item, at, out)),
            None => out.counts.malformed += 1,
        },
        "thread_rolled_back" => {
            let turns =
                payload.num_turns.0.and_then(|turns| u32::try_from(turns).ok()).unwrap_or(1);
            out.undo(UndoPoint::LastTurns(turns));
        }
        "thread_name_updated" => title(payload.thread_name.as_str(), out),
        // Progress, counts of tokens, copies of what items say.
        _ => out.counts.skipped += 1,
    }
}

fn title(name: &str, out: &mut Cleaner<'_>) {
    if let Some(id) = out.session_id().filter(|_| !name.is_empty()) {
        let mut info = SessionInfo::new(PastAgent::Codex, id);
        info.title = Some(name.to_owned());
        out.session(info);
    }
}

/// An item of the paginated form.
fn finished(item: &Payload<'_>, at: Option<i64>, out: &mut Cleaner<'_>) {
    let place = RecordPlace { native: item.id.some(), at };
    // The ids of speech are not those of the other forms, where there are none.
    let spoken = RecordPlace { native: None, at };
    let has_calls = out.memory.form == form::EVENTS_AND_CALLS;
    match item.kind.as_str() {
        "UserMessage" => out.prompt(spoken, &text_of(&item.content)),
        "AgentMessage" => out.answer(spoken, &text_of(&item.content)),
        "CommandExecution" if !has_calls => {
            let line = match &item.command {
                JsonContent::Text(line) => line.to_string(),
                JsonContent::Blocks(words) => {
                    words.iter().map(JsonText::as_str).collect::<Vec<_>>().join(" ")
                }
            };
            out.command(place, &line);
            let exit = item.exit_code.0.and_then(|code| i32::try_from(code).ok());
            out.output(place, item.aggregated_output.as_str(), false, exit);
        }
        "McpToolCall" if !has_calls => {
            tools::call(out, place, item.name.as_str(), item.arguments.map_or("", RawValue::get));
        }
        _ => out.counts.skipped += 1,
    }
}

fn item(payload: &Payload<'_>, at: Option<i64>, out: &mut Cleaner<'_>) {
    let call = RecordPlace { native: payload.call_id.some().or(payload.id.some()), at };
    let kind = payload.kind.as_str();
    if matches!(kind, "function_call" | "custom_tool_call" | "local_shell_call")
        && out.memory.form == form::EVENTS
    {
        out.memory.form = form::EVENTS_AND_CALLS;
    }
    match kind {
        "message" if out.memory.form == form::BARE => {
            let place = RecordPlace { native: None, at };
            match payload.role.as_str() {
                "user" => out.prompt(place, &text_of(&payload.content)),
                "assistant" => out.answer(place, &text_of(&payload.content)),
                _ => out.counts.skipped += 1,
            }
        }
        "function_call" => {
            let arguments = payload.arguments.map_or("", RawValue::get);
            // Arguments are JSON inside a JSON text.
            let inner = serde_json::from_str::<String>(arguments);
            tools::call(out, call, payload.name.as_str(), inner.as_deref().unwrap_or(arguments));
        }
        "custom_tool_call" => {
            let input = payload.input.map_or("", RawValue::get);
            let inner = serde_json::from_str::<String>(input);
            tools::call(out, call, payload.name.as_str(), inner.as_deref().unwrap_or(input));
        }
        "local_shell_call" => {
            tools::call(out, call, "local_shell", payload.action.map_or("", RawValue::get));
        }
        "function_call_output" | "custom_tool_call_output" => {
            output(payload.output.map_or("\"\"", RawValue::get), call, out);
        }
        "message"
        | "agent_message"
        | "reasoning"
        | "web_search_call"
        | "compaction"
        | "tool_search_call"
        | "tool_search_output"
        | "ghost_snapshot"
        | "image_generation_call" => out.counts.skipped += 1,
        kind => out.counts.unknown(kind),
    }
}

fn output(raw: &str, place: RecordPlace<'_>, out: &mut Cleaner<'_>) {
    let exit_of = |parts: &OutputParts<'_>| {
        parts.metadata.exit_code.0.and_then(|code| i32::try_from(code).ok())
    };
    match serde_json::from_str::<JsonContent<'_, OutputParts<'_>>>(raw) {
        Ok(JsonContent::Text(text)) => match serde_json::from_str::<OutputParts<'_>>(&text) {
            Ok(parts) if parts.output.some().is_some() => {
                out.output(place, parts.output.as_str(), false, exit_of(&parts));
            }
            _ => out.output(place, &text, false, said_exit(&text)),
        },
        Ok(JsonContent::Blocks(blocks)) => {
            let texts: Vec<String> = blocks
                .iter()
                .map(|block| match block.output.some() {
                    Some(text) => text.to_owned(),
                    None => text_of(&block.content),
                })
                .collect();
            let failed = blocks.iter().any(|block| block.success == Some(false));
            out.output(place, &texts.join("\n"), failed, blocks.first().and_then(exit_of));
        }
        Err(_) => out.counts.malformed += 1,
    }
}

/// Newer versions write the exit code above the output.
fn said_exit(text: &str) -> Option<i32> {
    let line = text.lines().take(4).find(|line| line.to_ascii_lowercase().contains("exit"))?;
    let digits = line.rsplit([' ', ':']).next()?;
    let known =
        ["Exit code: ", "Process exited with code "].iter().any(|start| line.starts_with(start));
    known.then(|| digits.trim().parse().ok()).flatten()
}

fn text_of(content: &JsonContent<'_, Part<'_>>) -> String {
    match content {
        JsonContent::Text(text) => text.to_string(),
        JsonContent::Blocks(parts) => parts
            .iter()
            .map(|part| part.text.as_str())
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("\n"),
    }
}
