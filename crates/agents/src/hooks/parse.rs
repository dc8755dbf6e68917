//! From an agent's JSON to a [`HookEvent`].
//!
//! Agents add fields with every release, leave some out, and send null for others. What is unknown is skipped and what
//! is missing is nothing; only input that is no JSON object, or a prompt event without a prompt, is refused.

use std::path::PathBuf;

use serde_json::Value;

use crate::agent::Agent;
use crate::hooks::event::{EventName, Happening, HookEvent, HookSession, Start};

/// The most that is read from an agent. A pasted log file fits; a runaway does not.
pub const INPUT_BYTES_MAX: usize = 16 << 20;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum HookError {
    #[error("the event has more than {INPUT_BYTES_MAX} bytes")]
    TooLarge,
    #[error("the event is no JSON object (line {line}, column {column})")]
    NotJson { line: usize, column: usize },
    #[error("the event has no {0}")]
    Missing(&'static str),
}

/// Reads one event. `name` is what we were called for; what the agent calls it is not asked.
pub(super) fn parse(agent: Agent, name: EventName, input: &[u8]) -> Result<HookEvent, HookError> {
    if input.len() > INPUT_BYTES_MAX {
        return Err(HookError::TooLarge);
    }
    // Some shells put a byte order mark before what they pipe.
    let input = input.strip_prefix("\u{feff}".as_bytes()).unwrap_or(input);
    let value: Value = serde_json::from_slice(input)
        .map_err(|error| HookError::NotJson { line: error.line(), column: error.column() })?;
    if !value.is_object() {
        return Err(HookError::NotJson { line: 1, column: 1 });
    }
    let text = |names: &[&str]| {
        let found = names.iter().find_map(|name| value.get(name)?.as_str());
        found.filter(|text| !text.trim().is_empty()).map(str::to_owned)
    };
    let session = HookSession {
        agent,
        id: text(&["session_id", "conversation_id", "sessionID"]),
        folder: text(&["cwd"]).or_else(|| first_root(&value)).map(PathBuf::from),
        transcript: text(&["transcript_path"]).map(PathBuf::from),
    };
    let happening = match name {
        EventName::SessionStart => Happening::SessionStart(start(text(&["source"]).as_deref())),
        EventName::PromptSubmit => {
            let prompt = text(&["prompt"]).ok_or(HookError::Missing("prompt"))?;
            Happening::PromptSubmit { prompt: spoken(&prompt).to_owned() }
        }
        EventName::PreTool => {
            let (file, command) = touched(&value);
            Happening::PreTool { file, command }
        }
        EventName::PreCompact => Happening::PreCompact,
        EventName::SessionEnd => Happening::SessionEnd { reason: text(&["reason"]) },
        EventName::SubagentStop => {
            let message = text(&["last_assistant_message", "summary", "result", "output"]);
            Happening::SubagentStop { message }
        }
        EventName::Stop => {
            let message = text(&["last_assistant_message", "prompt_response"]);
            Happening::Stop { message }
        }
    };
    Ok(HookEvent { session, happening })
}

/// The words of the person: Gemini CLI puts what hooks said before them, between tags.
fn spoken(prompt: &str) -> &str {
    let mut rest = prompt;
    while let Some(inside) = rest.trim_start().strip_prefix("<hook_context>") {
        match inside.split_once("</hook_context>") {
            Some((_, after)) => rest = after.trim_start(),
            None => break,
        }
    }
    if rest.trim().is_empty() { prompt } else { rest }
}

/// The file that a tool is about to change, or the command that it is about to run.
fn touched(value: &Value) -> (Option<String>, Option<String>) {
    let Some(input) = value.get("tool_input").or_else(|| value.get("input")) else {
        return (None, None);
    };
    let text = |names: &[&str]| {
        let found = names.iter().find_map(|name| input.get(name)?.as_str());
        found.filter(|text| !text.trim().is_empty()).map(str::to_owned)
    };
    let file = text(&["file_path", "notebook_path", "filePath", "path"]);
    let words = |value: &Value| {
        let words: Vec<&str> = value.as_array()?.iter().filter_map(Value::as_str).collect();
        // A shell with a line is that line.
        Some(match words.as_slice() {
            [_, "-c" | "-lc", line, ..] => (*line).to_owned(),
            words => words.join(" "),
        })
    };
    let command =
        text(&["command", "cmd", "patch"]).or_else(|| input.get("command").and_then(words));
    // Codex edits by a patch, which names its files.
    let patched = command.as_deref().and_then(|line| {
        let mut lines = line.lines();
        lines.find_map(|line| {
            line.strip_prefix("*** Update File: ").or_else(|| line.strip_prefix("*** Add File: "))
        })
    });
    match (file, patched) {
        (Some(file), _) => (Some(file), None),
        (None, Some(file)) => (Some(file.trim().to_owned()), None),
        (None, None) => (None, command),
    }
}

/// Cursor names the folders of its window instead of one working folder.
fn first_root(value: &Value) -> Option<String> {
    let root = value.get("workspace_roots")?.get(0)?.as_str()?;
    Some(root.to_owned())
}

fn start(source: Option<&str>) -> Start {
    match source {
        Some("resume" | "fork") => Start::Resumed,
        Some("clear") => Start::Cleared,
        Some("compact") => Start::Compacted,
        _ => Start::Fresh,
    }
}
