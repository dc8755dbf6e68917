//! The ranker's laws: any features are answered, places keep the order, damage is noticed.

use super::*;
use proptest::prelude::*;

fn some_signals() -> impl Strategy<Value = FeatureRow> {
    prop::collection::vec(0i32..3_000, FEATURES).prop_map(|values| {
        let mut signals = FeatureRow::default();
        signals.0.copy_from_slice(&values);
        signals
    })
}

// Q1
#[test]
fn the_model_is_of_these_features_and_small() {
    assert!(Ranker::parse(MODEL).is_some());
    assert!(MODEL.len() <= 48 << 10, "{} bytes", MODEL.len());
    assert!(Ranker::parse(&[MODEL, &[0]].concat()).is_none(), "bytes left over");
    for version in [4, 6, 8] {
        let mut other = MODEL.to_vec();
        other[version] ^= 1;
        assert!(Ranker::parse(&other).is_none(), "another version at {version}");
    }
}

proptest! {
    #[test]
    fn a_cut_model_is_refused(cut in 0..MODEL.len()) {
        prop_assert!(Ranker::parse(&MODEL[..cut]).is_none());
    }

    #[test]
    fn places_keep_the_order_of_margins(a in some_signals(), b in some_signals()) {
        let ranker = Ranker::shared();
        let (first, second) = (ranker.margin(&a), ranker.margin(&b));
        prop_assert!(first < second || ranker.place(first, 1_000_000) >= ranker.place(second, 1_000_000));
        prop_assert!(ranker.place(first, 1_000_000) <= 1_000_000);
    }

    // Q6
    #[test]
    fn who_is_further_behind_is_no_more_relevant(a in some_signals(), behind in 0i64..1 << 22, more in 0i64..1 << 20) {
        let ranker = Ranker::shared();
        let answerable = ranker.answerable(&[a]);
        let near = ranker.relevance(&answerable, behind, &FeatureRow::default());
        prop_assert!(near >= ranker.relevance(&answerable, behind + more, &FeatureRow::default()));
        prop_assert!(near <= answerable.probability);
    }

    #[test]
    fn many_at_once_are_as_each_alone(rows in prop::collection::vec(some_signals(), 0..5)) {
        let ranker = Ranker::shared();
        let alone: Vec<i64> = rows.iter().map(|row| ranker.margin(row)).collect();
        prop_assert_eq!(ranker.margins(&rows), alone);
    }

    #[test]
    fn any_numbers_are_answered(values in prop::collection::vec(any::<i32>(), FEATURES), count in 0usize..12) {
        let mut signals = FeatureRow::default();
        signals.0.copy_from_slice(&values);
        let ranker = Ranker::shared();
        let answerable = ranker.answerable(&vec![signals; count]);
        prop_assert!(ranker.relevance(&answerable, ranker.margin(&signals), &signals) <= 1_000);
        prop_assert!(ranker.reasons(&signals, &signals).is_empty());
    }
}
