//! Whether relevance means what it says: questions that are answered against the same ones asked of other memories.

#![allow(clippy::cast_precision_loss, reason = "counts of questions are small")]

use crate::ranker::{AnswerEstimate, AnswerLevel};

/// The share of answered questions that is kept where false alarms are counted.
const KEPT: f64 = 0.9;
/// The share of false alarms at which the kept ones are counted.
const ALARMS: f64 = 0.03;
/// Steps of the reliability curve.
const STEPS: usize = 10;

/// Judgements of one set.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    /// Questions asked of the memories that answer them.
    answered: Vec<AnswerEstimate>,
    /// Questions asked of others' memories.
    others: Vec<AnswerEstimate>,
    /// Questions of the set that nobody marked an answer to: near misses.
    unanswered: Vec<AnswerEstimate>,
}

/// How well the two are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Separation {
    /// How often an answered question scores above one that is not.
    pub auc: f64,
    /// The share of answered questions kept at `ALARMS` false alarms.
    pub coverage: f64,
    /// The share of false alarms where `KEPT` of the answered are kept.
    pub false_alarms: f64,
    /// The share of each that is called strong or likely.
    pub likely: f64,
    pub likely_others: f64,
}

/// A step of the reliability curve: what was promised, and what came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReliabilityStep {
    pub questions: usize,
    pub promised: f64,
    pub answered: f64,
}

impl Calibration {
    pub fn answered(&mut self, judged: AnswerEstimate) {
        self.answered.push(judged);
    }

    pub fn other(&mut self, judged: AnswerEstimate) {
        self.others.push(judged);
    }

    pub fn unanswered(&mut self, judged: AnswerEstimate) {
        self.unanswered.push(judged);
    }

    /// `None` where there is nothing to tell apart: a set of one group.
    pub fn apart(&self) -> Option<Separation> {
        apart(&self.answered, &self.others)
    }

    /// The same for the set's own questions without an answer.
    pub fn near_misses(&self) -> Option<Separation> {
        apart(&self.answered, &self.unanswered)
    }

    /// Questions by what was promised of them, lowest first; steps without questions are left out.
    pub fn curve(&self) -> Vec<ReliabilityStep> {
        let mut steps = [ReliabilityStep::default(); STEPS];
        let all = self.answered.iter().map(|judged| (judged, 1.0));
        for (judged, answered) in all.chain(self.others.iter().map(|judged| (judged, 0.0))) {
            let at = usize::from(judged.probability) * STEPS / 1_000;
            let step = &mut steps[at.min(STEPS - 1)];
            step.questions += 1;
            step.promised += f64::from(judged.probability) / 1_000.0;
            step.answered += answered;
        }
        let mean = |step: &ReliabilityStep| {
            let n = step.questions as f64;
            ReliabilityStep { promised: step.promised / n, answered: step.answered / n, ..*step }
        };
        steps.iter().filter(|step| step.questions > 0).map(mean).collect()
    }
}

fn apart(answered: &[AnswerEstimate], others: &[AnswerEstimate]) -> Option<Separation> {
    if answered.is_empty() || others.is_empty() {
        return None;
    }
    let sorted = |judged: &[AnswerEstimate]| {
        let mut margins: Vec<i64> = judged.iter().map(|judged| judged.margin).collect();
        margins.sort_unstable();
        margins
    };
    let (own, other) = (sorted(answered), sorted(others));
    let share = |count: usize, of: &[i64]| count as f64 / of.len() as f64;
    let above = |margin: i64| {
        let below = other.partition_point(|o| *o < margin);
        let same = other.partition_point(|o| *o <= margin) - below;
        below as f64 + same as f64 / 2.0
    };
    let pairs = own.len() as f64 * other.len() as f64;
    let auc = own.iter().map(|margin| above(*margin)).sum::<f64>() / pairs;
    let at = |margins: &[i64], part: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "part of a length"
        )]
        let place = (margins.len() as f64 * part) as usize;
        margins[place.min(margins.len() - 1)]
    };
    let kept = at(&own, 1.0 - KEPT);
    let alarm = at(&other, 1.0 - ALARMS);
    let likely = |judged: &[AnswerEstimate]| {
        let count = judged.iter().filter(|judged| judged.level >= AnswerLevel::Likely).count();
        count as f64 / judged.len() as f64
    };
    Some(Separation {
        auc,
        coverage: share(own.len() - own.partition_point(|margin| *margin <= alarm), &own),
        false_alarms: share(other.len() - other.partition_point(|margin| *margin < kept), &other),
        likely: likely(answered),
        likely_others: likely(others),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(margin: i64, probability: u16) -> AnswerEstimate {
        AnswerEstimate { margin, probability, level: AnswerLevel::Nothing }
    }

    // Q6
    #[test]
    fn what_is_told_apart_is_counted() {
        let mut calibration = Calibration::default();
        assert_eq!(calibration.apart(), None);
        for n in 0..10 {
            calibration.answered(judged(10 + n, 900));
            calibration.other(judged(n, 100));
        }
        let apart = calibration.apart().unwrap();
        assert!((apart.auc - 1.0).abs() < 1e-9 && apart.false_alarms < 1e-9, "{apart:?}");
        assert!((apart.coverage - 1.0).abs() < 1e-9);
        let curve = calibration.curve();
        assert_eq!(curve.len(), 2);
        assert!(curve[0].answered < 1e-9 && (curve[1].answered - 1.0).abs() < 1e-9);
        let mut alike = Calibration::default();
        for n in 0..10 {
            alike.answered(judged(n, 500));
            alike.other(judged(n, 500));
        }
        assert!((alike.apart().unwrap().auc - 0.5).abs() < 1e-9);
    }
}
