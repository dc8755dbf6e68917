//! Fusion: each arm's scores on one scale for this question, added by weight.
//!
//! Min-max per question and not ranks: how far ahead a memory is says more than that it is ahead. An arm whose candidates
//! all score the same moves none of them.

use super::arms::Candidate;

/// One on every scale.
pub(super) const ONE: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arm {
    Words,
    Meaning,
    Interaction,
    Session,
    Speaker,
    Date,
    Prior,
}

impl Arm {
    pub const ALL: [Arm; 7] = [
        Arm::Words,
        Arm::Meaning,
        Arm::Interaction,
        Arm::Session,
        Arm::Speaker,
        Arm::Date,
        Arm::Prior,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Arm::Words => "words",
            Arm::Meaning => "meaning",
            Arm::Interaction => "interaction",
            Arm::Session => "session",
            Arm::Speaker => "speaker",
            Arm::Date => "date",
            Arm::Prior => "prior",
        }
    }
}

/// How much each arm counts, in hundredths, in the order of `Arm::ALL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights(pub [u32; 7]);

impl Weights {
    pub fn of(&self, arm: Arm) -> u32 {
        let place = Arm::ALL.iter().position(|other| *other == arm);
        place.and_then(|place| self.0.get(place)).copied().unwrap_or(0)
    }
}

impl Default for Weights {
    fn default() -> Weights {
        Weights([30, 30, 40, 25, 20, 20, 2])
    }
}

/// What one arm said of one hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArmScore {
    pub arm: Arm,
    /// Parts per million of the best candidate.
    pub score: u64,
    /// 1 is best.
    pub rank: usize,
    pub weight: u32,
}

fn raw(candidate: &Candidate, arm: Arm) -> u64 {
    match arm {
        Arm::Words => candidate.words,
        Arm::Meaning => candidate.meaning,
        Arm::Interaction => candidate.interaction,
        Arm::Session => candidate.session,
        Arm::Speaker => candidate.speaker,
        Arm::Date => candidate.date,
        Arm::Prior => candidate.prior,
    }
}

/// The candidates of one question on one scale.
pub(super) struct Fused<'c> {
    candidates: &'c [Candidate],
    scales: [Scale; 7],
    weights: Weights,
}

impl<'c> Fused<'c> {
    pub(super) fn new(candidates: &'c [Candidate], weights: Weights) -> Fused<'c> {
        let scales = Arm::ALL.map(|arm| Scale::of(candidates, arm));
        Fused { candidates, scales, weights }
    }

    /// Candidates by their place, best first, each with its score.
    pub(super) fn ranked(&self) -> Vec<(&'c Candidate, u64)> {
        let most: u64 = self.weights.0.iter().map(|w| u64::from(*w)).sum::<u64>().max(1);
        let score = |candidate: &Candidate| -> u64 {
            let arms = Arm::ALL.iter().zip(&self.scales).zip(self.weights.0);
            let sum: u64 = arms
                .map(|((arm, scale), weight)| scale.place(raw(candidate, *arm)) * u64::from(weight))
                .sum();
            sum / most
        };
        let mut ranked: Vec<_> = self.candidates.iter().map(|c| (c, score(c))).collect();
        ranked.sort_by_key(|(candidate, score)| (std::cmp::Reverse(*score), candidate.id));
        ranked
    }

    /// What each arm said of a candidate.
    pub(super) fn arms(&self, candidate: &Candidate) -> Vec<ArmScore> {
        let arms = Arm::ALL.iter().zip(&self.scales).zip(self.weights.0);
        arms.map(|((arm, scale), weight)| {
            let value = raw(candidate, *arm);
            ArmScore { arm: *arm, score: scale.place(value), rank: scale.rank(value), weight }
        })
        .collect()
    }
}

/// The values of one arm over the candidates.
struct Scale {
    low: u64,
    high: u64,
    /// Descending.
    values: Vec<u64>,
}

impl Scale {
    fn of(candidates: &[Candidate], arm: Arm) -> Scale {
        let mut values: Vec<u64> = candidates.iter().map(|c| raw(c, arm)).collect();
        values.sort_unstable_by(|a, b| b.cmp(a));
        let (high, low) = (values.first().copied(), values.last().copied());
        Scale { low: low.unwrap_or(0), high: high.unwrap_or(0), values }
    }

    fn place(&self, value: u64) -> u64 {
        let (span, above) = (u128::from(self.high - self.low), u128::from(value - self.low));
        let alike = if value > 0 { u128::from(ONE) } else { 0 };
        let place = (above * u128::from(ONE)).checked_div(span).unwrap_or(alike);
        u64::try_from(place).unwrap_or(ONE)
    }

    fn rank(&self, value: u64) -> usize {
        self.values.partition_point(|other| *other > value) + 1
    }
}
