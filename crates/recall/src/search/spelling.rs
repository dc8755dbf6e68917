//! Spelling: a word that no memory has and no dictionary knows is asked for as the nearest word that a memory has.
//!
//! People mistype what they ask for and what they save; either way the words do not meet. What must stay true: a word
//! that is found, or that is a word at all, is never replaced, so a question that is spelt well is asked as it stands.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::context::SearchContext;
use crate::embedding::StaticEmbedder;
use crate::error::Result;
use text::analyze::{Analyzer, ParsedQuestion};
use text::index::TextSearch;

/// Letters of a word that may be mistyped. Of shorter ones too many words are one letter away; longer ones nobody
/// types.
const LETTERS: std::ops::RangeInclusive<usize> = 5..=24;
/// Words of one question that are looked for under other spellings. Each costs some hundred looks into the dictionary.
const WORDS_MAX: usize = 4;

/// The question with the nearest words that memories have, in place of words that none has; `None` if it stays as it
/// is.
pub(super) fn corrected(context: &SearchContext<'_>) -> Result<Option<ParsedQuestion>> {
    let SearchContext { view, cache, gate, query, analyzer, question, .. } = *context;
    // The dictionary holds words that a delegate may not see, and only words of the present.
    if gate.is_some() || query.as_of.is_some() {
        return Ok(None);
    }
    let odd = |word: &&String| {
        LETTERS.contains(&word.len())
            && word.bytes().all(|b| b.is_ascii_lowercase())
            && !is_known(word)
    };
    let words: Vec<String> = question.surface.iter().filter(odd).take(WORDS_MAX).cloned().collect();
    if words.is_empty() {
        return Ok(None);
    }
    let mut question = question.clone();
    let search = TextSearch::new(view, &cache.memtable)?;
    for word in words {
        let Some(asked) = stem(analyzer, &word) else { continue };
        if search.df(&asked)? > 0 {
            continue;
        }
        if let Some((right, term)) = nearest(&search, analyzer, &word)? {
            replace(&mut question.surface, &word, right);
            replace(&mut question.terms, &asked, term);
        }
    }
    Ok(Some(question))
}

/// Whether a word is spelt right: the model's vocabulary has it as one piece.
fn is_known(word: &str) -> bool {
    StaticEmbedder::shared().table().token_ids(word).len() == 1
}

/// What a word is indexed by; `None` if that is not one term.
fn stem(analyzer: &Analyzer, word: &str) -> Option<String> {
    let mut terms = Vec::new();
    analyzer.terms(word, &mut |term, _| terms.push(term.to_owned()));
    terms.pop().filter(|_| terms.is_empty())
}

/// The word one slip away that most memories have, with its term; among equals one that the model knows, then the first
/// of the alphabet.
fn nearest(
    search: &TextSearch<'_>,
    analyzer: &Analyzer,
    word: &str,
) -> Result<Option<(String, String)>> {
    let mut best = None;
    for variant in slips(word) {
        let Some(term) = stem(analyzer, &variant) else { continue };
        let df = search.df(&term)?;
        if df > 0 {
            let rank = (df, is_known(&variant), Reverse(variant), term);
            best = best.max(Some(rank));
        }
    }
    Ok(best.map(|(_, _, Reverse(variant), term)| (variant, term)))
}

/// All words that differ by one letter too many, too few or wrong, or by two that changed places.
fn slips(word: &str) -> BTreeSet<String> {
    let mut slips = BTreeSet::new();
    for at in 0..=word.len() {
        let (before, after) = word.split_at(at);
        let rest = after.get(1..);
        if let Some(rest) = rest {
            slips.insert(format!("{before}{rest}"));
        }
        if let (Some(second), Some(rest)) = (after.get(1..2), after.get(2..)) {
            slips.insert(format!("{before}{second}{}{rest}", &after[..1]));
        }
        for letter in 'a'..='z' {
            slips.insert(format!("{before}{letter}{after}"));
            slips.extend(rest.map(|rest| format!("{before}{letter}{rest}")));
        }
    }
    slips.remove(word);
    slips
}

fn replace(list: &mut Vec<String>, old: &str, new: String) {
    let known = list.contains(&new);
    if let Some(at) = list.iter().position(|word| word == old) {
        if known {
            list.remove(at);
        } else {
            list[at] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slip_is_a_letter_too_many_too_few_wrong_or_out_of_place() {
        let all = slips("letter");
        for near in ["leter", "lettter", "lettor", "eltter", "letters", "xletter"] {
            assert!(all.contains(near), "{near}");
        }
        for far in ["letter", "ltr", "lettersx", "etler"] {
            assert!(!all.contains(far), "{far}");
        }
    }

    #[test]
    fn words_are_known_and_slips_are_not() {
        for word in ["festival", "received", "march", "likely"] {
            assert!(is_known(word), "{word}");
        }
        for slip in ["fesetival", "recieved", "torunament"] {
            assert!(!is_known(slip), "{slip}");
        }
    }
}
