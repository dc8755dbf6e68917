//! The product of a wide vector with a narrow one, which ranking computes thousands of times for one question.

/// Runs a loop over products or bits with the widest instructions of this machine. All of it is whole numbers, so the
/// result is the same on every machine. Only what is inlined into the loop gains.
#[inline]
pub(crate) fn widest<T>(run: impl FnOnce() -> T) -> T {
    pulp::Arch::new().dispatch(run)
}

/// In steps of sixteen, widened before they are multiplied: the compiler makes one instruction of eight products. The caller
/// knows that the sum fits.
#[expect(clippy::inline_always, reason = "a call would leave the instructions of `widest`")]
#[inline(always)]
pub(crate) fn dot<T: Copy>(wide: &[i16], narrow: &[T], widen: impl Fn(T) -> i16) -> i32 {
    let ((wides, wide_rest), (steps, rest)) = (wide.as_chunks::<16>(), narrow.as_chunks::<16>());
    let mut sum = 0;
    for (wide, step) in wides.iter().zip(steps) {
        let mut widened = [0i16; 16];
        for (to, from) in widened.iter_mut().zip(step) {
            *to = widen(*from);
        }
        for (a, b) in wide.iter().zip(&widened) {
            sum += i32::from(*a) * i32::from(*b);
        }
    }
    for (a, b) in wide_rest.iter().zip(rest) {
        sum += i32::from(*a) * i32::from(widen(*b));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_the_sum_of_the_products(
            pairs in prop::collection::vec((-2000i16..2000, any::<i8>()), 0..70),
        ) {
            let (wide, narrow): (Vec<i16>, Vec<i8>) = pairs.iter().copied().unzip();
            let sum: i32 = pairs.iter().map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
            prop_assert_eq!(dot(&wide, &narrow, i16::from), sum);
        }
    }
}
