//! Answers as text for a model: ids in every line, no more words than it takes.
//!
//! - `reader`: who reads, with which tools and how much room; an answer as text and as structure.
//! - `hits`: what a search found. `memories`: single memories, timelines, walks.
//! - `past`: what coding agents wrote down.
//! - `context`: what an agent should know when it starts, within a budget.
//! - `runs`: runs of talents.
//! - `changes`: what became of a save, an update, a session.
//! - `hook`: what hooks add to a conversation. `excerpt`: texts made shorter.
//!
//! What must stay true: text and structure say the same, and both fit the reader's room; where a tool of the reader
//! does what a hint proposes, the hint names the tool, and no other is named; what is left out is said; text of
//! memories passes `untrusted`, and orders in what others wrote are marked as theirs.

mod changes;
mod context;
mod excerpt;
mod hits;
mod hook;
mod memories;
mod past;
mod reader;
mod runs;

pub use changes::{
    archived, captured, deleted, pinned, prompt_saved, proven, related, restored, saved, scored,
    session_ended, session_started, stats, suggested, summary_saved, updated,
};
pub use context::{ContextRoom, ContextText, PROPOSED, RULES, RULES_SHARE_PERCENT, context};
pub use hits::{found, found_by_rank};
pub use hook::{BriefingLine, BriefingSection, ToldMemory, briefing, may_be_told, recalled};
pub use memories::{memory, timeline, walked};
pub use past::{past_found, past_kept, past_shown, past_worked};
pub use reader::{
    AnswerForModel, CONTEXT_TOKENS, LIST_TOKENS, ModelReader, SEARCH_TOKENS, TOKENS_MIN,
};
pub use runs::{run_done, runs_listed};

use super::untrusted::line;
use crate::{CommandHint, Error};

/// Beside a rule that no person has confirmed.
const PROPOSED_MARK: &str = "proposed, not confirmed by a person";

/// The error of a tool, with what to do about it.
pub fn failed(error: &Error, reader: &ModelReader) -> String {
    let hint = hint(error, reader).map(|hint| format!("\nHint: {}", line(&hint)));
    format!("{} ({}){}", line(&error.message), error.code, hint.unwrap_or_default())
}

/// What to do about an error, for a model: it has its tools, and no command line.
fn hint(error: &Error, reader: &ModelReader) -> Option<String> {
    match CommandHint::of(error) {
        Some(CommandHint::ListMemories) => {
            let names = ["mem_search", "mem_context"].into_iter().filter(|tool| reader.has(tool));
            let names: Vec<&str> = names.collect();
            let verb = if names.len() > 1 { "name" } else { "names" };
            (!names.is_empty()).then(|| format!("{} {verb} the ids there are", names.join(" and ")))
        }
        Some(CommandHint::StartSession) => {
            reader.has("mem_session_start").then(|| "mem_session_start starts one".to_owned())
        }
        None => error.hint.clone().filter(|hint| names_only(hint, reader)),
    }
}

/// True if a text names no tool that its reader does not have.
fn names_only(text: &str, reader: &ModelReader) -> bool {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("mem_")).all(|tool| reader.has(tool))
}

/// The day something happened; the day it was recorded beside it, where that was another one.
fn when(created_at: &str, happened_at: Option<&str>) -> String {
    let day = |time: &str| time.get(..10).unwrap_or(time).to_owned();
    let recorded = day(created_at);
    match happened_at.map(day).filter(|happened| *happened != recorded) {
        Some(happened) => format!("{happened} (recorded {recorded})"),
        None => recorded,
    }
}

/// ` for project "web"`; nothing for what belongs to none.
fn for_project(project: &str) -> String {
    if project.is_empty() { String::new() } else { format!(" for project \"{}\"", line(project)) }
}
