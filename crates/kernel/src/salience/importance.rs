//! The additive importance score of an observation, from 0 to 5.
//!
//! The score is the exact sum of its terms, rounded once at the end to thousandths, so it does not depend on the order
//! of the additions or on how often it was computed before.

use super::DAY_MS;

/// Every observation starts here.
const BASE: u32 = 500;
const PER_ACCESS: u64 = 100;
const ACCESS_CAP: u64 = 1000;
/// Added while the last access is at most one day ago.
const RECENT: u32 = 500;
const PER_EDGE: u32 = 200;
const EDGE_CAP: u32 = 1000;
const PER_DAY: u64 = 10;
const AGE_CAP: u64 = 500;

/// The largest score, in thousandths.
const MAX_SCORE: u32 = 5000;

/// What an observation of this kind is worth beyond the base, in thousandths.
fn kind_bonus(kind: &str) -> u32 {
    match kind {
        "decision" | "architecture" => 500,
        "bugfix" => 300,
        "pattern" => 200,
        "discovery" => 150,
        "config" | "learning" => 100,
        _ => 0,
    }
}

/// The score in thousandths, `0..=5000`, rounded to the nearest.
///
/// Age counts in fractions of a day. A creation time after `now` has no age, and an access after `now` is recent,
/// because a skewed clock is no reason to punish a memory.
pub fn importance_score(
    kind: &str,
    created: i64,
    accesses: u64,
    last_access: Option<i64>,
    edges_in: u32,
    now: i64,
) -> u32 {
    let day = DAY_MS.unsigned_abs();
    let used = u64::min(accesses.saturating_mul(PER_ACCESS), ACCESS_CAP);
    let linked = edges_in.saturating_mul(PER_EDGE).min(EDGE_CAP);
    let recent = last_access.is_some_and(|last| now.saturating_sub(last) <= DAY_MS);
    let gained =
        used + u64::from(BASE + if recent { RECENT } else { 0 } + linked + kind_bonus(kind));

    // In thousandths times milliseconds per day, where the age has no fraction to lose.
    let age = now.saturating_sub(created).max(0).unsigned_abs();
    let lost = age.saturating_mul(PER_DAY).min(AGE_CAP * day);
    let exact = (gained * day).saturating_sub(lost);
    u32::try_from((exact + day / 2) / day).unwrap_or(MAX_SCORE).min(MAX_SCORE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const T: i64 = 1_790_000_000_000;
    const HOUR: i64 = 3_600_000;

    #[test]
    fn the_golden_vectors_hold() {
        let days = |n: i64| T - n * DAY_MS;
        let vectors = [
            ("manual", T, 0, None, 0, 500),
            ("decision", T, 0, None, 0, 1000),
            ("decision", days(10), 3, Some(T - HOUR), 2, 2100),
            ("bugfix", days(100), 25, Some(days(2)), 9, 2300),
            ("manual", days(60), 0, None, 0, 0),
            ("discovery", days(400), 0, None, 0, 150),
            ("decision", T, 10, Some(T), 5, 3500),
            ("decision", T, u64::MAX, Some(T), u32::MAX, 3500),
        ];
        for (kind, created, accesses, last, edges, expected) in vectors {
            assert_eq!(
                importance_score(kind, created, accesses, last, edges, T),
                expected,
                "{kind} {created} {accesses} {last:?} {edges}"
            );
        }
    }

    #[test]
    fn exactly_one_day_is_still_recent() {
        let at = |last| importance_score("manual", T, 1, Some(last), 0, T);
        assert_eq!(at(T - DAY_MS), 1100);
        assert_eq!(at(T - DAY_MS - 1), 600);
        assert_eq!(at(T + HOUR), 1100);
    }

    #[test]
    fn every_kind_has_its_bonus() {
        let kinds = [
            ("decision", 500),
            ("architecture", 500),
            ("bugfix", 300),
            ("pattern", 200),
            ("discovery", 150),
            ("config", 100),
            ("learning", 100),
            ("manual", 0),
            ("", 0),
        ];
        for (kind, bonus) in kinds {
            assert_eq!(importance_score(kind, T, 0, None, 0, T), 500 + bonus, "{kind}");
        }
    }

    #[test]
    fn age_counts_in_fractions_of_a_day() {
        assert_eq!(importance_score("manual", T - DAY_MS / 2, 0, None, 0, T), 495);
        assert_eq!(importance_score("manual", T - DAY_MS / 10, 0, None, 0, T), 499);
        assert_eq!(importance_score("manual", T + DAY_MS, 0, None, 0, T), 500);
        assert_eq!(importance_score("manual", i64::MIN, 0, Some(i64::MIN), 0, i64::MAX), 0);
    }

    proptest! {
        #[test]
        fn it_agrees_with_floating_point(
            age in 0i64..100 * DAY_MS, accesses in 0u64..20, idle in 0i64..3 * DAY_MS, edges in 0u32..9,
        ) {
            let found = importance_score("bugfix", T - age, accesses, Some(T - idle), edges, T);
            #[allow(clippy::cast_precision_loss)]
            let oracle = 0.5 + (0.1 * accesses as f64).min(1.0) + (0.2 * f64::from(edges)).min(1.0) + 0.3
                + if idle <= DAY_MS { 0.5 } else { 0.0 }
                - (0.01 * age as f64 / DAY_MS as f64).min(0.5);
            prop_assert!((f64::from(found) - oracle.clamp(0.0, 5.0) * 1000.0).abs() <= 0.500_1);
        }
    }
}
