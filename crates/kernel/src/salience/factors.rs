//! The five factors of a memory's worth, and the score that [`Weights`] make of them.
//!
//! Every factor is monotone in its signal and lies in `0..=WHOLE`.

use std::num::NonZeroU64;

use proof::journal::Weights;
use proof::memory::{Head, Usage};

use super::DAY_MS;
use super::fixed::{self, Ppm, WHOLE};

/// Recency falls to 1/e after this long without use.
pub(super) const RECENCY_MS: u64 = 90 * DAY_MS.unsigned_abs();

/// Accesses or citations at which those factors are full.
pub(super) const FULL_COUNT: u64 = 1000;

/// No pinned memory scores less.
pub const PINNED_FLOOR: Ppm = 700_000;

/// What is known of one memory when it is ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signals {
    /// Unix milliseconds of the last access, or of the creation when it was never accessed.
    pub last_used: i64,
    pub accesses: u64,
    pub citations: u64,
    /// Declared importance.
    pub importance: Ppm,
    /// Similarity to the query, when there is a query to be similar to.
    pub similarity: Option<Ppm>,
    pub pinned: bool,
}

impl Signals {
    /// What head and usage say of a memory.
    pub fn of(head: &Head, usage: &Usage, similarity: Option<Ppm>) -> Signals {
        Signals {
            last_used: usage.last_access.unwrap_or(head.created).get(),
            accesses: usage.accesses,
            citations: usage.citations,
            importance: head.importance,
            similarity,
            pinned: head.pinned,
        }
    }
}

/// The signals on one scale, each in `0..=WHOLE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factors {
    pub recency: Ppm,
    pub access: Ppm,
    pub citation: Ppm,
    pub importance: Ppm,
    pub similarity: Option<Ppm>,
}

impl Factors {
    /// The four factors that every memory has, in the order of [`Weights`].
    pub fn known(&self) -> [Ppm; 4] {
        [self.recency, self.access, self.citation, self.importance]
    }
}

/// Puts the signals of one memory on one scale.
pub fn factors(signals: &Signals, now: i64) -> Factors {
    // A clock that went back must not make a memory better than one used just now.
    let idle = now.saturating_sub(signals.last_used).max(0).unsigned_abs();
    Factors {
        recency: fixed::exp_neg_ppm(fixed::quotient(idle, RECENCY_MS)),
        access: count_factor(signals.accesses),
        citation: count_factor(signals.citations),
        importance: signals.importance.min(WHOLE),
        similarity: signals.similarity.map(|similarity| similarity.min(WHOLE)),
    }
}

/// ln(1 + n) / ln(1 + `FULL_COUNT`), rounded to the nearest part.
fn count_factor(n: u64) -> Ppm {
    const ONE: NonZeroU64 = NonZeroU64::MIN;
    let found = fixed::log2(ONE.saturating_add(n.min(FULL_COUNT)));
    let full = fixed::log2(ONE.saturating_add(FULL_COUNT));
    Ppm::try_from((found * u128::from(WHOLE) + full / 2) / full).unwrap_or(WHOLE)
}

/// The weighted mean of the factors, rounded to the nearest part.
///
/// Without a similarity the other four share its weight in proportion, so that scores with and without a query use the
/// whole scale.
pub fn score(factors: &Factors, weights: &Weights) -> Ppm {
    let mut total = 0;
    let mut mass = 0;
    let known = factors.known().map(Some);
    for (factor, weight) in known.iter().chain([&factors.similarity]).zip(weights.parts()) {
        if let Some(factor) = factor {
            total += u64::from(*factor) * u64::from(weight);
            mass += u64::from(weight);
        }
    }
    Ppm::try_from((total + mass / 2) / mass).unwrap_or(WHOLE).min(WHOLE)
}

/// Lifts the score of a pinned memory to [`PINNED_FLOOR`].
pub fn pinned_floor(score: Ppm, pinned: bool) -> Ppm {
    if pinned { score.max(PINNED_FLOOR) } else { score }
}

/// The score of one memory with the floor of pinned ones: what rankings sort by.
pub fn salience(signals: &Signals, now: i64, weights: &Weights) -> Ppm {
    pinned_floor(score(&factors(signals, now), weights), signals.pinned)
}

