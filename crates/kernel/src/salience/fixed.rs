//! Exponentials and logarithms in integers.
//!
//! Arguments are unsigned fixed point with [`FRACTION_BITS`] fractional bits, results of the exponentials have
//! [`UNIT_BITS`]. Floating-point library functions may differ in the last bit between machines; a ranking that is
//! replayed and hashed must not. Two promises hold for every function: the stated error bound, and that it is monotone
//! over its whole domain, so that a larger signal can never lower a factor.

use std::num::NonZeroU64;

/// Parts per million; factors and scores lie in `0..=WHOLE`.
pub type Ppm = u32;

/// One, in parts per million.
pub const WHOLE: Ppm = 1_000_000;

/// Fractional bits of exponents and logarithms.
pub(super) const FRACTION_BITS: u32 = 48;

/// Fractional bits of the values in `[0, 1]` that the exponentials return.
pub(super) const UNIT_BITS: u32 = 62;

const UNIT: u128 = 1 << UNIT_BITS;

/// 1 / ln 2 with `UNIT_BITS` fractional bits, rounded down.
const LOG2_E: u128 = 6_653_256_548_922_161_245;

/// `ROOTS[i]` is 2^-(2^-(i+1)): one factor for each fractional bit of an exponent.
///
/// Built by repeated square roots so that no table of magic numbers has to be trusted; each entry is less than two
/// units of the last place too small.
const ROOTS: [u128; FRACTION_BITS as usize] = {
    let mut roots = [0; FRACTION_BITS as usize];
    let mut previous = UNIT / 2;
    let mut i = 0;
    while i < roots.len() {
        previous = (previous << UNIT_BITS).isqrt();
        roots[i] = previous;
        i += 1;
    }
    roots
};

/// `numerator / denominator` as an exponent, rounded down; a zero denominator counts as one.
pub(super) fn quotient(numerator: u64, denominator: u64) -> u128 {
    (u128::from(numerator) << FRACTION_BITS) / u128::from(denominator.max(1))
}

/// 2^-x with `UNIT_BITS` fractional bits; at most 2^-54 too small, never too large.
///
/// Monotone: neighbouring exponents differ by more than 2^12 units of the last place before the final shift, and the
/// rounding of the up to 48 products stays below 200.
pub(super) fn exp2_neg(x: u128) -> u128 {
    let whole = x >> FRACTION_BITS;
    if whole >= u128::from(UNIT_BITS) {
        return 0;
    }
    let mut value = UNIT;
    for (i, root) in ROOTS.iter().enumerate() {
        if x >> (ROOTS.len() - 1 - i) & 1 == 1 {
            value = (value * root) >> UNIT_BITS;
        }
    }
    value >> whole
}

/// e^-x with `UNIT_BITS` fractional bits; the error is below 2^-47.
pub(super) fn exp_neg(x: u128) -> u128 {
    // e^-64 is below 2^-62 as well; stopping here also keeps the product inside 128 bits.
    if x >> FRACTION_BITS >= 64 {
        return 0;
    }
    exp2_neg((x * LOG2_E) >> UNIT_BITS)
}

/// A value in `[0, 1]` with `UNIT_BITS` fractional bits, rounded to the nearest part per million.
pub(super) fn unit_to_ppm(unit: u128) -> Ppm {
    let rounded = (unit.min(UNIT) * u128::from(WHOLE) + UNIT / 2) >> UNIT_BITS;
    Ppm::try_from(rounded).unwrap_or(WHOLE)
}

/// e^-x in parts per million; within one part of the true value.
pub(super) fn exp_neg_ppm(x: u128) -> Ppm {
    unit_to_ppm(exp_neg(x))
}

/// log2 n with `FRACTION_BITS` fractional bits; less than 2^-47 too small, never too large.
///
/// One squaring of the mantissa yields one bit. Squaring and truncating keep the order of two mantissas, which makes
/// the digits, and so the result, monotone in n.
pub(super) fn log2(n: NonZeroU64) -> u128 {
    let mut mantissa = u128::from(n.get()) << n.leading_zeros();
    let mut bits = u128::from(n.ilog2());
    for _ in 0..FRACTION_BITS {
        mantissa = (mantissa * mantissa) >> 63;
        let carry = mantissa >> 64;
        mantissa >>= carry;
        bits = bits << 1 | carry;
    }
    bits
}

