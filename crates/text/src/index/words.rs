//! What a document says, counted: how often each term occurs in each field.
//!
//! Terms stand here as text, because their ids are the index's business: counting needs the document alone and can be
//! done by anybody, before the index is asked.

use super::score::{FIELDS, TextField};
use crate::analyze::{Lexicon, LexiconId};

/// The terms of a document or of a part of it, in order of first occurrence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TermCounts {
    pub(super) lengths: [u32; FIELDS],
    /// All terms, one after the other.
    text: String,
    counts: Vec<Count>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Count {
    /// Where the term ends.
    end: usize,
    tfs: [u32; FIELDS],
}

impl TermCounts {
    /// How many different terms.
    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    /// Each term, and how often it occurs in each field.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &[u32; FIELDS])> {
        let starts = std::iter::once(0).chain(self.counts.iter().map(|count| count.end));
        starts.zip(&self.counts).map(|(start, count)| (&self.text[start..count.end], &count.tfs))
    }
}

/// Counts terms by their numbers: one look for each occurrence.
#[derive(Debug, Default)]
pub struct TermCounter {
    lexicon: LexiconId,
    /// For each number of the lexicon, where it was met last.
    met: Vec<TermSighting>,
    /// Documents counted so far.
    document: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct TermSighting {
    document: u64,
    /// Its place among the terms of that document.
    place: usize,
}

impl TermCounter {
    pub fn count(&mut self, lexicon: &Lexicon, terms: &[(TextField, u32)]) -> TermCounts {
        if self.lexicon != *lexicon.id() {
            *self = TermCounter { lexicon: lexicon.id().clone(), ..TermCounter::default() };
        }
        self.met.resize(lexicon.len(), TermSighting::default());
        self.document += 1;
        let mut words = TermCounts::default();
        words.counts.reserve(terms.len());
        for (field, number) in terms {
            let field = field.index();
            let Some(met) = usize::try_from(*number).ok().and_then(|at| self.met.get_mut(at))
            else {
                continue;
            };
            words.lengths[field] = words.lengths[field].saturating_add(1);
            if met.document != self.document {
                *met = TermSighting { document: self.document, place: words.counts.len() };
                words.text.push_str(lexicon.term(*number));
                words.counts.push(Count { end: words.text.len(), tfs: [0; FIELDS] });
            }
            let tf = &mut words.counts[met.place].tfs[field];
            *tf = tf.saturating_add(1);
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_counted_by_field_in_order_of_first_occurrence() {
        let (mut lexicon, mut counter) = (Lexicon::default(), TermCounter::default());
        for texts in [["b", "a", "b"], ["c", "c", "b"]] {
            let terms: Vec<_> =
                texts.iter().map(|t| (TextField::CONTENT, lexicon.number(t))).collect();
            let titled = [&[(TextField::TITLE, lexicon.number("a"))], terms.as_slice()].concat();
            let words = counter.count(&lexicon, &titled);
            let mut want: Vec<&str> = vec!["a"];
            for text in texts {
                if !want.contains(&text) {
                    want.push(text);
                }
            }
            assert_eq!(words.iter().map(|(term, _)| term).collect::<Vec<_>>(), want);
            assert_eq!(words.lengths[TextField::CONTENT.index()], 3);
            for (term, tfs) in words.iter() {
                let said = texts.iter().filter(|t| **t == term).count();
                assert_eq!(tfs[TextField::CONTENT.index()], u32::try_from(said).unwrap());
                assert_eq!(tfs[TextField::TITLE.index()], u32::from(term == "a"));
            }
        }
    }
}
