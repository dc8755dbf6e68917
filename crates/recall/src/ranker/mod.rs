//! The ranker: an order learned from labelled sets, and how likely a memory answers.
//!
//! The arms find and add up; what they say is worth differs with length, role, session and question, and that is
//! learned (`tools/ranker/train.py`). The model is part of the program (`model/ranker.bin`): trees that compare whole
//! numbers, and weights that are added. What must stay true: the same features give the same order on every machine,
//! and no float is in the way; a model of other features is refused by a test, and never read as if it were of these.

mod bytes;
mod features;
mod model;
mod relevance;
mod trees;

pub use features::{FEATURES, FEATURES_VERSION, Feature, FeatureRow};
pub use relevance::{ANSWER_FEATURES, AnswerEstimate, AnswerLevel, AnswerSignals};

use model::Model;
use std::sync::LazyLock;

/// One of the ranker's units, as a binary fraction: 1.0 is `1 << UNIT_BITS`.
const UNIT_BITS: u32 = 16;

const MODEL: &[u8] = include_bytes!("../../model/ranker.bin");

/// What was learned.
#[derive(Debug)]
pub struct Ranker {
    model: Model,
    lowest: i64,
    highest: i64,
}

impl Ranker {
    /// The one that is part of the program.
    pub fn shared() -> &'static Ranker {
        static SHARED: LazyLock<Ranker> = LazyLock::new(|| {
            Ranker::parse(MODEL).expect("the model in the program is of the program's features")
        });
        &SHARED
    }

    fn parse(bytes: &[u8]) -> Option<Ranker> {
        let model = Model::parse(bytes)?;
        // The fused score is at most a thousand.
        let (lowest, most) = model.trees.bounds();
        let highest = most.saturating_add(model.base.saturating_mul(1_000));
        Some(Ranker { model, lowest, highest })
    }

    /// How much better than others a candidate is; what matters is the difference to the others of its question.
    pub fn margin(&self, signals: &FeatureRow) -> i64 {
        let fused = i64::from(signals.get(Feature::Fused)).saturating_mul(self.model.base);
        fused.saturating_add(self.model.trees.sum(signals))
    }

    /// The margins of many candidates.
    pub(crate) fn margins(&self, candidates: &[FeatureRow]) -> Vec<i64> {
        let sums = self.model.trees.sums(candidates).into_iter().zip(candidates);
        let base = |signals: &FeatureRow| i64::from(signals.get(Feature::Fused));
        sums.map(|(sum, signals)| base(signals).saturating_mul(self.model.base).saturating_add(sum))
            .collect()
    }

    /// A margin as parts of `most`: the least there can be is nothing.
    pub(crate) fn place(&self, margin: i64, most: u64) -> u64 {
        let above = i128::from(margin.saturating_sub(self.lowest).max(0)) * i128::from(most);
        let span = i128::from(self.highest.saturating_sub(self.lowest).max(1));
        u64::try_from(above / span).unwrap_or(most).min(most)
    }

    /// How likely the candidates of a question answer it. They come in the ranker's order.
    pub fn answerable(&self, signals: &[FeatureRow]) -> AnswerEstimate {
        let relevance = &self.model.relevance;
        relevance.with_words(relevance.answerable(&AnswerSignals::of(signals)), signals.first())
    }

    /// How likely one candidate answers, in thousandths; `behind` is by how much its margin is below the first one's.
    pub fn relevance(&self, answerable: &AnswerEstimate, behind: i64, signals: &FeatureRow) -> u16 {
        let by_words = self.model.relevance.least_by_words(signals).min(answerable.probability);
        self.model.relevance.of_hit(answerable, behind).max(by_words)
    }

    /// How sure a hit's relevance makes it that the hit answers.
    pub fn level(&self, relevance: u16) -> AnswerLevel {
        self.model.relevance.level(relevance)
    }

    /// Which features put a candidate where it is: what its margin would lose if the feature were that of a typical
    /// candidate of the question, the most first. Features that change nothing are left out.
    pub fn reasons(&self, signals: &FeatureRow, typical: &FeatureRow) -> Vec<(Feature, i64)> {
        let whole = self.margin(signals);
        let without = |feature: Feature| {
            let mut other = *signals;
            other.0[feature as usize] = typical.get(feature);
            whole - self.margin(&other)
        };
        let mut reasons: Vec<(Feature, i64)> =
            Feature::ALL.into_iter().map(|feature| (feature, without(feature))).collect();
        reasons.retain(|(_, moved)| *moved != 0);
        reasons.sort_by_key(|(feature, moved)| (std::cmp::Reverse(moved.abs()), *feature));
        reasons
    }
}

/// The median of each feature.
pub(crate) fn typical(signals: &[FeatureRow]) -> FeatureRow {
    let mut typical = FeatureRow::default();
    let mut values = Vec::with_capacity(signals.len());
    for (place, value) in typical.0.iter_mut().enumerate() {
        values.clear();
        values.extend(signals.iter().map(|signals| signals.0[place]));
        let middle = values.len() / 2;
        if middle < values.len() {
            *value = *values.select_nth_unstable(middle).1;
        }
    }
    typical
}

#[cfg(test)]
mod tests;
