//! What was done in the past: fixes of errors, habits, traces of files, what was taken out, what goes wrong again.
//!
//! `signature` makes the same error known again; the other files each answer one question. What must stay true: every
//! answer names the turns it comes from; candidates come from the index, so a question looks at a bounded number of
//! turns; only `friction` reads all sessions of a time. Nothing is written, and the same past gives the same answer.

mod brief;
mod facts;
mod failures;
mod fixes;
mod friction;
mod habits;
mod shapes;
mod signature;
mod traces;

use std::collections::BTreeMap;

use crate::browse::is_in_folder;
use crate::catalog::{SessionKey, SessionRow};
use crate::error::Result;
use crate::limits::{MINED_TURNS_MAX, PREVIEW_BYTES_MAX};
use crate::store::Past;
use crate::words::{self, TurnFilter, WordsQuestion};
use transcripts::session::{ItemBody, PastItem};

pub use brief::SessionBrief;
pub use facts::{SessionFacts, facts};
pub use failures::CommandFailure;
pub use fixes::ErrorFix;
pub use friction::ErrorRecurrence;
pub use habits::CommandHabit;
pub use shapes::{ShapeCount, ShapeReport, shapes};
pub use traces::{FileQuestion, FileTrace, SpanRemoval, TraceRole};

/// Which work is looked at.
#[derive(Clone, Debug, Default)]
pub struct WorkScope {
    /// A pattern of folders: work there comes first, and for `friction` it is all that counts.
    pub folder: Option<String>,
    pub since: Option<i64>,
    pub limit: usize,
    /// Turns that are looked at; without it as many as a question may.
    pub turns: Option<usize>,
}

/// The turns of one session that may hold an answer.
struct Candidate<'p> {
    key: &'p SessionKey,
    row: &'p SessionRow,
    turns: Vec<u32>,
}

impl Past {
    /// Sessions with turns that have words of a text, the best first; what was done counts like what was said.
    fn candidates(&self, text: &str, scope: &WorkScope) -> Result<Vec<Candidate<'_>>> {
        let mut question = self.analyzer.question(text);
        question.excluded.clear();
        if question.terms.is_empty() {
            return Ok(Vec::new());
        }
        let rows: Vec<(&SessionKey, &SessionRow)> = self.catalog.sessions.iter().collect();
        let asked = WordsQuestion {
            question: &question,
            filter: TurnFilter { since: scope.since, ..TurnFilter::default() },
            with_work: true,
            most: scope.turns.unwrap_or(MINED_TURNS_MAX).min(MINED_TURNS_MAX),
        };
        let ranked = words::rank(&*self.disk, &self.parts, self.table(), &asked)?;
        let mut order: Vec<u32> = Vec::new();
        let mut turns: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for hit in ranked.best {
            let of_session = turns.entry(hit.session).or_default();
            if of_session.is_empty() {
                order.push(hit.session);
            }
            of_session.push(hit.turn);
        }
        let candidate = |number: u32| {
            let (key, row) = rows[number as usize];
            let mut turns = turns.remove(&number).unwrap_or_default();
            turns.sort_unstable();
            Candidate { key, row, turns }
        };
        Ok(order.into_iter().map(candidate).collect())
    }

    fn is_near(&self, row: &SessionRow, scope: &WorkScope) -> bool {
        scope.folder.is_some() && is_in_folder(&row.info, scope.folder.as_deref())
    }
}

/// `AGENT:SESSION#TURN`.
fn citation(key: &SessionKey, turn: u32) -> String {
    format!("{}:{}#{turn}", key.0.name(), key.1)
}

/// What became of each command: the lines with the outputs of their calls.
fn outcomes(items: &[PastItem]) -> Vec<(&PastItem, &str, Option<&PastItem>)> {
    let mut found = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let ItemBody::Command { line } = &item.body else { continue };
        let answered = |later: &&PastItem| {
            matches!(later.body, ItemBody::Output { .. })
                && (item.native.is_none() || later.native == item.native)
        };
        found.push((item, line.as_str(), items[at + 1..].iter().find(answered)));
    }
    found
}

/// Whether an output tells that its command went well; none if it does not tell.
fn is_success(output: Option<&PastItem>) -> Option<bool> {
    match &output?.body {
        ItemBody::Output { error, exit, .. } => Some(!*error && exit.is_none_or(|exit| exit == 0)),
        _ => None,
    }
}

/// The beginning of a text on one line.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    transcripts::cleaner::cut(&line, PREVIEW_BYTES_MAX).to_owned()
}
