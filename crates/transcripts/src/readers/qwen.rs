//! Qwen Code: `projects/<folder>/chats/<session>.jsonl`, children in `subagents/<session>/agent-<id>.jsonl`.
//!
//! Verified against the agent's source of 2026-08. Records are a tree by `parentUuid`; what a rewind left is not on the
//! way to the last record, and its turns are marked. A branch keeps the `uuid` of what it copies, so copies are known.
//! The older folder `tmp` is not read.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{PastReader, SourceInput, has_ending, stem, words};
use crate::cleaner::{Cleaner, RecordPlace, UndoPoint};
use crate::error::Result;
use crate::json::{JsonFlag, JsonList, JsonText, JsonTime};
use crate::session::{PastAgent, SessionInfo, SessionKind};
use crate::surroundings::PastSurroundings;
use crate::tools;

#[derive(Debug)]
pub(crate) struct QwenCode;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Record<'a> {
    #[serde(borrow)]
    uuid: JsonText<'a>,
    #[serde(borrow)]
    parent_uuid: JsonText<'a>,
    #[serde(borrow)]
    session_id: JsonText<'a>,
    timestamp: JsonTime,
    #[serde(borrow, rename = "type")]
    kind: JsonText<'a>,
    #[serde(borrow)]
    subtype: JsonText<'a>,
    #[serde(borrow)]
    cwd: JsonText<'a>,
    #[serde(borrow)]
    version: JsonText<'a>,
    #[serde(borrow)]
    git_branch: JsonText<'a>,
    #[serde(borrow)]
    message: Message<'a>,
    #[serde(borrow, alias = "payload")]
    system_payload: Payload<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    parts: JsonList<Part<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow)]
    text: JsonText<'a>,
    thought: JsonFlag,
    #[serde(borrow)]
    function_call: Option<Call<'a>>,
    #[serde(borrow)]
    function_response: Option<CallAnswer<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Call<'a> {
    #[serde(borrow)]
    id: JsonText<'a>,
    #[serde(borrow)]
    name: JsonText<'a>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CallAnswer<'a> {
    #[serde(borrow)]
    id: JsonText<'a>,
    #[serde(borrow)]
    response: Response<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Response<'a> {
    #[serde(borrow)]
    output: JsonText<'a>,
    #[serde(borrow)]
    error: JsonText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Payload<'a> {
    #[serde(borrow, alias = "title")]
    custom_title: JsonText<'a>,
    #[serde(borrow)]
    parent_session_id: JsonText<'a>,
}

impl PastReader for QwenCode {
    fn agent(&self) -> PastAgent {
        PastAgent::QwenCode
    }

    fn version(&self) -> u32 {
        1
    }

    fn roots(&self, surroundings: &PastSurroundings) -> Vec<PathBuf> {
        let home = surroundings
            .variable("QWEN_RUNTIME_DIR")
            .unwrap_or_else(|| surroundings.variable_or("QWEN_HOME", ".qwen"));
        vec![home.join("projects")]
    }

    fn is_source(&self, path: &Path) -> bool {
        let lies_in = |folder| path.components().any(|part| part.as_os_str() == folder);
        has_ending(path, ".jsonl") && (lies_in("chats") || lies_in("subagents"))
    }

    fn grows(&self, _path: &Path) -> bool {
        // What a rewind left is known at the end of the file.
        false
    }

    fn read(&self, input: &mut SourceInput<'_>, out: &mut Cleaner<'_>) -> Result<()> {
        let file = FileName::of(input.path);
        let mut tree = RecordTree::default();
        input.each_record(out, |text, out| record(text, &file, &mut tree, out))?;
        for prompt in tree.left() {
            out.undo(UndoPoint::Only(prompt));
        }
        Ok(())
    }

    fn resume(
        &self,
        session: &str,
        _source: &Path,
    ) -> std::result::Result<Vec<String>, &'static str> {
        Ok(words(&["qwen", "--resume", session]))
    }
}

/// What the name of a file says: the session, or the child and its parent.
#[derive(Debug)]
struct FileName {
    id: String,
    parent: Option<String>,
}

