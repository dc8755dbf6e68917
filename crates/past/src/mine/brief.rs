//! What somebody needs to go on with a session: its goal, its files, what worked, what is still wrong, the last word.
//!
//! What must stay true: it is quotations and names from the session, each with its turn; nothing is made up.

use super::{citation, is_success, outcomes, short, signature};
use crate::citation::TurnReference;
use crate::error::Result;
use crate::store::Past;
use transcripts::session::{ItemBody, PastItem, SessionInfo};

/// Files, commands and errors that are named, the newest of each.
const NAMED_MAX: usize = 12;
/// Turns at the end in which an error counts as open.
const OPEN_TURNS: u32 = 3;

/// A session in a few lines. Each text has the turn it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionBrief {
    pub reference: String,
    pub info: SessionInfo,
    pub goal: Option<(String, String)>,
    /// The newest prompt, if it is another one.
    pub last_prompt: Option<(String, String)>,
    pub last_answer: Option<(String, String)>,
    /// Files that were edited.
    pub files: Vec<String>,
    /// Commands that went well.
    pub commands: Vec<(String, String)>,
    /// Errors that nothing afterwards shows to be gone.
    pub errors: Vec<(String, String)>,
}

impl Past {
    /// The session that a reference names, or that its turn belongs to.
    pub fn brief(&self, reference: &str) -> Result<SessionBrief> {
        let named = TurnReference::parse(reference)?;
        let (key, row) = self.find_session(&named.agent, &named.session, reference)?;
        let mut items = self.items_of(key, None)?;
        items.retain(|item| {
            !row.undone.contains(&item.turn) && named.turn.is_none_or(|turn| item.turn <= turn)
        });
        let at = |item: &PastItem| citation(key, item.turn);
        let said = |item: &PastItem, is_prompt: bool| match &item.body {
            ItemBody::Prompt { text, .. } if is_prompt => Some((text.clone(), at(item))),
            ItemBody::Answer { text, .. } if !is_prompt => Some((text.clone(), at(item))),
            _ => None,
        };
        let goal = items.iter().find_map(|item| said(item, true));
        let last_prompt = items.iter().rev().find_map(|item| said(item, true));
        let last_answer = items.iter().rev().find_map(|item| said(item, false));
        let files = newest(items.iter().rev().filter_map(|item| match &item.body {
            ItemBody::Edit { path, .. } => Some(path.clone()),
            _ => None,
        }));
        let worked = outcomes(&items);
        let commands =
            worked.iter().rev().filter(|(_, _, output)| is_success(*output) == Some(true));
        let commands = commands.map(|(item, line, _)| (short(line), at(item)));
        let mut lines = Vec::<(String, String)>::new();
        for (line, turn) in commands {
            if lines.len() < NAMED_MAX && !lines.iter().any(|(known, _)| *known == line) {
                lines.push((line, turn));
            }
        }
        let last_turn = items.iter().map(|item| item.turn).max().unwrap_or(0);
        let mut errors = Vec::<(u64, String, String)>::new();
        for item in items.iter().filter(|item| item.turn + OPEN_TURNS > last_turn) {
            if let ItemBody::Output { .. } = item.body {
                for error in signature::of_item(item) {
                    errors.retain(|(known, ..)| *known != error.signature);
                    errors.push((error.signature, error.line, at(item)));
                }
            }
        }
        // Where the last command went well, what went wrong before it is past.
        if worked.last().and_then(|(_, _, output)| is_success(*output)) == Some(true) {
            errors.clear();
        }
        let errors = errors.into_iter().rev().take(NAMED_MAX).map(|(_, line, turn)| (line, turn));
        Ok(SessionBrief {
            reference: row.info.key(),
            info: row.info.clone(),
            last_prompt: last_prompt.filter(|last| goal.as_ref() != Some(last)),
            goal,
            last_answer,
            files,
            commands: lines,
            errors: errors.collect(),
        })
    }
}

/// The first of each, at most a few.
fn newest(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut found = Vec::<String>::new();
    for one in all {
        if found.len() < NAMED_MAX && !found.contains(&one) {
            found.push(one);
        }
    }
    found
}
