//! Measures of a ranking against the answers people marked.

#![allow(clippy::cast_precision_loss, reason = "counts of questions are small")]

use std::collections::{BTreeMap, BTreeSet};

/// Means over the questions of one category, in parts of one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Means {
    pub questions: usize,
    pub recall_5: f64,
    pub recall_10: f64,
    pub recall_20: f64,
    /// Questions with at least one answer among the first ten.
    pub hit_10: f64,
    pub ndcg_10: f64,
    pub mrr: f64,
}

/// One question: what was returned, best first and without repetition, and what answers it.
pub fn measure<T: Ord + Clone>(returned: &[T], relevant: &BTreeSet<T>) -> Means {
    if relevant.is_empty() {
        return Means::default();
    }
    let total = relevant.len() as f64;
    let recall = |k: usize| {
        returned.iter().take(k).filter(|doc| relevant.contains(doc)).count() as f64 / total
    };
    let gain = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
    let found = returned.iter().take(10).enumerate().filter(|(_, doc)| relevant.contains(doc));
    let dcg: f64 = found.map(|(rank, _)| gain(rank)).sum();
    let ideal: f64 = (0..relevant.len().min(10)).map(gain).sum();
    let first = returned.iter().position(|doc| relevant.contains(doc));
    Means {
        questions: 1,
        recall_5: recall(5),
        recall_10: recall(10),
        recall_20: recall(20),
        hit_10: f64::from(u8::from(recall(10) > 0.0)),
        ndcg_10: dcg / ideal,
        mrr: first.map_or(0.0, |rank| 1.0 / (rank + 1) as f64),
    }
}

/// Means by category, with everything under `all`.
#[derive(Clone, Debug, Default)]
pub struct MeansTable {
    sums: BTreeMap<String, Means>,
}

impl MeansTable {
    pub fn add(&mut self, category: &str, means: Means) {
        for name in ["all", category] {
            let sum = self.sums.entry(name.to_owned()).or_default();
            sum.questions += means.questions;
            sum.recall_5 += means.recall_5;
            sum.recall_10 += means.recall_10;
            sum.recall_20 += means.recall_20;
            sum.hit_10 += means.hit_10;
            sum.ndcg_10 += means.ndcg_10;
            sum.mrr += means.mrr;
        }
    }

    pub fn means(&self) -> BTreeMap<String, Means> {
        let mean = |sum: &Means| {
            let n = sum.questions.max(1) as f64;
            Means {
                questions: sum.questions,
                recall_5: sum.recall_5 / n,
                recall_10: sum.recall_10 / n,
                recall_20: sum.recall_20 / n,
                hit_10: sum.hit_10 / n,
                ndcg_10: sum.ndcg_10 / n,
                mrr: sum.mrr / n,
            }
        };
        self.sums.iter().map(|(name, sum)| (name.clone(), mean(sum))).collect()
    }
}

impl Means {
    /// The measures by the names that scripts know.
    pub fn named(&self) -> [(&'static str, f64); 6] {
        [
            ("recall@5", self.recall_5),
            ("recall@10", self.recall_10),
            ("recall@20", self.recall_20),
            ("hit@10", self.hit_10),
            ("ndcg@10", self.ndcg_10),
            ("mrr", self.mrr),
        ]
    }
}

/// How two configurations differ in one measure over the same questions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Difference {
    /// Of the means: second minus first.
    pub mean: f64,
    /// How likely a difference as large would be if the configurations were the same.
    pub p: f64,
}

/// Random assignments of a paired test.
const ASSIGNMENTS: u32 = 10_000;

/// A paired randomisation test: if two configurations were the same, each question's difference could as well have had
/// the other sign. `p` is the share of random signs that give a sum at least as far from zero, counting the one that
/// was seen. The same differences and seed always give the same answer.
pub fn paired(differences: &[f64], seed: u64) -> Difference {
    let sum: f64 = differences.iter().sum();
    // Sums of the same numbers in another order differ by rounding.
    let seen = sum.abs() - 1e-9;
    // A question that did not change says nothing under any sign.
    let changed: Vec<f64> = differences.iter().copied().filter(|d| d.abs() > 0.0).collect();
    let mut random = SplitMix(seed);
    let mut as_far = 0_u32;
    for _ in 0..ASSIGNMENTS {
        let mut total = 0.0;
        for signs in changed.chunks(64) {
            let bits = random.next();
            for (place, difference) in signs.iter().enumerate() {
                total += if bits >> place & 1 == 1 { *difference } else { -difference };
            }
        }
        as_far += u32::from(total.abs() >= seen);
    }
    let p = f64::from(as_far + 1) / f64::from(ASSIGNMENTS + 1);
    Difference { mean: sum / differences.len().max(1) as f64, p }
}

/// Numbers that look random, from a seed.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paired_test_tells_chance_from_a_difference() {
        let same = paired(&[0.0; 50], 1);
        assert!(same.mean.abs() < 1e-12 && (same.p - 1.0).abs() < 1e-12);
        let better = paired(&[0.5; 20], 1);
        assert!((better.mean - 0.5).abs() < 1e-12 && better.p < 0.001, "{better:?}");
        let mixed: Vec<f64> = (0..40).map(|n| if n % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert!(paired(&mixed, 1).p > 0.9, "as many better as worse");
        // Of two questions that both changed for the better, half of all signs are as far from zero.
        let two = paired(&[1.0, 1.0], 7);
        assert!((two.p - 0.5).abs() < 0.03, "{two:?}");
        assert!((paired(&[], 1).p - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_paired_test_depends_on_its_seed_alone_and_not_on_the_sign() {
        let differences = [0.1, -0.2, 0.4, 0.3, -0.1, 0.0, 0.2];
        assert_eq!(paired(&differences, 3), paired(&differences, 3));
        let turned = differences.map(|d| -d);
        let (one, other) = (paired(&differences, 3), paired(&turned, 3));
        assert!((one.mean + other.mean).abs() < 1e-12 && (one.p - other.p).abs() < 1e-12);
    }

    #[test]
    fn a_known_ranking_has_known_measures() {
        let relevant = BTreeSet::from(["a", "b"]);
        let means = measure(&["x", "a", "y", "z", "w", "v", "b"], &relevant);
        assert!((means.recall_5 - 0.5).abs() < 1e-9 && (means.recall_10 - 1.0).abs() < 1e-9);
        assert!((means.mrr - 0.5).abs() < 1e-9);
        let dcg = 1.0 / 3f64.log2() + 1.0 / 8f64.log2();
        let ideal = 1.0 + 1.0 / 3f64.log2();
        assert!((means.ndcg_10 - dcg / ideal).abs() < 1e-9);
    }
}
