//! Copilot Chat in VS Code: `workspaceStorage/<hash>/chatSessions/<id>.json`, newer `.jsonl`, which is a log of changes
//! to the same document; newest also transcripts with the events of the CLI.
//!
//! As other tools read it, last checked 2026-11. In the log kind 0 is the whole document, 1 sets a value, 2 adds to a
//! list, 3 deletes. A transcript is read only where no session of its name is.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{PastReader, SourceInput, copilot_cli, has_ending, stem};
use crate::cleaner::{Cleaner, RecordPlace};
use crate::error::{Error, Result};
use crate::session::{PastAgent, SessionInfo};
use crate::surroundings::PastSurroundings;
use crate::times;

#[derive(Debug)]
pub(crate) struct CopilotChat;

impl PastReader for CopilotChat {
    fn agent(&self) -> PastAgent {
        PastAgent::CopilotChat
    }

    fn version(&self) -> u32 {
        1
    }

    fn roots(&self, surroundings: &PastSurroundings) -> Vec<PathBuf> {
        let folders = |user: PathBuf| {
            [
                user.join("workspaceStorage"),
                user.join("globalStorage").join("emptyWindowChatSessions"),
            ]
        };
        surroundings.editors().into_iter().flat_map(folders).collect()
    }

    fn is_source(&self, path: &Path) -> bool {
        let folder = path.parent().and_then(Path::file_name);
        let lies_in = |name: &str| folder.is_some_and(|folder| folder == name);
        let is_session = lies_in("chatSessions") || lies_in("emptyWindowChatSessions");
        // A session of the older form goes on in the newer one.
        let is_old = has_ending(path, ".json") && !path.with_extension("jsonl").is_file();
        let is_transcript = lies_in("transcripts") && has_ending(path, ".jsonl");
        is_session && (is_old || has_ending(path, ".jsonl")) || is_transcript && !has_session(path)
    }

    fn grows(&self, _path: &Path) -> bool {
        false
    }

    fn read(&self, input: &mut SourceInput<'_>, out: &mut Cleaner<'_>) -> Result<()> {
        let path = input.path;
        let failed = |error| Error::file(path, error);
        let folder = folder_of(path);
        let is_transcript = path.parent().is_some_and(|folder| folder.ends_with("transcripts"));
        if is_transcript {
            let id = stem(path, ".jsonl");
            return copilot_cli::events(PastAgent::CopilotChat, &id, folder.as_deref(), input, out);
        }
        let mut document = Value::Null;
        if has_ending(path, ".json") {
            let text = std::fs::read(path).map_err(failed)?;
            match serde_json::from_slice(&text) {
                Ok(whole) => document = whole,
                Err(_) => out.counts.malformed += 1,
            }
        } else {
            input.each_value(out, |change, out| apply(&mut document, change, out))?;
        }
        emit(&document, path, folder, out);
        Ok(())
    }

    fn resume(
        &self,
        _session: &str,
        _source: &Path,
    ) -> std::result::Result<Vec<String>, &'static str> {
        Err("its sessions are opened in the editor")
    }
}

/// The storage of the workspace that a file lies in.
fn workspace(path: &Path) -> Option<&Path> {
    let is_storage = |folder: &&Path| {
        folder.parent().and_then(Path::file_name).is_some_and(|name| name == "workspaceStorage")
    };
    path.ancestors().find(is_storage)
}

/// Whether a transcript's session is kept in the other form, too.
fn has_session(path: &Path) -> bool {
    let Some(workspace) = workspace(path) else { return false };
    let sessions = workspace.join("chatSessions");
    let id = stem(path, ".jsonl");
    [".json", ".jsonl"].iter().any(|ending| sessions.join(format!("{id}{ending}")).is_file())
}

/// The folder that `workspace.json` names.
pub(super) fn folder_of(path: &Path) -> Option<String> {
    let text = std::fs::read(workspace(path)?.join("workspace.json")).ok()?;
    let named: Value = serde_json::from_slice(&text).ok()?;
    local_path(named["folder"].as_str()?)
}