impl FileName {
    fn of(path: &Path) -> FileName {
        let id = stem(path, ".jsonl");
        let folder = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy());
        match (id.strip_prefix("agent-"), folder) {
            (Some(child), Some(folder)) => {
                FileName { id: child.to_owned(), parent: Some(folder.into_owned()) }
            }
            _ => FileName { id, parent: None },
        }
    }
}

/// Which record follows which, and which of them are prompts.
#[derive(Debug, Default)]
struct RecordTree {
    parents: HashMap<String, String>,
    prompts: Vec<String>,
    last: Option<String>,
}

impl RecordTree {
    fn left(self) -> Vec<String> {
        let mut on_path = HashSet::new();
        let mut at = self.last.as_ref();
        while let Some(id) = at.filter(|id| on_path.insert((*id).clone())) {
            at = self.parents.get(id);
        }
        self.prompts.into_iter().filter(|prompt| !on_path.contains(prompt)).collect()
    }
}

fn record(text: &str, file: &FileName, tree: &mut RecordTree, out: &mut Cleaner<'_>) {
    let Ok(record) = serde_json::from_str::<Record<'_>>(text) else {
        out.counts.malformed += u64::from(!text.trim().is_empty());
        return;
    };
    let kind = record.kind.as_str();
    if !matches!(kind, "user" | "assistant" | "tool_result" | "system") {
        out.counts.unknown(kind);
        return;
    }
    out.session(info(&record, file));
    if let Some(id) = record.uuid.some() {
        if let Some(parent) = record.parent_uuid.owned() {
            tree.parents.insert(id.to_owned(), parent);
        }
        tree.last = Some(id.to_owned());
    }
    let place = RecordPlace { native: record.uuid.some(), at: record.timestamp.0 };
    let subtype = record.subtype.as_str();
    let texts = || -> String {
        let parts = record.message.parts.0.iter().filter(|part| !part.thought.0);
        let texts = parts.map(|part| part.text.as_str()).filter(|text| !text.is_empty());
        texts.collect::<Vec<_>>().join("\n")
    };
    match kind {
        "user" if matches!(subtype, "notification" | "cron") => out.counts.noise += 1,
        "user" => prompt(&record, &texts(), tree, out),
        "assistant" => {
            let text = texts();
            if !text.is_empty() {
                out.answer(place, &text);
            }
            for call in record.message.parts.0.iter().filter_map(|part| part.function_call.as_ref())
            {
                let place = RecordPlace { native: call.id.some(), ..place };
                tools::call(out, place, call.name.as_str(), call.args.map_or("", RawValue::get));
            }
        }
        "tool_result" => {
            let answers =
                record.message.parts.0.iter().filter_map(|part| part.function_response.as_ref());
            for answer in answers {
                let place = RecordPlace { native: answer.id.some(), ..place };
                let error = answer.response.error.some();
                let said = error.unwrap_or_else(|| answer.response.output.as_str());
                out.output(place, said, error.is_some(), None);
            }
        }
        _ if subtype == "mid_turn_user_message" => prompt(&record, &texts(), tree, out),
        // A compression holds copies; its own text is for the model.
        _ => out.counts.skipped += 1,
    }
}

fn prompt(record: &Record<'_>, text: &str, tree: &mut RecordTree, out: &mut Cleaner<'_>) {
    tree.prompts.extend(record.uuid.owned());
    out.prompt(RecordPlace { native: record.uuid.some(), at: record.timestamp.0 }, text);
}

fn info(record: &Record<'_>, file: &FileName) -> SessionInfo {
    let id = if file.parent.is_some() {
        file.id.as_str()
    } else {
        record.session_id.some().unwrap_or(&file.id)
    };
    let mut info = SessionInfo::new(PastAgent::QwenCode, id);
    if file.parent.is_some() {
        info.kind = SessionKind::Child;
        info.parent = record.session_id.owned().or_else(|| file.parent.clone());
    }
    match record.subtype.as_str() {
        "custom_title" => info.title = record.system_payload.custom_title.owned(),
        "parent_session" => info.parent = record.system_payload.parent_session_id.owned(),
        _ => {}
    }
    info.folder = record.cwd.owned();
    info.branch = record.git_branch.owned();
    info.version = record.version.owned();
    info.meet(record.timestamp.0.unwrap_or(0));
    info
}
