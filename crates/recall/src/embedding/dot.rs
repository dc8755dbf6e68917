//! The product of a wide vector with a narrow one, which ranking computes thousands of times for one question.

use std::hint::black_box;

/// Work that gains from wide instructions. `call` is to be `inline(always)` and all it calls too: what is not inlined
/// is compiled for the oldest machine. A closure does as well if the compiler inlines it, which it does with short ones
/// only.
pub(crate) use pulp::NullaryFnOnce as Wide;

/// Runs a loop over products or bits with the widest instructions of this machine. All of it is whole numbers, so the
/// result is the same on every machine.
#[inline]
pub(crate) fn widest<W: Wide>(run: W) -> W::Output {
    pulp::Arch::new().dispatch(run)
}

/// The caller knows that the sum fits.
#[expect(clippy::inline_always, reason = "a call would leave the instructions of `widest`")]
#[inline(always)]
pub(crate) fn dot<T: Copy>(wide: &[i16], narrow: &[T], widen: impl Fn(T) -> i16) -> i32 {
    // As plain as this, the compiler multiplies sixteen at once and adds the lanes up at the end.
    wide.iter().zip(narrow).map(|(a, b)| i32::from(*a) * i32::from(widen(*b))).sum()
}

/// Rows that are fetched together.
pub(crate) const FETCHED: usize = 32;

/// Bytes that memory hands over at once.
const LINE: usize = 64;

/// Reads a byte of each line of some rows. They lie far apart, and a wait for memory costs more than a product: asked
/// for together they come together.
#[expect(clippy::inline_always, reason = "a call would leave the instructions of `widest`")]
#[inline(always)]
pub(crate) fn fetch<'r, T: Copy + Into<i32> + 'r>(rows: impl Iterator<Item = &'r [T]>) {
    let mut sum = 0i32;
    for row in rows {
        for line in row.chunks(LINE) {
            sum ^= line[0].into();
        }
    }
    // Otherwise the compiler would leave it all out.
    black_box(sum);
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
