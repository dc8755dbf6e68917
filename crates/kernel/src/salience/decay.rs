//! How importance fades when a memory is not used.
//!
//! The result is a function of the undecayed importance and of time, never of an earlier result. Maintenance may run
//! hourly, weekly, twice in a row or after a long stop: the answer for one moment is always the same. Callers keep the
//! base and the last use; they may store the result for reading but must not feed it back in as the base.

use std::num::NonZeroU64;

use super::DAY_MS;
use super::fixed::{self, Ppm, WHOLE};
use crate::error::{Error, Result};

/// When importance starts to fade and how fast.
///
/// The factor is defined per maintenance interval, and `period_ms` is that interval: one day by default. Between whole
/// periods the exponent is fractional, so the number of runs inside a period does not matter. Setting a longer period
/// (a week) keeps memories longer, a shorter one (an hour) forgets faster; running maintenance more often does neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecayPolicy {
    /// A memory used within this time does not fade.
    pub idle_before_ms: i64,
    /// What remains after one period.
    pub factor: Ppm,
    pub period_ms: i64,
}

impl Default for DecayPolicy {
    fn default() -> DecayPolicy {
        DecayPolicy { idle_before_ms: 30 * DAY_MS, factor: 950_000, period_ms: DAY_MS }
    }
}

impl DecayPolicy {
    /// Refuses values that make no sense; for the edge where configuration comes in.
    pub fn validate(&self) -> Result<()> {
        if self.factor > WHOLE {
            return Err(Error::invalid("decay_factor", "must be from 0 to 1"));
        }
        if self.idle_before_ms < 0 {
            return Err(Error::invalid("decay_idle", "must not be negative"));
        }
        if self.period_ms <= 0 {
            return Err(Error::invalid("maintenance_interval", "must be longer than zero"));
        }
        Ok(())
    }
}

/// The importance at `now`: `base * factor^((idle - idle_before) / period)` once the memory was idle for longer than
/// `idle_before`, and `base` until then.
///
/// Exempt memories (identity, pinned) never fade. Values that [`DecayPolicy::validate`] refuses are clamped: a wrong
/// policy must not raise importance or panic.
pub fn decayed_importance(
    base: Ppm,
    exempt: bool,
    last_used: i64,
    now: i64,
    policy: &DecayPolicy,
) -> Ppm {
    let base = base.min(WHOLE);
    let grace = policy.idle_before_ms.max(0);
    let over = now.saturating_sub(last_used).saturating_sub(grace).max(0).unsigned_abs();
    if exempt || over == 0 || policy.factor >= WHOLE {
        return base;
    }
    let Some(factor) = NonZeroU64::new(u64::from(policy.factor)) else { return 0 };
    let whole = NonZeroU64::MIN.saturating_add(u64::from(WHOLE) - 1);
    // -log2(factor) is below 20 and `over` below 2^63, so the product needs at most 48 + 5 + 63 bits.
    let rate = fixed::log2(whole) - fixed::log2(factor);
    let period = policy.period_ms.max(1).unsigned_abs();
    let left = fixed::exp2_neg(rate * u128::from(over) / u128::from(period));
    let rounded = (u128::from(base) * left + (1 << (fixed::UNIT_BITS - 1))) >> fixed::UNIT_BITS;
    Ppm::try_from(rounded).unwrap_or(base)
}

