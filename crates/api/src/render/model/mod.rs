//! Answers as text for a model: ids in every line, no more words than it takes.
//!
//! - `memories`: searches, single memories, timelines, walks.
//! - `context`: what an agent should know when it starts, within a budget.
//! - `changes`: what became of a save, an update, a session.
//!
//! What must stay true: where a tool does what a hint proposes, the hint names the tool; what is left out is said; text
//! of memories passes `untrusted`, and orders in what others wrote are marked as theirs.

mod changes;
mod context;
mod memories;

pub use changes::{
    archived, captured, deleted, pinned, prompt_saved, proven, related, restored, saved, scored,
    session_ended, session_started, stats, suggested, summary_saved, updated,
};
pub use context::{ContextText, PROPOSED, RULES, RULES_SHARE_PERCENT, context};
pub use memories::{found, found_by_arms, memory, timeline, walked};

use super::untrusted::line;
use crate::{CommandHint, Error};

/// The error of a tool, with what to do about it.
pub fn failed(error: &Error) -> String {
    let hint = hint(error).map(|hint| format!("\nHint: {}", line(hint)));
    format!("{} ({}){}", line(&error.message), error.code, hint.unwrap_or_default())
}

/// What to do about an error, for a model: it has tools, and no command line.
fn hint(error: &Error) -> Option<&str> {
    match CommandHint::of(error) {
        Some(CommandHint::ListMemories) => {
            Some("mem_search and mem_context name the ids there are")
        }
        Some(CommandHint::StartSession) => Some("mem_session_start starts one"),
        None => error.hint.as_deref(),
    }
}

fn with_note(text: String, note: &str) -> String {
    if note.is_empty() { text } else { format!("{text}\nNote: {}", line(note)) }
}

/// ` for project "web"`; nothing for what belongs to none.
fn for_project(project: &str) -> String {
    if project.is_empty() { String::new() } else { format!(" for project \"{}\"", line(project)) }
}
