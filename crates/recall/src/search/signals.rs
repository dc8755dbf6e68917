//! Signals: the features of the candidates of one question, for the ranker.
//!
//! What must stay true: a function of the candidates and the question; whole numbers only.

use std::collections::BTreeMap;

use super::asked_words::AskedWords;
use super::evidence::SpeakerRole;
use super::fusion::{Arm, Fusion, ONE};
use super::scoring::Candidate;
use crate::embedding;
use crate::embedding::SIM_ONE;
use crate::ranker::{Feature, FeatureRow};
use text::index::log2;

/// The largest impact that a term can have on a text.
const IMPACT_MAX: u64 = 255;

/// The features of candidates that come best first, each with its fused score.
pub(super) fn signals(
    fusion: &Fusion<'_>,
    asked: &AskedWords,
    ranked: &[(&Candidate, u64)],
) -> Vec<FeatureRow> {
    let all = CandidateRange::new(ranked);
    let mut ahead: BTreeMap<usize, u64> = BTreeMap::new();
    let mut signals = Vec::with_capacity(ranked.len());
    for (rank, (candidate, fused)) in (1u64..).zip(ranked) {
        let mut s = FeatureRow::default();
        let evidence = &candidate.evidence;
        s.set(Feature::Fused, fused * 1_000 / ONE);
        s.set(Feature::FusedRank, rank);
        s.set(Feature::FusedGap, (all.fused - fused) * 1_000 / ONE);
        for score in fusion.arms(candidate) {
            let place = score.score * 1_000 / ONE;
            match score.arm {
                Arm::Words => s.set(Feature::WordsPlace, place),
                Arm::Meaning => s.set(Feature::MeaningPlace, place),
                Arm::Interaction => {
                    s.set(Feature::InteractionPlace, place);
                    s.set(Feature::InteractionRank, score.rank as u64);
                }
                Arm::Session => {
                    s.set(Feature::SessionPlace, place);
                    s.set(Feature::SessionRank, all.session_rank(candidate.session));
                }
                Arm::Speaker => s.set(Feature::Speaker, candidate.speaker),
                Arm::Date => s.set(Feature::Date, candidate.date),
                Arm::Entities => s.set(Feature::Entities, place),
                Arm::Prior => {}
            }
        }
        words(&mut s, candidate, asked, &all);
        meaning(&mut s, candidate, &all);
        let tokens = evidence.tokens;
        s.set(Feature::InteractionBest, candidate.interaction * 1_000 / SIM_ONE.unsigned_abs());
        s.set(Feature::TokensSame, tokens.same);
        s.set(Feature::TokensAnywhere, tokens.same_anywhere);
        s.set(Feature::TokensAlike, tokens.alike);
        s.set(Feature::TokenRarest, tokens.rarest);
        s.set(Feature::Pairs, tokens.pairs);
        s.set(Feature::TokensAround, evidence.tokens_around * 1_000 / SIM_ONE.unsigned_abs());
        if let Some((session, before, turns)) = evidence.session {
            s.set(Feature::SessionCrowd, all.crowds.get(&session).copied().unwrap_or(0));
            let ahead = ahead.entry(session).or_default();
            s.set(Feature::SessionAhead, *ahead);
            *ahead += 1;
            s.set(Feature::SessionPosition, (before * 1_000 / turns.max(1)) as u64);
        }
        s.set(Feature::OfAnother, evidence.of_another.into());
        let length = doublings(evidence.length);
        s.set(Feature::Length, length);
        // A difference from the median, moved so that it is never below nothing.
        s.set(Feature::LengthShare, (length + 256).saturating_sub(all.length));
        s.set(Feature::Person, (evidence.role == SpeakerRole::Person).into());
        s.set(Feature::Assistant, (evidence.role == SpeakerRole::Assistant).into());
        s.set(Feature::Asks, evidence.asks.into());
        let earlier = all.times.partition_point(|at| *at < evidence.happened.0);
        s.set(Feature::Recency, earlier as u64 * 1_000 / (all.times.len() as u64).max(1));
        s.set(Feature::QuestionTerms, asked.terms.into());
        s.set(Feature::QuestionUnknown, thousandths(asked.unknown, asked.total));
        s.set(Feature::QuestionRarest, asked.rarest / 16);
        s.set(Feature::StoreSize, doublings(asked.documents));
        signals.push(s);
    }
    signals
}

