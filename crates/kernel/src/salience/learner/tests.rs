//! Bounds and direction for any history: with the shares and the rounding that the learner uses itself.

use proptest::prelude::*;

use super::*;

const COLD: Weights = Weights::cold();

fn distance(a: [u32; 5], b: [u32; 5]) -> u64 {
    a.iter().zip(b).map(|(a, b)| u64::from(a.abs_diff(b))).sum()
}

fn any_factors() -> impl Strategy<Value = Factors> {
    (any::<[u32; 4]>(), prop::option::weighted(0.7, 0..=WHOLE), 0u8..6).prop_map(
        |(raw, similarity, shape)| {
            // Corners as well as the middle: all zero, one full, values beyond the scale.
            let [recency, access, citation, importance] = match shape {
                0 => [0; 4],
                1 => [WHOLE, 0, 0, 0],
                2 => [0, 0, 0, WHOLE],
                3 => raw,
                _ => raw.map(|value| value % (WHOLE + 1)),
            };
            Factors { recency, access, citation, importance, similarity }
        },
    )
}

fn any_step() -> impl Strategy<Value = (LearningOutcome, Vec<Factors>, Vec<Factors>)> {
    let outcome = prop_oneof![
        Just(LearningOutcome::Success),
        Just(LearningOutcome::Failure),
        Just(LearningOutcome::Neutral)
    ];
    let some = || prop::collection::vec(any_factors(), 0..4);
    (outcome, some(), some())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // Each case is a history of its own; together they are tens of thousands of steps. Repeating each input drives the
    // weights into the bounds, where the rounding is hardest.
    #[test]
    fn weights_stay_within_bounds_sum_exactly_and_move_little(
        steps in prop::collection::vec((any_step(), 1u32..60), 1..20),
    ) {
        let mut weights = COLD;
        for ((outcome, cited, uncited), times) in steps {
            for _ in 0..times {
                let learned = learn(&weights, outcome, &cited, &uncited);
                let parts = learned.next.parts();
                prop_assert_eq!(parts.iter().sum::<u32>(), WEIGHT_SUM);
                prop_assert!(parts.iter().all(|part| (WEIGHT_FLOOR..=WEIGHT_CAP).contains(part)), "{:?}", parts);
                // kernel 52: the step size is bounded (five parts of rounding aside).
                let most = (RATE + PULL) * (WEIGHT_SUM / WHOLE) + 5;
                for (part, before) in parts.iter().zip(weights.parts()) {
                    prop_assert!(part.abs_diff(before) <= most, "{:?} after {:?}", parts, weights);
                }
                prop_assert!(learned.previous == weights);
                prop_assert!(learned.skipped.is_none() || learned.next == weights);
                prop_assert_eq!(learn(&weights, outcome, &cited, &uncited), learned);
                weights = learned.next;
            }
        }
    }

    // kernel 52: from the cold weights every success shortens the way to the cited profile and every failure lengthens
    // it.
    #[test]
    fn any_profile_attracts_on_success_and_repels_on_failure(cited in any_factors()) {
        let cited = [Factors { similarity: None, ..cited }];
        let shares = means(&cited).map(u128::from);
        prop_assume!(shares.iter().sum::<u128>() > 0);
        let mass = WEIGHT_SUM - COLD.similarity();
        let mut target = COLD.parts();
        target[..4].copy_from_slice(&apportion(&shares[..4], mass).unwrap());
        let before = distance(COLD.parts(), target);
        let success = learn(&COLD, LearningOutcome::Success, &cited, &[]).next;
        let failure = learn(&COLD, LearningOutcome::Failure, &cited, &[]).next;
        // Parts of rounding decide only when the profile is the cold one already.
        prop_assume!(before > 1000);
        prop_assert!(distance(success.parts(), target) < before);
        prop_assert!(distance(failure.parts(), target) > before);
    }
}
