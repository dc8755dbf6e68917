//! Which document of the index belongs to which turn: made once from catalogue and parts, and asked by every question.
//!
//! What must stay true: it follows from the catalogue and the parts alone and is thrown away when either changes. A
//! document whose segment does not count belongs to no turn. A turn that lies in two segments has two documents; one
//! of them, the newest, stands for it.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt as _};

use super::part::Part;
use crate::catalog::{SessionKey, SessionRow};
use transcripts::digests::Digest32;

/// No session, and no turn.
const NONE: u32 = u32::MAX;

/// Documents are numbered through all parts.
#[derive(Debug)]
pub(crate) struct TurnTable {
    /// The number of the first document of each part.
    bases: Vec<u32>,
    /// For each part, the session of each of its segments.
    sessions: Vec<Vec<u32>>,
    /// The part of each document is looked up by `bases`; here is the document that stands for its turn.
    standing: Vec<u32>,
    live: u64,
    /// Documents by session: those of one segment follow each other.
    runs: Vec<DocumentRun>,
}

/// Documents of one segment, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DocumentRun {
    session: u32,
    from: u32,
    until: u32,
}

/// Which turns may be shown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TurnFilter<'f> {
    /// For each session by number; all if there is none.
    pub(crate) sessions: Option<&'f [bool]>,
    pub(crate) since: Option<i64>,
    pub(crate) until: Option<i64>,
}

impl TurnFilter<'_> {
    fn has_session(&self, session: u32) -> bool {
        self.sessions.is_none_or(|shown| shown.get(session as usize).copied().unwrap_or(false))
    }

    fn has_time(&self, at: i64) -> bool {
        self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at < until)
    }

    fn is_open(&self) -> bool {
        self.sessions.is_none() && self.since.is_none() && self.until.is_none()
    }
}

/// The turn of a document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableTurn {
    /// The number of its session in the order of the catalogue.
    pub(crate) session: u32,
    pub(crate) turn: u32,
    pub(crate) at: i64,
    /// The document that stands for it.
    pub(crate) document: u32,
}

impl TurnTable {
    pub(crate) fn new(parts: &[Part], sessions: &BTreeMap<SessionKey, SessionRow>) -> TurnTable {
        let mut numbers: HashMap<Digest32, u32> = HashMap::with_capacity(sessions.len() * 2);
        let mut rows: Vec<&SessionRow> = Vec::with_capacity(sessions.len());
        for row in sessions.values() {
            let number = u32::try_from(rows.len()).unwrap_or(NONE);
            numbers.extend(row.segments.iter().map(|segment| (segment.digest, number)));
            rows.push(row);
        }
        let mut table = TurnTable {
            bases: Vec::new(),
            sessions: Vec::new(),
            standing: Vec::new(),
            live: 0,
            runs: Vec::new(),
        };
        let mut twice: HashMap<(u32, u32), u32> = HashMap::new();
        let mut times: Vec<i64> = Vec::new();
        for part in parts {
            let base = u32::try_from(table.standing.len()).unwrap_or(NONE);
            table.bases.push(base);
            let of_segment: Vec<u32> = part
                .header
                .segments
                .iter()
                .map(|name| numbers.get(&name.digest).copied().unwrap_or(NONE))
                .collect();
            for (at, document) in part.header.documents.iter().enumerate() {
                let session = of_segment.get(document.segment as usize).copied().unwrap_or(NONE);
                let number = base + u32::try_from(at).unwrap_or(NONE);
                times.push(document.at);
                if session == NONE {
                    table.standing.push(NONE);
                    continue;
                }
                table.live += 1;
                table.standing.push(number);
                table.extend_run(session, number);
                if is_divided(rows[session as usize], document.turn) {
                    let standing = twice.entry((session, document.turn)).or_insert(number);
                    if times[*standing as usize] < document.at {
                        *standing = number;
                    }
                }
            }
            table.sessions.push(of_segment);
        }
        if !twice.is_empty() {
            table.join(parts, &twice);
        }
        table.runs.sort_unstable();
        table
    }

