//! Relevance: how likely a question is answered here at all, and how likely by one memory.
//!
//! A search always has a best hit. Whether it answers shows in numbers that mean the same for every question: how much
//! of the question it has, by rarity, how near it is, how far ahead of the rest. They are weighed and added; what they
//! weigh was fitted on questions that are answered and on the same questions asked of other people's memories.
//! Retrieval cannot tell a near miss: a question about a detail that was never mentioned, in talks about just that.
//!
//! | bytes | what |
//! |---|---|
//! | 2 | count of numbers, u16 |
//! | 8 for each | what one of them is worth, i64, in 2^-32 |
//! | 8 | what is added, i64, in 2^-32 |
//! | 3 * 4 | the least sum that is `strong`, `likely`, `weak`, i32 each, in 2^-16 |
//! | 3 * 4 | of one memory: what the sum, a unit of being behind and nothing are worth, i32 each, in 2^-16 |

use super::UNIT_BITS;
use super::bytes::ModelBytes;
use super::features::{Feature, FeatureRow};

/// Features whose first, best and third among the first ten say whether there is an answer.
const TOLD_BY: [Feature; 13] = [
    Feature::WordsReach,
    Feature::WordsPresent,
    Feature::MeaningNear,
    Feature::MeaningWhole,
    Feature::InteractionBest,
    Feature::TokensSame,
    Feature::TokensAnywhere,
    Feature::TokensAlike,
    Feature::TokenRarest,
    Feature::Pairs,
    Feature::Speaker,
    Feature::Date,
    Feature::WordsMissing,
];
/// Of the question itself, as the first candidate has them.
const OF_QUESTION: [Feature; 5] = [
    Feature::QuestionTerms,
    Feature::QuestionUnknown,
    Feature::QuestionRarest,
    Feature::StoreSize,
    Feature::OfAnother,
];
/// Candidates that are looked at closely.
const FIRST: usize = 10;
/// `StoreSize` of 128 memories. Below it rarity and distance to the rest say little, and words must do.
const SMALL_STORE: i32 = 7 * 16;

pub const ANSWER_FEATURES: usize = TOLD_BY.len() * 3 + 4 + OF_QUESTION.len();

/// What the candidates of a question say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerSignals(pub [i32; ANSWER_FEATURES]);

impl AnswerSignals {
    /// The candidates come in the ranker's order.
    pub fn of(signals: &[FeatureRow]) -> AnswerSignals {
        let mut values = Vec::with_capacity(ANSWER_FEATURES);
        let first = &signals[..signals.len().min(FIRST)];
        let of = |feature: Feature, among: &[FeatureRow]| -> Vec<i32> {
            let mut values: Vec<i32> = among.iter().map(|signals| signals.get(feature)).collect();
            values.sort_unstable_by(|a, b| b.cmp(a));
            values
        };
        let at = |values: &[i32], place: usize| {
            let last = values.len().saturating_sub(1);
            values.get(place.min(last)).copied().unwrap_or(0)
        };
        let leader = signals.first().copied().unwrap_or_default();
        for feature in TOLD_BY {
            let sorted = of(feature, first);
            let lacks = feature == Feature::WordsMissing;
            let best = if lacks { at(&sorted, FIRST) } else { at(&sorted, 0) };
            values.extend([leader.get(feature), best, at(&sorted, 2)]);
        }
        let near = of(Feature::MeaningNear, signals);
        values.push(at(&near, 0).saturating_sub(at(&near, 9)));
        values.push(at(&near, 0).saturating_sub(at(&near, near.len() / 2)));
        let fused = of(Feature::Fused, signals);
        values.extend([at(&fused, 0), at(&fused, 0).saturating_sub(at(&fused, 9))]);
        values.extend(OF_QUESTION.map(|feature| leader.get(feature)));
        let mut signals = AnswerSignals([0; ANSWER_FEATURES]);
        signals.0.copy_from_slice(&values);
        signals
    }
}

/// Whether what was found answers the question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerEstimate {
    /// The sum it was decided by.
    pub margin: i64,
    /// Thousandths.
    pub probability: u16,
    pub level: AnswerLevel,
}

