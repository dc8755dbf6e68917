//! Ids of terms that the writer met before: most words of a document are in every other, and a look here is a tenth of
//! a look into the dictionary.
//!
//! What must stay true: what is kept here is in the dictionary, committed or staged; `clear` when that is no longer so.

/// Terms that are kept. When there are more it starts over.
const TERMS_MAX: usize = 160_000;

#[derive(Debug, Default)]
pub(super) struct TermIdCache(foldhash::HashMap<Box<str>, u32>);

impl TermIdCache {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn id(&self, term: &str) -> Option<u32> {
        self.0.get(term).copied()
    }

    pub(super) fn learn(&mut self, term: &str, id: u32) {
        if self.0.len() >= TERMS_MAX {
            self.0.clear();
        }
        self.0.insert(term.into(), id);
    }
}
