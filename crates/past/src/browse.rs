//! What is there: the state of the past, its sessions, the turns of one, and how to go on with it.
//!
//! What must stay true: every list has a bound; nothing is written; a command that is shown cannot be made to do more
//! by what stands in a session.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::catalog::{SessionKey, SessionRow};
use crate::citation::{TurnReference, is_plain_id, quoted};
use crate::error::{Error, Result};
use crate::exclusion;
use crate::limits::{HITS_MAX, ITEMS_MAX};
use crate::store::Past;
use transcripts::cleaner::cut;
use transcripts::readers;
use transcripts::session::{ItemBody, PastAgent, PastItem, SessionInfo, SessionKind};

/// Bytes of a first prompt that a session is called by.
const FIRST_ASKED_BYTES_MAX: usize = 90;

/// Which sessions are asked for. Without a limit as many as a list may have.
#[derive(Clone, Debug, Default)]
pub struct SessionScope {
    pub agent: Option<PastAgent>,
    /// A folder or one above it; `*` and `**` stand for any.
    pub folder: Option<String>,
    pub since: Option<i64>,
    /// Also the sessions that agents led.
    pub children: bool,
    pub limit: Option<usize>,
}

#[derive(Clone, Debug, Serialize)]
pub struct SessionList {
    /// Newest first.
    pub sessions: Vec<SessionState>,
    /// How many there are that the list does not show.
    pub left_out: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionState {
    /// `AGENT:SESSION`.
    pub reference: String,
    #[serde(flatten)]
    pub info: SessionInfo,
    pub turns: u32,
    pub items: u64,
    /// Bytes that it takes in the past.
    pub bytes: u64,
    /// Its source is gone: this is the only copy.
    pub is_kept_only_here: bool,
}

#[derive(Clone, Debug)]
pub struct TurnScope {
    /// A session, or a turn.
    pub reference: String,
    /// Turns before and after the one that is named.
    pub around: u32,
    /// Also commands, reads, edits and outputs.
    pub work: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct TurnList {
    pub session: SessionState,
    pub turns: Vec<TurnRecord>,
    /// Items that were left out because there are too many.
    pub left_out: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TurnRecord {
    pub reference: String,
    pub turn: u32,
    pub at: i64,
    pub is_undone: bool,
    pub items: Vec<PastItem>,
}

/// How a session goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResumeCommand {
    pub reference: String,
    pub folder: Option<String>,
    /// The command as words.
    pub words: Vec<String>,
    /// One line for a shell, in the folder of the session.
    pub line: String,
}

/// The past as a whole.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PastContents {
    pub agents: BTreeMap<&'static str, AgentShare>,
    pub segments: u64,
    pub bytes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AgentShare {
    pub sessions: u64,
    pub children: u64,
    pub turns: u64,
    pub bytes: u64,
    pub sources: u64,
    pub kept_only_here: u64,
    /// Secrets and private blocks that were taken out.
    pub masked: u64,
    /// The time of its newest record.
    pub newest: i64,
}

impl Past {
    pub fn state(&self) -> PastContents {
        let mut answer = PastContents::default();
        for row in self.catalog.sessions.values() {
            let view = view(row);
            let agent = answer.agents.entry(row.info.agent.name()).or_default();
            if row.info.kind == SessionKind::Child {
                agent.children += 1;
            } else {
                agent.sessions += 1;
            }
            agent.turns += u64::from(row.turns);
            agent.bytes += view.bytes;
            agent.kept_only_here += u64::from(view.is_kept_only_here);
            agent.newest = agent.newest.max(row.info.updated);
            answer.segments += row.segments.len() as u64;
            answer.bytes += view.bytes;
        }
        for row in self.catalog.sources.values() {
            let agent = answer.agents.entry(row.agent.name()).or_default();
            agent.sources += 1;
            agent.masked += row.tally.as_ref().map_or(0, |tally| tally.masked);
        }
        answer
    }

    pub fn sessions(&self, request: &SessionScope) -> SessionList {
        let mut rows: Vec<&SessionRow> = self
            .catalog
            .sessions
            .values()
            .filter(|row| request.children || row.info.kind == SessionKind::Main)
            .filter(|row| request.agent.is_none_or(|agent| agent == row.info.agent))
            .filter(|row| request.since.is_none_or(|since| row.info.updated >= since))
            .filter(|row| is_in_folder(&row.info, request.folder.as_deref()))
            .collect();
        rows.sort_by(|one, other| {
            (other.info.updated, &one.info.id).cmp(&(one.info.updated, &other.info.id))
        });
        let limit = request.limit.unwrap_or(HITS_MAX).min(HITS_MAX);
        let left_out = rows.len().saturating_sub(limit) as u64;
        SessionList { sessions: rows.into_iter().take(limit).map(view).collect(), left_out }
    }