/// The path of a `file:` address.
pub(super) fn local_path(address: &str) -> Option<String> {
    let path = address.strip_prefix("file://")?.as_bytes();
    let (mut bytes, mut at) = (Vec::new(), 0);
    while at < path.len() {
        let code = path.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match (path[at], code.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                at += 3;
            }
            (byte, _) => {
                bytes.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// Elements that a change may add in front of itself: a larger place is a damaged log.
const PLACE_MAX: usize = 100_000;

/// One change of the document.
fn apply(document: &mut Value, change: Value, out: &mut Cleaner<'_>) {
    let Value::Object(mut change) = change else {
        out.counts.malformed += 1;
        return;
    };
    let kind = change.get("kind").and_then(Value::as_u64);
    let value = change.remove("v").unwrap_or(Value::Null);
    let Some(Value::Array(keys)) = change.remove("k").or_else(|| Some(Value::Array(Vec::new())))
    else {
        out.counts.malformed += 1;
        return;
    };
    match kind {
        Some(0) => *document = value,
        Some(1) => match place(document, &keys) {
            Some(found) => *found = value,
            None => out.counts.malformed += 1,
        },
        Some(2) => match (place(document, &keys), value) {
            (Some(list), Value::Array(more)) => {
                if !list.is_array() {
                    *list = Value::Array(Vec::new());
                }
                if let Value::Array(list) = list {
                    if let Some(from) = change.get("i").and_then(Value::as_u64) {
                        list.truncate(usize::try_from(from).unwrap_or(usize::MAX));
                    }
                    list.extend(more);
                }
            }
            _ => out.counts.malformed += 1,
        },
        Some(3) => {
            let (last, keys) = keys.split_last().map_or((None, &[][..]), |(l, k)| (Some(l), k));
            match (place(document, keys), last) {
                (Some(Value::Object(object)), Some(Value::String(key))) => {
                    object.remove(key);
                }
                (Some(Value::Array(list)), Some(key)) => {
                    let at = key.as_u64().and_then(|at| usize::try_from(at).ok());
                    if let Some(at) = at.filter(|at| *at < list.len()) {
                        list.remove(at);
                    }
                }
                _ => out.counts.malformed += 1,
            }
        }
        _ => out.counts.unknown("kind of a change"),
    }
}

/// The place that keys lead to, made where it is not there.
fn place<'d>(document: &'d mut Value, keys: &[Value]) -> Option<&'d mut Value> {
    let mut at = document;
    for key in keys {
        at = match key {
            Value::String(key) => {
                if !at.is_object() {
                    *at = Value::Object(serde_json::Map::new());
                }
                at.as_object_mut()?.entry(key.as_str()).or_insert(Value::Null)
            }
            key => {
                let place = usize::try_from(key.as_u64()?).ok().filter(|at| *at <= PLACE_MAX)?;
                if !at.is_array() {
                    *at = Value::Array(Vec::new());
                }
                let list = at.as_array_mut()?;
                if list.len() <= place {
                    list.resize(place + 1, Value::Null);
                }
                &mut list[place]
            }
        };
    }
    Some(at)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn emit(document: &Value, path: &Path, folder: Option<String>, out: &mut Cleaner<'_>) {
    if document.is_null() {
        return;
    }
    let by_name = stem(path, if has_ending(path, ".json") { ".json" } else { ".jsonl" });
    let id = document["sessionId"].as_str().unwrap_or(&by_name).to_owned();
    let mut info = SessionInfo::new(PastAgent::CopilotChat, id.clone());
    info.title = document["customTitle"].as_str().map(str::to_owned);
    info.folder = folder;
    for name in ["creationDate", "lastMessageDate"] {
        info.meet(document[name].as_i64().and_then(times::of_number).unwrap_or(0));
    }
    out.session(info);
    for (n, request) in list(&document["requests"]).iter().enumerate() {
        out.counts.records += 1;
        let own = request["requestId"].as_str().map(str::to_owned);
        let native = own.unwrap_or_else(|| format!("{id}.{n}"));
        let at = request["timestamp"].as_i64().and_then(times::of_number);
        let place = RecordPlace { native: Some(&native), at };
        out.prompt(place, request["message"]["text"].as_str().unwrap_or(""));
        let mut said = String::new();
        for part in list(&request["response"]) {
            response(part, at, &mut said, out);
        }
        if !said.trim().is_empty() {
            out.answer(place, &said);
        }
    }
}

/// A part of an answer: text is gathered, what was done is handed on.
fn response(part: &Value, at: Option<i64>, said: &mut String, out: &mut Cleaner<'_>) {
    let kind = part["kind"].as_str().unwrap_or("markdownContent");
    let text = |value: &Value| value.as_str().or(value["value"].as_str()).map(str::to_owned);
    match kind {
        "markdownContent" => {
            let whole = text(&part["value"]).or_else(|| text(&part["content"]));
            said.push_str(&whole.unwrap_or_default());
        }
        "toolInvocationSerialized" | "toolInvocation" => {
            let place = RecordPlace { native: part["toolCallId"].as_str(), at };
            let data = &part["toolSpecificData"];
            let line = text(&data["commandLine"]["original"]).or_else(|| text(&data["command"]));
            let name = part["toolId"].as_str().unwrap_or("");
            match line.filter(|_| data["kind"] == "terminal") {
                Some(line) => {
                    out.command(place, &line);
                    let exit = data["terminalCommandState"]["exitCode"].as_i64();
                    let shown = text(&data["terminalCommandOutput"]["text"]).unwrap_or_default();
                    if exit.is_some() || !shown.is_empty() {
                        let exit = exit.and_then(|code| i32::try_from(code).ok());
                        out.output(place, &shown, false, exit);
                    }
                }
                None => {
                    let told = text(&part["invocationMessage"]).unwrap_or_default();
                    out.tool(place, name, &told);
                }
            }
        }
        "textEditGroup" => {
            let path = part["uri"]["fsPath"].as_str().or(part["uri"]["path"].as_str());
            let edits = list(&part["edits"]).iter().flat_map(list);
            let added: Vec<&str> = edits.filter_map(|edit| edit["text"].as_str()).collect();
            let place = RecordPlace { native: None, at };
            out.edit(place, path.unwrap_or(""), "", &added.join("\n"));
        }
        "inlineReference" => {
            let named = part["inlineReference"]["name"].as_str();
            said.push_str(named.unwrap_or(""));
        }
        "thinking"
        | "progressMessage"
        | "progressTaskSerialized"
        | "codeblockUri"
        | "undoStop"
        | "prepareToolInvocation"
        | "mcpServersStarting"
        | "confirmation"
        | "command"
        | "elicitation"
        | "warning" => {}
        kind => out.counts.unknown(kind),
    }
}
