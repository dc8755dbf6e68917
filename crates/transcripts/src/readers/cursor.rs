//! Cursor: `state.vscdb` of the editor, and transcripts of the CLI in `projects/<folder>/agent-transcripts`.
//!
//! Closed source; the forms are those of other tools' readers, last checked 2026-11. Bubbles are ordered by the headers
//! of their composer; older stores hold them inside it, in `conversationMap`, or as tabs in `ItemTable`. Transcripts
//! have neither times nor results. What was said is known by its words, so a session that stands in both is one, and
//! the database, which is read first because it tells more, wins. The CLI's `store.db` is not read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::copilot_chat::{folder_of, local_path};
use super::native_ids::NativeIds;
use super::sqlite::AgentDatabase;
use super::{PastReader, SourceInput, has_ending, stem, words};
use crate::cleaner::{Cleaner, RecordPlace};
use crate::error::Result;
use crate::session::{PastAgent, SessionInfo, SessionKind};
use crate::surroundings::PastSurroundings;
use crate::{times, tools};

#[derive(Debug)]
pub(crate) struct CursorAgent;

const DATABASE: &str = "state.vscdb";
/// Keys of `ItemTable` under which older versions keep conversations.
const OLD_KEYS: [&str; 2] =
    ["workbench.panel.aichat.view.aichat.chatdata", "composer.composerData"];

impl PastReader for CursorAgent {
    fn agent(&self) -> PastAgent {
        PastAgent::Cursor
    }

    fn version(&self) -> u32 {
        1
    }

    fn roots(&self, surroundings: &PastSurroundings) -> Vec<PathBuf> {
        let user = surroundings.application_config().join("Cursor").join("User");
        let home = surroundings.variable_or("CURSOR_CONFIG_DIR", ".cursor");
        vec![user.join("globalStorage"), user.join("workspaceStorage"), home.join("projects")]
    }

    fn is_source(&self, path: &Path) -> bool {
        let is_transcript = path.components().any(|part| part.as_os_str() == "agent-transcripts");
        path.file_name().is_some_and(|name| name == DATABASE)
            || is_transcript && has_ending(path, ".jsonl")
    }

    fn grows(&self, _path: &Path) -> bool {
        false
    }

    fn read(&self, input: &mut SourceInput<'_>, out: &mut Cleaner<'_>) -> Result<()> {
        if has_ending(input.path, DATABASE) {
            return database(input.path, out);
        }
        let id = stem(input.path, ".jsonl");
        let mut ids = NativeIds::new(&id);
        out.session(SessionInfo::new(PastAgent::Cursor, id));
        input.each_value(out, |record, out| transcript_record(&record, &mut ids, out))
    }

    fn resume(
        &self,
        session: &str,
        source: &Path,
    ) -> std::result::Result<Vec<String>, &'static str> {
        if has_ending(source, DATABASE) {
            Err("its sessions are opened in the editor")
        } else {
            Ok(words(&["cursor-agent", "--resume", session]))
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn moment(value: &Value) -> Option<i64> {
    value.as_i64().and_then(times::of_number).or_else(|| times::parse(value.as_str()?))
}

/// A line of the CLI.
fn transcript_record(record: &Value, ids: &mut NativeIds, out: &mut Cleaner<'_>) {
    let content = &record["message"]["content"];
    let texts = list(content).iter().filter(|block| block["type"] == "text");
    let text: Vec<&str> = texts.filter_map(|block| block["text"].as_str()).collect();
    let text = content.as_str().map_or_else(|| text.join("\n"), str::to_owned);
    match record["role"].as_str() {
        Some("user") => speech(out, ids, true, &text, None),
        Some("assistant") => {
            speech(out, ids, false, &text, None);
            for block in list(content).iter().filter(|block| block["type"] == "tool_use") {
                let name = block["name"].as_str().unwrap_or("");
                tools::call(out, RecordPlace::default(), name, &block["input"].to_string());
            }
        }
        Some(role) => out.counts.unknown(role),
        None => out.counts.unknown(record["type"].as_str().unwrap_or("record without role")),
    }
}

fn speech(
    out: &mut Cleaner<'_>,
    ids: &mut NativeIds,
    is_prompt: bool,
    text: &str,
    at: Option<i64>,
) {
    // The database has the words alone, a transcript has them wrapped.
    let text = text.trim();
    let bare =
        text.strip_prefix("<user_query>").and_then(|text| text.strip_suffix("</user_query>"));
    let text = bare.unwrap_or(text).trim();
    if text.is_empty() {
        return;
    }
    let native = ids.of(if is_prompt { "prompt" } else { "answer" }, text);
    let place = RecordPlace { native: Some(&native), at };
    if is_prompt {
        out.prompt(place, text);
    } else {
        out.answer(place, text);
    }
}

fn database(path: &Path, out: &mut Cleaner<'_>) -> Result<()> {
    let database = AgentDatabase::open(path)?;
    let folder = folder_of(path);
    let mut composers = Vec::new();
    let of_composers = ("key", "composerData:", "composerData;");
    database.each_in_range("cursorDiskKV", &["key", "value"], of_composers, &mut |row| {
        out.counts.records += 1;
        match row[1].as_deref().map(serde_json::from_str::<Value>) {
            Some(Ok(composer)) => composers.push(composer),
            Some(Err(_)) => out.counts.malformed += 1,
            None => out.counts.too_large += 1,
        }
    })?;
    let mut parents: HashMap<String, String> = HashMap::new();
    for composer in &composers {
        let Some(id) = composer["composerId"].as_str() else { continue };
        for child in list(&composer["subComposerIds"]).iter().filter_map(Value::as_str) {
            parents.insert(child.to_owned(), id.to_owned());
        }
    }
    for composer in &composers {
        let Some(id) = composer["composerId"].as_str() else { continue };
        let headers = list(&composer["fullConversationHeadersOnly"]);
        let mark = format!("{}/{}", composer["lastUpdatedAt"], headers.len());
        if out.memory.marks.get(id) == Some(&mark) {
            continue;
        }
        let mut bubbles: HashMap<String, Value> = HashMap::new();
        let (from, to) = (format!("bubbleId:{id}:"), format!("bubbleId:{id};"));
        let range = ("key", from.as_str(), to.as_str());
        database.each_in_range("cursorDiskKV", &["key", "value"], range, &mut |row| {
            out.counts.records += 1;
            let key = row[0].as_deref().and_then(|key| key.strip_prefix(&from));
            match (key, row[1].as_deref().map(serde_json::from_str::<Value>)) {
                (Some(key), Some(Ok(bubble))) => {
                    bubbles.insert(key.to_owned(), bubble);
                }
                _ => out.counts.malformed += 1,
            }
        })?;
        let ordered = in_order(composer, headers, &bubbles);
        session(composer, id, parents.get(id), folder.as_deref(), &ordered, out);
        out.memory.marks.insert(id.to_owned(), mark);
    }
    old_tables(&database, folder.as_deref(), out)
}

/// The bubbles of a composer in the order of their conversation, wherever it keeps them.
fn in_order<'v>(
    composer: &'v Value,
    headers: &[Value],
    bubbles: &'v HashMap<String, Value>,
) -> Vec<&'v Value> {
    let map = &composer["conversationMap"];
    let of_headers: Vec<&Value> = headers
        .iter()
        .filter_map(|header| header["bubbleId"].as_str())
        .filter_map(|id| bubbles.get(id).or_else(|| map.get(id)))
        .collect();
    if of_headers.is_empty() {
        list(&composer["conversation"]).iter().collect()
    } else {
        of_headers
    }
}

