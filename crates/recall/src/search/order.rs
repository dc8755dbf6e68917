//! The order of the candidates of one question: by the arms added by weight, and the best of them by the ranker.
//!
//! What must stay true: an order is a function of the candidates and the question; equal scores go to the smaller id.


use super::context::SearchContext;
use super::fusion::{ArmScore, Fusion};
use super::retrievers::Gathered;
use super::scoring::Candidate;
use super::signals::signals;
use crate::ranker::Signals;

/// Candidates that the ranker orders; those behind them stay as the arms have them.
pub(super) const RANKED: usize = 200;

/// What decides which candidate comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderBy {
    /// The ranker, over what the arms say. Weights other than the usual ones switch it off: it was trained with those.
    #[default]
    Ranker,
    /// The arms, added by weight.
    Weights,
}

/// A candidate with its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed<'c> {
    pub(super) candidate: &'c Candidate,
    /// Parts per million of the best possible.
    pub(super) score: u64,
    /// Of the first `RANKED`.
    pub(super) signals: Option<Signals>,
}

pub(super) struct CandidateOrder<'c> {
    fusion: Fusion<'c>,
    pub(super) placed: Vec<Placed<'c>>,
}

impl<'c> CandidateOrder<'c> {
    pub(super) fn new(context: &SearchContext<'_>, gathered: &'c Gathered) -> CandidateOrder<'c> {
        let fusion = Fusion::new(&gathered.candidates, context.query.weights);
        let ranked = fusion.ranked();
        let first = &ranked[..ranked.len().min(RANKED)];
        let signals = signals(&fusion, &gathered.asked, first);
        let mut signals = signals.into_iter();
        let placed = ranked.iter().map(|(candidate, score)| {
            let signals = signals.next();
            Placed { candidate, score: *score, signals }
        });
        CandidateOrder { placed: placed.collect(), fusion }
    }

    /// What each arm said of a candidate.
    pub(super) fn arms(&self, candidate: &Candidate) -> Vec<ArmScore> {
        self.fusion.arms(candidate)
    }
}
