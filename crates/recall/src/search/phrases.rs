//! Phrases and what is excluded: the only parts of a question that look at the text of a memory.

use std::collections::HashSet;

use super::filter::MemoryRow;
use text::analyze::{Analyzer, ParsedQuestion};

/// Does the memory hold all phrases of the question, and nothing that it excludes?
pub(super) fn fits(analyzer: &Analyzer, question: &ParsedQuestion, row: &MemoryRow) -> bool {
    let terms = terms_of(analyzer, row);
    question.phrases.iter().all(|phrase| holds_phrase(&terms, phrase))
        && !question.excluded.iter().any(|term| terms.iter().any(|t| t.0 == *term))
        && !question.excluded_phrases.iter().any(|phrase| holds_phrase(&terms, phrase))
}

/// Whether a question has such parts. Without them no text need be read.
pub(super) fn are_in(question: &ParsedQuestion) -> bool {
    !question.phrases.is_empty()
        || !question.excluded.is_empty()
        || !question.excluded_phrases.is_empty()
}

fn terms_of(analyzer: &Analyzer, row: &MemoryRow) -> HashSet<(String, u32)> {
    let mut terms = HashSet::new();
    if let Some(body) = &row.body {
        let text = format!("{}\n{}", body.title, body.content);
        analyzer.terms(&text, &mut |term, position| {
            terms.insert((term.to_owned(), position));
        });
    }
    terms
}

/// Whether the words of a phrase stand one after the other somewhere.
fn holds_phrase(terms: &HashSet<(String, u32)>, phrase: &[String]) -> bool {
    let Some((first, rest)) = phrase.split_first() else { return true };
    let at = |word: &String, position: u32| terms.contains(&(word.clone(), position));
    terms.iter().filter(|(term, _)| term == first).any(|(_, start)| {
        rest.iter().zip(1..).all(|(word, step)| at(word, start.saturating_add(step)))
    })
}
