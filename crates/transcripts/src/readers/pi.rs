//! pi: `sessions/--<folder>--/<time>_<uuid>.jsonl`, a header and then a tree of entries.
//!
//! Verified against the agent's source of 2026-03; other agents that keep the same form are read from their folders,
//! as other tools do. All branches are read; what is not on the way to the last entry was left, so its turns are
//! marked. Files of the first version have no ids and one branch. An entry is known by its id and its time, because
//! copies in a forked session keep both.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::blocks::{self, MessageBlock};
use super::{PastReader, SourceInput, has_ending, words};
use crate::cleaner::{Cleaner, RecordPlace, UndoPoint};
use crate::error::Result;
use crate::json::{JsonContent, JsonFlag, JsonNumber, JsonText, JsonTime};
use crate::session::{PastAgent, SessionInfo};
use crate::surroundings::PastSurroundings;

#[derive(Debug)]
pub(crate) struct Pi;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Entry<'a> {
    #[serde(borrow, rename = "type")]
    kind: JsonText<'a>,
    #[serde(borrow)]
    id: JsonText<'a>,
    #[serde(borrow)]
    parent_id: JsonText<'a>,
    timestamp: JsonTime,
    #[serde(borrow)]
    cwd: JsonText<'a>,
    #[serde(borrow)]
    parent_session: JsonText<'a>,
    #[serde(borrow)]
    summary: JsonText<'a>,
    #[serde(borrow)]
    name: JsonText<'a>,
    #[serde(borrow)]
    message: Message<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Message<'a> {
    #[serde(borrow)]
    role: JsonText<'a>,
    #[serde(borrow)]
    content: JsonContent<'a, MessageBlock<'a>>,
    timestamp: JsonTime,
    #[serde(borrow)]
    tool_call_id: JsonText<'a>,
    is_error: JsonFlag,
    #[serde(borrow)]
    command: JsonText<'a>,
    #[serde(borrow)]
    output: JsonText<'a>,
    exit_code: JsonNumber,
}

/// Files that another agent of this form puts beside its sessions.
const LEFT_OUT: [&str; 4] = [".checkpoint.", ".deleted", ".reset", ".bak"];

impl PastReader for Pi {
    fn agent(&self) -> PastAgent {
        PastAgent::Pi
    }

    fn version(&self) -> u32 {
        1
    }

    fn roots(&self, surroundings: &PastSurroundings) -> Vec<PathBuf> {
        vec![
            surroundings.variable_or("PI_CODING_AGENT_DIR", ".pi/agent").join("sessions"),
            surroundings.home.join(".omp/agent/sessions"),
            surroundings.home.join(".openclaw/agents"),
        ]
    }

    fn is_source(&self, path: &Path) -> bool {
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into());
        let in_sessions = path.components().any(|part| part.as_os_str() == "sessions");
        in_sessions
            && has_ending(path, ".jsonl")
            && !LEFT_OUT.iter().any(|mark| name.contains(mark))
    }

    fn grows(&self, _path: &Path) -> bool {
        // Which branch holds is known at the end of the file.
        false
    }

    fn read(&self, input: &mut SourceInput<'_>, out: &mut Cleaner<'_>) -> Result<()> {
        let mut tree = EntryTree::default();
        input.each_record(out, |text, out| entry(text, &mut tree, out))?;
        for prompt in tree.left() {
            out.undo(UndoPoint::Only(prompt));
        }
        Ok(())
    }

    fn resume(
        &self,
        _session: &str,
        source: &Path,
    ) -> std::result::Result<Vec<String>, &'static str> {
        Ok(words(&["pi", "--session", &source.to_string_lossy()]))
    }
}

/// Which entry follows which.
#[derive(Debug, Default)]
struct EntryTree {
    parents: HashMap<String, String>,
    /// Prompts: the id of the entry, and what the turn is known by.
    prompts: Vec<(String, String)>,
    last: Option<String>,
}

impl EntryTree {
    /// Prompts that are not on the way to the last entry.
    fn left(&self) -> Vec<String> {
        let mut on_path = HashSet::new();
        let mut at = self.last.as_deref();
        while let Some(id) = at.filter(|id| on_path.insert(*id)) {
            at = self.parents.get(id).map(String::as_str);
        }
        let off_path = self.prompts.iter().filter(|(id, _)| !on_path.contains(id.as_str()));
        off_path.map(|(_, native)| native.clone()).collect()
    }
}

fn entry(text: &str, tree: &mut EntryTree, out: &mut Cleaner<'_>) {
    let Ok(entry) = serde_json::from_str::<Entry<'_>>(text) else {
        out.counts.malformed += u64::from(!text.trim().is_empty());
        return;
    };
    let at = entry.timestamp.0.or(entry.message.timestamp.0);
    if let Some(id) = entry.id.some().filter(|_| entry.kind.as_str() != "session") {
        if let Some(parent) = entry.parent_id.owned() {
            tree.parents.insert(id.to_owned(), parent);
        }
        tree.last = Some(id.to_owned());
    }
    let native = entry.id.some().map(|id| format!("pi.{id}.{}", at.unwrap_or(0)));
    let place = RecordPlace { native: native.as_deref(), at };
    match entry.kind.as_str() {
        "session" => {
            let mut info = SessionInfo::new(PastAgent::Pi, entry.id.as_str());
            info.folder = entry.cwd.owned();
            info.parent = entry.parent_session.some().map(|path| {
                let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
                let stem = name.strip_suffix(".jsonl").unwrap_or(name);
                stem.rsplit('_').next().unwrap_or(stem).to_owned()
            });
            info.meet(at.unwrap_or(0));
            out.session(info);
        }
        "message" => {
            if let (Some(id), Some(native), "user") =
                (entry.id.some(), &native, entry.message.role.as_str())
            {
                tree.prompts.push((id.to_owned(), native.clone()));
            }
            message(&entry.message, place, out);
        }
        "compaction" | "branch_summary" => out.summary(place, entry.summary.as_str()),
        "session_info" => {
            if let Some(id) = out.session_id().map(str::to_owned) {
                let mut info = SessionInfo::new(PastAgent::Pi, id);
                info.title = entry.name.owned();
                out.session(info);
            }
        }
        "custom" | "custom_message" | "model_change" | "thinking_level_change" | "label" => {
            out.counts.skipped += 1;
        }
        kind => out.counts.unknown(kind),
    }
}

fn message(message: &Message<'_>, place: RecordPlace<'_>, out: &mut Cleaner<'_>) {
    match message.role.as_str() {
        "user" => {
            if let Some(text) = blocks::spoken(&message.content) {
                out.prompt(place, &text);
            }
        }
        "assistant" => {
            if let Some(text) = blocks::spoken(&message.content) {
                out.answer(place, &text);
            }
            blocks::deeds(&message.content, place.at, out);
        }
        "toolResult" => {
            let place = RecordPlace { native: message.tool_call_id.some(), ..place };
            let text = blocks::spoken(&message.content).unwrap_or_default();
            out.output(place, &text, message.is_error.0, None);
        }
        "bashExecution" => {
            out.command(place, message.command.as_str());
            let exit = message.exit_code.0.and_then(|code| i32::try_from(code).ok());
            out.output(place, message.output.as_str(), false, exit);
        }
        "custom" | "branchSummary" | "compactionSummary" => out.counts.skipped += 1,
        role => out.counts.unknown(role),
    }
}
