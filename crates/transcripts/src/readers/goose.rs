//! Goose: `sessions/sessions.db` in its data folder; older a `.jsonl` for each session, which stays after its import.
//!
//! Verified against the agent's source of 2026-04. A conversation that is rewritten gets new rows, so what was said is
//! known by its words and minute. What only the model sees is its summary of what was before; sessions of the kind
//! `hidden` are the agent's own.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::blocks::{TextPart, joined};
use super::sqlite::{AgentDatabase, TextRow};
use super::{PastReader, SourceInput, has_ending, stem, words};
use crate::cleaner::{Cleaner, RecordPlace};
use crate::error::Result;
use crate::json::{JsonContent, JsonList, JsonText, JsonTime};
use crate::session::{PastAgent, SessionInfo, SessionKind};
use crate::surroundings::{HostSystem, PastSurroundings};
use crate::{times, tools};

#[derive(Debug)]
pub(crate) struct Goose;

const DATABASE: &str = "sessions.db";
const SESSION: [&str; 7] =
    ["id", "name", "description", "session_type", "working_dir", "created_at", "updated_at"];
const MESSAGE: [&str; 4] = ["role", "content_json", "created_timestamp", "metadata_json"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow)]
    role: JsonText<'a>,
    created: JsonTime,
    #[serde(borrow)]
    content: JsonList<Block<'a>>,
    metadata: Visibility,
    #[serde(borrow)]
    working_dir: JsonText<'a>,
    #[serde(borrow)]
    description: JsonText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: JsonText<'a>,
    #[serde(borrow)]
    text: JsonText<'a>,
    #[serde(borrow)]
    id: JsonText<'a>,
    #[serde(borrow)]
    tool_call: Call<'a>,
    #[serde(borrow)]
    tool_result: CallResult<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Call<'a> {
    #[serde(borrow)]
    value: CallValue<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CallValue<'a> {
    #[serde(borrow)]
    name: JsonText<'a>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CallResult<'a> {
    #[serde(borrow)]
    status: JsonText<'a>,
    /// Blocks, or an object that holds them.
    #[serde(borrow)]
    value: JsonContent<'a, ResultPart<'a>>,
    #[serde(borrow)]
    error: JsonText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResultPart<'a> {
    #[serde(borrow)]
    text: JsonText<'a>,
    #[serde(borrow)]
    content: JsonContent<'a, TextPart<'a>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Visibility {
    user_visible: bool,
    agent_visible: bool,
}

impl Default for Visibility {
    fn default() -> Self {
        Visibility { user_visible: true, agent_visible: true }
    }
}

impl PastReader for Goose {
    fn agent(&self) -> PastAgent {
        PastAgent::Goose
    }

    fn version(&self) -> u32 {
        1
    }

    fn roots(&self, surroundings: &PastSurroundings) -> Vec<PathBuf> {
        let data = match (surroundings.variable("GOOSE_PATH_ROOT"), surroundings.system) {
            (Some(root), _) => root.join("data"),
            (None, HostSystem::Windows) => {
                surroundings.application_data().join("Block").join("goose").join("data")
            }
            (None, _) => surroundings.data().join("goose"),
        };
        vec![data.join("sessions")]
    }

    fn is_source(&self, path: &Path) -> bool {
        has_ending(path, DATABASE) || has_ending(path, ".jsonl")
    }

    fn grows(&self, _path: &Path) -> bool {
        false
    }

    fn read(&self, input: &mut SourceInput<'_>, out: &mut Cleaner<'_>) -> Result<()> {
        if has_ending(input.path, DATABASE) {
            return database(input.path, out);
        }
        let id = stem(input.path, ".jsonl");
        let newer = input.path.with_file_name(DATABASE);
        if newer.is_file() && has_session(&newer, &id)? {
            out.counts.copies += 1;
            return Ok(());
        }
        input.each_record(out, |text, out| self::line(text, &id, out))
    }

    fn resume(
        &self,
        session: &str,
        _source: &Path,
    ) -> std::result::Result<Vec<String>, &'static str> {
        Ok(words(&["goose", "session", "--resume", "--session-id", session]))
    }
}

fn has_session(path: &Path, id: &str) -> Result<bool> {
    let mut found = false;
    let database = AgentDatabase::open(path)?;
    database.each("sessions", &["id"], Some(("id", id)), "id", &mut |_| found = true)?;
    Ok(found)
}

