//! Goal: what outcomes teach moves the weights in the right direction, within bounds, and fades without evidence.
//! Method: outcomes of known candidates by hand and by chance, one and hundreds in a row.

#![allow(clippy::unwrap_used)]

use kernel::journal::{WEIGHT_CAP, WEIGHT_FLOOR, Weights};
use kernel::salience::{Factors, LearningOutcome, Ppm, SkipReason, learn, score};

const COLD: Weights = Weights::cold();

fn four(recency: Ppm, access: Ppm, citation: Ppm, importance: Ppm) -> Factors {
    Factors { recency, access, citation, importance, similarity: None }
}

/// Middling in everything but one factor (0 to 4), where it has `value`.
fn only(factor: usize, value: Ppm) -> Factors {
    let mut all = [400_000; 5];
    all[factor] = value;
    let [recency, access, citation, importance, similarity] = all;
    Factors { recency, access, citation, importance, similarity: Some(similarity) }
}

fn repeat(
    mut weights: Weights,
    times: u32,
    outcome: LearningOutcome,
    cited: &[Factors],
    uncited: &[Factors],
) -> Weights {
    for _ in 0..times {
        weights = learn(&weights, outcome, cited, uncited).next;
    }
    weights
}

/// The sum of the distances of all parts.
fn distance(a: [u32; 5], b: [u32; 5]) -> u64 {
    a.iter().zip(b).map(|(a, b)| u64::from(a.abs_diff(b))).sum()
}

#[test]
fn without_a_comparison_one_step_goes_five_per_cent_toward_the_cited_profile() {
    // kernel 52
    let cited = [four(200_000, 400_000, 200_000, 200_000)];
    // Nine tenths of the weight belong to the four factors: .18, .36, .18, .18.
    let success = learn(&COLD, LearningOutcome::Success, &cited, &[]);
    assert_eq!(success.skipped, None);
    assert_eq!(success.previous, COLD);
    assert_eq!(
        success.next.parts(),
        [246_500_000, 160_500_000, 294_000_000, 199_000_000, 100_000_000]
    );
    let failure = learn(&COLD, LearningOutcome::Failure, &cited, &[]).next;
    assert_eq!(failure.parts(), [253_500_000, 139_500_000, 306_000_000, 201_000_000, 100_000_000]);
}

#[test]
fn what_the_cited_had_more_of_gains_on_success_and_loses_on_failure() {
    // kernel 52
    for factor in 0..5 {
        let (high, low) = ([only(factor, 900_000)], [only(factor, 100_000)]);
        let up = learn(&COLD, LearningOutcome::Success, &high, &low).next.parts();
        let down = learn(&COLD, LearningOutcome::Failure, &high, &low).next.parts();
        let less = learn(&COLD, LearningOutcome::Success, &low, &high).next.parts();
        for other in 0..5 {
            let cold = COLD.parts()[other];
            if other == factor {
                assert!(up[other] > cold && down[other] < cold && less[other] < cold);
            } else {
                assert!(up[other] < cold && down[other] > cold && less[other] > cold);
            }
        }
    }
}

#[test]
fn a_factor_that_all_candidates_share_earns_nothing() {
    // Everything is fresh, the cited ones are the often cited ones: recency must not gain.
    let cited = [four(1_000_000, 200_000, 700_000, 500_000)];
    let uncited = [four(1_000_000, 200_000, 100_000, 500_000); 3];
    let next = learn(&COLD, LearningOutcome::Success, &cited, &uncited).next;
    assert!(next.recency() < COLD.recency());
    assert!(next.citation() > COLD.citation());
}

#[test]
fn outcomes_that_teach_nothing_change_nothing_and_say_why() {
    let cited = [four(200_000, 400_000, 200_000, 200_000)];
    let zero = [four(0, 0, 0, 0)];
    let found = |outcome, cited: &[Factors], uncited: &[Factors]| {
        let learned = learn(&COLD, outcome, cited, uncited);
        assert_eq!(learned.next, learned.previous);
        learned.skipped
    };
    assert_eq!(found(LearningOutcome::Neutral, &cited, &zero), Some(SkipReason::NeutralOutcome));
    assert_eq!(found(LearningOutcome::Success, &[], &cited), Some(SkipReason::NoCitations));
    assert_eq!(found(LearningOutcome::Failure, &[], &[]), Some(SkipReason::NoCitations));
    assert_eq!(found(LearningOutcome::Success, &zero, &[]), Some(SkipReason::DegenerateProfile));
    // At the cold weights, equal memories teach nothing either, to the last part.
    assert_eq!(found(LearningOutcome::Success, &cited, &cited), None);
    let moved = repeat(COLD, 30, LearningOutcome::Success, &cited, &[]);
    assert_eq!(repeat(moved, 1000, LearningOutcome::Neutral, &cited, &zero), moved);
}

