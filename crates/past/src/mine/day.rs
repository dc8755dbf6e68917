//! What was worked on in a stretch of time: the turns of all sessions that lie in it.
//!
//! What must stay true: it is bounded by sessions, turns and bytes, and says what it left out; a turn belongs to the
//! time of its first item; sessions that agents led are not told apart from what their parent asked for.

use super::{citation, is_success, outcomes, short};
use crate::error::Result;
use crate::store::Past;
use transcripts::cleaner::cut;
use transcripts::session::{ItemBody, PastItem, SessionInfo, SessionKind};

/// Sessions of one stretch.
const SESSIONS_MAX: usize = 200;
/// Turns of one session.
const TURNS_MAX: usize = 400;
/// Bytes of a prompt or an answer that are told.
const SPOKEN_BYTES_MAX: usize = 2_000;
/// Commands and files of one turn.
const NAMED_MAX: usize = 12;

/// The sessions of a stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkSpan {
    /// By the time of their first turn in it.
    pub sessions: Vec<SessionSpan>,
    /// Turns that were left out because there are too many.
    pub left_out: u64,
}

/// What one session holds of a stretch of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSpan {
    /// `AGENT:SESSION`.
    pub reference: String,
    pub info: SessionInfo,
    pub turns: Vec<TurnOutline>,
}

/// A turn in a few lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnOutline {
    /// `AGENT:SESSION#TURN`.
    pub reference: String,
    pub at: i64,
    pub prompt: String,
    /// The last thing that was answered.
    pub answer: String,
    /// Commands, and whether they went well where that is known.
    pub commands: Vec<(String, Option<bool>)>,
    /// Files that were edited.
    pub files: Vec<String>,
}

impl Past {
    /// All turns from `from` on and before `until`, in milliseconds.
    pub fn span(&self, from: i64, until: i64) -> Result<WorkSpan> {
        let mut answer = WorkSpan::default();
        for (key, row) in &self.catalog.sessions {
            let info = &row.info;
            if info.kind == SessionKind::Child || info.updated < from || info.started >= until {
                continue;
            }
            let mut items = self.items_of(key, None)?;
            items.retain(|item| !row.undone.contains(&item.turn));
            items.sort_by_key(|item| item.turn);
            let mut turns = Vec::new();
            for turn in items.chunk_by(|one, other| one.turn == other.turn) {
                if !(from..until).contains(&turn[0].at) {
                    continue;
                }
                if turns.len() == TURNS_MAX || answer.sessions.len() == SESSIONS_MAX {
                    answer.left_out += 1;
                } else {
                    turns.push(outline(citation(key, turn[0].turn), turn));
                }
            }
            if !turns.is_empty() {
                let reference = info.key();
                answer.sessions.push(SessionSpan { reference, info: info.clone(), turns });
            }
        }
        answer.sessions.sort_by(|one, other| {
            (one.turns[0].at, &one.reference).cmp(&(other.turns[0].at, &other.reference))
        });
        Ok(answer)
    }
}

fn outline(reference: String, items: &[PastItem]) -> TurnOutline {
    let said = |text: &str| cut(text, SPOKEN_BYTES_MAX).to_owned();
    let prompt = items.iter().find_map(|item| match &item.body {
        ItemBody::Prompt { text, .. } => Some(said(text)),
        _ => None,
    });
    let answer = items.iter().rev().find_map(|item| match &item.body {
        ItemBody::Answer { text, .. } => Some(said(text)),
        _ => None,
    });
    let ran = outcomes(items);
    let commands = ran.iter().take(NAMED_MAX);
    let mut files = Vec::<String>::new();
    for item in items {
        if let ItemBody::Edit { path, .. } = &item.body
            && files.len() < NAMED_MAX
            && !files.contains(path)
        {
            files.push(path.clone());
        }
    }
    TurnOutline {
        reference,
        at: items[0].at,
        prompt: prompt.unwrap_or_default(),
        answer: answer.unwrap_or_default(),
        commands: commands.map(|(_, line, output)| (short(line), is_success(*output))).collect(),
        files,
    }
}