/// How sure it is that a question is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnswerLevel {
    #[default]
    Nothing,
    Weak,
    Likely,
    Strong,
}

impl AnswerLevel {
    pub fn name(self) -> &'static str {
        match self {
            AnswerLevel::Nothing => "nothing",
            AnswerLevel::Weak => "weak",
            AnswerLevel::Likely => "likely",
            AnswerLevel::Strong => "strong",
        }
    }
}

#[derive(Debug)]
pub(super) struct Relevance {
    weights: Vec<i64>,
    added: i64,
    least: [i64; 3],
    of_sum: i64,
    of_behind: i64,
    of_hit: i64,
}

impl Relevance {
    pub(super) fn parse(bytes: &mut ModelBytes<'_>) -> Option<Relevance> {
        let count = usize::from(bytes.u16()?);
        if count != ANSWER_FEATURES {
            return None;
        }
        let weights = (0..count).map(|_| bytes.i64()).collect::<Option<_>>()?;
        let added = bytes.i64()?;
        let mut next = || bytes.i32().map(i64::from);
        let least = [next()?, next()?, next()?];
        Some(Relevance {
            weights,
            added,
            least,
            of_sum: next()?,
            of_behind: next()?,
            of_hit: next()?,
        })
    }

    pub(super) fn answerable(&self, signals: &AnswerSignals) -> AnswerEstimate {
        let parts = self.weights.iter().zip(signals.0);
        let sum: i128 = parts.map(|(weight, value)| i128::from(*weight) * i128::from(value)).sum();
        let margin = (sum + i128::from(self.added)) >> (32 - UNIT_BITS);
        let margin = i64::try_from(margin).unwrap_or(if margin < 0 { i64::MIN } else { i64::MAX });
        let [strong, likely, weak] = self.least;
        let level = match margin {
            margin if margin >= strong => AnswerLevel::Strong,
            margin if margin >= likely => AnswerLevel::Likely,
            margin if margin >= weak => AnswerLevel::Weak,
            _ => AnswerLevel::Nothing,
        };
        AnswerEstimate { margin, probability: probability(margin), level }
    }

    /// What the words of a candidate alone say in a small store: one that has all that is asked for answers it, and one
    /// that has half of it may.
    fn by_words(signals: &FeatureRow) -> AnswerLevel {
        let (terms, missing) =
            (signals.get(Feature::QuestionTerms), signals.get(Feature::WordsMissing));
        match (terms, missing) {
            _ if signals.get(Feature::StoreSize) >= SMALL_STORE => AnswerLevel::Nothing,
            (2.., 0) => AnswerLevel::Strong,
            (1, 0) => AnswerLevel::Likely,
            (3.., 0..) if missing.saturating_mul(3) <= terms => AnswerLevel::Likely,
            (2.., 0..) if missing.saturating_mul(2) <= terms => AnswerLevel::Weak,
            _ => AnswerLevel::Nothing,
        }
    }

    /// The same estimate, but at least as sure as the words of the leading candidate make it.
    pub(super) fn with_words(
        &self,
        estimate: AnswerEstimate,
        leader: Option<&FeatureRow>,
    ) -> AnswerEstimate {
        let level = leader.map_or(AnswerLevel::Nothing, Relevance::by_words);
        if level == AnswerLevel::Weak {
            // Half of the words do not make it more likely, but are too much to say that nothing answers.
            return AnswerEstimate { level: estimate.level.max(level), ..estimate };
        }
        let Some(least) = self.least_of(level).filter(|_| level > estimate.level) else {
            return estimate;
        };
        AnswerEstimate { margin: least, probability: probability(least), level }
    }

    /// The least relevance that a candidate's words give it, in thousandths.
    pub(super) fn least_by_words(&self, signals: &FeatureRow) -> u16 {
        let level = Relevance::by_words(signals);
        self.least_of(level).filter(|_| level > AnswerLevel::Weak).map_or(0, probability)
    }

