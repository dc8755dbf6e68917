//! Late interaction over static tokens: each token of the question looks for its best match in the document.
//!
//! It sees what pooling blurs: one rare word that agrees. What must stay true: the result is an integer in
//! `0..=SIM_ONE`, whatever the weights and lengths, and the memo changes the time and never the score.

use super::static_model::row_bytes;
use super::{DIMS, FETCHED, TokenTable, UNKNOWN, Wide, dot, fetch, widest};

/// Similarity 1: every token of the question found itself.
pub const SIM_ONE: i64 = 1 << 16;

/// A token that no document had yet.
const UNSEEN: u32 = u32::MAX;
/// A token of a document that was not compared yet.
const WANTED: u32 = u32::MAX - 1;

/// Similarities that are looked at together.
const LANES: usize = 8;
type Lanes = [i32; LANES];

/// A question ready to be compared with many documents.
///
/// Documents share most of their words, so the similarities of a token to the whole question are computed once.
#[derive(Debug)]
pub struct MaxSim<'a> {
    table: &'a TokenTable,
    tokens: Vec<(u32, u32)>,
    /// Their rows in the table, each with its inverse length.
    wide: Vec<Row>,
    total: i128,
    /// For each token of the vocabulary where its similarities are.
    rows: Vec<u32>,
    /// A similarity for each of the question's tokens, row after row; the last lanes of a row may stand for none.
    similarities: Vec<Lanes>,
}

/// A row of the table, widened, and its inverse length.
type Row = ([i16; DIMS], i64);

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
        let wide =
            tokens.iter().map(|&(token, _)| (TokenTable::widened(token), table.inverse(token)));
        let wide = wide.collect();
        let rows = vec![UNSEEN; table.len()];
        MaxSim { table, tokens, wide, total, rows, similarities: Vec::new() }
    }

    /// The weighted mean over the question's tokens of the best similarity in the document; 0 where none is positive.
    pub fn score(&mut self, document: &[u32]) -> i64 {
        self.learn(document.iter().copied());
        let found = self.matches(document.iter().copied());
        self.mean(&found)
    }

    /// The best similarity in the document for each of the question's tokens. Its tokens were learned before; what was
    /// not says nothing.
    pub fn matches(&self, document: impl Iterator<Item = u32> + Clone) -> Vec<i32> {
        let mut found = vec![[0; LANES]; self.lanes()];
        let (rows, similarities) = (&self.rows, &self.similarities);
        widest(Match { document, rows, similarities, found: &mut found });
        let mut found = found.into_flattened();
        found.truncate(self.tokens.len());
        found
    }

    fn lanes(&self) -> usize {
        self.tokens.len().div_ceil(LANES)
    }

    /// Compares tokens with the question. All those of many documents at once, because the table is larger than what
    /// the machine keeps near: in order, and fetched together, rows are waited for less.
    pub fn learn(&mut self, tokens: impl Iterator<Item = u32>) {
        let mut any = false;
        for id in tokens {
            // A word that the model does not know is like no other.
            let row = usize::try_from(id).ok().and_then(|at| self.rows.get_mut(at));
            if let Some(row) = row.filter(|row| **row == UNSEEN && id != UNKNOWN) {
                *row = WANTED;
                any = true;
            }
        }
        if !any || self.wide.is_empty() {
            return;
        }
        let wanted = (0u32..).zip(&self.rows).filter(|(_, row)| **row == WANTED);
        let wanted: Vec<u32> = wanted.map(|(id, _)| id).collect();
        let lanes = self.lanes();
        for (id, row) in wanted.iter().zip(self.similarities.len() / lanes..) {
            if let Some(place) = usize::try_from(*id).ok().and_then(|at| self.rows.get_mut(at)) {
                *place = u32::try_from(row).unwrap_or(UNSEEN);
            }
        }
        self.similarities.reserve(wanted.len() * lanes);
        let (table, wide, similarities) = (self.table, &self.wide, &mut self.similarities);
        widest(Compare { table, wanted: &wanted, wide, similarities });
    }

    /// The share of the question's weight, in thousandths, whose best similarity is at least `least`.
    pub fn share(&self, best: &[i32], least: i64) -> u64 {
        let reached = self.tokens.iter().zip(best).filter(|(_, best)| i64::from(**best) >= least);
        let sum: i128 = reached.map(|(&(_, weight), _)| i128::from(weight)).sum();
        let share = (sum * 1_000).checked_div(self.total).unwrap_or(0);
        u64::try_from(share).unwrap_or(0)
    }

    /// The best similarity of the heaviest token; of several the least, 0 if there is none.
    pub fn heaviest(&self, best: &[i32]) -> i32 {
        let most = self.tokens.iter().map(|(_, weight)| *weight).max();
        let heaviest = self.tokens.iter().zip(best).filter(|((_, w), _)| Some(*w) == most);
        heaviest.map(|(_, best)| *best).min().unwrap_or(0)
    }

    /// The mean of such similarities, by the weights of the question's tokens.
    pub fn mean(&self, best: &[i32]) -> i64 {
        let weighted = self.tokens.iter().zip(best);
        let sum: i128 = weighted.map(|(&(_, w), &best)| i128::from(best) * i128::from(w)).sum();
        sum.checked_div(self.total).and_then(|mean| i64::try_from(mean).ok()).unwrap_or(0)
    }
}

