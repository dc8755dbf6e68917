//! What goes wrong again and again: the same error in three sessions or more.

use std::collections::{BTreeMap, BTreeSet};

use super::{WorkScope, citation, signature};
use crate::browse::is_in_folder;
use crate::error::Result;
use crate::store::Past;

/// Sessions that make an error friction.
const SESSIONS_MIN: usize = 3;
/// Turns that are named.
const REFERENCES_MAX: usize = 5;

/// An error that came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorRecurrence {
    /// The line as it was met last.
    pub error: String,
    pub sessions: u64,
    pub times: u64,
    pub first_at: i64,
    pub last_at: i64,
    /// The newest turns.
    pub references: Vec<String>,
}

#[derive(Default)]
struct Tally {
    line: String,
    sessions: BTreeSet<String>,
    times: u64,
    first_at: Option<i64>,
    last_at: i64,
    /// Time and citation.
    turns: BTreeSet<(i64, String)>,
}

impl Past {
    /// Errors of at least three sessions, those of more sessions first.
    pub fn friction(&self, scope: &WorkScope) -> Result<Vec<ErrorRecurrence>> {
        let mut tallies: BTreeMap<u64, Tally> = BTreeMap::new();
        for (key, row) in &self.catalog.sessions {
            let is_old = scope.since.is_some_and(|since| row.info.updated < since);
            if is_old || !is_in_folder(&row.info, scope.folder.as_deref()) {
                continue;
            }
            for item in self.items_of(key, None)? {
                for error in signature::of_item(&item) {
                    let tally = tallies.entry(error.signature).or_default();
                    tally.times += 1;
                    tally.sessions.insert(row.info.key());
                    tally.first_at = Some(tally.first_at.map_or(item.at, |at| at.min(item.at)));
                    if item.at >= tally.last_at {
                        (tally.last_at, tally.line) = (item.at, error.line);
                    }
                    tally.turns.insert((item.at, citation(key, item.turn)));
                    if tally.turns.len() > REFERENCES_MAX {
                        tally.turns.pop_first();
                    }
                }
            }
        }
        let mut found: Vec<ErrorRecurrence> = tallies
            .into_values()
            .filter(|tally| tally.sessions.len() >= SESSIONS_MIN)
            .map(|tally| ErrorRecurrence {
                error: tally.line,
                sessions: tally.sessions.len() as u64,
                times: tally.times,
                first_at: tally.first_at.unwrap_or(0),
                last_at: tally.last_at,
                references: tally.turns.into_iter().rev().map(|(_, name)| name).collect(),
            })
            .collect();
        found.sort_by(|one, other| {
            (other.sessions, other.times, &one.error).cmp(&(one.sessions, one.times, &other.error))
        });
        found.truncate(scope.limit);
        Ok(found)
    }
}
