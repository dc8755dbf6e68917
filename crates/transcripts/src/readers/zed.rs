//! Zed: `threads/threads.db` in its data folder, a row for each thread, its messages in one JSON document, perhaps
//! compressed.
//!
//! Verified against the agent's source of 2026-08. Two shapes of messages stay in one store. Messages have no times;
//! the thread's are taken and every item is marked `about`. Columns that came later may be absent.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::sqlite::AgentDatabase;
use super::{PastReader, SourceInput, has_ending};
use crate::cleaner::{Cleaner, RecordPlace};
use crate::error::Result;
use crate::limits::WHOLE_BYTES_MAX;
use crate::session::{PastAgent, SessionInfo, SessionKind};
use crate::surroundings::{HostSystem, PastSurroundings};
use crate::{times, tools};

#[derive(Debug)]
pub(crate) struct ZedThreads;

const COLUMNS: [&str; 7] =
    ["id", "summary", "updated_at", "data_type", "parent_id", "folder_paths", "created_at"];

impl PastReader for ZedThreads {
    fn agent(&self) -> PastAgent {
        PastAgent::Zed
    }

    fn version(&self) -> u32 {
        1
    }

    fn roots(&self, surroundings: &PastSurroundings) -> Vec<PathBuf> {
        let data = match surroundings.system {
            HostSystem::MacOs => surroundings.application_data().join("Zed"),
            HostSystem::Windows => {
                surroundings.variable_or("LOCALAPPDATA", "AppData/Local").join("Zed")
            }
            HostSystem::Linux => surroundings
                .variable("FLATPAK_XDG_DATA_HOME")
                .unwrap_or_else(|| surroundings.data())
                .join("zed"),
        };
        vec![data.join("threads")]
    }

    fn is_source(&self, path: &Path) -> bool {
        has_ending(path, "threads.db")
    }

    fn grows(&self, _path: &Path) -> bool {
        false
    }

    fn read(&self, input: &mut SourceInput<'_>, out: &mut Cleaner<'_>) -> Result<()> {
        let database = AgentDatabase::open(input.path)?;
        let mut marks = std::mem::take(&mut out.memory.marks);
        let read = database.each_with_bytes("threads", &COLUMNS, "data", "id", &mut |row, data| {
            out.counts.records += 1;
            let Some(id) = row[0].as_deref() else { return };
            let mark = format!("{}/{}", row[2].as_deref().unwrap_or(""), data.len());
            if marks.get(id) == Some(&mark) {
                return;
            }
            let is_packed = row[3].as_deref() == Some("zstd");
            let document = if is_packed { unpacked(data) } else { Some(data.to_vec()) };
            let document = document.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
            let Some(document) = document else {
                out.counts.malformed += 1;
                return;
            };
            out.session(info(row, &document));
            for (at, message) in list(&document["messages"]).iter().enumerate() {
                self::message(id, at, message, out);
            }
            marks.insert(id.to_owned(), mark);
        });
        out.memory.marks = marks;
        read
    }

    fn resume(
        &self,
        _session: &str,
        _source: &Path,
    ) -> std::result::Result<Vec<String>, &'static str> {
        Err("its threads are opened in the editor")
    }
}

/// A compressed document, within the bound of one.
fn unpacked(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut document = Vec::new();
    let decoder = zstd::Decoder::new(bytes).ok()?;
    let read = decoder.take(WHOLE_BYTES_MAX + 1).read_to_end(&mut document).ok()?;
    (read as u64 <= WHOLE_BYTES_MAX).then_some(document)
}

fn info(row: &[Option<String>], document: &Value) -> SessionInfo {
    let mut info = SessionInfo::new(PastAgent::Zed, row[0].as_deref().unwrap_or(""));
    let title = document["title"].as_str().or(document["summary"].as_str());
    info.title = row[1].clone().or_else(|| title.map(str::to_owned));
    info.version = document["version"].as_str().map(str::to_owned);
    info.parent.clone_from(&row[4]);
    if row[4].is_some() {
        info.kind = SessionKind::Child;
    }
    info.folder = row[5].as_deref().and_then(|paths| paths.lines().next()).map(str::to_owned);
    let updated = document["updated_at"].as_str().and_then(times::parse);
    let of_rows = [&row[6], &row[2]].into_iter().flatten().filter_map(|time| times::parse(time));
    of_rows.chain(updated).for_each(|time| info.meet(time));
    info
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn message(thread: &str, at: usize, message: &Value, out: &mut Cleaner<'_>) {
    if let Some(user) = message.get("User") {
        let id = user["id"].as_str().map_or_else(|| at.to_string(), str::to_owned);
        speech(out, &format!("{thread}.{id}"), true, &texts(&user["content"]));
    } else if let Some(agent) = message.get("Agent") {
        speech(out, &format!("{thread}.{at}"), false, &texts(&agent["content"]));
        for part in list(&agent["content"]) {
            if let Some(call) = part.get("ToolUse") {
                tool(out, call);
                result(out, &agent["tool_results"][call["id"].as_str().unwrap_or("")]);
            }
        }
    } else if let Some(compaction) = message.get("Compaction") {
        let text = compaction["Summary"].as_str().or(compaction["summary"].as_str());
        out.summary(RecordPlace::default(), text.unwrap_or(""));
    } else if message.as_str() == Some("Resume") {
        out.counts.skipped += 1;
    } else if let Some(role) = message["role"].as_str() {
        let id = message["id"].as_u64().map_or_else(|| at.to_string(), |id| id.to_string());
        let parts = list(&message["segments"]).iter().filter(|part| part["type"] != "thinking");
        let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
        let texts = if texts.is_empty() {
            message["text"].as_str().unwrap_or("").to_owned()
        } else {
            texts.join("\n")
        };
        match role {
            "user" | "assistant" => {
                speech(out, &format!("{thread}.{id}"), role == "user", &texts);
            }
            "system" => out.counts.skipped += 1,
            other => out.counts.unknown(other),
        }
        list(&message["tool_uses"]).iter().for_each(|call| tool(out, call));
        list(&message["tool_results"]).iter().for_each(|answer| result(out, answer));
    } else {
        let kind = message.as_object().and_then(|object| object.keys().next());
        out.counts.unknown(kind.map_or("message", String::as_str));
    }
}

fn speech(out: &mut Cleaner<'_>, native: &str, is_prompt: bool, text: &str) {
    let place = RecordPlace { native: Some(native), at: None };
    if text.trim().is_empty() {
        return;
    }
    if is_prompt {
        out.prompt(place, text);
    } else {
        out.answer(place, text);
    }
}

/// The texts of the parts of a message; mentions by their content.
fn texts(content: &Value) -> String {
    let text = |part: &Value| -> Option<String> {
        let text = part["Text"].as_str().or(part["Mention"]["content"].as_str())?;
        Some(text.to_owned())
    };
    list(content).iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

fn tool(out: &mut Cleaner<'_>, call: &Value) {
    let place = RecordPlace { native: call["id"].as_str(), at: None };
    tools::call(out, place, call["name"].as_str().unwrap_or(""), &call["input"].to_string());
}

fn result(out: &mut Cleaner<'_>, answer: &Value) {
    let Some(call) = answer["tool_use_id"].as_str() else { return };
    let content = &answer["content"];
    let text = content.as_str().or(content["Text"].as_str()).or(answer["output"].as_str());
    let is_error = answer["is_error"].as_bool() == Some(true);
    out.output(RecordPlace { native: Some(call), at: None }, text.unwrap_or(""), is_error, None);
}
