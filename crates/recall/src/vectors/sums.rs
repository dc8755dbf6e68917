//! Sums of a question's components, each times its number in a sketch: what a scan computes for every vector there is.
//!
//! One loop in plain Rust for every machine, and one with the instructions of AVX2, which multiply bytes with bytes and
//! are four times as fast; the compiler does not find them by itself. What must stay true: both give the same sums.

use crate::embedding::{Wide, widest};

use super::sketch::PER_BYTE;

/// For each place in a byte the components that sketches have there.
pub(super) type Parts = [Vec<i8>; PER_BYTE];

/// Writes what `told` makes of the sum of each sketch.
pub(super) fn each(parts: &Parts, sketches: &[u8], out: &mut [u16], told: impl Fn(i32) -> u16) {
    #[cfg(target_arch = "x86_64")]
    if let (Some(simd), Some(parts)) = (pulp::x86::V3::try_new(), avx2::Lanes::new(parts)) {
        return simd.vectorize(avx2::Each { simd, parts, sketches, out, told });
    }
    widest(Each { parts, sketches, out, told });
}

struct Each<'e, T> {
    parts: &'e Parts,
    sketches: &'e [u8],
    out: &'e mut [u16],
    told: T,
}

impl<T: Fn(i32) -> u16> Wide for Each<'_, T> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "a call would leave the instructions of `widest`")]
    #[inline(always)]
    fn call(self) {
        let rows = self.sketches.chunks_exact(self.parts[0].len().max(1));
        for (out, row) in self.out.iter_mut().zip(rows) {
            *out = (self.told)(sum(row, self.parts));
        }
    }
}

