//! Rankings: what each retriever found, best first.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::fusion::ONE;

/// Candidates each retriever puts forward. 200 found a thousandth more and took half as long again.
pub(super) const CANDIDATES: usize = 120;
/// The best of them bring their neighbours in the session along.
const WITH_NEIGHBOURS: usize = 30;

/// The scores of one retriever, and its documents best first.
#[derive(Default)]
pub(super) struct Ranking {
    pub(super) scores: FxHashMap<u64, u64>,
    pub(super) order: Vec<u64>,
}

impl Ranking {
    /// From documents with their scores, best first.
    pub(super) fn new(found: Vec<(u64, u64)>) -> Ranking {
        let order = found.iter().map(|(doc, _)| *doc).collect();
        Ranking { scores: found.into_iter().collect(), order }
    }

    pub(super) fn of(&self, id: u64) -> u64 {
        self.scores.get(&id).copied().unwrap_or(0)
    }

    /// A score as parts per million of the best; nothing where the retriever found nothing.
    pub(super) fn share(&self, score: u64) -> u64 {
        let best = self.order.first().map_or(0, |best| self.of(*best));
        let share = (u128::from(score) * u128::from(ONE)).checked_div(u128::from(best));
        share.map_or(0, |share| u64::try_from(share).unwrap_or(u64::MAX))
    }

    /// The documents that the retriever puts forward, best first.
    pub(super) fn best(&self) -> impl Iterator<Item = u64> {
        self.order.iter().take(CANDIDATES).copied()
    }
}

/// What the retrievers found for one question.
pub(super) struct Rankings {
    pub(super) words: Ranking,
    pub(super) meaning: Ranking,
    pub(super) entities: Ranking,
}

impl Rankings {
    /// The candidates that any retriever puts forward.
    pub(super) fn candidates(&self) -> BTreeSet<u64> {
        self.words.best().chain(self.meaning.best()).chain(self.entities.best()).collect()
    }

    /// All that words and meaning found, candidates or not, ascending: what a session is about shows in more memories
    /// than those that are candidates.
    pub(super) fn found(&self) -> Vec<u64> {
        let (words, meaning) = (&self.words.order, &self.meaning.order);
        let mut found: Vec<u64> =
            words.iter().chain(meaning).copied().chain(self.entities.best()).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The memories whose neighbours become candidates too.
    pub(super) fn leaders(&self) -> Vec<u64> {
        let best = |ranking: &Ranking| -> Vec<u64> {
            ranking.order.iter().take(WITH_NEIGHBOURS).copied().collect()
        };
        [best(&self.words), best(&self.meaning)].concat()
    }
}