fn database(path: &Path, out: &mut Cleaner<'_>) -> Result<()> {
    let database = AgentDatabase::open(path)?;
    let mut sessions: Vec<TextRow> = Vec::new();
    database.each("sessions", &SESSION, None, "id DESC", &mut |row| sessions.push(row.clone()))?;
    for row in &sessions {
        let Some(id) = row[0].as_deref() else { continue };
        if row[3].as_deref() == Some("hidden") {
            out.counts.skipped += 1;
            continue;
        }
        let mark = database.weight("messages", "content_json", ("session_id", id))?;
        if out.memory.marks.get(id) == Some(&mark) {
            continue;
        }
        let mut info = SessionInfo::new(PastAgent::Goose, id);
        info.title = row[1].clone().or_else(|| row[2].clone());
        info.folder.clone_from(&row[4]);
        if row[3].as_deref() == Some("sub_agent") {
            info.kind = SessionKind::Child;
        }
        for time in [&row[5], &row[6]].into_iter().flatten() {
            info.meet(times::parse(time).unwrap_or(0));
        }
        out.session(info);
        database.each("messages", &MESSAGE, Some(("session_id", id)), "rowid", &mut |row| {
            out.counts.records += 1;
            let content = row[1].as_deref().unwrap_or("[]");
            let at = row[2].as_deref().and_then(times::parse);
            let visibility = row[3].as_deref().and_then(|text| serde_json::from_str(text).ok());
            match serde_json::from_str::<JsonList<Block<'_>>>(content) {
                Ok(blocks) => {
                    let role = row[0].as_deref().unwrap_or("");
                    message(role, &blocks.0, visibility.unwrap_or_default(), at, out);
                }
                Err(_) => out.counts.malformed += 1,
            }
        })?;
        out.memory.marks.insert(id.to_owned(), mark);
    }
    Ok(())
}

fn line(text: &str, id: &str, out: &mut Cleaner<'_>) {
    let Ok(line) = serde_json::from_str::<Line<'_>>(text) else {
        out.counts.malformed += u64::from(!text.trim().is_empty());
        return;
    };
    if line.role.some().is_none() {
        let mut info = SessionInfo::new(PastAgent::Goose, id);
        info.folder = line.working_dir.owned();
        info.title = line.description.owned();
        out.session(info);
        return;
    }
    if out.session_id().is_none() {
        out.session(SessionInfo::new(PastAgent::Goose, id));
    }
    message(line.role.as_str(), &line.content.0, line.metadata, line.created.0, out);
}

fn message(
    role: &str,
    blocks: &[Block<'_>],
    visibility: Visibility,
    at: Option<i64>,
    out: &mut Cleaner<'_>,
) {
    let texts = blocks.iter().filter(|block| block.kind.as_str() == "text");
    let text = texts.map(|block| block.text.as_str()).collect::<Vec<_>>().join("\n");
    let place = RecordPlace { native: None, at };
    if !visibility.user_visible {
        if visibility.agent_visible {
            out.summary(place, &text);
        } else {
            out.counts.skipped += 1;
        }
        return;
    }
    match role {
        _ if text.trim().is_empty() => {}
        "user" => out.prompt(place, &text),
        "assistant" => out.answer(place, &text),
        other => out.counts.unknown(other),
    }
    for block in blocks {
        let place = RecordPlace { native: block.id.some(), at };
        match block.kind.as_str() {
            "toolRequest" => {
                let call = &block.tool_call.value;
                let input = call.arguments.map_or("", RawValue::get);
                tools::call(out, place, call.name.as_str(), input);
            }
            "toolResponse" => {
                let result = &block.tool_result;
                let is_error = result.status.as_str() == "error";
                let said = match &result.value {
                    JsonContent::Text(text) => text.to_string(),
                    JsonContent::Blocks(parts) => {
                        let said = |part: &ResultPart<'_>| match part.text.some() {
                            Some(text) => text.to_owned(),
                            None => joined(&part.content),
                        };
                        parts.iter().map(said).collect::<Vec<_>>().join("\n")
                    }
                };
                let said = if said.is_empty() { result.error.as_str() } else { &said };
                out.output(place, said, is_error, None);
            }
            "text"
            | "image"
            | "thinking"
            | "redactedThinking"
            | "systemNotification"
            | "contextLengthExceeded"
            | "summarizationRequested"
            | "toolConfirmationRequest"
            | "frontendToolRequest"
            | "actionRequired" => {}
            kind => out.counts.unknown(kind),
        }
    }
}