    /// The beginning of what was asked first in a session, by which people know one without a title.
    pub fn first_asked(&self, info: &SessionInfo) -> Option<String> {
        let key = (info.agent, info.id.clone());
        // What cannot be read has no name; asking for the session says why.
        let items = self.items_of(&key, Some(1)).ok()?;
        items.iter().find_map(|item| match &item.body {
            ItemBody::Prompt { text, .. } => {
                let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
                let beginning = cut(&flat, FIRST_ASKED_BYTES_MAX);
                let rest = if beginning.len() < flat.len() { "…" } else { "" };
                Some(format!("{beginning}{rest}"))
            }
            _ => None,
        })
    }

    pub fn show(&self, request: &TurnScope) -> Result<TurnList> {
        let citation = TurnReference::parse(&request.reference)?;
        let (key, row) =
            self.find_session(&citation.agent, &citation.session, &request.reference)?;
        let around = citation.turn.map(|turn| {
            turn.saturating_sub(request.around)..=turn.saturating_add(request.around).min(row.turns)
        });
        let mut items: Vec<PastItem> = match citation.turn {
            Some(turn) if request.around == 0 => self.items_of(key, Some(turn))?,
            _ => self.items_of(key, None)?,
        };
        items.retain(|item| around.as_ref().is_none_or(|turns| turns.contains(&item.turn)));
        if items.is_empty() {
            return Err(Error::Unknown { reference: request.reference.clone() });
        }
        items.retain(|item| request.work || is_speech(&item.body));
        let left_out = items.len().saturating_sub(ITEMS_MAX) as u64;
        items.truncate(ITEMS_MAX);
        items.sort_by_key(|item| item.turn);
        let turns = items
            .chunk_by(|one, other| one.turn == other.turn)
            .map(|items| turn_view(key, row, items));
        Ok(TurnList { session: view(row), turns: turns.collect(), left_out })
    }

    pub fn resume(&self, reference: &str) -> Result<ResumeCommand> {
        let citation = TurnReference::parse(reference)?;
        let (key, row) = self.find_session(&citation.agent, &citation.session, reference)?;
        let impossible = |reason| Error::NoResume { agent: key.0.name(), reason };
        if row.info.kind == SessionKind::Child {
            return Err(impossible("another agent led this one; resume its parent"));
        }
        if !is_plain_id(&key.1) {
            return Err(impossible("its id has characters that a shell would read"));
        }
        let reader =
            readers::of(key.0).ok_or_else(|| impossible("nobody knows which tool wrote it"))?;
        let words = reader.resume(&key.1, Path::new(&row.source)).map_err(impossible)?;
        let command = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let line = match &row.info.folder {
            Some(folder) => format!("cd {} && {command}", quoted(folder)),
            None => command,
        };
        let reference = format!("{}:{}", key.0.name(), key.1);
        Ok(ResumeCommand { reference, folder: row.info.folder.clone(), words, line })
    }
}

/// What people said to each other, summaries and notes included.
fn is_speech(body: &ItemBody) -> bool {
    matches!(
        body,
        ItemBody::Prompt { .. }
            | ItemBody::Answer { .. }
            | ItemBody::Summary { .. }
            | ItemBody::Note { .. }
    )
}

pub(crate) fn is_in_folder(info: &SessionInfo, pattern: Option<&str>) -> bool {
    let Some(pattern) = pattern else { return true };
    info.folder.as_deref().is_some_and(|folder| exclusion::matches(pattern, folder))
}

fn view(row: &SessionRow) -> SessionState {
    SessionState {
        reference: row.info.key(),
        info: row.info.clone(),
        turns: row.turns,
        items: row.segments.iter().map(|segment| segment.items).sum(),
        bytes: row.segments.iter().map(|segment| segment.bytes).sum(),
        is_kept_only_here: !Path::new(&row.source).exists(),
    }
}

fn turn_view(key: &SessionKey, row: &SessionRow, items: &[PastItem]) -> TurnRecord {
    let turn = items[0].turn;
    TurnRecord {
        reference: format!("{}:{}#{turn}", key.0.name(), key.1),
        turn,
        at: items[0].at,
        is_undone: row.undone.contains(&turn),
        items: items.to_vec(),
    }
}
