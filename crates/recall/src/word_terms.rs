//! Words of texts that were shown, with their terms: an answer's previews look at hundreds of words, most of them met
//! before, and to find the stem of one costs more than to look it up.
//!
//! What must stay true: it changes the time and never a term, and after an erasure no word of before is kept.

use std::sync::{Mutex, PoisonError};

use text::analyze::Analyzer;

/// Words that are kept: those that make up nine tenths of what people write. When there are more it starts over.
const WORDS_MAX: usize = 8_192;
/// A longer word is data and seldom comes again.
const WORD_BYTES_MAX: usize = 32;

/// Word terms that pass from one answer to the next.
#[derive(Debug, Default)]
pub(crate) struct SharedWordTerms(Mutex<WordTerms>);

impl SharedWordTerms {
    /// Takes the words out for one answer. Another answer that is made meanwhile starts with none.
    pub(crate) fn take(&self) -> WordTerms {
        let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let erasures = words.erasures;
        std::mem::replace(&mut *words, WordTerms { erasures, ..WordTerms::default() })
    }

    /// Gives the words back for the next answer, unless something was erased meanwhile.
    pub(crate) fn give(&self, words: WordTerms) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if current.erasures == words.erasures {
            *current = words;
        }
    }

    /// Forgets all words, because a memory was erased.
    pub(crate) fn clear(&self) {
        let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *words = WordTerms { erasures: words.erasures + 1, ..WordTerms::default() };
    }
}

#[derive(Debug, Default)]
pub(crate) struct WordTerms {
    /// Whose terms they are.
    analyzer: Option<Analyzer>,
    terms: foldhash::HashMap<Box<str>, Box<[Box<str>]>>,
    /// Erasures before these words were met.
    erasures: u64,
}

impl WordTerms {
    /// Whether a term of the word is what `asks` wants.
    pub(crate) fn any(
        &mut self,
        analyzer: &Analyzer,
        word: &str,
        asks: impl Fn(&str) -> bool,
    ) -> bool {
        if self.analyzer.as_ref() != Some(analyzer) || self.terms.len() >= WORDS_MAX {
            self.terms.clear();
            self.analyzer = Some(analyzer.clone());
        }
        if let Some(terms) = self.terms.get(word) {
            return terms.iter().any(|term| asks(term));
        }
        let mut terms: Vec<Box<str>> = Vec::new();
        analyzer.terms(word, &mut |term, _| terms.push(term.into()));
        let any = terms.iter().any(|term| asks(term));
        if word.len() <= WORD_BYTES_MAX {
            self.terms.insert(word.into(), terms.into());
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use text::analyze::Language;

    #[test]
    fn words_mean_the_same_again_in_their_language() {
        let (english, plain) = (Analyzer::new(Language::English), Analyzer::new(Language::None));
        let mut words = WordTerms::default();
        for _ in 0..2 {
            assert!(words.any(&english, "Running", |term| term == "run"));
            assert!(!words.any(&english, "Running", |term| term == "running"));
            assert!(words.any(&plain, "Running", |term| term == "running"));
        }
        let long = "a".repeat(WORD_BYTES_MAX + 1);
        words.any(&plain, &long, |_| true);
        assert_eq!(words.terms.len(), 1);
    }

    #[test]
    fn an_erasure_takes_the_words_of_before() {
        let (english, shared) = (Analyzer::new(Language::English), SharedWordTerms::default());
        let mut words = shared.take();
        words.any(&english, "kept", |_| true);
        shared.give(words);
        let words = shared.take();
        assert_eq!(words.terms.len(), 1);
        shared.clear();
        shared.give(words);
        assert!(shared.take().terms.is_empty());
    }
}
