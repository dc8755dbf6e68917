//! Our own form, for any tool that nobody wrote a reader for: a JSON object per line with `session`, `role` and
//! `text`, and where they are known `at`, `folder`, `id`, `title` and, of a talk of several people, `speaker`. Roles
//! are prompt, answer, command, output, summary and note.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{PastReader, SourceInput};
use crate::cleaner::{Cleaner, RecordPlace};
use crate::error::Result;
use crate::json::{JsonText, JsonTime};
use crate::session::{PastAgent, SessionInfo};
use crate::surroundings::PastSurroundings;

/// Reads files that a person names.
#[derive(Debug)]
pub struct OwnLines;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OwnLine<'a> {
    #[serde(borrow)]
    session: JsonText<'a>,
    #[serde(borrow)]
    role: JsonText<'a>,
    #[serde(borrow)]
    text: JsonText<'a>,
    at: JsonTime,
    #[serde(borrow)]
    folder: JsonText<'a>,
    #[serde(borrow)]
    id: JsonText<'a>,
    #[serde(borrow)]
    title: JsonText<'a>,
    #[serde(borrow)]
    speaker: JsonText<'a>,
}

impl PastReader for OwnLines {
    fn agent(&self) -> PastAgent {
        PastAgent::Lines
    }

    fn version(&self) -> u32 {
        2
    }

    fn roots(&self, _surroundings: &PastSurroundings) -> Vec<PathBuf> {
        Vec::new()
    }

    fn is_source(&self, _path: &Path) -> bool {
        true
    }

    fn grows(&self, _path: &Path) -> bool {
        // Lines of several sessions may alternate, and only a reading from the start knows where each stood.
        false
    }

    fn read(&self, input: &mut SourceInput<'_>, out: &mut Cleaner<'_>) -> Result<()> {
        input.each_record(out, record)
    }

    fn resume(
        &self,
        _session: &str,
        _source: &Path,
    ) -> std::result::Result<Vec<String>, &'static str> {
        Err("nobody knows which tool wrote them")
    }
}

fn record(text: &str, out: &mut Cleaner<'_>) {
    let Ok(line) = serde_json::from_str::<OwnLine<'_>>(text) else {
        out.counts.malformed += u64::from(!text.trim().is_empty());
        return;
    };
    let Some(session) = line.session.some() else {
        out.counts.malformed += 1;
        return;
    };
    let mut info = SessionInfo::new(PastAgent::Lines, session);
    info.folder = line.folder.owned();
    info.title = line.title.owned();
    info.meet(line.at.0.unwrap_or(0));
    out.session(info);
    let place = RecordPlace { native: line.id.some(), at: line.at.0 };
    let spoken = line.speaker.some().map(|name| format!("{name}: {}", line.text.as_str()));
    let text = spoken.as_deref().unwrap_or(line.text.as_str());
    match line.role.as_str() {
        "prompt" | "user" => out.prompt(place, text),
        "answer" | "assistant" => out.answer(place, text),
        "command" => out.command(place, text),
        "output" => out.output(place, text, false, None),
        "summary" => out.summary(place, text),
        "note" => out.note(place, text),
        role => out.counts.unknown(role),
    }
}
