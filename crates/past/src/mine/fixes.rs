//! What fixed this error: a step after which it did not come back.

use std::collections::{BTreeMap, BTreeSet};

use super::{Candidate, WorkScope, citation, short, signature};
use crate::error::Result;
use crate::store::Past;
use transcripts::session::{ItemBody, PastItem};

/// Items after an error among which the step that fixed it stands.
const STEP_ITEMS: usize = 10;
/// Items after the step in which the error must not return.
const QUIET_ITEMS: usize = 6;
/// Steps that are told.
const STEPS_MAX: usize = 3;
/// A shorter piece of an error is a piece of many.
const PIECE_BYTES_MIN: usize = 8;
/// A shorter word of an error proves nothing.
const SHARED_CHARS_MIN: usize = 5;

/// An error, and what made it go away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorFix {
    /// The line of the error, as it was met last.
    pub error: String,
    pub steps: Vec<String>,
    /// How many sessions it helped in.
    pub sessions: u64,
    /// More than one session, or a word of the error in the step.
    pub is_confirmed: bool,
    pub references: Vec<String>,
    pub at: i64,
}

/// One time that a step helped.
struct Case {
    error: String,
    steps: Vec<String>,
    turn: u32,
    at: i64,
}

impl Past {
    /// Fixes of an error, or of the errors in a log: confirmed ones first, then those of more sessions, then newer
    /// ones.
    pub fn fixes(&self, text: &str, scope: &WorkScope) -> Result<Vec<ErrorFix>> {
        let errors = signature::of_text(text);
        let wanted = WantedErrors::of(&errors);
        let words: Vec<&str> = errors.iter().map(|error| error.line.as_str()).collect();
        let mut found: BTreeMap<String, ErrorFix> = BTreeMap::new();
        for candidate in self.candidates(&words.join(" "), scope)? {
            let items = self.items_of(candidate.key, None)?;
            let mut seen = BTreeSet::new();
            for case in cases(&items, &wanted, &candidate) {
                let Some(first) = case.steps.first() else { continue };
                let fix = found.entry(signature::normalized(first)).or_insert_with(|| ErrorFix {
                    error: String::new(),
                    steps: Vec::new(),
                    sessions: 0,
                    is_confirmed: false,
                    references: Vec::new(),
                    at: i64::MIN,
                });
                fix.sessions += u64::from(seen.insert(signature::normalized(first)));
                fix.references.push(citation(candidate.key, case.turn));
                fix.is_confirmed |= shares_word(&case.error, &case.steps);
                if case.at >= fix.at {
                    (fix.at, fix.error, fix.steps) = (case.at, case.error, case.steps);
                }
            }
        }
        let mut fixes: Vec<ErrorFix> = found.into_values().collect();
        for fix in &mut fixes {
            fix.is_confirmed |= fix.sessions > 1;
        }
        fixes.sort_by_key(|fix| {
            std::cmp::Reverse((fix.is_confirmed, fix.sessions, fix.at, fix.steps.clone()))
        });
        fixes.truncate(scope.limit);
        Ok(fixes)
    }
}

/// Errors that are asked for.
struct WantedErrors {
    signatures: BTreeSet<u64>,
    /// A single line may be a piece of the error that somebody remembers.
    piece: Option<String>,
    /// Or some of its words, without the signs between; none if they are words of any error.
    words: BTreeSet<String>,
}

impl WantedErrors {
    fn of(errors: &[signature::ErrorLine]) -> WantedErrors {
        let piece = match errors {
            [one] => Some(signature::normalized(&one.line)),
            _ => None,
        };
        let line = errors.first().filter(|_| errors.len() == 1);
        let words = line.map(|error| words(&error.line)).unwrap_or_default();
        let tells = words.iter().any(|word| is_telling(word));
        WantedErrors {
            signatures: errors.iter().map(|error| error.signature).collect(),
            words: if tells { words } else { BTreeSet::new() },
            piece: piece
                .filter(|piece| tells && piece.contains(' ') && piece.len() >= PIECE_BYTES_MIN),
        }
    }

    fn covers(&self, error: &signature::ErrorLine) -> bool {
        self.signatures.contains(&error.signature)
            || self
                .piece
                .as_ref()
                .is_some_and(|piece| signature::normalized(&error.line).contains(piece.as_str()))
            || (!self.words.is_empty() && self.words.is_subset(&words(&error.line)))
    }
}

/// The words of a line, without numbers.
fn words(text: &str) -> BTreeSet<String> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| word.chars().any(char::is_alphabetic))
        .map(str::to_lowercase)
        .collect()
}

/// Whether a word tells one error from others.
fn is_telling(word: &str) -> bool {
    word.chars().count() >= SHARED_CHARS_MIN
        && !["error", "failed", "cannot", "fatal", "found"].contains(&word)
}

/// Times that one of the errors was met in a session and did not come back after a step.
fn cases(items: &[PastItem], wanted: &WantedErrors, candidate: &Candidate<'_>) -> Vec<Case> {
    let is_met =
        |item: &PastItem| signature::of_item(item).into_iter().find(|error| wanted.covers(error));
    let met: Vec<Option<signature::ErrorLine>> = items.iter().map(is_met).collect();
    let mut cases = Vec::new();
    for (at, error) in met.iter().enumerate() {
        let Some(error) = error else { continue };
        if candidate.row.undone.contains(&items[at].turn) {
            continue;
        }
        let reach = items.len().min(at + 1 + STEP_ITEMS);
        let returns = |from: usize| {
            met[from..items.len().min(from + QUIET_ITEMS)].iter().any(Option::is_some)
        };
        let mut steps: Vec<(usize, String)> = (at + 1..reach)
            .take_while(|later| met[*later].is_none())
            .filter_map(|later| Some((later, step(&items[later])?)))
            .collect();
        // What had failed and is run again shows that it was fixed, and fixed nothing itself.
        let failed = items[..at].iter().rev().find_map(step);
        let again = steps.iter().skip(1).position(|(_, step)| Some(step) == failed.as_ref());
        steps.truncate(again.map_or(steps.len(), |place| place + 1));
        let Some((first, _)) = steps.first() else { continue };
        // A step with nothing after it proves nothing.
        if returns(first + 1) || first + 1 >= items.len() {
            continue;
        }
        cases.push(Case {
            error: error.line.clone(),
            steps: steps.iter().take(STEPS_MAX).map(|(_, step)| step.clone()).collect(),
            turn: items[*first].turn,
            at: items[*first].at,
        });
    }
    cases
}

/// A command, or that a file was edited.
fn step(item: &PastItem) -> Option<String> {
    match &item.body {
        ItemBody::Command { line } => Some(short(line)),
        ItemBody::Edit { path, .. } => Some(format!("edit {path}")),
        _ => None,
    }
}

fn shares_word(error: &str, steps: &[String]) -> bool {
    let of_error = words(error);
    steps
        .iter()
        .any(|step| words(step).iter().any(|word| is_telling(word) && of_error.contains(word)))
}
