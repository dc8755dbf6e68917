//! Which turns answer a question best, by their words.
//!
//! What must stay true: the same state and question give the same order everywhere; a document that a filter leaves out
//! is in no count; work counts only where it was asked for, and then less than speech. Scores lie in a row by number of
//! document, so that a frequent word costs one pass over its list and no more.

use std::cmp::Reverse;

use text::analyze::ParsedQuestion;
use text::index::idf;

use super::part::Part;
use super::table::{TurnFilter, TurnTable};
use crate::disk::PastDisk;
use crate::error::Result;
use crate::limits::TERMS_MAX;

/// Terms that a beginning of a word stands for.
const EXPANSIONS_MAX: usize = 32;

/// What is asked, and of which turns.
#[derive(Clone, Copy)]
pub(crate) struct WordsQuestion<'q> {
    pub(crate) question: &'q ParsedQuestion,
    pub(crate) filter: TurnFilter<'q>,
    pub(crate) with_work: bool,
    /// How many of the best are wanted.
    pub(crate) most: usize,
}

/// A turn and how well it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WordScore {
    pub(crate) session: u32,
    pub(crate) turn: u32,
    pub(crate) at: i64,
    pub(crate) score: u64,
    /// How many different terms of the question it has.
    pub(crate) terms: u32,
}

/// What the words of a question say about all turns.
#[derive(Debug, Default)]
pub(crate) struct WordRanking {
    /// The best, best first; newer ones first where they are equal.
    pub(crate) best: Vec<WordScore>,
    /// Turns that have a word of the question.
    pub(crate) matches: u64,
    scores: Vec<u32>,
    terms: Vec<u8>,
    touched: Vec<u32>,
}

impl WordRanking {
    /// What a turn beyond the best has: score and terms, by the document that stands for it.
    pub(crate) fn of(&self, document: u32) -> Option<(u64, u32)> {
        let score = *self.scores.get(document as usize)?;
        (score > 0).then(|| (u64::from(score), u32::from(self.terms[document as usize])))
    }

    /// Where scores stand among all: one more than the turns that have a higher one.
    pub(crate) fn ranks(&self, scores: &[u64]) -> Vec<usize> {
        let mut sorted: Vec<u64> = scores.to_vec();
        sorted.sort_unstable();
        // For each place in `sorted`, turns whose score is higher than that of the place before it.
        let mut above = vec![0_usize; sorted.len() + 1];
        for document in &self.touched {
            let score = u64::from(self.scores[*document as usize]);
            above[sorted.partition_point(|known| *known < score)] += 1;
        }
        for place in (0..sorted.len()).rev() {
            above[place] += above[place + 1];
        }
        let rank = |score: &u64| above[sorted.partition_point(|known| known <= score)] + 1;
        scores.iter().map(|score| rank(score).max(1)).collect()
    }
}

/// Scores all turns that have a term of the question.
pub(crate) fn rank(
    disk: &dyn PastDisk,
    parts: &[Part],
    table: &TurnTable,
    asked: &WordsQuestion<'_>,
) -> Result<WordRanking> {
    let filter = &asked.filter;
    let documents = table.count(parts, filter);
    let mut ranking = WordRanking {
        scores: vec![0; table.documents()],
        terms: vec![0; table.documents()],
        ..WordRanking::default()
    };
    let mut worth = vec![0_u8; table.documents()];
    let mut met: Vec<u32> = Vec::new();
    for group in groups(disk, parts, asked.question)? {
        let mut df = 0_u64;
        for (place, part) in parts.iter().enumerate() {
            for term in &group {
                part.term(disk, term, |posting| {
                    let work = if asked.with_work { posting.work / 2 } else { 0 };
                    let value = posting.speech.max(work);
                    if value == 0 {
                        return;
                    }
                    let standing = table.standing(place, part, posting.document, filter);
                    let Some(standing) = standing else { return };
                    df += 1;
                    let known = &mut worth[standing as usize];
                    if *known == 0 {
                        met.push(standing);
                    }
                    *known = value.max(*known);
                })?;
            }
        }
        let rarity = u32::try_from(idf(documents, df)).unwrap_or(u32::MAX);
        for document in met.drain(..) {
            let place = document as usize;
            if ranking.scores[place] == 0 {
                ranking.touched.push(document);
            }
            let more = rarity.saturating_mul(u32::from(worth[place]));
            ranking.scores[place] = ranking.scores[place].saturating_add(more);
            ranking.terms[place] = ranking.terms[place].saturating_add(1);
            worth[place] = 0;
        }
    }
    for term in asked.question.excluded.iter().take(TERMS_MAX) {
        for (place, part) in parts.iter().enumerate() {
            part.term(disk, term, |posting| {
                let standing = table.standing(place, part, posting.document, filter);
                if let Some(standing) = standing {
                    ranking.scores[standing as usize] = 0;
                }
            })?;
        }
    }
    let scores = &ranking.scores;
    ranking.touched.retain(|document| scores[*document as usize] > 0);
    ranking.matches = ranking.touched.len() as u64;
    ranking.best = best(parts, table, &ranking, asked.most);
    Ok(ranking)
}

/// The best turns in order. Most turns are far from them, and are left out by their score alone.
fn best(parts: &[Part], table: &TurnTable, ranking: &WordRanking, most: usize) -> Vec<WordScore> {
    let score = |document: &u32| ranking.scores[*document as usize];
    let mut least = 0;
    if ranking.touched.len() > most && most > 0 {
        let mut scores: Vec<u32> = ranking.touched.iter().map(score).collect();
        least = *scores.select_nth_unstable_by_key(most - 1, |score| Reverse(*score)).1;
    }
    let far = ranking.touched.iter().filter(|document| score(document) >= least);
    let mut found: Vec<WordScore> = far
        .filter_map(|document| {
            let turn = table.turn(parts, *document)?;
            Some(WordScore {
                session: turn.session,
                turn: turn.turn,
                at: turn.at,
                score: u64::from(score(document)),
                terms: u32::from(ranking.terms[*document as usize]),
            })
        })
        .collect();
    let order = |hit: &WordScore| (Reverse((hit.score, hit.at)), hit.session, hit.turn);
    if found.len() > most && most > 0 {
        found.select_nth_unstable_by_key(most - 1, order);
        found.truncate(most);
    }
    found.sort_unstable_by_key(order);
    found
}

/// The terms of the question, each alone, and those that a beginning stands for together.
fn groups(
    disk: &dyn PastDisk,
    parts: &[Part],
    question: &ParsedQuestion,
) -> Result<Vec<Vec<String>>> {
    let mut groups: Vec<Vec<String>> =
        question.terms.iter().take(TERMS_MAX).map(|term| vec![term.clone()]).collect();
    for prefix in question.prefixes.iter().take(TERMS_MAX) {
        let mut terms = Vec::new();
        for part in parts {
            terms.extend(part.beginning(disk, prefix, EXPANSIONS_MAX)?);
        }
        terms.sort_unstable();
        terms.dedup();
        terms.truncate(EXPANSIONS_MAX);
        groups.push(terms);
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_one_more_than_the_turns_with_a_higher_score() {
        let ranking = WordRanking {
            scores: vec![5, 9, 5, 1, 0, 7],
            terms: vec![1; 6],
            touched: vec![0, 1, 2, 3, 5],
            ..WordRanking::default()
        };
        assert_eq!(ranking.ranks(&[5, 9, 1, 7, 5]), [3, 1, 5, 2, 3]);
        assert_eq!(ranking.of(4), None);
        assert_eq!(ranking.of(1), Some((9, 1)));
    }
}
