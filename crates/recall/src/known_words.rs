//! Words of texts that were shown, with their terms: an answer's previews look at hundreds of words, most of them met before,
//! and to find the stem of one costs more than to look it up.
//!
//! What must stay true: it changes the time and never a term, and after an erasure no word of before is kept.

use std::sync::{Mutex, PoisonError};

use crate::analyze::Analyzer;

/// Words that are kept: those that make up nine tenths of what people write. When there are more it starts over.
const WORDS_MAX: usize = 8_192;
/// A longer word is data and seldom comes again.
const WORD_BYTES_MAX: usize = 32;

/// Where answers find the words of those before them.
#[derive(Debug, Default)]
pub(crate) struct Shared(Mutex<KnownWords>);

impl Shared {
    /// The words for one answer alone; another one that is made meanwhile starts with none.
    pub(crate) fn take(&self) -> KnownWords {
        let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let erasures = words.erasures;
        std::mem::replace(&mut *words, KnownWords { erasures, ..KnownWords::default() })
    }

    /// Gives them back for the next.
    pub(crate) fn give(&self, words: KnownWords) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.erasures == words.erasures {
            *kept = words;
        }
    }

    /// Something was erased.
    pub(crate) fn clear(&self) {
        let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *words = KnownWords { erasures: words.erasures + 1, ..KnownWords::default() };
    }
}

#[derive(Debug, Default)]
pub(crate) struct KnownWords {
    /// Whose terms they are.
    analyzer: Option<Analyzer>,
    terms: foldhash::HashMap<Box<str>, Box<[Box<str>]>>,
    /// Erasures before these words were met.
    erasures: u64,
}

impl KnownWords {
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
    use crate::analyze::Language;

    #[test]
    fn words_mean_the_same_again_in_their_language() {
        let (english, plain) = (Analyzer::new(Language::English), Analyzer::new(Language::None));
        let mut words = KnownWords::default();
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
        let (english, shared) = (Analyzer::new(Language::English), Shared::default());
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
