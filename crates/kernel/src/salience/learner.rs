//! How an outcome moves the weights.
//!
//! The factors given here are those of retrieval, before the outcome touched any counter or clock: measured afterwards,
//! every cited memory would look freshly used and the learner would learn nothing but recency.
//!
//! What stays true after every step, whatever the input: the weights sum to exactly [`WEIGHT_SUM`], each lies between
//! [`WEIGHT_FLOOR`] and [`WEIGHT_CAP`], and no weight moves by more than [`RATE`] and [`PULL`] together.

use proof::journal::{WEIGHT_CAP, WEIGHT_FLOOR, WEIGHT_SUM, Weights};

use super::factors::Factors;
use super::fixed::{self, Ppm, WHOLE};

/// The share of the way to its target that a weight moves in one step.
pub(super) const RATE: Ppm = 50_000;

/// The share of the way back to its cold value that a weight moves in one step.
///
/// A fifth of [`RATE`]: feedback that always points the same way settles at five parts of evidence to one of prior, and
/// what was learned from noise fades.
pub(super) const PULL: Ppm = 10_000;

/// How strongly a difference between cited and uncited memories tilts the target: a factor that differs by the whole
/// scale is preferred two to this power over one that does not differ.
pub(super) const TILT: u64 = 4;

/// How an intent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LearningOutcome {
    Success,
    Failure,
    /// Says nothing about the memories.
    Neutral,
}

/// Why an outcome taught nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipReason {
    NeutralOutcome,
    NoCitations,
    /// Every factor of the cited memories is zero and there is nothing to compare them with.
    DegenerateProfile,
}

impl SkipReason {
    pub fn reason(self) -> &'static str {
        match self {
            SkipReason::NeutralOutcome => "the outcome was neutral",
            SkipReason::NoCitations => "nothing was cited",
            SkipReason::DegenerateProfile => "the cited memories have no profile",
        }
    }
}

/// The weights before and after an outcome; equal when it was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightUpdate {
    pub previous: Weights,
    pub next: Weights,
    pub skipped: Option<SkipReason>,
}

/// Moves the weights toward what set the cited memories apart on success, and away from it on failure.
///
/// With memories that were retrieved but not cited, each weight's target is its present share tilted by how much more
/// of that factor the cited ones had: a factor that all candidates share tells nothing and earns nothing. Without them
/// the target is the profile of the cited memories alone.
///
/// The similarity weight takes part only when there is such a comparison and every memory in it has a similarity.
/// Otherwise it is kept to the part and the other four share the rest: memories found by similarity are all similar, so
/// the level alone is no evidence, and a query without similarity says nothing about it.
pub fn learn(
    current: &Weights,
    outcome: LearningOutcome,
    cited: &[Factors],
    uncited: &[Factors],
) -> WeightUpdate {
    let skip = |reason| WeightUpdate { previous: *current, next: *current, skipped: Some(reason) };
    let toward = match outcome {
        LearningOutcome::Success => true,
        LearningOutcome::Failure => false,
        LearningOutcome::Neutral => return skip(SkipReason::NeutralOutcome),
    };
    if cited.is_empty() {
        return skip(SkipReason::NoCitations);
    }
    let compared = !uncited.is_empty();
    let similar = compared && cited.iter().chain(uncited).all(|f| f.similarity.is_some());
    let trained = if similar { 5 } else { 4 };
    let parts = current.parts();
    let weights = &parts[..trained];

    let shares: Vec<u128> = if compared {
        let (with, without) = (means(cited), means(uncited));
        (0..trained).map(|i| u128::from(weights[i]) * tilt(with[i], without[i])).collect()
    } else {
        means(cited)[..trained].iter().map(|mean| u128::from(*mean)).collect()
    };
    let Some(target) = apportion(&shares, weights.iter().sum()) else {
        return skip(SkipReason::DegenerateProfile);
    };
    WeightUpdate {
        previous: *current,
        next: step(current, &target, toward, trained),
        skipped: None,
    }
}

