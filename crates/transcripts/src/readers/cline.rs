//! Cline and Roo Code: a folder for each session with its messages in one JSON document.
//!
//! Verified against the agents' sources of 2026-08 and 2026-04. Newer versions of Cline have `<id>/<id>.messages.json`
//! with a manifest beside and children in files of other names; older ones and Roo keep
//! `tasks/<ms>/api_conversation_history.json` below the storage of the editor. Roo keeps what it condensed beside the
//! summary, so the originals are read and the summary is one. Calls of tools in older files are XML inside the text.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;

use super::blocks::{self, MessageBlock};
use super::native_ids::NativeIds;
use super::{PastReader, SourceInput, has_ending, stem, words};
use crate::cleaner::{Cleaner, RecordPlace};
use crate::error::{Error, Result};
use crate::json::{JsonContent, JsonFlag, JsonList, JsonText, JsonTime, with_record};
use crate::session::{PastAgent, SessionInfo, SessionKind};
use crate::surroundings::PastSurroundings;
use crate::tools;

#[derive(Debug)]
pub(crate) struct Cline;

const EXTENSIONS: [&str; 2] = ["saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline"];
const MESSAGES: &str = ".messages.json";
const OLD_FILE: &str = "api_conversation_history.json";
const OLDEST_FILE: &str = "claude_messages.json";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Document<'a> {
    #[serde(borrow, alias = "sessionId")]
    session_id: JsonText<'a>,
    #[serde(borrow)]
    messages: JsonList<Message<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    id: JsonText<'a>,
    #[serde(borrow)]
    role: JsonText<'a>,
    #[serde(borrow)]
    content: JsonContent<'a, MessageBlock<'a>>,
    ts: JsonTime,
    #[serde(rename = "isSummary")]
    is_summary: JsonFlag,
}

/// What stands beside the messages, under the names of all versions.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Manifest<'a> {
    #[serde(borrow)]
    id: JsonText<'a>,
    #[serde(borrow, alias = "workspace", alias = "cwdOnTaskInitialization")]
    cwd: JsonText<'a>,
    #[serde(borrow)]
    workspace_root: JsonText<'a>,
    #[serde(alias = "ts")]
    started_at: JsonTime,
    #[serde(borrow, alias = "task")]
    prompt: JsonText<'a>,
    #[serde(borrow, rename = "parentTaskId")]
    parent: JsonText<'a>,
}

impl PastReader for Cline {
    fn agent(&self) -> PastAgent {
        PastAgent::Cline
    }

    fn version(&self) -> u32 {
        1
    }

    fn roots(&self, surroundings: &PastSurroundings) -> Vec<PathBuf> {
        let sessions = surroundings.variable("CLINE_SESSION_DATA_DIR").unwrap_or_else(|| {
            let data = surroundings
                .variable("CLINE_DATA_DIR")
                .unwrap_or_else(|| surroundings.variable_or("CLINE_DIR", ".cline").join("data"));
            data.join("sessions")
        });
        let mut roots = vec![sessions];
        for user in surroundings.editors() {
            let storage = user.join("globalStorage");
            roots.extend(EXTENSIONS.map(|name| storage.join(name).join("tasks")));
        }
        roots
    }

    fn is_source(&self, path: &Path) -> bool {
        let is_oldest = has_ending(path, OLDEST_FILE) && !path.with_file_name(OLD_FILE).is_file();
        has_ending(path, MESSAGES) || has_ending(path, OLD_FILE) || is_oldest
    }

    fn grows(&self, _path: &Path) -> bool {
        false
    }

    fn read(&self, input: &mut SourceInput<'_>, out: &mut Cleaner<'_>) -> Result<()> {
        let text = std::fs::read(input.path).map_err(|error| Error::file(input.path, error))?;
        with_record(&text, |text| document(text, input.path, out));
        Ok(())
    }

    fn resume(
        &self,
        session: &str,
        source: &Path,
    ) -> std::result::Result<Vec<String>, &'static str> {
        if has_ending(source, MESSAGES) {
            Ok(words(&["cline", "--id", session]))
        } else {
            Err("its tasks are opened in the editor")
        }
    }
}

fn document(text: &str, path: &Path, out: &mut Cleaner<'_>) {
    let is_new = has_ending(path, MESSAGES);
    let parsed = if is_new {
        serde_json::from_str::<Document<'_>>(text)
    } else {
        serde_json::from_str::<JsonList<Message<'_>>>(text)
            .map(|messages| Document { messages, ..Document::default() })
    };
    let Ok(document) = parsed else {
        out.counts.malformed += 1;
        return;
    };
    let info = if is_new { new_info(path, &document) } else { old_info(path) };
    let Some(info) = info else {
        out.counts.malformed += 1;
        return;
    };
    let mut ids = NativeIds::new(&info.id);
    out.session(info);
    for message in &document.messages.0 {
        out.counts.records += 1;
        self::message(message, &mut ids, out);
    }
}

fn folder_name(path: &Path) -> Option<String> {
    Some(path.parent()?.file_name()?.to_string_lossy().into_owned())
}