#[cfg(test)]
#[allow(clippy::cast_precision_loss)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SCALE: f64 = (1u64 << FRACTION_BITS) as f64;

    fn unit(value: u128) -> f64 {
        value as f64 / UNIT as f64
    }

    fn nonzero(n: u64) -> NonZeroU64 {
        NonZeroU64::new(n).unwrap()
    }

    #[test]
    fn exponentials_agree_with_floating_point_over_a_dense_range() {
        let step = (1u128 << FRACTION_BITS) / 997;
        for i in 0..50_000u128 {
            let x = i * step + i % 7;
            let real = x as f64 / SCALE;
            assert!((unit(exp2_neg(x)) - (-real).exp2()).abs() < 1e-14, "2^-{real}");
            assert!((unit(exp_neg(x)) - (-real).exp()).abs() < 1e-14, "e^-{real}");
            let ppm = f64::from(exp_neg_ppm(x));
            assert!((ppm - (-real).exp() * 1e6).abs() <= 0.500_1, "e^-{real} in ppm");
        }
    }

    #[test]
    fn exponentials_are_exact_at_their_ends() {
        assert_eq!(exp2_neg(0), UNIT);
        assert_eq!(exp_neg_ppm(0), WHOLE);
        for n in 0..UNIT_BITS {
            assert_eq!(exp2_neg(u128::from(n) << FRACTION_BITS), UNIT >> n);
        }
        assert_eq!(exp2_neg(u128::MAX), 0);
        assert_eq!(exp_neg(u128::MAX), 0);
        assert_eq!(exp_neg_ppm(1 << 70), 0);
    }

    #[test]
    fn exponentials_never_rise_between_neighbours() {
        // Neighbours around every power of two of the exponent, where the most products change at once.
        for shift in 0..54 {
            for x in (1u128 << shift).saturating_sub(300)..(1u128 << shift) + 300 {
                assert!(exp2_neg(x + 1) <= exp2_neg(x), "2^-x rises at {x}");
                assert!(exp_neg(x + 1) <= exp_neg(x), "e^-x rises at {x}");
            }
        }
    }

    #[test]
    fn logarithms_agree_with_floating_point_and_are_exact_for_powers_of_two() {
        for shift in 0..64u32 {
            assert_eq!(log2(nonzero(1 << shift)), u128::from(shift) << FRACTION_BITS);
        }
        for n in (1..200_000).chain((0..1000).map(|i| u64::MAX - i * i * i * 7)) {
            let found = log2(nonzero(n)) as f64 / SCALE;
            assert!((found - (n as f64).log2()).abs() < 2e-14 * 64.0, "log2 {n}");
        }
    }

    #[test]
    fn logarithms_never_fall_between_neighbours() {
        for n in 1..200_000 {
            assert!(log2(nonzero(n)) < log2(nonzero(n + 1)), "log2 does not rise at {n}");
        }
        assert!(log2(nonzero(u64::MAX - 1)) <= log2(NonZeroU64::MAX));
    }

    proptest! {
        #[test]
        fn order_is_kept_for_any_pair(a in 0u128..1 << 54, b in 0u128..1 << 54, n in 1u64.., m in 1u64..) {
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(exp2_neg(high) <= exp2_neg(low));
            prop_assert!(exp_neg(high) <= exp_neg(low));
            prop_assert!(exp_neg_ppm(high) <= exp_neg_ppm(low));
            prop_assert!(log2(nonzero(n.min(m))) <= log2(nonzero(n.max(m))));
        }

        #[test]
        fn quotients_round_down(n: u64, d in 1u64..) {
            let q = quotient(n, d);
            prop_assert!(q * u128::from(d) <= u128::from(n) << FRACTION_BITS);
            prop_assert!((q + 1) * u128::from(d) > u128::from(n) << FRACTION_BITS);
        }
    }
}
