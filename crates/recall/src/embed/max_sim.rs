//! Late interaction over static tokens: each token of the question looks for its best match in the document.
//!
//! It sees what pooling blurs: one rare word that agrees. What must stay true: the result is an integer in `0..=SIM_ONE`,
//! whatever the weights and lengths, and the memo changes the time and never the score.

use super::{DIMS, TokenTable, UNKNOWN, dot, widest};

/// Similarity 1: every token of the question found itself.
pub const SIM_ONE: i64 = 1 << 16;

/// A token that no document had yet.
const UNSEEN: u32 = u32::MAX;

/// A question ready to be compared with many documents.
///
/// Documents share most of their words, so the similarities of a token to the whole question are computed once.
#[derive(Debug)]
pub struct MaxSim<'a> {
    table: &'a TokenTable,
    tokens: Vec<(u32, u32)>,
    /// Their rows in the table, each with its inverse length.
    wide: Vec<([i16; DIMS], i64)>,
    total: i128,
    /// For each token of the vocabulary where its similarities are.
    rows: Vec<u32>,
    /// A similarity for each of the question's tokens, row after row.
    similarities: Vec<i32>,
}

impl<'a> MaxSim<'a> {
    /// The question's tokens with their weights (idf). Unknown tokens and zero weights say nothing and are left out;
    /// equal tokens add their weights.
    pub fn new(table: &'a TokenTable, question: &[(u32, u32)]) -> MaxSim<'a> {
        let mut tokens: Vec<(u32, u32)> = question
            .iter()
            .copied()
            .filter(|&(id, weight)| weight > 0 && id != UNKNOWN && table.knows(id))
            .collect();
        tokens.sort_unstable();
        tokens.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
        let total = tokens.iter().map(|&(_, weight)| i128::from(weight)).sum();
        let wide = tokens.iter().map(|&(token, _)| (table.widened(token), table.inverse(token)));
        let wide = wide.collect();
        let rows = vec![UNSEEN; table.len()];
        MaxSim { table, tokens, wide, total, rows, similarities: Vec::new() }
    }

    /// The weighted mean over the question's tokens of the best similarity in the document; 0 where none is positive.
    pub fn score(&mut self, document: &[u32]) -> i64 {
        let found = self.matches(document.iter().copied());
        self.mean(&found)
    }

    /// The best similarity in the document for each of the question's tokens.
    pub fn matches(&mut self, document: impl Iterator<Item = u32>) -> Vec<i32> {
        let mut found = vec![0; self.tokens.len()];
        widest(|| {
            for id in document {
                let similarities = self.similarities_to(id);
                for (best, similarity) in found.iter_mut().zip(similarities) {
                    *best = (*best).max(*similarity);
                }
            }
        });
        found
    }

    fn similarities_to(&mut self, id: u32) -> &[i32] {
        let Some(row) = usize::try_from(id).ok().and_then(|at| self.rows.get_mut(at)) else {
            return &[];
        };
        // A word that the model does not know is like no other.
        if id == UNKNOWN {
            return &[];
        }
        let width = self.tokens.len();
        if *row == UNSEEN {
            let table = self.table;
            *row = u32::try_from(self.similarities.len() / width.max(1)).unwrap_or(UNSEEN);
            let inverse = table.inverse(id);
            widest(|| {
                let row = table.widened(id);
                self.similarities.extend(self.wide.iter().map(|own| cosine(own, (&row, inverse))));
            });
        }
        let start = usize::try_from(*row).unwrap_or(0) * width;
        self.similarities.get(start..start + width).unwrap_or_default()
    }

    /// The mean of such similarities, by the weights of the question's tokens.
    pub fn mean(&self, best: &[i32]) -> i64 {
        let weighted = self.tokens.iter().zip(best);
        let sum: i128 = weighted.map(|(&(_, w), &best)| i128::from(best) * i128::from(w)).sum();
        sum.checked_div(self.total).and_then(|mean| i64::try_from(mean).ok()).unwrap_or(0)
    }
}

/// Cosine of two tokens' rows times `SIM_ONE`; the rows come widened, with their inverse lengths.
#[expect(clippy::inline_always, reason = "a call would leave the instructions of `widest`")]
#[inline(always)]
fn cosine((own, own_inverse): &([i16; DIMS], i64), (row, inverse): (&[i16; DIMS], i64)) -> i32 {
    let dot = dot(own, row, |value| value);
    // 2^22 * 2^26 / 2^16 = 2^32 at most, times 2^26 again: within i64.
    let once = (i64::from(dot) * own_inverse) >> 16;
    let both = (once * inverse + (1 << 31)) >> 32;
    i32::try_from(both.clamp(-SIM_ONE, SIM_ONE)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::StaticEmbedder;
    use proptest::prelude::*;

    fn weighted(table: &TokenTable, text: &str) -> Vec<(u32, u32)> {
        table.token_ids(text).into_iter().map(|id| (id, 1000)).collect()
    }

    #[test]
    fn finds_itself_and_its_kin() {
        let model = StaticEmbedder::shared();
        let table = model.table();
        let question = weighted(table, "dog barks");
        let same = table.max_sim(&question, &table.token_ids("the dog barks"));
        let kin = table.max_sim(&question, &table.token_ids("a puppy was barking"));
        let none = table.max_sim(&question, &table.token_ids("quarterly tax report"));
        assert_eq!(same, SIM_ONE);
        assert!(same > kin && kin > none, "{same} {kin} {none}");
    }

    #[test]
    fn says_nothing_about_nothing() {
        let table = StaticEmbedder::shared().table();
        assert_eq!(table.max_sim(&[], &[2000]), 0);
        assert_eq!(table.max_sim(&[(2000, 5)], &[]), 0);
        assert_eq!(table.max_sim(&[(UNKNOWN, 5)], &[UNKNOWN]), 0);
        assert_eq!(table.max_sim(&[(u32::MAX, 5), (2000, 0)], &[u32::MAX]), 0);
        assert_eq!(table.max_sim(&[(2000, u32::MAX), (2000, u32::MAX)], &[2000]), SIM_ONE);
    }

    proptest! {
        #[test]
        fn bounded_and_the_memo_does_not_show(
            question in prop::collection::vec((0u32..40_000, any::<u32>()), 0..12),
            documents in prop::collection::vec(prop::collection::vec(0u32..40_000, 0..40), 1..6),
        ) {
            let table = StaticEmbedder::shared().table();
            let mut many = MaxSim::new(table, &question);
            for document in &documents {
                let score = many.score(document);
                prop_assert!((0..=SIM_ONE).contains(&score));
                prop_assert_eq!(score, table.max_sim(&question, document));
            }
        }
    }
}
