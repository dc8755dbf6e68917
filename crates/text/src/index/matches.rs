//! What the terms of a question find in some documents, term by term.
//!
//! What must stay true: whole numbers only; what documents cover together is at least what each of them covers, and at
//! most what a document of nothing else would score.

/// The largest impact.
const IMPACT_MAX: u8 = u8::MAX;

/// What the words of a question find in one document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WordMatch {
    /// What `TextSearch::top_k` scores it with.
    pub score: u64,
    /// The weights of the terms that it has, rarity included.
    pub present: u64,
    /// How many of them there are.
    pub terms: u32,
}

/// The impacts of the terms of one question in some documents.
#[derive(Clone, Debug, Default)]
pub struct WordMatches {
    /// What a point of impact of each term is worth.
    factors: Vec<u64>,
    /// Of all documents, one after the other.
    impacts: Vec<u8>,
}

impl WordMatches {
    pub(super) fn new(factors: Vec<u64>) -> WordMatches {
        WordMatches { factors, impacts: Vec::new() }
    }

    /// Adds the score of the next term in the next document.
    pub(super) fn push(&mut self, factor: u64, score: u64) {
        let impact = score.checked_div(factor).unwrap_or(0);
        self.impacts.push(u8::try_from(impact).unwrap_or(IMPACT_MAX));
    }

    fn impacts(&self, place: usize) -> &[u8] {
        let terms = self.factors.len();
        self.impacts.get(place * terms..(place + 1) * terms).unwrap_or_default()
    }

    /// What was found in the document at a place.
    pub fn at(&self, place: usize) -> WordMatch {
        let mut matched = WordMatch::default();
        for (factor, impact) in self.factors.iter().zip(self.impacts(place)) {
            if *impact > 0 {
                let score = factor.saturating_mul((*impact).into());
                matched.score = matched.score.saturating_add(score);
                matched.present = matched.present.saturating_add(*factor);
                matched.terms += 1;
            }
        }
        matched
    }

    /// How much of the question the documents at some places have together: for each term the one that has most of it.
    /// That a term is there counts for more than how often, so the root of an impact counts.
    pub fn covered(&self, places: impl Iterator<Item = usize>) -> u64 {
        let mut most = vec![0; self.factors.len()];
        for place in places {
            for (most, impact) in most.iter_mut().zip(self.impacts(place)) {
                *most = (*most).max(*impact);
            }
        }
        let covered = self.factors.iter().zip(most).map(|(factor, impact)| {
            let root = (u64::from(impact) * u64::from(IMPACT_MAX)).isqrt();
            factor.saturating_mul(root)
        });
        covered.fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(factors: &[u64], documents: &[&[u8]]) -> WordMatches {
        let mut matches = WordMatches::new(factors.to_vec());
        for document in documents {
            for (factor, impact) in factors.iter().zip(*document) {
                matches.push(*factor, factor * u64::from(*impact));
            }
        }
        matches
    }

    #[test]
    fn two_documents_that_share_the_question_cover_it_together() {
        let found = matches(&[10, 20], &[&[255, 0], &[0, 255], &[64, 64]]);
        assert_eq!(found.at(0), WordMatch { score: 2_550, present: 10, terms: 1 });
        assert_eq!(found.at(2), WordMatch { score: 1_920, present: 30, terms: 2 });
        assert_eq!(found.covered([0, 1].into_iter()), 30 * 255);
        assert_eq!(found.covered([2].into_iter()), 30 * 127, "the root of a quarter is a half");
        assert_eq!(found.covered([].into_iter()), 0);
        assert_eq!(WordMatches::default().covered([7].into_iter()), 0);
    }

    proptest! {
        #[test]
        fn more_documents_never_cover_less_and_never_more_than_there_is(
            factors in prop::collection::vec(1u64..1 << 40, 1..6),
            impacts in prop::collection::vec(any::<u8>(), 24),
        ) {
            let documents: Vec<&[u8]> = impacts.chunks_exact(factors.len()).collect();
            let found = matches(&factors, &documents);
            let all: u64 = factors.iter().map(|factor| factor * 255).sum();
            let mut before = 0;
            for count in 0..=documents.len() {
                let covered = found.covered(0..count);
                prop_assert!(covered >= before && covered <= all);
                before = covered;
            }
            for place in 0..documents.len() {
                prop_assert!(found.covered(std::iter::once(place)) >= found.at(place).score);
            }
        }
    }
}
