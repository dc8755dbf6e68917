//! Which turns answer a question best, by their words.
//!
//! What must stay true: the same state and question give the same order everywhere; a document that a filter leaves out
//! is in no count; work counts only where it was asked for, and then less than speech. Scores lie in a row by number of
//! document, so that a frequent word costs one pass over its list and no more.

use std::cmp::Reverse;

use text::analyze::ParsedQuestion;
use text::index::{WordMatch, idf};

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
    /// The document that stands for it.
    pub(crate) document: u32,
}

/// What the words of a question say about all turns.
#[derive(Debug, Default)]
pub(crate) struct WordRanking {
    /// The best, best first; newer ones first where they are equal.
    pub(crate) best: Vec<WordScore>,
    /// Turns that have a word of the question.
    pub(crate) matches: u64,
    /// Turns that could have one.
    pub(crate) documents: u64,
    /// How many turns have each term, in the order of the question's terms and then of its beginnings of words.
    pub(crate) frequencies: Vec<u64>,
    rarities: Vec<u64>,
    scores: Vec<u32>,
    /// A bit for each term that a document has.
    terms: Vec<u64>,
    touched: Vec<u32>,
}

/// What a term of a question weighs beside its rarity, as in `recall`.
const TERM_WEIGHT: u64 = 16;

impl WordRanking {
    /// What a turn has, by the document that stands for it, on the scale of `recall`.
    pub(crate) fn of(&self, document: u32) -> Option<WordMatch> {
        let score = u64::from(*self.scores.get(document as usize)?) * TERM_WEIGHT;
        let terms = self.terms[document as usize];
        let has = |place: &usize| terms >> place & 1 == 1;
        let present = (0..self.rarities.len()).filter(has).map(|place| self.rarities[place]);
        let present = present.sum::<u64>() * TERM_WEIGHT;
        (score > 0).then_some(WordMatch { score, present, terms: terms.count_ones() })
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
        documents,
        scores: vec![0; table.documents()],
        terms: vec![0; table.documents()],
        ..WordRanking::default()
    };
    let mut worth = vec![0_u8; table.documents()];
    let mut met: Vec<u32> = Vec::new();
    for (at, group) in groups(disk, parts, asked.question)?.into_iter().enumerate() {
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
        ranking.frequencies.push(df);
        ranking.rarities.push(u64::from(rarity));
        for document in met.drain(..) {
            let place = document as usize;
            if ranking.scores[place] == 0 {
                ranking.touched.push(document);
            }
            let more = rarity.saturating_mul(u32::from(worth[place]));
            ranking.scores[place] = ranking.scores[place].saturating_add(more);
            ranking.terms[place] |= 1 << at;
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
                document: turn.document,
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

/// The terms of the question, each alone, and those that a beginning stands for together: no more than a row of bits
/// has places for.
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
    groups.truncate(TERMS_MAX);
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_turn_has_of_a_question_is_told_by_its_terms() {
        let ranking = WordRanking {
            scores: vec![5, 9, 5, 1, 0, 7],
            terms: vec![1, 3, 1, 1, 0, 2],
            rarities: vec![100, 10],
            ..WordRanking::default()
        };
        assert_eq!(ranking.of(4), None);
        assert_eq!(ranking.of(1), Some(WordMatch { score: 9 * 16, present: 110 * 16, terms: 2 }));
        assert_eq!(ranking.of(5), Some(WordMatch { score: 7 * 16, present: 10 * 16, terms: 1 }));
    }
}
