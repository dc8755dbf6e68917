//! Which turns answer a question best, by their words.
//!
//! What must stay true: the same state and question give the same order everywhere; a document that a filter leaves out
//! is in no count; work counts only where it was asked for, and then less than speech.

use std::collections::HashMap;

use recall::analyze::ParsedQuestion;
use recall::text::idf;

use super::part::{Part, SegmentName};
use crate::disk::PastDisk;
use crate::error::Result;
use crate::limits::TERMS_MAX;

/// Terms that a beginning of a word stands for.
const EXPANSIONS_MAX: usize = 32;

/// What is asked, and of which documents.
pub(crate) struct WordsQuestion<'q> {
    pub(crate) question: &'q ParsedQuestion,
    /// The session that a segment belongs to, if its turns may be shown.
    pub(crate) session_of: &'q dyn Fn(&SegmentName) -> Option<u32>,
    /// Whether a turn of a session may be shown, by its number and time.
    pub(crate) is_shown: &'q dyn Fn(u32, u32, i64) -> bool,
    pub(crate) with_work: bool,
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

/// Scores of all turns that have a term of the question, best first; newer ones first where they are equal.
pub(crate) fn rank(
    disk: &dyn PastDisk,
    parts: &[Part],
    asked: &WordsQuestion<'_>,
) -> Result<Vec<WordScore>> {
    let mut shown: Vec<Vec<Option<u32>>> = Vec::with_capacity(parts.len());
    let mut documents = 0_u64;
    for part in parts {
        let sessions: Vec<Option<u32>> =
            part.header.segments.iter().map(asked.session_of).collect();
        let of_document: Vec<Option<u32>> = part
            .header
            .documents
            .iter()
            .map(|row| {
                let session = (*sessions.get(row.segment as usize)?)?;
                (asked.is_shown)(session, row.turn, row.at).then_some(session)
            })
            .collect();
        documents += of_document.iter().flatten().count() as u64;
        shown.push(of_document);
    }
    let mut scores: HashMap<(u32, u32), WordScore> = HashMap::new();
    for group in groups(disk, parts, asked.question)? {
        let mut worth: HashMap<(u32, u32), (u64, i64)> = HashMap::new();
        let mut df = 0_u64;
        for (part, shown) in parts.iter().zip(&shown) {
            for term in &group {
                part.term(disk, term, &mut |posting| {
                    let at = posting.document as usize;
                    let Some(session) = shown[at] else { return };
                    let work = if asked.with_work { u64::from(posting.work) / 2 } else { 0 };
                    let value = u64::from(posting.speech).max(work);
                    if value > 0 {
                        df += 1;
                        let row = part.header.documents[at];
                        let known = worth.entry((session, row.turn)).or_insert((0, row.at));
                        known.0 = known.0.max(value);
                        known.1 = known.1.max(row.at);
                    }
                })?;
            }
        }
        let rarity = idf(documents, df);
        for ((session, turn), (value, at)) in worth {
            let score = scores.entry((session, turn)).or_insert(WordScore {
                session,
                turn,
                at,
                score: 0,
                terms: 0,
            });
            score.score += rarity * value;
            score.terms += 1;
            score.at = score.at.max(at);
        }
    }
    for term in asked.question.excluded.iter().take(TERMS_MAX) {
        for (part, shown) in parts.iter().zip(&shown) {
            part.term(disk, term, &mut |posting| {
                let at = posting.document as usize;
                if let Some(session) = shown[at] {
                    scores.remove(&(session, part.header.documents[at].turn));
                }
            })?;
        }
    }
    let mut ranked: Vec<WordScore> = scores.into_values().collect();
    ranked.sort_unstable_by_key(|hit| {
        (std::cmp::Reverse((hit.score, hit.at)), hit.session, hit.turn)
    });
    Ok(ranked)
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