#[cfg(test)]
#[allow(clippy::cast_precision_loss)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: i64 = 1_790_000_000_000;
    const PLAIN: Signals = Signals {
        last_used: NOW,
        accesses: 0,
        citations: 0,
        importance: 500_000,
        similarity: None,
        pinned: false,
    };

    #[test]
    fn recency_falls_to_one_over_e_in_ninety_days_and_clamps_the_future() {
        // kernel 49
        let at =
            |days: i64| factors(&Signals { last_used: NOW - days * DAY_MS, ..PLAIN }, NOW).recency;
        assert_eq!(at(0), WHOLE);
        assert_eq!(at(-5), WHOLE);
        assert_eq!(at(90), 367_879);
        assert_eq!(at(180), 135_335);
        assert_eq!(at(10_000), 0);
        for days in 0..2000 {
            let oracle = (-(days as f64) / 90.0).exp() * 1e6;
            assert!((f64::from(at(days)) - oracle).abs() <= 0.51, "{days} days");
            assert!(at(days + 1) <= at(days));
        }
    }

    #[test]
    fn extreme_clocks_do_not_overflow() {
        let at = |last_used, now| factors(&Signals { last_used, ..PLAIN }, now).recency;
        assert_eq!(at(i64::MIN, i64::MAX), 0);
        assert_eq!(at(i64::MAX, i64::MIN), WHOLE);
    }

    #[test]
    fn counts_grow_with_the_logarithm_and_are_full_at_a_thousand() {
        // kernel 49
        for n in 0..1500u64 {
            let found = factors(&Signals { accesses: n, citations: n, ..PLAIN }, NOW);
            let more = factors(&Signals { accesses: n + 1, citations: n + 1, ..PLAIN }, NOW);
            let oracle = (((1 + n) as f64).ln() / 1001f64.ln()).min(1.0) * 1e6;
            assert!((f64::from(found.access) - oracle).abs() <= 0.51, "{n}");
            assert_eq!(found.access, found.citation);
            assert!(if n < FULL_COUNT { more.access > found.access } else { more == found });
        }
        assert_eq!(factors(&Signals { accesses: u64::MAX, ..PLAIN }, NOW).access, WHOLE);
    }

    #[test]
    fn importance_and_similarity_are_taken_as_they_are_and_clamped() {
        // kernel 49
        let with = |importance, similarity| {
            let found = factors(&Signals { importance, similarity, ..PLAIN }, NOW);
            (found.importance, found.similarity)
        };
        assert_eq!(with(300_000, None), (300_000, None));
        assert_eq!(with(u32::MAX, Some(u32::MAX)), (WHOLE, Some(WHOLE)));
    }

    #[test]
    fn the_score_weighs_the_factors_and_renormalises_without_similarity() {
        // kernel 49
        let four = Factors {
            recency: 800_000,
            access: 100_000,
            citation: 600_000,
            importance: 500_000,
            similarity: None,
        };
        let five = Factors { similarity: Some(900_000), ..four };
        // .25*.8 + .15*.1 + .30*.6 + .20*.5 = .495
        assert_eq!(score(&four, &Weights::cold()), 550_000);
        assert_eq!(score(&five, &Weights::cold()), 585_000);
        let full = Factors {
            recency: WHOLE,
            access: WHOLE,
            citation: WHOLE,
            importance: WHOLE,
            similarity: None,
        };
        assert_eq!(score(&full, &Weights::cold()), WHOLE);
        assert_eq!(score(&Factors { similarity: Some(WHOLE), ..full }, &Weights::cold()), WHOLE);
    }

    #[test]
    fn pinned_memories_have_a_floor_but_no_ceiling() {
        assert_eq!(pinned_floor(100, true), PINNED_FLOOR);
        assert_eq!(pinned_floor(900_000, true), 900_000);
        assert_eq!(pinned_floor(100, false), 100);
        let old = Signals { last_used: 0, importance: 0, ..PLAIN };
        assert_eq!(salience(&old, NOW, &Weights::cold()), 0);
        assert_eq!(salience(&Signals { pinned: true, ..old }, NOW, &Weights::cold()), PINNED_FLOOR);
    }

    proptest! {
        // kernel 49: a better signal never lowers the score.
        #[test]
        fn the_score_is_monotone_in_every_signal(
            idle in 0i64..400 * DAY_MS, n in 0u64..2000, m in 0u64..2000,
            importance in 0u32..=WHOLE, similarity in 0u32..=WHOLE, more in 1u32..1000,
        ) {
            let base = Signals {
                last_used: NOW - idle, accesses: n, citations: m, importance,
                similarity: Some(similarity), pinned: false,
            };
            let value = |signals: Signals| salience(&signals, NOW, &Weights::cold());
            let low = value(base);
            let better = [
                Signals { last_used: base.last_used + i64::from(more), ..base },
                Signals { accesses: n + u64::from(more), ..base },
                Signals { citations: m + u64::from(more), ..base },
                Signals { importance: importance + more, ..base },
                Signals { similarity: Some(similarity + more), ..base },
            ];
            for signals in better {
                prop_assert!(value(signals) >= low, "{:?}", signals);
            }
        }
    }
}