fn new_info(path: &Path, document: &Document<'_>) -> Option<SessionInfo> {
    let (name, folder) = (stem(path, MESSAGES), folder_name(path)?);
    let is_child = name != folder;
    let id = if is_child { format!("{folder}.{name}") } else { folder.clone() };
    let mut info = SessionInfo::new(PastAgent::Cline, id);
    if is_child {
        info.kind = SessionKind::Child;
        info.parent = document.session_id.owned().or_else(|| Some(folder.clone()));
    }
    let manifest = std::fs::read(path.with_file_name(format!("{folder}.json"))).unwrap_or_default();
    with_record(&manifest, |text| {
        if let Ok(manifest) = serde_json::from_str::<Manifest<'_>>(text) {
            info.folder = manifest.cwd.owned().or_else(|| manifest.workspace_root.owned());
            info.meet(manifest.started_at.0.unwrap_or(0));
        }
    });
    Some(info)
}

fn old_info(path: &Path) -> Option<SessionInfo> {
    let id = folder_name(path)?;
    let mut info = SessionInfo::new(PastAgent::Cline, id.clone());
    info.meet(id.parse::<i64>().ok().and_then(crate::times::of_number).unwrap_or(0));
    let mut learn = |manifest: &Manifest<'_>| {
        info.folder = manifest.cwd.owned();
        info.parent = manifest.parent.owned();
        if info.parent.is_some() {
            info.kind = SessionKind::Child;
        }
        let line = manifest.prompt.as_str().lines().next().unwrap_or("");
        info.title = Some(line.to_owned()).filter(|title| !title.is_empty());
    };
    // Roo keeps one beside the messages, Cline all of them in one list.
    let own = std::fs::read(path.with_file_name("history_item.json")).unwrap_or_default();
    with_record(&own, |text| {
        if let Ok(manifest) = serde_json::from_str::<Manifest<'_>>(text) {
            learn(&manifest);
        }
    });
    let storage = path.ancestors().nth(3)?;
    let all = std::fs::read(storage.join("state").join("taskHistory.json")).unwrap_or_default();
    with_record(&all, |text| {
        let tasks = serde_json::from_str::<JsonList<Manifest<'_>>>(text).unwrap_or_default();
        if let Some(manifest) = tasks.0.iter().find(|task| task.id.as_str() == id) {
            learn(manifest);
        }
    });
    Some(info)
}

fn message(message: &Message<'_>, ids: &mut NativeIds, out: &mut Cleaner<'_>) {
    let at = message.ts.0;
    let is_user = message.role.as_str() == "user";
    if !is_user && message.role.as_str() != "assistant" {
        out.counts.unknown(message.role.as_str());
        return;
    }
    let mut said = Vec::new();
    let mut take = |text: &str, out: &mut Cleaner<'_>| {
        if is_user && let Some(shown) = result_in(text) {
            out.output(RecordPlace { native: None, at }, shown, false, None);
        } else if is_user {
            said.push(text.to_owned());
        } else {
            said.push(without_calls(text, at, out));
        }
    };
    match &message.content {
        JsonContent::Text(text) => take(text, out),
        JsonContent::Blocks(blocks) => {
            for block in blocks.iter().filter(|block| block.kind.as_str() == "text") {
                take(block.text.as_str(), out);
            }
        }
    }
    let text = said.join("\n");
    if !text.trim().is_empty() {
        let made = ids.of(message.role.as_str(), &text);
        let place = RecordPlace { native: Some(message.id.some().unwrap_or(&made)), at };
        if message.is_summary.0 {
            out.summary(place, &text);
        } else if is_user {
            out.prompt(place, &text);
        } else {
            out.answer(place, &text);
        }
    }
    blocks::deeds(&message.content, at, out);
}

/// The output in the text of a user's record: `[execute_command for 'make test'] Result:` and what follows.
fn result_in(text: &str) -> Option<&str> {
    let rest = text.trim_start().strip_prefix('[')?;
    let (head, shown) = rest.split_once("] Result:")?;
    (!head.contains('\n')).then(|| shown.trim())
}

/// Tools whose calls stand in the text, and the parts of their input.
const XML_TOOLS: [(&str, &[&str]); 5] = [
    ("execute_command", &["command"]),
    ("read_file", &["path"]),
    ("write_to_file", &["path", "content"]),
    ("replace_in_file", &["path", "diff"]),
    ("apply_diff", &["path", "diff"]),
];

/// An answer without the calls that stand in it; they are recorded.
fn without_calls(text: &str, at: Option<i64>, out: &mut Cleaner<'_>) -> String {
    let mut left = text.to_owned();
    for (name, parts) in XML_TOOLS {
        while let Some((from, inside, to)) = element(&left, name) {
            let mut input = serde_json::Map::new();
            for part in parts {
                if let Some((_, value, _)) = element(&inside, part) {
                    input.insert((*part).to_owned(), json!(value.trim_matches('\n')));
                }
            }
            tools::call(out, RecordPlace { native: None, at }, name, &json!(input).to_string());
            left.replace_range(from..to, "");
        }
    }
    left.trim().to_owned()
}

/// The first element of this name: where it begins, what it holds, where it ends.
fn element(text: &str, name: &str) -> Option<(usize, String, usize)> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let from = text.find(&open)?;
    let inside = from + open.len();
    let end = inside + text[inside..].find(&close)?;
    Some((from, text[inside..end].to_owned(), end + close.len()))
}