/// Adds the similarities of some tokens to those of the question.
struct Compare<'c> {
    table: &'c TokenTable,
    wanted: &'c [u32],
    wide: &'c [Row],
    similarities: &'c mut Vec<Lanes>,
}

impl Wide for Compare<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "a call would leave the instructions of `widest`")]
    #[inline(always)]
    fn call(self) {
        for ids in self.wanted.chunks(FETCHED) {
            fetch(ids.iter().map(|id| row_bytes(*id)));
            for id in ids {
                let (row, inverse) = (TokenTable::widened(*id), self.table.inverse(*id));
                for part in self.wide.chunks(LANES) {
                    let mut lanes = [0; LANES];
                    for (lane, own) in lanes.iter_mut().zip(part) {
                        *lane = cosine(own, &row, inverse);
                    }
                    self.similarities.push(lanes);
                }
            }
        }
    }
}

/// Finds the best similarities in a document.
struct Match<'m, D> {
    document: D,
    rows: &'m [u32],
    similarities: &'m [Lanes],
    found: &'m mut [Lanes],
}

impl<D: Iterator<Item = u32> + Clone> Wide for Match<'_, D> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "a call would leave the instructions of `widest`")]
    #[inline(always)]
    fn call(self) {
        let lanes = self.found.len();
        // Lane after lane, so that the best of one stay in a register.
        for (lane, found) in self.found.iter_mut().enumerate() {
            let mut best = *found;
            for id in self.document.clone() {
                let row = usize::try_from(id).ok().and_then(|at| self.rows.get(at));
                let row = row.and_then(|row| usize::try_from(*row).ok()?.checked_mul(lanes));
                // What was not compared is beyond the end.
                let place = row.and_then(|row| row.checked_add(lane));
                if let Some(similar) = place.and_then(|place| self.similarities.get(place)) {
                    best = std::array::from_fn(|n| best[n].max(similar[n]));
                }
            }
            *found = best;
        }
    }
}

/// Cosine of two tokens' rows times `SIM_ONE`; the rows come widened, with their inverse lengths.
#[expect(clippy::inline_always, reason = "a call would leave the instructions of `widest`")]
#[inline(always)]
fn cosine(own: &Row, row: &[i16; DIMS], inverse: i64) -> i32 {
    let (own, own_inverse) = own;
    let dot = dot(own, row, |value| value);
    // 2^22 * 2^26 / 2^16 = 2^32 at most, times 2^26 again: within i64.
    let once = (i64::from(dot) * own_inverse) >> 16;
    let both = (once * inverse + (1 << 31)) >> 32;
    i32::try_from(both.clamp(-SIM_ONE, SIM_ONE)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedding::StaticEmbedder;
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