    fn extend_run(&mut self, session: u32, number: u32) {
        match self.runs.last_mut() {
            Some(run) if run.session == session && run.until == number => run.until += 1,
            _ => self.runs.push(DocumentRun { session, from: number, until: number + 1 }),
        }
    }

    /// The turns of a session that may be shown, in order; each with all documents of it.
    pub(crate) fn turns_of(
        &self,
        parts: &[Part],
        session: u32,
        filter: &TurnFilter<'_>,
    ) -> Vec<(TableTurn, u32)> {
        let start = self.runs.partition_point(|run| run.session < session);
        let runs = self.runs[start..].iter().take_while(|run| run.session == session);
        let mut turns: Vec<(TableTurn, u32)> = runs
            .flat_map(|run| run.from..run.until)
            .filter_map(|number| Some((self.shown(parts, number, filter)?, number)))
            .collect();
        turns.sort_by_key(|(turn, number)| (turn.turn, *number));
        turns
    }

    /// Lets one document stand for all of its turn.
    fn join(&mut self, parts: &[Part], twice: &HashMap<(u32, u32), u32>) {
        for (place, part) in parts.iter().enumerate() {
            for (at, document) in part.header.documents.iter().enumerate() {
                let session = self.sessions[place].get(document.segment as usize);
                let key = (session.copied().unwrap_or(NONE), document.turn);
                if let Some(standing) = twice.get(&key) {
                    self.standing[self.bases[place] as usize + at] = *standing;
                }
            }
        }
    }

    pub(crate) fn documents(&self) -> usize {
        self.standing.len()
    }

    pub(super) fn base(&self, part: usize) -> u32 {
        self.bases[part]
    }

    /// The turn of a document, if it counts.
    pub(crate) fn turn(&self, parts: &[Part], number: u32) -> Option<TableTurn> {
        let document = *self.standing.get(number as usize)?;
        if document == NONE {
            return None;
        }
        let place = self.bases.partition_point(|base| *base <= document).checked_sub(1)?;
        let row = parts[place].header.documents[(document - self.bases[place]) as usize];
        let session = self.sessions[place][row.segment as usize];
        Some(TableTurn { session, turn: row.turn, at: row.at, document })
    }

    /// The turn of a document, if it counts and may be shown.
    pub(super) fn shown(
        &self,
        parts: &[Part],
        number: u32,
        filter: &TurnFilter<'_>,
    ) -> Option<TableTurn> {
        let turn = self.turn(parts, number)?;
        (filter.has_session(turn.session) && filter.has_time(turn.at)).then_some(turn)
    }

    /// For each document of a part the one that stands for its turn, if it may be shown.
    pub(super) fn standing(
        &self,
        place: usize,
        part: &Part,
        at: u32,
        filter: &TurnFilter<'_>,
    ) -> Option<u32> {
        let document = self.standing[(self.bases[place] + at) as usize];
        if document == NONE {
            return None;
        }
        if !filter.is_open() {
            let row = part.header.documents[at as usize];
            let session = self.sessions[place][row.segment as usize];
            if !filter.has_session(session) || !filter.has_time(row.at) {
                return None;
            }
        }
        Some(document)
    }

    /// How many documents may be shown.
    pub(super) fn count(&self, parts: &[Part], filter: &TurnFilter<'_>) -> u64 {
        if filter.is_open() {
            return self.live;
        }
        let mut count = 0;
        for (place, part) in parts.iter().enumerate() {
            for row in &part.header.documents {
                let session = self.sessions[place].get(row.segment as usize).copied();
                let is_live =
                    session.is_some_and(|session| session != NONE && filter.has_session(session));
                count += u64::from(is_live && filter.has_time(row.at));
            }
        }
        count
    }
}

/// Whether a turn can lie in more than one segment of its session.
fn is_divided(row: &SessionRow, turn: u32) -> bool {
    let holds = |segment: &&crate::catalog::SegmentRow| {
        segment.first_turn <= turn && turn <= segment.last_turn
    };
    row.segments.len() > 1 && row.segments.iter().filter(holds).take(2).count() > 1
}
