//! Gemini CLI: `tmp/<project>/chats/session-<time>-<id>.jsonl`, a log to replay; older a whole `.json`; children in
//! `chats/<parent>/<id>.jsonl`.
//!
//! Verified against the agent's source of 2026-08. The same id replaces a message, `$set` patches or starts over,
//! `$rewindTo` drops a message and all after it. So growth means replay, and a stored turn stays where a rewind removes
//! it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{PastReader, SourceInput, has_ending, words};
use crate::bounded_lines::SourceLine;
use crate::cleaner::{Cleaner, RecordPlace, UndoPoint};
use crate::error::{Error, Result};
use crate::json::{JsonContent, JsonList, JsonText, JsonTime, with_record};
use crate::limits::WHOLE_BYTES_MAX;
use crate::session::{PastAgent, SessionInfo, SessionKind};
use crate::surroundings::PastSurroundings;
use crate::tools;

#[derive(Debug)]
pub(crate) struct GeminiCli;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow)]
    session_id: JsonText<'a>,
    start_time: JsonTime,
    #[serde(borrow)]
    kind: JsonText<'a>,
    #[serde(borrow)]
    id: JsonText<'a>,
    timestamp: JsonTime,
    #[serde(borrow, rename = "type")]
    speaker: JsonText<'a>,
    #[serde(borrow)]
    content: JsonContent<'a, Part<'a>>,
    #[serde(borrow)]
    tool_calls: JsonList<Call<'a>>,
    #[serde(borrow)]
    summary: JsonText<'a>,
    /// Of the older form, and of a log that starts over.
    #[serde(borrow)]
    messages: JsonList<Line<'a>>,
    #[serde(borrow, rename = "$set")]
    set: Option<&'a RawValue>,
    #[serde(borrow, rename = "$rewindTo")]
    rewind_to: JsonText<'a>,
    #[serde(borrow)]
    directories: JsonList<JsonText<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Part<'a> {
    #[serde(borrow)]
    text: JsonText<'a>,
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
    #[serde(borrow)]
    status: JsonText<'a>,
    #[serde(borrow, rename = "resultDisplay")]
    shown: JsonText<'a>,
    #[serde(borrow)]
    result: JsonList<CallResult<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CallResult<'a> {
    #[serde(borrow)]
    function_response: FunctionResponse<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FunctionResponse<'a> {
    #[serde(borrow)]
    response: ResponseText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResponseText<'a> {
    #[serde(borrow, alias = "error")]
    output: JsonText<'a>,
}

impl PastReader for GeminiCli {
    fn agent(&self) -> PastAgent {
        PastAgent::GeminiCli
    }

    fn version(&self) -> u32 {
        1
    }

    fn roots(&self, surroundings: &PastSurroundings) -> Vec<PathBuf> {
        let home =
            surroundings.variable("GEMINI_CLI_HOME").unwrap_or_else(|| surroundings.home.clone());
        vec![home.join(".gemini/tmp")]
    }

    fn is_source(&self, path: &Path) -> bool {
        let name =
            path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let is_chat = path.components().any(|part| part.as_os_str() == "chats");
        let is_whole = !name.contains(".unreadable-") && !name.contains(".tmp-");
        // A resumed session of the older form goes on in the newer one with the same name.
        let is_old = has_ending(path, ".json") && !path.with_extension("jsonl").is_file();
        is_chat && is_whole && (is_old || has_ending(path, ".jsonl"))
    }

    fn grows(&self, _path: &Path) -> bool {
        false
    }

    fn read(&self, input: &mut SourceInput<'_>, out: &mut Cleaner<'_>) -> Result<()> {
        let failed = |error| Error::file(input.path, error);
        let folder = folder_of(input.path);
        if has_ending(input.path, ".json") {
            out.counts.records += 1;
            let text = std::fs::read(input.path).map_err(failed)?;
            return with_record(&text, |text| {
                let mut log = MessageLog::default();
                log.line(text, out);
                log.emit(folder.as_deref(), input.path, out);
                Ok(())
            });
        }
        let (mut log, mut bytes) = (MessageLog::default(), 0_u64);
        while let Some(line) = input.lines.next_line().map_err(failed)? {
            out.counts.records += 1;
            match line {
                SourceLine::TooLong => out.counts.too_large += 1,
                SourceLine::Whole(line) => {
                    bytes += line.len() as u64;
                    if bytes > WHOLE_BYTES_MAX {
                        return Err(Error::source(
                            input.path,
                            "it has too many bytes to be replayed",
                        ));
                    }
                    with_record(line, |text| log.line(text, out));
                }
            }
        }
        log.emit(folder.as_deref(), input.path, out);
        Ok(())
    }

    fn resume(
        &self,
        session: &str,
        _source: &Path,
    ) -> std::result::Result<Vec<String>, &'static str> {
        Ok(words(&["gemini", "--resume", session]))
    }
}

/// The folder that the agent noted beside its chats.
fn folder_of(path: &Path) -> Option<String> {
    let project = path
        .ancestors()
        .find(|folder| folder.file_name().is_some_and(|name| name == "chats"))?
        .parent()?;
    let text = std::fs::read_to_string(project.join(".project_root")).ok()?;
    Some(text.trim().to_owned()).filter(|folder| !folder.is_empty())
}

/// The messages of a session, each as the text of its newest line, also those that a rewind took back.
#[derive(Debug, Default)]
struct MessageLog {
    header: Option<String>,
    messages: BTreeMap<String, String>,
    /// All ids in the order in which they first came.
    met: Vec<String>,
    /// The ids that hold, in order.
    order: Vec<String>,
}