#[test]
fn the_similarity_weight_moves_only_when_similarities_are_compared() {
    let with = Factors { similarity: Some(900_000), ..four(1_000_000, 0, 0, 0) };
    let without = four(0, 500_000, 500_000, 500_000);
    for (cited, uncited) in
        [(with, vec![]), (with, vec![without]), (without, vec![with]), (without, vec![])]
    {
        for outcome in [LearningOutcome::Success, LearningOutcome::Failure] {
            let next = repeat(COLD, 100, outcome, &[cited], &uncited);
            assert_eq!(next.similarity(), COLD.similarity());
            assert_ne!(next, COLD);
        }
    }
    let far = Factors { similarity: Some(100_000), ..with };
    assert!(
        learn(&COLD, LearningOutcome::Success, &[with], &[far]).next.similarity()
            > COLD.similarity()
    );
}

#[test]
fn two_hundred_equal_successes_do_not_erase_a_weight() {
    // Fresh, hardly used memories: the profile that makes an unbounded average forget citations.
    let fresh = four(1_000_000, 100_343, 100_343, 500_000);
    let next = repeat(COLD, 200, LearningOutcome::Success, &[fresh], &[]);
    assert!(next.parts().iter().all(|part| *part >= WEIGHT_FLOOR));
    assert!(next.citation() >= COLD.citation() * 3 / 10, "{next:?}");
    // Compared with candidates that are just as fresh, nothing moves at all.
    assert_eq!(repeat(COLD, 200, LearningOutcome::Success, &[fresh], &[fresh]), COLD);
}

#[test]
fn two_hundred_equal_failures_stop_at_the_bounds() {
    for cited in [four(1_000_000, 0, 0, 0), four(1_000_000, 100_343, 100_343, 500_000)] {
        let next = repeat(COLD, 200, LearningOutcome::Failure, &[cited], &[]);
        assert!(
            next.parts().iter().all(|part| (WEIGHT_FLOOR..=WEIGHT_CAP).contains(part)),
            "{next:?}"
        );
        assert!(next.recency() < COLD.recency());
    }
}

#[test]
fn consistent_feedback_turns_the_order_of_two_candidates() {
    // kernel 53
    let trusted = four(500_000, 300_000, 700_000, 200_000);
    let declared = four(500_000, 300_000, 200_000, 900_000);
    let lead = |weights: &Weights| {
        i64::from(score(&trusted, weights)) - i64::from(score(&declared, weights))
    };
    assert!(lead(&COLD) > 0);

    let compared = repeat(COLD, 60, LearningOutcome::Success, &[declared], &[trusted]);
    assert!(lead(&compared) < 0, "success of the second puts it first: {compared:?}");
    let alone = repeat(COLD, 60, LearningOutcome::Success, &[declared], &[]);
    assert!(lead(&alone) < 0, "also without a comparison: {alone:?}");
    let failed = repeat(COLD, 60, LearningOutcome::Failure, &[trusted], &[declared]);
    assert!(lead(&failed) < 0, "failure of the first puts it second: {failed:?}");

    // And back again.
    let back = repeat(compared, 60, LearningOutcome::Success, &[trusted], &[declared]);
    assert!(lead(&back) > 0, "{back:?}");
    // Each step on the way helps; there is no oscillation.
    let mut weights = COLD;
    for _ in 0..60 {
        let next = learn(&weights, LearningOutcome::Success, &[declared], &[trusted]).next;
        assert!(lead(&next) <= lead(&weights));
        weights = next;
    }
}

#[test]
fn what_was_learned_fades_without_evidence() {
    let moved =
        repeat(COLD, 200, LearningOutcome::Success, &[only(0, 900_000)], &[only(0, 100_000)]);
    assert!(distance(moved.parts(), COLD.parts()) > 500_000_000, "{moved:?}");
    // Feedback in which nothing sets the cited apart only pulls back.
    let same = [only(0, 500_000)];
    let mut idle = moved;
    for _ in 0..2000 {
        let next = learn(&idle, LearningOutcome::Success, &same, &same).next;
        assert!(distance(next.parts(), COLD.parts()) <= distance(idle.parts(), COLD.parts()));
        idle = next;
    }
    let dull = repeat(moved, 2000, LearningOutcome::Success, &same, &same);
    assert!(distance(dull.parts(), COLD.parts()) < 1000, "{dull:?}");
}
