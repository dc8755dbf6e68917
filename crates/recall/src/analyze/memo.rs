//! Words met before, with their terms: texts repeat their words, and stemming one costs more than looking it up.
//!
//! What must stay true: a memo changes the time and never a term. It belongs to one analyzer.

use std::collections::HashMap;

/// Words that are kept. When it is full it starts over: a word costs little to analyze again.
const WORDS_MAX: usize = 50_000;
/// A longer word is data and seldom comes again.
const WORD_BYTES_MAX: usize = 32;

#[derive(Debug, Default)]
pub struct Memo {
    words: HashMap<String, Known>,
}

/// The terms of a word, each with its position from where the word stands.
#[derive(Debug, Default)]
pub(super) struct Known {
    terms: Vec<(String, u32)>,
    /// Positions the word takes.
    length: u32,
}

impl Known {
    pub(super) fn emit(&self, at: u32, emit: &mut dyn FnMut(&str, u32)) -> u32 {
        for (term, offset) in &self.terms {
            emit(term, at + offset);
        }
        at + self.length
    }
}

impl Memo {
    /// The terms of a word; `analyze` emits them from position 0 and returns the position after it.
    pub(super) fn word(
        &mut self,
        word: &str,
        analyze: impl FnOnce(&mut dyn FnMut(String, u32)) -> u32,
    ) -> Option<&Known> {
        if word.len() > WORD_BYTES_MAX {
            return None;
        }
        if !self.words.contains_key(word) {
            if self.words.len() >= WORDS_MAX {
                self.words.clear();
            }
            let mut known = Known::default();
            known.length = analyze(&mut |term, offset| known.terms.push((term, offset)));
            self.words.insert(word.to_owned(), known);
        }
        self.words.get(word)
    }
}
