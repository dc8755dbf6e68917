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
pub struct Table {
    sums: BTreeMap<String, Means>,
}

impl Table {
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

#[cfg(test)]
mod tests {
    use super::*;

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
