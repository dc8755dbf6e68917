//! Whether a command went wrong the same way before, and never well since.
//!
//! What must stay true: two times with the same error make a repetition, one does not; a command that went well after
//! its last failure has nothing to warn of.

use std::collections::{BTreeMap, BTreeSet};

use super::{WorkScope, citation, is_success, outcomes, signature};
use crate::error::Result;
use crate::store::Past;

/// Times with one error that make it worth a word.
const TIMES_MIN: u64 = 2;

/// A command that keeps failing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFailure {
    /// The line of the error, as it was met last.
    pub error: String,
    pub times: u64,
    pub sessions: u64,
    /// The newest turn.
    pub reference: String,
    pub at: i64,
}

#[derive(Default)]
struct Tally {
    error: String,
    times: u64,
    sessions: BTreeSet<String>,
    reference: String,
    at: i64,
}

impl Past {
    /// How this very command failed, if it did so twice and was not seen to go well afterwards.
    pub fn failure(&self, line: &str, scope: &WorkScope) -> Result<Option<CommandFailure>> {
        let wanted = same_line(line);
        let mut tallies: BTreeMap<u64, Tally> = BTreeMap::new();
        let mut went_well = i64::MIN;
        for candidate in self.candidates(line, scope)? {
            if scope.folder.is_some() && !self.is_near(candidate.row, scope) {
                continue;
            }
            for turn in &candidate.turns {
                if candidate.row.undone.contains(turn) {
                    continue;
                }
                let items = self.items_of(candidate.key, Some(*turn))?;
                for (item, ran, output) in outcomes(&items) {
                    if same_line(ran) != wanted {
                        continue;
                    }
                    if is_success(output) == Some(true) {
                        went_well = went_well.max(item.at);
                    }
                    let errors = output.map(signature::of_item).unwrap_or_default();
                    let Some(error) = errors.into_iter().next() else { continue };
                    let tally = tallies.entry(error.signature).or_default();
                    tally.times += 1;
                    tally.sessions.insert(candidate.row.info.key());
                    if item.at >= tally.at {
                        tally.at = item.at;
                        tally.error = error.line;
                        tally.reference = citation(candidate.key, *turn);
                    }
                }
            }
        }
        let worst = tallies
            .into_values()
            .filter(|tally| tally.times >= TIMES_MIN && tally.at > went_well)
            .max_by(|one, other| (one.at, one.times).cmp(&(other.at, other.times)));
        Ok(worst.map(|tally| CommandFailure {
            error: tally.error,
            times: tally.times,
            sessions: tally.sessions.len() as u64,
            reference: tally.reference,
            at: tally.at,
        }))
    }
}

/// A command line without its spacing.
fn same_line(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