fn words(s: &mut FeatureRow, candidate: &Candidate, asked: &AskedWords, all: &CandidateRange) {
    let evidence = &candidate.evidence;
    let own = evidence.matched.score;
    s.set(Feature::WordsShare, thousandths(own, all.words));
    s.set(Feature::WordsRank, place(&all.by_words, own));
    s.set(Feature::WordsReach, thousandths(own, asked.total.saturating_mul(IMPACT_MAX)));
    s.set(Feature::WordsPresent, thousandths(evidence.matched.present, asked.total).min(1_000));
    s.set(Feature::WordsMissing, asked.terms.saturating_sub(evidence.matched.terms).into());
    s.set(
        Feature::WordsAround,
        thousandths(evidence.covered, asked.total.saturating_mul(IMPACT_MAX)),
    );
    s.set(Feature::WordsBefore, thousandths(evidence.words.before, all.words));
    s.set(Feature::WordsAfter, thousandths(evidence.words.after, all.words));
}

fn meaning(s: &mut FeatureRow, candidate: &Candidate, all: &CandidateRange) {
    let evidence = &candidate.evidence;
    let one = embedding::ONE.unsigned_abs();
    let near = evidence.meaning;
    s.set(Feature::MeaningNear, thousandths(near.own, one));
    s.set(Feature::MeaningRank, place(&all.by_meaning, near.own));
    s.set(Feature::MeaningGap, thousandths(all.meaning.saturating_sub(near.own), one));
    s.set(Feature::MeaningWhole, thousandths(evidence.whole, one));
    s.set(Feature::WholeGap, thousandths(all.whole.saturating_sub(evidence.whole), one));
    s.set(Feature::MeaningBefore, thousandths(near.before, one));
    s.set(Feature::MeaningAfter, thousandths(near.after, one));
}

/// What the candidates are compared with: the most of all, and their order by one thing.
struct CandidateRange {
    fused: u64,
    words: u64,
    meaning: u64,
    whole: u64,
    /// Descending.
    by_words: Vec<u64>,
    by_meaning: Vec<u64>,
    sessions: Vec<u64>,
    /// The median.
    length: u64,
    /// When they happened, ascending.
    times: Vec<i64>,
    /// Candidates by session.
    crowds: BTreeMap<usize, u64>,
}

impl CandidateRange {
    fn new(ranked: &[(&Candidate, u64)]) -> CandidateRange {
        let evidence = || ranked.iter().map(|(candidate, _)| &candidate.evidence);
        let descending = |mut values: Vec<u64>| {
            values.sort_unstable_by(|a, b| b.cmp(a));
            values
        };
        let by_words = descending(evidence().map(|e| e.matched.score).collect());
        let by_meaning = descending(evidence().map(|e| e.meaning.own).collect());
        let mut sessions = descending(ranked.iter().map(|(c, _)| c.session).collect());
        sessions.dedup();
        let lengths = descending(evidence().map(|e| doublings(e.length)).collect());
        let mut times: Vec<i64> = evidence().map(|e| e.happened.0).collect();
        times.sort_unstable();
        let mut crowds = BTreeMap::new();
        for (session, _, _) in evidence().filter_map(|e| e.session) {
            *crowds.entry(session).or_default() += 1;
        }
        CandidateRange {
            fused: ranked.first().map_or(0, |(_, fused)| *fused),
            words: by_words.first().copied().unwrap_or(0),
            meaning: by_meaning.first().copied().unwrap_or(0),
            whole: evidence().map(|e| e.whole).max().unwrap_or(0),
            length: lengths.get(lengths.len() / 2).copied().unwrap_or(0),
            by_words,
            by_meaning,
            sessions,
            times,
            crowds,
        }
    }

    fn session_rank(&self, session: u64) -> u64 {
        place(&self.sessions, session)
    }
}

/// The place of a value among descending ones; 1 is best.
fn place(descending: &[u64], value: u64) -> u64 {
    descending.partition_point(|other| *other > value) as u64 + 1
}

/// Sixteenths of a doubling.
fn doublings(count: u64) -> u64 {
    log2(count) >> 12
}

fn thousandths(part: u64, whole: u64) -> u64 {
    let share = (u128::from(part) * 1_000).checked_div(u128::from(whole)).unwrap_or(0);
    u64::try_from(share).unwrap_or(u64::MAX)
}