    fn least_of(&self, level: AnswerLevel) -> Option<i64> {
        let [strong, likely, weak] = self.least;
        match level {
            AnswerLevel::Strong => Some(strong),
            AnswerLevel::Likely => Some(likely),
            AnswerLevel::Weak => Some(weak),
            AnswerLevel::Nothing => None,
        }
    }

    /// What a probability says in a word: the same bounds as for whole answers.
    pub(super) fn level(&self, thousandths: u16) -> AnswerLevel {
        let [strong, likely, weak] = self.least.map(probability);
        match thousandths {
            it if it >= strong => AnswerLevel::Strong,
            it if it >= likely => AnswerLevel::Likely,
            it if it >= weak => AnswerLevel::Weak,
            _ => AnswerLevel::Nothing,
        }
    }

    pub(super) fn of_hit(&self, answerable: &AnswerEstimate, behind: i64) -> u16 {
        let wide = |a: i64, b: i64| i128::from(a) * i128::from(b);
        let sum = wide(answerable.margin, self.of_sum) + wide(behind, self.of_behind);
        let sum = (sum >> UNIT_BITS) + i128::from(self.of_hit);
        let likely =
            probability(i64::try_from(sum).unwrap_or(if sum < 0 { i64::MIN } else { i64::MAX }));
        // A memory is no more likely to answer than that anything does.
        likely.min(answerable.probability)
    }
}

/// The logistic curve at -8, -7.5 … 8, in hundred-thousandths.
const CURVE: [i64; 33] = [
    34, 55, 91, 150, 247, 407, 669, 1_099, 1_799, 2_931, 4_743, 7_586, 11_920, 18_243, 26_894,
    37_754, 50_000, 62_246, 73_106, 81_757, 88_080, 92_414, 95_257, 97_069, 98_201, 98_901, 99_331,
    99_593, 99_753, 99_850, 99_909, 99_945, 99_966,
];

/// The share of questions with such a sum that are answered, in thousandths.
fn probability(margin: i64) -> u16 {
    let half = 1_i64 << (UNIT_BITS - 1);
    let from = margin.clamp(-16 * half, 16 * half) + 16 * half;
    let at = usize::try_from(from / half).unwrap_or(0).min(CURVE.len() - 2);
    let within = from - i64::try_from(at).unwrap_or(0) * half;
    let value = CURVE[at] + (CURVE[at + 1] - CURVE[at]) * within / half;
    u16::try_from(value / 100).unwrap_or(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_rises_from_nothing_to_nearly_sure() {
        let unit = 1_i64 << UNIT_BITS;
        let values: Vec<u16> = (-100..=100).map(|tenth| probability(tenth * unit / 10)).collect();
        assert!(values.is_sorted());
        assert_eq!((values[0], values[100], values[200]), (0, 500, 999));
        assert_eq!((probability(i64::MIN), probability(i64::MAX)), (0, 999));
        // 1 / (1 + e^-1) = 0.7310…
        assert_eq!(probability(unit), 731);
    }

    // Q6
    #[test]
    fn in_a_small_store_words_do_and_in_a_large_one_they_do_not() {
        let row = |terms, missing, store| {
            let mut row = FeatureRow::default();
            row.set(Feature::QuestionTerms, terms);
            row.set(Feature::WordsMissing, missing);
            row.set(Feature::StoreSize, store);
            row
        };
        let said = [(1, 0, 16), (2, 0, 16), (2, 1, 16), (3, 1, 80), (4, 2, 80), (3, 2, 16)];
        let levels = said
            .map(|(terms, missing, store)| Relevance::by_words(&row(terms, missing, store)).name());
        assert_eq!(levels, ["likely", "strong", "weak", "likely", "weak", "nothing"]);
        assert_eq!(Relevance::by_words(&row(2, 0, 112)), AnswerLevel::Nothing);
    }

    // Q6
    #[test]
    fn no_candidates_are_no_answer_signals_and_do_not_panic() {
        assert_eq!(AnswerSignals::of(&[]).0, [0; ANSWER_FEATURES]);
        let one = AnswerSignals::of(&[FeatureRow([7; super::super::FEATURES])]);
        assert_eq!(one.0[0], 7);
    }
}
