//! The order of the candidates of one question: by the arms added by weight, and the best of them by the ranker.
//!
//! What must stay true: an order is a function of the candidates and the question; equal scores go to the smaller id.

use std::cmp::Reverse;

use super::fusion::{ArmScore, ArmWeights, Fusion, ONE};
use super::retrievers::CandidateSet;
use super::scoring::Candidate;
use super::signals::signals;
use crate::ranker::{AnswerEstimate, FeatureRow, Ranker, typical};

/// Candidates that the ranker orders; those behind them stay as the arms have them.
const RANKED: usize = 100;
/// What the last of the ranked has at least, of `ONE`; the others share what is below.
const RANKED_FROM: u64 = ONE / 5;

/// What decides which candidate comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HitOrder {
    /// The ranker, over what the arms say. Weights other than the usual ones switch it off: it was trained with those.
    #[default]
    Ranker,
    /// The arms, added by weight.
    Weights,
}

/// A candidate with its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct CandidatePlace<'c> {
    pub(super) candidate: &'c Candidate,
    /// Parts per million of the best possible.
    pub(super) score: u64,
    /// How likely it answers, in thousandths.
    pub(super) relevance: u16,
    /// Of the first `RANKED`.
    pub(super) signals: Option<FeatureRow>,
}

pub(super) struct CandidateOrder<'c> {
    fusion: Fusion<'c>,
    pub(super) placed: Vec<CandidatePlace<'c>>,
    pub(super) answerable: AnswerEstimate,
    /// The features of a typical candidate.
    pub(super) typical: FeatureRow,
}

impl<'c> CandidateOrder<'c> {
    pub(super) fn new(
        (weights, order): (ArmWeights, HitOrder),
        gathered: &'c CandidateSet,
    ) -> CandidateOrder<'c> {
        let fusion = Fusion::new(&gathered.candidates, weights);
        let ranked = fusion.ranked();
        let (first, rest) = ranked.split_at(ranked.len().min(RANKED));
        let signals = signals(&fusion, &gathered.asked, first);
        let ranker = Ranker::shared();
        let margins = ranker.margins(&signals);
        let mut known: Vec<KnownCandidate<'c>> = first
            .iter()
            .zip(signals)
            .zip(margins)
            .map(|((&(candidate, fused), signals), margin)| KnownCandidate {
                candidate,
                fused,
                margin,
                signals,
            })
            .collect();
        known.sort_by_key(|known| (Reverse(known.margin), known.candidate.id));
        let of_known: Vec<FeatureRow> = known.iter().map(|known| known.signals).collect();
        let answerable = ranker.answerable(&of_known);
        let top = known.first().map_or(0, |known| known.margin);
        let usual = weights == ArmWeights::default() || weights == ArmWeights::with_model();
        let learned = usual && order == HitOrder::Ranker;
        if !learned {
            known.sort_by_key(|known| (Reverse(known.fused), known.candidate.id));
        }
        let mut placed: Vec<CandidatePlace<'c>> = Vec::with_capacity(ranked.len());
        for known in known {
            let place = RANKED_FROM + ranker.place(known.margin, ONE - RANKED_FROM);
            placed.push(CandidatePlace {
                candidate: known.candidate,
                score: if learned { place } else { known.fused },
                relevance: ranker.relevance(&answerable, top - known.margin, &known.signals),
                signals: Some(known.signals),
            });
        }
        for &(candidate, fused) in rest {
            let score = if learned { fused * RANKED_FROM / ONE } else { fused };
            placed.push(CandidatePlace { candidate, score, relevance: 0, signals: None });
        }
        CandidateOrder { placed, fusion, answerable, typical: typical(&of_known) }
    }

    /// What each arm said of a candidate.
    pub(super) fn arms(&self, candidate: &Candidate) -> Vec<ArmScore> {
        self.fusion.arms(candidate)
    }
}

/// A candidate with its features and what the ranker makes of them.
struct KnownCandidate<'c> {
    candidate: &'c Candidate,
    fused: u64,
    margin: i64,
    signals: FeatureRow,
}