impl MessageLog {
    fn line(&mut self, text: &str, out: &mut Cleaner<'_>) {
        let Ok(line) = serde_json::from_str::<Line<'_>>(text) else {
            out.counts.malformed += u64::from(!text.trim().is_empty());
            return;
        };
        if let Some(from) = line.rewind_to.some() {
            let at = self.order.iter().position(|id| id == from).unwrap_or(0);
            self.order.truncate(at);
        } else if let Some(patch) = line.set {
            match serde_json::from_str::<Line<'_>>(patch.get()) {
                Ok(patch) if !patch.messages.0.is_empty() => {
                    self.start_over(patch.get_messages(text), out);
                }
                Ok(_) => {}
                Err(_) => out.counts.malformed += 1,
            }
        } else if line.session_id.some().is_some() {
            self.header = Some(without_messages(&line));
            if !line.messages.0.is_empty() {
                self.start_over(line.get_messages(text), out);
            }
        } else if let Some(id) = line.id.some() {
            self.put(id, text);
        } else {
            out.counts.unknown("record without id");
        }
    }

    fn put(&mut self, id: &str, text: &str) {
        if self.messages.insert(id.to_owned(), text.to_owned()).is_none() {
            self.met.push(id.to_owned());
        }
        if !self.order.iter().any(|known| known == id) {
            self.order.push(id.to_owned());
        }
    }

    fn start_over(&mut self, messages: Vec<(String, String)>, out: &mut Cleaner<'_>) {
        out.counts.records += messages.len() as u64;
        self.order.clear();
        for (id, text) in messages {
            self.put(&id, &text);
        }
    }

    /// Hands everything on in the order in which it came, and says what was taken back.
    fn emit(&self, folder: Option<&str>, path: &Path, out: &mut Cleaner<'_>) {
        let Some(header) =
            self.header.as_deref().and_then(|text| serde_json::from_str::<Line<'_>>(text).ok())
        else {
            return;
        };
        let mut info = SessionInfo::new(PastAgent::GeminiCli, header.session_id.as_str());
        let parent =
            path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        if header.kind.as_str() == "subagent"
            || parent.as_deref().is_some_and(|name| name != "chats")
        {
            info.kind = SessionKind::Child;
            info.parent = parent.filter(|name| name != "chats");
        }
        info.folder = folder
            .map(str::to_owned)
            .or_else(|| header.directories.0.first().and_then(JsonText::owned));
        info.title = header.summary.owned();
        info.meet(header.start_time.0.unwrap_or(0));
        out.session(info);
        let holds: BTreeSet<&String> = self.order.iter().collect();
        for id in &self.met {
            if let Some(Ok(line)) =
                self.messages.get(id).map(|text| serde_json::from_str::<Line<'_>>(text))
            {
                message(&line, out);
            }
            if !holds.contains(id) {
                out.undo(UndoPoint::Only(id.clone()));
            }
        }
    }
}

impl Line<'_> {
    /// The messages inside a line, each as a text of its own.
    fn get_messages(&self, text: &str) -> Vec<(String, String)> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Holder<'a> {
            #[serde(borrow)]
            messages: Vec<&'a RawValue>,
            #[serde(borrow, rename = "$set")]
            set: Option<&'a RawValue>,
        }
        let Ok(holder) = serde_json::from_str::<Holder<'_>>(text) else { return Vec::new() };
        let inner = holder.set.and_then(|set| serde_json::from_str::<Holder<'_>>(set.get()).ok());
        let messages = inner.map_or(holder.messages, |inner| inner.messages);
        let ids = self.messages.0.iter().map(|line| line.id.as_str().to_owned());
        ids.zip(messages.iter().map(|raw| raw.get().to_owned()))
            .filter(|(id, _)| !id.is_empty())
            .collect()
    }
}

/// The header as a line of its own, so that a whole file is not kept twice.
fn without_messages(line: &Line<'_>) -> String {
    let folders: Vec<&str> = line.directories.0.iter().map(JsonText::as_str).collect();
    serde_json::json!({
        "sessionId": line.session_id.as_str(), "startTime": line.start_time.0, "kind": line.kind.as_str(),
        "summary": line.summary.as_str(), "directories": folders,
    })
    .to_string()
}

fn message(line: &Line<'_>, out: &mut Cleaner<'_>) {
    let place = RecordPlace { native: line.id.some(), at: line.timestamp.0 };
    let text = match &line.content {
        JsonContent::Text(text) => text.to_string(),
        JsonContent::Blocks(parts) => {
            parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n")
        }
    };
    match line.speaker.as_str() {
        // A line that begins like this is a command to the agent's own interface.
        "user" if text.trim_start().starts_with(['/', '?']) => out.counts.noise += 1,
        "user" => out.prompt(place, &text),
        "gemini" => {
            out.answer(place, &text);
            for call in &line.tool_calls.0 {
                let place = RecordPlace { native: call.id.some(), ..place };
                tools::call(out, place, call.name.as_str(), call.args.map_or("", RawValue::get));
                let result = call
                    .result
                    .0
                    .first()
                    .map(|result| result.function_response.response.output.as_str());
                let shown = call.shown.some().or(result).unwrap_or("");
                let is_error = call.status.as_str() == "error";
                if is_error || !shown.is_empty() {
                    out.output(place, shown, is_error, None);
                }
            }
        }
        "info" | "error" | "warning" => out.counts.skipped += 1,
        kind => out.counts.unknown(kind),
    }
}
