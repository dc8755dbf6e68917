//! Terms by number: whoever handles many texts passes on numbers and not copies of the same words.
//!
//! What must stay true: within one lexicon a number means one term. A number is worth nothing to anybody else and is
//! written nowhere; the order in which terms got theirs shows in no row.

use std::sync::Arc;

#[derive(Debug, Default)]
pub struct Lexicon {
    numbers: foldhash::HashMap<Arc<str>, u32>,
    terms: Vec<Arc<str>>,
    id: LexiconId,
}

/// Says which lexicon a number belongs to.
#[derive(Clone, Debug, Default)]
pub struct LexiconId(Arc<()>);

impl PartialEq for LexiconId {
    fn eq(&self, other: &LexiconId) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Lexicon {
    /// The number of a term, which gets one if it has none.
    pub fn number(&mut self, term: &str) -> u32 {
        if let Some(number) = self.numbers.get(term) {
            return *number;
        }
        let number = u32::try_from(self.terms.len()).expect("a lexicon is bounded by its owner");
        let term: Arc<str> = Arc::from(term);
        self.terms.push(Arc::clone(&term));
        self.numbers.insert(term, number);
        number
    }

    /// The term that has a number of this lexicon.
    pub fn term(&self, number: u32) -> &str {
        usize::try_from(number).ok().and_then(|at| self.terms.get(at)).map_or("", |term| term)
    }

    pub fn len(&self) -> usize {
        self.terms.len()
    }

    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    pub fn id(&self) -> &LexiconId {
        &self.id
    }
}
