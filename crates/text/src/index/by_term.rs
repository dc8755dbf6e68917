//! The postings of a memtable by term.
//!
//! A memtable is kept by document, because that is how it changes. To find the documents of a term, a search looks into
//! each of them; once that has been done as often as sorting them all would have cost, they are sorted, and the
//! searches that follow on the same memtable look up a term at once. What must stay true: sorted or not, the postings
//! are the same.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Terms that are looked for in each document before all are sorted.
const PATIENCE: u32 = 40;
/// Documents whose places fit an entry.
const DOCS_MAX: usize = 1 << 24;

#[derive(Debug, Default)]
pub(super) struct ByTerm {
    asked: AtomicU32,
    /// Term, place of the document, impact: 32, 24 and 8 bits, ascending.
    sorted: OnceLock<Vec<u64>>,
}

impl ByTerm {
    /// Places and impacts of a term, ascending; `None` while it does not pay to know. `documents` are terms with
    /// impacts.
    pub(super) fn postings<'d>(
        &self,
        term: u32,
        documents: impl ExactSizeIterator<Item = &'d [(u32, u8)]>,
    ) -> Option<impl Iterator<Item = (usize, u8)>> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        if (asked < PATIENCE && self.sorted.get().is_none()) || documents.len() > DOCS_MAX {
            return None;
        }
        let sorted = self.sorted.get_or_init(|| {
            let entry = |place: u64, (term, impact): &(u32, u8)| {
                u64::from(*term) << 32 | place << 8 | u64::from(*impact)
            };
            let documents = (0u64..).zip(documents);
            let mut sorted: Vec<u64> = documents
                .flat_map(|(place, terms)| terms.iter().map(move |term| entry(place, term)))
                .collect();
            sorted.sort_unstable();
            sorted
        });
        let from = sorted.partition_point(|entry| entry >> 32 < u64::from(term));
        let own = sorted[from..].iter().take_while(move |entry| *entry >> 32 == u64::from(term));
        Some(own.map(|entry| {
            let [impact, place @ ..] = entry.to_le_bytes();
            let place = [place[0], place[1], place[2], 0];
            (usize::try_from(u32::from_le_bytes(place)).unwrap_or(usize::MAX), impact)
        }))
    }
}

/// A copy is made to be changed, so it starts anew.
impl Clone for ByTerm {
    fn clone(&self) -> ByTerm {
        ByTerm::default()
    }
}

/// It says nothing that the documents do not say.
impl PartialEq for ByTerm {
    fn eq(&self, _: &ByTerm) -> bool {
        true
    }
}

impl Eq for ByTerm {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn sorted_or_not_the_postings_are_the_same(
            documents in prop::collection::vec(prop::collection::btree_map(0u32..9, 1u8.., 0..6), 0..12),
        ) {
            let documents: Vec<Vec<(u32, u8)>> =
                documents.into_iter().map(|terms: BTreeMap<u32, u8>| terms.into_iter().collect()).collect();
            let by_term = ByTerm::default();
            for asked in 0..2 * PATIENCE {
                let term = asked % 10;
                let found = by_term.postings(term, documents.iter().map(Vec::as_slice));
                prop_assert_eq!(found.is_some(), asked >= PATIENCE);
                let one_by_one = documents.iter().enumerate().filter_map(|(place, terms)| {
                    terms.iter().find(|(other, _)| *other == term).map(|(_, impact)| (place, *impact))
                });
                if let Some(found) = found {
                    prop_assert!(found.eq(one_by_one));
                }
            }
        }
    }
}
