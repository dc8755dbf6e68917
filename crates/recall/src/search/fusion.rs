//! Fusion: each arm's scores on one scale for this question, added by weight.
//!
//! Min-max per question and not ranks: how far ahead a memory is says more than that it is ahead. An arm whose
//! candidates all score the same moves none of them.

use std::fmt;

use super::evidence::Saying;
use super::scoring::Candidate;
use crate::error::{Error, Result};
use text::index::log2;

/// The largest weight that can be asked for, in hundredths.
const WEIGHT_MAX: u32 = 10_000;

/// Tokens of a text that is not long yet, about 800 characters.
pub(super) const LONG_TOKENS: u64 = 180;
/// What each doubling beyond costs, on the scale of an arm.
const LONG_LOSS: u64 = ONE * 8 / 100;

/// What the words of an assistant lose where the question speaks of who asks it, on the same scale. In talks with an
/// assistant the person says what is so, and the assistant says it again at length.
const SAID_BACK_LOSS: u64 = ONE * 10 / 100;

/// What a rule that somebody stated gains, on the same scale: it goes with every question about its topic, though it
/// answers none.
const RULE_GAIN: u64 = ONE * 15 / 100;

/// What a preference gains, on the same scale, for the same reason.
const PREFERENCE_GAIN: u64 = ONE * 6 / 100;

/// What the best candidate has on the scale of an arm.
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
    Entities,
}

impl Arm {
    pub const ALL: [Arm; 8] = [
        Arm::Words,
        Arm::Meaning,
        Arm::Interaction,
        Arm::Session,
        Arm::Speaker,
        Arm::Date,
        Arm::Prior,
        Arm::Entities,
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
            Arm::Entities => "entities",
        }
    }
}

/// How much each arm counts, in hundredths, in the order of `Arm::ALL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArmWeights(pub [u32; 8]);

impl ArmWeights {
    pub fn of(&self, arm: Arm) -> u32 {
        let place = Arm::ALL.iter().position(|other| *other == arm);
        place.and_then(|place| self.0.get(place)).copied().unwrap_or(0)
    }

    /// For questions that an optional model judges: set with MiniLM, whose word on meaning is worth more.
    pub fn with_model() -> ArmWeights {
        ArmWeights([45, 35, 40, 20, 20, 30, 2, 20])
    }

    /// As people write them: `words=40,meaning=0`. What is not named keeps its default.
    pub fn parse(text: &str) -> Result<ArmWeights> {
        ArmWeights::default().changed(text)
    }

    /// These weights, but for those that a text names.
    pub fn changed(self, text: &str) -> Result<ArmWeights> {
        let mut weights = self;
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let named = |arm: &Arm| arm.name() == name.trim();
            let Some(place) = Arm::ALL.iter().position(named) else {
                let arms = Arm::ALL.map(Arm::name).join(", ");
                return Err(Error::invalid("weights", format!("no arm {name:?}; use {arms}")));
            };
            let value = value.trim().parse::<u32>().ok().filter(|value| *value <= WEIGHT_MAX);
            weights.0[place] = value.ok_or_else(|| {
                let reason = format!("{part:?} is not {name}=N with N from 0 to {WEIGHT_MAX}");
                Error::invalid("weights", reason)
            })?;
        }
        Ok(weights)
    }

    /// The defaults of the first arms, in the order of `Arm::ALL`; the others do not count.
    pub fn first(arms: usize) -> ArmWeights {
        let mut weights = ArmWeights::default();
        weights.0.iter_mut().skip(arms).for_each(|weight| *weight = 0);
        weights
    }
}

impl fmt::Display for ArmWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (arm, weight)) in Arm::ALL.iter().zip(self.0).enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{}={weight}", arm.name())?;
        }
        Ok(())
    }
}

impl Default for ArmWeights {
    fn default() -> ArmWeights {
        ArmWeights([45, 25, 40, 20, 20, 30, 2, 20])
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
        Arm::Entities => candidate.entities,
    }
}

/// The candidates of one question on one scale.
pub(super) struct Fusion<'c> {
    candidates: &'c [Candidate],
    scales: [Scale; 8],
    weights: ArmWeights,
}

impl<'c> Fusion<'c> {
    pub(super) fn new(candidates: &'c [Candidate], weights: ArmWeights) -> Fusion<'c> {
        let scales = Arm::ALL.map(|arm| Scale::of(candidates, arm));
        Fusion { candidates, scales, weights }
    }

    /// Candidates by their place, best first, each with its score.
    pub(super) fn ranked(&self) -> Vec<(&'c Candidate, u64)> {
        // An arm that says nothing of any candidate, like dates in a question without one, lowers no score.
        let speaks = |(scale, _): &(&Scale, u32)| scale.high > 0;
        let speaking = self.scales.iter().zip(self.weights.0).filter(speaks);
        let most = speaking.map(|(_, weight)| u64::from(weight)).sum::<u64>().max(1);
        let score = |candidate: &Candidate| -> u64 {
            let arms = Arm::ALL.iter().zip(&self.scales).zip(self.weights.0);
            let sum: u64 = arms
                .map(|((arm, scale), weight)| scale.place(raw(candidate, *arm)) * u64::from(weight))
                .sum();
            let (gain, loss) = match candidate.evidence.saying {
                Saying::Other => (0, 0),
                Saying::SaidBack => (0, SAID_BACK_LOSS),
                Saying::Rule => (RULE_GAIN, 0),
                Saying::Preference => (PREFERENCE_GAIN, 0),
            };
            (sum / most + gain).saturating_sub(long(candidate.evidence.length) + loss).min(ONE)
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

/// What a long text loses. It has something to say to every word, in many places; a short one that has as much says it.
fn long(tokens: u64) -> u64 {
    (log2(tokens).saturating_sub(log2(LONG_TOKENS)) * LONG_LOSS) >> 16
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_named_and_read_back() {
        let weights = ArmWeights::parse("words=40, meaning=0").unwrap();
        assert_eq!((weights.of(Arm::Words), weights.of(Arm::Meaning)), (40, 0));
        assert_eq!(weights.of(Arm::Session), ArmWeights::default().of(Arm::Session));
        assert_eq!(ArmWeights::parse(&weights.to_string()).unwrap(), weights);
        assert_eq!(ArmWeights::parse("").unwrap(), ArmWeights::default());
        for bad in ["word=1", "words", "words=-1", "words=x", "words=10001", "30,30"] {
            assert!(ArmWeights::parse(bad).is_err(), "{bad}");
        }
        let error = ArmWeights::parse("wrods=1").unwrap_err().to_string();
        assert!(error.contains("wrods") && error.contains("words, meaning"), "{error}");
    }

    #[test]
    fn an_ablation_adds_one_arm_after_the_other() {
        assert_eq!(ArmWeights::first(0).0, [0; Arm::ALL.len()]);
        assert_eq!(ArmWeights::first(Arm::ALL.len()), ArmWeights::default());
        let two = ArmWeights::first(2);
        assert!(two.of(Arm::Meaning) > 0 && two.of(Arm::Interaction) == 0);
    }
}
