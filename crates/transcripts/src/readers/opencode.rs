//! OpenCode: `opencode.db` in its data folder, a SQLite database with two generations of tables.
//!
//! The tables of 1.x are verified against the agent's source of 2026-08, those of 2.x are as other tools read them. A
//! session that has rows of 2.x is read from there alone: its old rows were copied with their ids. Rows change in
//! place, so a session whose rows weigh what they weighed is passed over, and any other is read anew and matched.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::sqlite::{AgentDatabase, TextRow};
use super::{PastReader, SourceInput, has_ending, words};
use crate::cleaner::{Cleaner, RecordPlace};
use crate::error::Result;
use crate::json::{JsonContent, JsonFlag, JsonList, JsonNumber, JsonText, JsonTime};
use crate::session::{PastAgent, SessionInfo, SessionKind};
use crate::surroundings::PastSurroundings;
use crate::{times, tools};

#[derive(Debug)]
pub(crate) struct OpenCode;

const SESSION: [&str; 7] =
    ["id", "parent_id", "directory", "title", "version", "time_created", "time_updated"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MessageData<'a> {
    #[serde(borrow)]
    role: JsonText<'a>,
    time: MessageTime,
    #[serde(borrow)]
    text: JsonText<'a>,
    #[serde(borrow)]
    content: JsonList<PartData<'a>>,
    #[serde(borrow)]
    command: JsonText<'a>,
    #[serde(borrow)]
    output: JsonText<'a>,
    #[serde(borrow)]
    summary: JsonText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MessageTime {
    created: JsonTime,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PartData<'a> {
    #[serde(borrow, rename = "type")]
    kind: JsonText<'a>,
    #[serde(borrow)]
    text: JsonText<'a>,
    synthetic: JsonFlag,
    ignored: JsonFlag,
    #[serde(borrow, alias = "callID", alias = "id")]
    call_id: JsonText<'a>,
    #[serde(borrow, alias = "name")]
    tool: JsonText<'a>,
    #[serde(borrow)]
    state: CallState<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CallState<'a> {
    #[serde(borrow)]
    status: JsonText<'a>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow, alias = "error")]
    output: JsonText<'a>,
    #[serde(borrow)]
    content: JsonContent<'a, TextPart<'a>>,
    metadata: CallData,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TextPart<'a> {
    #[serde(borrow)]
    text: JsonText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CallData {
    #[serde(alias = "exitCode")]
    exit: JsonNumber,
}

impl PastReader for OpenCode {
    fn agent(&self) -> PastAgent {
        PastAgent::OpenCode
    }

    fn version(&self) -> u32 {
        1
    }

    fn roots(&self, surroundings: &PastSurroundings) -> Vec<PathBuf> {
        let mut roots = vec![surroundings.data().join("opencode")];
        roots.extend(surroundings.variable("OPENCODE_DB"));
        roots
    }

    fn is_source(&self, path: &Path) -> bool {
        let name =
            path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        name.starts_with("opencode") && has_ending(path, ".db")
    }

    fn grows(&self, _path: &Path) -> bool {
        false
    }

    fn read(&self, input: &mut SourceInput<'_>, out: &mut Cleaner<'_>) -> Result<()> {
        let database = AgentDatabase::open(input.path)?;
        let has_second = !database.columns("session_message")?.is_empty();
        let mut sessions: Vec<TextRow> = Vec::new();
        for table in ["session_v2", "session"] {
            database.each(table, &SESSION, None, "id DESC", &mut |row| {
                if !sessions.iter().any(|known| known[0] == row[0]) {
                    sessions.push(row.clone());
                }
            })?;
        }
        for row in &sessions {
            let Some(id) = row[0].as_deref() else { continue };
            let by = ("session_id", id);
            let second = if has_second {
                database.weight("session_message", "data", by)?
            } else {
                "0/0".to_owned()
            };
            let is_second = !second.starts_with("0/");
            let weight = if is_second { second } else { first_weight(&database, id)? };
            let mark = format!("{}/{weight}", row[6].as_deref().unwrap_or(""));
            if out.memory.marks.get(id) == Some(&mark) {
                continue;
            }
            out.session(info(row));
            if is_second {
                second_form(&database, id, out)?;
            } else {
                first_form(&database, id, out)?;
            }
            out.memory.marks.insert(id.to_owned(), mark);
        }
        Ok(())
    }

    fn resume(
        &self,
        session: &str,
        _source: &Path,
    ) -> std::result::Result<Vec<String>, &'static str> {
        Ok(words(&["opencode", "-s", session]))
    }
}

fn info(row: &TextRow) -> SessionInfo {
    let mut info = SessionInfo::new(PastAgent::OpenCode, row[0].as_deref().unwrap_or(""));
    info.parent.clone_from(&row[1]);
    if row[1].is_some() {
        info.kind = SessionKind::Child;
    }
    info.folder.clone_from(&row[2]);
    info.title.clone_from(&row[3]);
    info.version.clone_from(&row[4]);
    for time in [&row[5], &row[6]].into_iter().flatten() {
        info.meet(times::parse(time).unwrap_or(0));
    }
    info
}

/// What the messages of a session and their parts weigh.
fn first_weight(database: &AgentDatabase, id: &str) -> Result<String> {
    let messages = database.weight("message", "data", ("session_id", id))?;
    let parts = if database.columns("part")?.contains("session_id") {
        database.weight("part", "data", ("session_id", id))?
    } else {
        String::new()
    };
    Ok(format!("{messages}/{parts}"))
}

fn first_form(database: &AgentDatabase, session: &str, out: &mut Cleaner<'_>) -> Result<()> {
    let mut messages = Vec::new();
    database.each("message", &["id", "data"], Some(("session_id", session)), "id", &mut |row| {
        messages.push((row[0].clone().unwrap_or_default(), row[1].clone().unwrap_or_default()));
    })?;
    for (id, data) in messages {
        out.counts.records += 1;
        let Ok(message) = serde_json::from_str::<MessageData<'_>>(&data) else {
            out.counts.malformed += 1;
            continue;
        };
        let at = message.time.created.0;
        let is_user = message.role.as_str() == "user";
        database.each("part", &["id", "data"], Some(("message_id", &id)), "id", &mut |row| {
            out.counts.records += 1;
            let native = row[0].as_deref();
            match serde_json::from_str::<PartData<'_>>(row[1].as_deref().unwrap_or("")) {
                Ok(data) => part(&data, RecordPlace { native, at }, is_user, out),
                Err(_) => out.counts.malformed += 1,
            }
        })?;
    }
    Ok(())
}