#[cfg(test)]
#[allow(clippy::cast_precision_loss)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const T: i64 = 1_790_000_000_000;

    fn after(days: i64, policy: &DecayPolicy) -> Ppm {
        decayed_importance(800_000, false, T, T + days * DAY_MS, policy)
    }

    #[test]
    fn nothing_fades_before_thirty_days_and_five_per_cent_goes_per_day_after() {
        // mind 71, 72, 73
        let policy = DecayPolicy::default();
        assert_eq!(after(-3, &policy), 800_000);
        assert_eq!(after(0, &policy), 800_000);
        assert_eq!(after(30, &policy), 800_000);
        assert_eq!(after(31, &policy), 760_000);
        assert_eq!(after(32, &policy), 722_000);
        assert_eq!(after(10_000, &policy), 0);
    }

    #[test]
    fn identity_and_pinned_never_fade() {
        // mind 75
        let policy = DecayPolicy::default();
        assert_eq!(decayed_importance(900_000, true, T, i64::MAX, &policy), 900_000);
    }

    #[test]
    fn the_interval_is_the_unit_of_the_factor() {
        // mind 121, 122, 123
        let with = |factor, period_ms| DecayPolicy { factor, period_ms, ..DecayPolicy::default() };
        assert_eq!(after(31, &with(900_000, DAY_MS)), 720_000);
        assert_eq!(after(31, &with(980_000, DAY_MS)), 784_000);
        assert_eq!(after(37, &with(950_000, 7 * DAY_MS)), 760_000);
        assert_eq!(after(31, &with(950_000, DAY_MS / 24)), 233_591);
    }

    #[test]
    fn bad_policies_are_refused_and_harmless() {
        let good = DecayPolicy::default();
        assert!(good.validate().is_ok());
        for bad in [
            DecayPolicy { factor: WHOLE + 1, ..good },
            DecayPolicy { idle_before_ms: -1, ..good },
            DecayPolicy { period_ms: 0, ..good },
            DecayPolicy { period_ms: i64::MIN, ..good },
        ] {
            assert!(bad.validate().is_err(), "{bad:?}");
            assert!(after(40, &bad) <= 800_000, "{bad:?}");
        }
        assert_eq!(after(31, &DecayPolicy { factor: 0, ..good }), 0);
        assert_eq!(after(31, &DecayPolicy { factor: WHOLE, ..good }), 800_000);
        let slow = DecayPolicy { factor: 1, period_ms: 1, idle_before_ms: 0 };
        assert_eq!(decayed_importance(WHOLE, false, i64::MIN, i64::MAX, &slow), 0);
    }

    proptest! {
        #[test]
        fn it_never_rises_with_time_nor_above_its_base(
            base in 0u32..=WHOLE, factor in 0u32..=WHOLE, period in 1i64..40 * DAY_MS,
            idle in 0i64..400 * DAY_MS, more in 0i64..40 * DAY_MS,
        ) {
            let policy = DecayPolicy { factor, period_ms: period, ..DecayPolicy::default() };
            let early = decayed_importance(base, false, T, T + idle, &policy);
            let late = decayed_importance(base, false, T, T + idle + more, &policy);
            prop_assert!(late <= early && early <= base);
        }

        // mind 131: a store that was maintained on any schedule shows what one maintained once shows.
        #[test]
        fn the_frequency_of_runs_does_not_matter(
            base in 0u32..=WHOLE, gaps in prop::collection::vec(1i64..5 * DAY_MS, 1..60),
        ) {
            let maintained = |gaps: &[i64]| {
                let (mut now, mut shown) = (T, base);
                for gap in gaps {
                    now += gap;
                    shown = decayed_importance(base, false, T, now, &DecayPolicy::default());
                }
                shown
            };
            prop_assert_eq!(maintained(&gaps), maintained(&[gaps.iter().sum()]));
        }

        // Fading to a moment and then on from there is the same as fading at once, but for the rounding of the middle.
        #[test]
        fn periods_compose(base in 0u32..=WHOLE, first in 0i64..90 * DAY_MS, second in 0i64..90 * DAY_MS) {
            let policy = DecayPolicy { idle_before_ms: 0, ..DecayPolicy::default() };
            let middle = decayed_importance(base, false, T, T + first, &policy);
            let twice = decayed_importance(middle, false, T, T + second, &policy);
            let once = decayed_importance(base, false, T, T + first + second, &policy);
            prop_assert!(twice.abs_diff(once) <= 1);
        }

        #[test]
        fn it_agrees_with_floating_point(
            base in 0u32..=WHOLE, factor in 1u32..WHOLE, period in 1i64..40 * DAY_MS, idle in 0i64..4000 * DAY_MS,
        ) {
            let policy = DecayPolicy { factor, period_ms: period, ..DecayPolicy::default() };
            let found = f64::from(decayed_importance(base, false, T, T + idle, &policy)) / 1e6;
            let periods = (idle - policy.idle_before_ms).max(0) as f64 / period as f64;
            let oracle = f64::from(base) / 1e6 * (f64::from(factor) / 1e6).powf(periods);
            prop_assert!((found - oracle).abs() < 1e-4, "{found} {oracle}");
        }
    }
}