fn session(
    composer: &Value,
    id: &str,
    parent: Option<&String>,
    folder: Option<&str>,
    bubbles: &[&Value],
    out: &mut Cleaner<'_>,
) {
    let mut info = SessionInfo::new(PastAgent::Cursor, id);
    info.title = composer["name"].as_str().map(str::to_owned);
    info.parent = parent.cloned();
    if parent.is_some() {
        info.kind = SessionKind::Child;
    }
    let said = bubbles.iter().find_map(|bubble| bubble["workspaceProjectDir"].as_str());
    let said = said.map(|path| local_path(path).unwrap_or_else(|| path.to_owned()));
    info.folder = said.or_else(|| folder.map(str::to_owned));
    for name in ["createdAt", "lastUpdatedAt", "lastSendTime"] {
        info.meet(moment(&composer[name]).unwrap_or(0));
    }
    out.session(info);
    let mut ids = NativeIds::new(id);
    for bubble in bubbles {
        let at = moment(&bubble["createdAt"]);
        let text = bubble["text"].as_str().unwrap_or("");
        match (bubble["type"].as_i64(), bubble["type"].as_str()) {
            (Some(1), _) | (_, Some("user")) => speech(out, &mut ids, true, text, at),
            (Some(2), _) | (_, Some("ai")) => {
                speech(out, &mut ids, false, text, at);
                tool(&bubble["toolFormerData"], at, out);
            }
            (number, _) => out.counts.unknown(&format!("bubble {}", number.unwrap_or(-1))),
        }
    }
}

fn tool(data: &Value, at: Option<i64>, out: &mut Cleaner<'_>) {
    let Some(name) = data["name"].as_str() else { return };
    let place = RecordPlace { native: data["toolCallId"].as_str(), at };
    let input = data["rawArgs"].as_str().or(data["params"].as_str()).unwrap_or("");
    tools::call(out, place, name, input);
    let Some(result) = data["result"].as_str() else { return };
    let parsed: Value = serde_json::from_str(result).unwrap_or(Value::Null);
    let shown = ["output", "contents", "result"].iter().find_map(|key| parsed[*key].as_str());
    let exit = parsed["exitCode"].as_i64().or(parsed["exitCodeV2"].as_i64());
    let exit = exit.and_then(|code| i32::try_from(code).ok());
    let is_error = data["status"].as_str() == Some("error");
    out.output(place, shown.unwrap_or(result), is_error, exit);
}

/// Conversations as older versions keep them.
fn old_tables(database: &AgentDatabase, folder: Option<&str>, out: &mut Cleaner<'_>) -> Result<()> {
    for key in OLD_KEYS {
        let mut values = Vec::new();
        database.each("ItemTable", &["value"], Some(("key", key)), "key", &mut |row| {
            values.extend(row[0].as_deref().and_then(|text| serde_json::from_str(text).ok()));
        })?;
        for value in values {
            let value: Value = value;
            let tabs = list(&value["tabs"]).iter().map(|tab| (&tab["tabId"], tab, &tab["bubbles"]));
            let composers = list(&value["allComposers"]).iter();
            let composers = composers.map(|one| (&one["composerId"], one, &one["conversation"]));
            for (id, holder, bubbles) in tabs.chain(composers) {
                let (Some(id), false) = (id.as_str(), list(bubbles).is_empty()) else { continue };
                let bubbles: Vec<&Value> = list(bubbles).iter().collect();
                session(holder, id, None, folder, &bubbles, out);
            }
        }
    }
    Ok(())
}