#[expect(clippy::inline_always, reason = "a call would leave the instructions of `widest`")]
#[inline(always)]
fn sum(sketch: &[u8], [a, b, c, d]: &Parts) -> i32 {
    let others = a.iter().zip(b).zip(c.iter().zip(d));
    let each = sketch.iter().zip(others).map(|(byte, ((a, b), (c, d)))| {
        let number = |shift: u32| i16::from(byte >> shift & 3);
        // Four products of at most 127 * 3.
        let sum = i16::from(*a) * number(0)
            + i16::from(*b) * number(2)
            + i16::from(*c) * number(4)
            + i16::from(*d) * number(6);
        i32::from(sum)
    });
    each.sum()
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::__m256i;

    use pulp::bytemuck::cast;
    use pulp::x86::V3;

    use super::{PER_BYTE, Parts, Wide};

    /// Bytes that are multiplied at once.
    const WIDTH: usize = 32;
    /// Of a sketch of the default model.
    const ROW: usize = 2;

    /// The components, as many together as fit.
    pub(super) struct Lanes([[[i8; WIDTH]; PER_BYTE]; ROW]);

    impl Lanes {
        /// `None` for sketches of another width.
        pub(super) fn new(parts: &Parts) -> Option<Lanes> {
            let mut lanes = [[[0; WIDTH]; PER_BYTE]; ROW];
            for (place, part) in parts.iter().enumerate() {
                let part: &[[i8; WIDTH]; ROW] = part.as_chunks().0.try_into().ok()?;
                for (lanes, part) in lanes.iter_mut().zip(part) {
                    lanes[place] = *part;
                }
            }
            (parts.iter().all(|part| part.len() == WIDTH * ROW)).then_some(Lanes(lanes))
        }
    }

    pub(super) struct Each<'e, T> {
        pub(super) simd: V3,
        pub(super) parts: Lanes,
        pub(super) sketches: &'e [u8],
        pub(super) out: &'e mut [u16],
        pub(super) told: T,
    }

    impl<T: Fn(i32) -> u16> Wide for Each<'_, T> {
        type Output = ();

        #[expect(
            clippy::inline_always,
            reason = "a call would leave the instructions of `vectorize`"
        )]
        #[inline(always)]
        fn call(self) {
            let Each { simd, parts, sketches, out, told } = self;
            let (rows, rest) = sketches.as_chunks::<{ WIDTH * ROW }>().0.as_chunks::<TOGETHER>();
            let (told_rows, told_rest) = out.as_chunks_mut::<TOGETHER>();
            for (out, rows) in told_rows.iter_mut().zip(rows) {
                for (out, sum) in out.iter_mut().zip(sums(simd, &parts, rows)) {
                    *out = told(sum);
                }
            }
            // The last few beside rows of nothing.
            let mut rows = [[0; WIDTH * ROW]; TOGETHER];
            rows.iter_mut().zip(rest).for_each(|(to, row)| *to = *row);
            for (out, sum) in told_rest.iter_mut().zip(sums(simd, &parts, &rows)) {
                *out = told(sum);
            }
        }
    }

    /// Rows whose lanes are added up together: one by one that would cost as much as the products.
    const TOGETHER: usize = 8;

    #[expect(clippy::inline_always, reason = "a call would leave the instructions of `vectorize`")]
    #[inline(always)]
    fn sums(simd: V3, parts: &Lanes, rows: &[[u8; WIDTH * ROW]; TOGETHER]) -> [i32; TOGETHER] {
        let mut all = [simd.avx._mm256_setzero_si256(); TOGETHER];
        for (sums, row) in all.iter_mut().zip(rows) {
            *sums = lanes(simd, parts, row);
        }
        let (first, second) = (four(simd, &all, 0), four(simd, &all, 4));
        let low = simd.avx2._mm256_permute2x128_si256::<0x20>(first, second);
        let high = simd.avx2._mm256_permute2x128_si256::<0x31>(first, second);
        cast(simd.avx2._mm256_add_epi32(low, high))
    }

    /// The sums of four rows; each half has half of every one.
    #[expect(clippy::inline_always, reason = "a call would leave the instructions of `vectorize`")]
    #[inline(always)]
    fn four(simd: V3, all: &[__m256i; TOGETHER], at: usize) -> __m256i {
        let left = simd.avx2._mm256_hadd_epi32(all[at], all[at + 1]);
        let right = simd.avx2._mm256_hadd_epi32(all[at + 2], all[at + 3]);
        simd.avx2._mm256_hadd_epi32(left, right)
    }

    /// The products of a row, in eight sums.
    #[expect(clippy::inline_always, reason = "a call would leave the instructions of `vectorize`")]
    #[inline(always)]
    fn lanes(simd: V3, parts: &Lanes, row: &[u8; WIDTH * ROW]) -> __m256i {
        let (avx, avx2) = (simd.avx, simd.avx2);
        let (three, one) = (avx._mm256_set1_epi8(3), avx._mm256_set1_epi16(1));
        // Eight sums of two products of at most 127 * 3: within i16.
        let mut sums = avx._mm256_setzero_si256();
        for (bytes, parts) in row.as_chunks::<WIDTH>().0.iter().zip(&parts.0) {
            let bytes = cast(*bytes);
            let places = [
                bytes,
                avx2._mm256_srli_epi16::<2>(bytes),
                avx2._mm256_srli_epi16::<4>(bytes),
                avx2._mm256_srli_epi16::<6>(bytes),
            ];
            for (place, part) in places.into_iter().zip(parts) {
                let numbers = avx2._mm256_and_si256(place, three);
                let products = avx2._mm256_maddubs_epi16(numbers, cast(*part));
                sums = avx2._mm256_add_epi16(sums, products);
            }
        }
        avx2._mm256_madd_epi16(sums, one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The sum of the products, on this machine's way and on the plain one.
        #[test]
        fn both_ways_give_the_same(
            parts in prop::array::uniform4(prop::collection::vec(-127i8..=127, 64)),
            sketches in prop::collection::vec(any::<u8>(), 0..64 * 20),
            bytes in prop::sample::select(vec![16usize, 64]),
        ) {
            let parts = parts.map(|part| part[..bytes].to_vec());
            let told = |sum: i32| u16::try_from(sum + 30_000).unwrap_or(u16::MAX);
            let rows = sketches.len() / bytes;
            let (mut here, mut plain) = (vec![0; rows], vec![0; rows]);
            each(&parts, &sketches, &mut here, told);
            widest(Each { parts: &parts, sketches: &sketches, out: &mut plain, told });
            prop_assert_eq!(&here, &plain);
            for (row, got) in sketches.chunks_exact(bytes).zip(here) {
                let mut want = 0;
                for (place, part) in parts.iter().enumerate() {
                    for (byte, value) in row.iter().zip(part) {
                        want += i32::from(byte >> (place * 2) & 3) * i32::from(*value);
                    }
                }
                prop_assert_eq!(got, told(want));
            }
        }
    }
}
