//! GitHub Copilot CLI: `session-state/<id>/events.jsonl`, an event per line, also after a resume; older whole files in
//! `history-session-state`.
//!
//! Closed source; the form is that of other tools' readers, last checked 2026-11. What a person typed is `content`;
//! `transformedContent` is what the model got. A child's events stand among its parent's and have an `agentId`: they
//! are a session of their own. VS Code keeps transcripts of the same form.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::blocks::{TextPart, joined};
use super::{PastReader, SourceInput, has_ending, words};
use crate::cleaner::{Cleaner, RecordPlace};
use crate::error::{Error, Result};
use crate::json::{JsonContent, JsonList, JsonText, JsonTime, with_record};
use crate::session::{PastAgent, SessionInfo, SessionKind};
use crate::surroundings::PastSurroundings;
use crate::tools;

#[derive(Debug)]
pub(crate) struct CopilotCli;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: JsonText<'a>,
    #[serde(borrow)]
    data: Data<'a>,
    #[serde(borrow)]
    id: JsonText<'a>,
    timestamp: JsonTime,
    #[serde(borrow)]
    agent_id: JsonText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Data<'a> {
    #[serde(borrow)]
    session_id: JsonText<'a>,
    #[serde(borrow)]
    copilot_version: JsonText<'a>,
    #[serde(borrow)]
    context: Context<'a>,
    #[serde(borrow)]
    content: JsonContent<'a, TextPart<'a>>,
    #[serde(borrow)]
    tool_call_id: JsonText<'a>,
    #[serde(borrow)]
    tool_name: JsonText<'a>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    success: Option<bool>,
    #[serde(borrow)]
    result: ToolResult<'a>,
    #[serde(borrow)]
    error: ErrorData<'a>,
    #[serde(borrow)]
    summary_content: JsonText<'a>,
    #[serde(borrow)]
    title: JsonText<'a>,
    #[serde(borrow)]
    agent_id: JsonText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Context<'a> {
    #[serde(borrow)]
    cwd: JsonText<'a>,
    #[serde(borrow)]
    branch: JsonText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolResult<'a> {
    #[serde(borrow)]
    content: JsonContent<'a, TextPart<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ErrorData<'a> {
    #[serde(borrow)]
    message: JsonText<'a>,
}

/// The older form.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct OldDocument<'a> {
    #[serde(borrow)]
    session_id: JsonText<'a>,
    start_time: JsonTime,
    #[serde(borrow)]
    chat_messages: JsonList<OldMessage<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OldMessage<'a> {
    #[serde(borrow)]
    role: JsonText<'a>,
    #[serde(borrow)]
    content: JsonContent<'a, TextPart<'a>>,
    #[serde(borrow)]
    tool_calls: JsonList<OldCall<'a>>,
    #[serde(borrow)]
    tool_call_id: JsonText<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OldCall<'a> {
    #[serde(borrow)]
    id: JsonText<'a>,
    #[serde(borrow)]
    function: OldFunction<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OldFunction<'a> {
    #[serde(borrow)]
    name: JsonText<'a>,
    #[serde(borrow)]
    arguments: JsonText<'a>,
}

impl PastReader for CopilotCli {
    fn agent(&self) -> PastAgent {
        PastAgent::CopilotCli
    }

    fn version(&self) -> u32 {
        1
    }

    fn roots(&self, surroundings: &PastSurroundings) -> Vec<PathBuf> {
        let home = surroundings.variable_or("COPILOT_HOME", ".copilot");
        vec![home.join("session-state"), home.join("history-session-state")]
    }

    fn is_source(&self, path: &Path) -> bool {
        let lies_in = |folder| path.components().any(|part| part.as_os_str() == folder);
        let is_old = lies_in("history-session-state") && has_ending(path, ".json");
        !lies_in("files") && (path.file_name().is_some_and(|name| name == "events.jsonl") || is_old)
    }

    fn grows(&self, _path: &Path) -> bool {
        // Events of children stand among the others, and only a reading from the start knows where each stood.
        false
    }

    fn read(&self, input: &mut SourceInput<'_>, out: &mut Cleaner<'_>) -> Result<()> {
        if has_ending(input.path, ".json") {
            let text = std::fs::read(input.path).map_err(|error| Error::file(input.path, error))?;
            with_record(&text, |text| old(text, out));
            return Ok(());
        }
        let folder = input.path.parent().and_then(Path::file_name);
        let id = folder.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        events(PastAgent::CopilotCli, &id, None, input, out)
    }

