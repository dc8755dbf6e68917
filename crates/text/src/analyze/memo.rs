//! Words met before, with their terms: texts repeat their words, and stemming one costs more than looking it up.
//!
//! What must stay true: a memo changes the time and never a term. It belongs to one analyzer.

use super::lexicon::Lexicon;

/// Words and terms that are kept. When there are more it starts over: a word costs little to analyze again.
const WORDS_MAX: usize = 80_000;
const TERMS_MAX: usize = 160_000;
/// A longer word is data and seldom comes again.
const WORD_BYTES_MAX: usize = 32;

#[derive(Debug, Default)]
pub struct Memo {
    words: foldhash::HashMap<Box<str>, TermRange>,
    /// The terms of all words, one after the other.
    terms: Vec<u32>,
    lexicon: Lexicon,
}

/// Where the terms of a word stand.
#[derive(Clone, Copy, Debug)]
struct TermRange {
    start: u32,
    end: u32,
}

impl Memo {
    /// What the numbers of terms mean.
    pub fn lexicon(&self) -> &Lexicon {
        &self.lexicon
    }

    /// Starts over when it is full. Between two documents and never inside one: its numbers must last as long.
    pub fn make_room(&mut self) {
        if self.words.len() >= WORDS_MAX || self.lexicon.len() >= TERMS_MAX {
            *self = Memo::default();
        }
    }

    /// The number of a term.
    pub(super) fn term(&mut self, term: &str) -> u32 {
        self.lexicon.number(term)
    }

    /// Emits the terms of a word; `analyze` tells them if they are not known.
    pub(super) fn word(
        &mut self,
        word: &str,
        analyze: impl FnOnce(&mut dyn FnMut(&str)),
        emit: &mut impl FnMut(u32),
    ) {
        if let Some(TermRange { start, end }) = self.words.get(word) {
            self.terms[place(*start)..place(*end)].iter().copied().for_each(emit);
            return;
        }
        let start = self.terms.len();
        analyze(&mut |term| self.terms.push(self.lexicon.number(term)));
        self.terms[start..].iter().copied().for_each(emit);
        let ends = (u32::try_from(start), u32::try_from(self.terms.len()));
        match ends {
            (Ok(start), Ok(end)) if word.len() <= WORD_BYTES_MAX => {
                self.words.insert(word.into(), TermRange { start, end });
            }
            _ => self.terms.truncate(start),
        }
    }
}

fn place(at: u32) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}