/// The mean of each factor; a missing similarity counts as zero, which callers exclude before they use it.
fn means(memories: &[Factors]) -> [Ppm; 5] {
    let mut sums = [0u64; 5];
    for memory in memories {
        let [recency, access, citation, importance] = memory.known();
        let all = [recency, access, citation, importance, memory.similarity.unwrap_or(0)];
        for (sum, factor) in sums.iter_mut().zip(all) {
            *sum += u64::from(factor.min(WHOLE));
        }
    }
    let count = u64::try_from(memories.len()).unwrap_or(u64::MAX).max(1);
    sums.map(|sum| Ppm::try_from(sum / count).unwrap_or(WHOLE))
}

/// 2^(TILT * (with - without)), up to a constant that cancels when the shares are normalised.
fn tilt(with: Ppm, without: Ppm) -> u128 {
    // Shifted by the whole scale so that the exponent of 2^-x is never negative.
    let lag = u64::from(WHOLE + without - with);
    fixed::exp2_neg(fixed::quotient(TILT * lag, u64::from(WHOLE)))
}

/// Scales shares to the sum `mass`, each rounded down; `None` when all are zero.
fn apportion(shares: &[u128], mass: u32) -> Option<Vec<u32>> {
    let total: u128 = shares.iter().sum();
    let scaled = |share: &u128| (share * u128::from(mass)).checked_div(total);
    shares.iter().map(|share| u32::try_from(scaled(share)?).ok()).collect()
}

/// Moves the first `trained` weights by the evidence and the pull; the others keep their exact value.
fn step(current: &Weights, target: &[u32], toward: bool, trained: usize) -> Weights {
    let mut parts = current.parts();
    let mass = parts[..trained].iter().sum::<u32>();
    let cold: Vec<u128> =
        Weights::cold().parts()[..trained].iter().copied().map(u128::from).collect();
    // The cold weights are never all zero; staying put is the harmless answer to the impossible.
    let Some(home) = apportion(&cold, mass) else { return *current };

    let moved: Vec<i64> = (0..trained)
        .map(|i| {
            let weight = i64::from(parts[i]);
            let pull = i64::from(PULL) * (i64::from(home[i]) - weight);
            let distance = i64::from(RATE) * (i64::from(target[i]) - weight);
            let way = pull + if toward { distance } else { -distance };
            // Division rounds toward zero, so a remainder of rounding can never move a weight at rest.
            weight + way / i64::from(WHOLE)
        })
        .collect();
    settle(&moved, mass, &mut parts[..trained]);
    Weights::new(parts).unwrap_or(*current)
}

/// Brings `moved` within floor and cap and to the exact sum `mass`.
///
/// What clamping and rounding leave over goes to the weights in proportion to the room they have, and the last few
/// parts in the fixed order of the factors. There is always room: `mass` is the sum of weights that were within the
/// bounds.
fn settle(moved: &[i64], mass: u32, parts: &mut [u32]) {
    for (part, value) in parts.iter_mut().zip(moved) {
        let bounded = (*value).clamp(i64::from(WEIGHT_FLOOR), i64::from(WEIGHT_CAP));
        *part = u32::try_from(bounded).unwrap_or(WEIGHT_FLOOR);
    }
    let sum: u32 = parts.iter().sum();
    let short = sum < mass;
    let room = |part: u32| if short { WEIGHT_CAP - part } else { part - WEIGHT_FLOOR };
    let give = |part: &mut u32, by: u32| if short { *part += by } else { *part -= by };

    let mut open = sum.abs_diff(mass);
    let rooms: Vec<u128> = parts.iter().map(|part| u128::from(room(*part))).collect();
    for (part, by) in parts.iter_mut().zip(apportion(&rooms, open).unwrap_or_default()) {
        give(part, by);
        open -= by;
    }
    for part in parts.iter_mut() {
        let by = room(*part).min(open);
        give(part, by);
        open -= by;
    }
    debug_assert!(open == 0 && mass <= WEIGHT_SUM, "there is room for every part");
}

#[cfg(test)]
mod tests;