    fn resume(
        &self,
        session: &str,
        _source: &Path,
    ) -> std::result::Result<Vec<String>, &'static str> {
        Ok(words(&["copilot", "--resume", session]))
    }
}

/// Reads a log of events; `id` is that of the session unless its first event says another.
pub(super) fn events(
    agent: PastAgent,
    id: &str,
    folder: Option<&str>,
    input: &mut SourceInput<'_>,
    out: &mut Cleaner<'_>,
) -> Result<()> {
    let mut main = SessionInfo::new(agent, id);
    main.folder = folder.map(str::to_owned);
    input.each_record(out, |text, out| event(text, &mut main, out))
}

fn event(text: &str, main: &mut SessionInfo, out: &mut Cleaner<'_>) {
    let Ok(event) = serde_json::from_str::<Event<'_>>(text) else {
        out.counts.malformed += u64::from(!text.trim().is_empty());
        return;
    };
    let (data, at) = (&event.data, event.timestamp.0);
    if event.kind.as_str() == "session.start" {
        if let Some(id) = data.session_id.some() {
            id.clone_into(&mut main.id);
        }
        main.folder = data.context.cwd.owned().or_else(|| main.folder.take());
        main.branch = data.context.branch.owned();
        main.version = data.copilot_version.owned();
    }
    if let Some(title) = data.title.owned().filter(|_| event.kind.as_str().starts_with("session."))
    {
        main.title = Some(title);
    }
    main.meet(at.unwrap_or(0));
    match event.agent_id.some().or(data.agent_id.some()) {
        None => out.session(main.clone()),
        Some(child) => {
            let mut info = SessionInfo::new(main.agent, format!("{}.{child}", main.id));
            info.kind = SessionKind::Child;
            info.parent = Some(main.id.clone());
            info.folder.clone_from(&main.folder);
            info.meet(at.unwrap_or(0));
            out.session(info);
        }
    }
    let place = RecordPlace { native: event.id.some(), at };
    let call = RecordPlace { native: data.tool_call_id.some(), at };
    match event.kind.as_str() {
        "user.message" => out.prompt(place, &joined(&data.content)),
        "assistant.message" => out.answer(place, &joined(&data.content)),
        "tool.execution_start" => {
            let input = data.arguments.map_or("", RawValue::get);
            tools::call(out, call, data.tool_name.as_str(), input);
        }
        "tool.execution_complete" => {
            let shown = joined(&data.result.content);
            let shown = if shown.is_empty() { data.error.message.as_str() } else { &shown };
            out.output(call, shown, data.success == Some(false), None);
        }
        "session.compaction_complete" => out.summary(place, data.summary_content.as_str()),
        kind if KNOWN.iter().any(|known| kind.starts_with(known)) => out.counts.skipped += 1,
        kind => out.counts.unknown(kind),
    }
}

/// Beginnings of types that hold nothing a person would look for.
const KNOWN: [&str; 9] = [
    "session.",
    "assistant.",
    "tool.",
    "subagent.",
    "hook.",
    "system.",
    "abort",
    "user.",
    "permission.",
];

fn old(text: &str, out: &mut Cleaner<'_>) {
    let Ok(document) = serde_json::from_str::<OldDocument<'_>>(text) else {
        out.counts.malformed += 1;
        return;
    };
    let id = document.session_id.as_str();
    let mut info = SessionInfo::new(PastAgent::CopilotCli, id);
    info.meet(document.start_time.0.unwrap_or(0));
    out.session(info);
    for (at, message) in document.chat_messages.0.iter().enumerate() {
        out.counts.records += 1;
        let native = format!("{id}.{at}");
        let place = RecordPlace { native: Some(&native), at: None };
        let text = joined(&message.content);
        match message.role.as_str() {
            "user" => out.prompt(place, &text),
            "assistant" => {
                out.answer(place, &text);
                for call in &message.tool_calls.0 {
                    let place = RecordPlace { native: call.id.some(), at: None };
                    let input = call.function.arguments.as_str();
                    tools::call(out, place, call.function.name.as_str(), input);
                }
            }
            "tool" => {
                let place = RecordPlace { native: message.tool_call_id.some(), at: None };
                out.output(place, &text, false, None);
            }
            "system" => out.counts.skipped += 1,
            role => out.counts.unknown(role),
        }
    }
}
