//! How this is done here: commands that went well, by program and sub-command.

use std::collections::{BTreeMap, BTreeSet};

use transcripts::cleaner::cut;

use super::{WorkScope, citation, is_success, outcomes};
use crate::error::Result;
use crate::store::Past;

/// Shorter words are looked for as words only: `do` is no part of `docker`.
const WORD_BYTES_MIN: usize = 3;
/// Bytes of a command that words are looked for in.
const LINE_BYTES_MAX: usize = 2_000;

/// A command that is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandHabit {
    /// The newest line that went well.
    pub line: String,
    pub sessions: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub folder: Option<String>,
    pub reference: String,
    pub at: i64,
}

/// What is known of a command so far.
struct Tally {
    habit: CommandHabit,
    words: usize,
    is_near: bool,
    sessions: BTreeSet<String>,
}

impl Past {
    /// Commands that have words of a text, own work first, then those that have more of the words, then newer ones.
    pub fn habits(&self, text: &str, scope: &WorkScope) -> Result<Vec<CommandHabit>> {
        let words: Vec<AskedWord> =
            text.split_whitespace().map(|word| self.asked_word(word)).collect();
        let mut found: BTreeMap<(bool, String), Tally> = BTreeMap::new();
        for candidate in self.candidates(text, scope)? {
            let is_near = self.is_near(candidate.row, scope);
            for turn in &candidate.turns {
                let items = self.items_of(candidate.key, Some(*turn))?;
                for (item, line, output) in outcomes(&items) {
                    let (lower, terms) = (line.to_lowercase(), self.terms_of(line));
                    let matching = words.iter().filter(|word| word.is_in(&lower, &terms)).count();
                    if matching == 0 || candidate.row.undone.contains(turn) {
                        continue;
                    }
                    let tally = found.entry((is_near, kind_of(line))).or_insert_with(|| Tally {
                        habit: CommandHabit {
                            line: String::new(),
                            sessions: 0,
                            succeeded: 0,
                            failed: 0,
                            folder: None,
                            reference: String::new(),
                            at: i64::MIN,
                        },
                        words: 0,
                        is_near,
                        sessions: BTreeSet::new(),
                    });
                    match is_success(output) {
                        Some(true) => {
                            tally.habit.succeeded += 1;
                            tally.sessions.insert(candidate.row.info.key());
                            if (matching, item.at) >= (tally.words, tally.habit.at) {
                                tally.words = matching;
                                tally.habit.line = line.to_owned();
                                tally.habit.at = item.at;
                                tally.habit.folder.clone_from(&candidate.row.info.folder);
                                tally.habit.reference = citation(candidate.key, *turn);
                            }
                        }
                        Some(false) => tally.habit.failed += 1,
                        None => {}
                    }
                }
            }
        }
        let mut tallies: Vec<Tally> =
            found.into_values().filter(|tally| tally.habit.succeeded > 0).collect();
        tallies.sort_by_key(|tally| {
            std::cmp::Reverse((
                tally.is_near,
                tally.words,
                tally.habit.at,
                tally.habit.line.clone(),
            ))
        });
        let habits = tallies.into_iter().take(scope.limit);
        Ok(habits
            .map(|tally| CommandHabit { sessions: tally.sessions.len() as u64, ..tally.habit })
            .collect())
    }
}

/// A word of what is asked, as it stands and as it is searched by: `tests` is also `test`.
struct AskedWord {
    lower: String,
    terms: Vec<String>,
}

impl AskedWord {
    fn is_in(&self, lower: &str, terms: &[String]) -> bool {
        let by_term = !self.terms.is_empty() && self.terms.iter().all(|term| terms.contains(term));
        by_term || self.lower.len() >= WORD_BYTES_MIN && lower.contains(&self.lower)
    }
}

impl Past {
    fn asked_word(&self, word: &str) -> AskedWord {
        AskedWord { lower: word.to_lowercase(), terms: self.terms_of(word) }
    }

    fn terms_of(&self, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        self.analyzer.terms(cut(text, LINE_BYTES_MAX), &mut |term, _| found.push(term.to_owned()));
        found
    }
}

/// Program and sub-command of the last command in a line: `cd x && cargo test -p y` is `cargo test`.
fn kind_of(line: &str) -> String {
    let last = line.split(['|', ';', '\n']).next().unwrap_or(line);
    let last = last.rsplit("&&").next().unwrap_or(last);
    let words = last.split_whitespace().skip_while(|word| word.contains('=') || *word == "sudo");
    words.filter(|word| !word.starts_with('-')).take(2).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_known_by_program_and_sub_command() {
        assert_eq!(kind_of("cd a && RUST_LOG=x cargo test -p b | tail"), "cargo test");
        assert_eq!(kind_of("make"), "make");
        assert_eq!(kind_of("git -C x push"), "git x");
    }
}