fn second_form(database: &AgentDatabase, session: &str, out: &mut Cleaner<'_>) -> Result<()> {
    let wanted = ["id", "type", "data", "time_created"];
    database.each("session_message", &wanted, Some(("session_id", session)), "seq", &mut |row| {
        out.counts.records += 1;
        let Ok(message) = serde_json::from_str::<MessageData<'_>>(row[2].as_deref().unwrap_or(""))
        else {
            out.counts.malformed += 1;
            return;
        };
        let at = message.time.created.0.or_else(|| times::parse(row[3].as_deref()?));
        let place = RecordPlace { native: row[0].as_deref(), at };
        match row[1].as_deref().unwrap_or("") {
            "user" => out.prompt(place, message.text.as_str()),
            "assistant" => message.content.0.iter().for_each(|data| part(data, place, false, out)),
            "shell" => {
                out.command(place, message.command.as_str());
                out.output(place, message.output.as_str(), false, None);
            }
            "compaction" => out.summary(place, message.summary.as_str()),
            "synthetic" | "system" | "agent-switched" | "model-switched" | "idle" => {
                out.counts.skipped += 1;
            }
            kind => out.counts.unknown(kind),
        }
    })
}

fn part(data: &PartData<'_>, place: RecordPlace<'_>, is_user: bool, out: &mut Cleaner<'_>) {
    match data.kind.as_str() {
        "text" if data.synthetic.0 || data.ignored.0 => out.counts.noise += 1,
        "text" if is_user => out.prompt(place, data.text.as_str()),
        "text" => out.answer(place, data.text.as_str()),
        "tool" => {
            let place = RecordPlace { native: data.call_id.some().or(place.native), ..place };
            let state = &data.state;
            tools::call(out, place, data.tool.as_str(), state.input.map_or("", RawValue::get));
            let blocks = match &state.content {
                JsonContent::Text(text) => text.to_string(),
                JsonContent::Blocks(parts) => {
                    parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n")
                }
            };
            let shown = state.output.some().unwrap_or(&blocks);
            if matches!(state.status.as_str(), "completed" | "error") {
                let exit = state.metadata.exit.0.and_then(|code| i32::try_from(code).ok());
                out.output(place, shown, state.status.as_str() == "error", exit);
            }
        }
        "reasoning" | "file" | "patch" | "step-start" | "step-finish" | "snapshot" | "agent"
        | "subtask" | "retry" | "compaction" => out.counts.skipped += 1,
        kind => out.counts.unknown(kind),
    }
}
