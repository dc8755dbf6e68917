//! The sketch: a vector after a fixed rotation, two bits for each component.
//!
//! Real embeddings put much of their length in few directions; the rotation (random signs, then a Hadamard transform,
//! twice) spreads it over all components, and two bits are then enough to tell where each lies among four equal steps.
//! Integers only, and the seed is fixed: sketches of different processes are the same.
//!
//! A step is as wide as the components are on average, and the four are -3, -1, 1 and 3 halves of one. They are
//! numbered 0 to 3, so a sum over the numbers orders as one over the values does. Byte `b` of a sketch holds the
//! components `b`, `b + n`, `b + 2n` and `b + 3n` of `4n`, from its lowest bits up, so that a loop over bytes needs no
//! shuffling.

use super::code::{LEVELS, rounded};
use super::sums;

const SEED: u64 = 0x636f_7274_6578_0001;
const ROUNDS: usize = 2;

/// Components in a byte, and where each begins.
pub(super) const PER_BYTE: usize = 4;
const SHIFTS: [u32; PER_BYTE] = [0, 2, 4, 6];

/// The rotation for one number of dimensions.
#[derive(Debug)]
pub(super) struct Rotation {
    signs: Vec<i32>,
    /// log2 of the length of the transform, halved: what one round grows the vector by.
    growth: u32,
    length: usize,
}

impl Rotation {
    pub(super) fn new(dims: usize) -> Rotation {
        let length = Rotation::length(dims);
        let mut state = SEED;
        let signs = (0..length * ROUNDS)
            .map(|_| if splitmix(&mut state) >> 63 == 0 { 1 } else { -1 })
            .collect();
        Rotation { signs, growth: length.trailing_zeros() / 2, length }
    }

    /// Components of a rotated vector. Padding to a power of two only adds zeros.
    pub(super) fn length(dims: usize) -> usize {
        dims.next_power_of_two().max(64)
    }

    /// How many bytes a sketch has.
    pub(super) fn bytes(&self) -> usize {
        self.length / PER_BYTE
    }

    /// The sketch of a vector.
    pub(super) fn sketch(&self, values: &[i16]) -> Vec<u8> {
        let rotated = self.rotated(values);
        let square = |value: &i32| i64::from(*value) * i64::from(*value);
        let length = i64::try_from(rotated.len()).unwrap_or(i64::MAX);
        let mean = rotated.iter().map(square).sum::<i64>() / length.max(1);
        let number = |value: &i32| {
            (u8::from(*value >= 0) << 1) | u8::from((*value >= 0) == (square(value) >= mean))
        };
        let mut sketch = vec![0; self.bytes()];
        for (part, shift) in rotated.chunks(self.bytes()).zip(SHIFTS) {
            for (byte, value) in sketch.iter_mut().zip(part) {
                *byte |= number(value) << shift;
            }
        }
        sketch
    }

    fn rotated(&self, values: &[i16]) -> Vec<i32> {
        let mut work = vec![0i32; self.length];
        for (slot, &value) in work.iter_mut().zip(values) {
            *slot = i32::from(value);
        }
        for signs in self.signs.chunks(self.length) {
            for (value, sign) in work.iter_mut().zip(signs) {
                *value *= sign;
            }
            hadamard(&mut work);
            // Back to about the length of before. No sum exceeds length * sqrt(n): under 2^21 in every round.
            for value in &mut work {
                *value >>= self.growth;
            }
        }
        work
    }
}

/// A question, ready to be compared with sketches.
///
/// Its components are known better than those of the sketches, so they are not cut to two bits but to a byte.
pub(super) struct QuerySketch {
    /// For each place in a byte the components that sketches have there.
    parts: [Vec<i8>; PER_BYTE],
}

impl QuerySketch {
    pub(super) fn new(rotation: &Rotation, values: &[i16]) -> QuerySketch {
        let rotated = rotation.rotated(values);
        let largest = rotated.iter().map(|value| value.abs()).max().unwrap_or(0).max(1);
        let byte = |value: &i32| {
            i8::try_from(rounded(i64::from(*value) * LEVELS, largest.into())).unwrap_or(i8::MAX)
        };
        let mut parts = rotated.chunks(rotation.bytes());
        let part = |_| parts.next().unwrap_or_default().iter().map(byte).collect();
        QuerySketch { parts: SHIFTS.map(part) }
    }

    /// One more than the farthest that a sketch can be.
    pub(super) fn farthest(&self) -> usize {
        usize::from(farness(-self.most(), self.most())) + 1
    }

    /// The most that a sum over the numbers of a sketch can come to; the least is as much below nothing.
    fn most(&self) -> i32 {
        let each = i32::from(i8::MAX) * 3;
        let components = self.parts.iter().map(Vec::len).sum::<usize>();
        i32::try_from(components).map_or(i32::MAX, |components| components * each)
    }

    /// How far each of some sketches is, one after the other.
    pub(super) fn far(&self, sketches: &[u8], out: &mut [u16]) {
        let most = self.most();
        sums::each(&self.parts, sketches, out, |sum| farness(sum, most));
    }
}

/// Sums that differ by less than this power of two count as the same: a few dozen of a hundred thousand vectors.
const FARNESS_BITS: u32 = 4;

/// How far a sketch is by its sum with the question: the larger the sum, the nearer. `most` is the largest sum there
/// is.
#[expect(
    clippy::cast_possible_truncation,
    reason = "512 components * 127 * 3 * 2 / 16 is below 2^16"
)]
#[expect(clippy::inline_always, reason = "a call would leave the instructions of `widest`")]
#[inline(always)]
fn farness(sum: i32, most: i32) -> u16 {
    ((most - sum).cast_unsigned() >> FARNESS_BITS) as u16
}

fn hadamard(values: &mut [i32]) {
    let mut half = 1;
    while half < values.len() {
        for block in values.chunks_mut(half * 2) {
            let (left, right) = block.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
}

fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedding::{Embedder, Embedding, HashEmbedder, StaticEmbedder};

    fn far(question: &Embedding, other: &Embedding) -> u16 {
        let rotation = Rotation::new(question.dims());
        let mut out = [0];
        QuerySketch::new(&rotation, question.values())
            .far(&rotation.sketch(other.values()), &mut out);
        out[0]
    }

    /// The number of a component in a sketch.
    fn number(sketch: &[u8], component: usize) -> u8 {
        let (place, byte) = (component / sketch.len(), component % sketch.len());
        sketch[byte] >> (place * 2) & 3
    }

    #[test]
    fn near_texts_have_near_sketches() {
        let model = StaticEmbedder::shared();
        let [dog, puppy, tax] =
            ["a dog barks", "the puppy is barking", "quarterly tax report"].map(|t| model.embed(t));
        assert!(far(&dog, &dog) < far(&dog, &puppy));
        assert!(far(&dog, &puppy) < far(&dog, &tax));
    }

    #[test]
    fn even_a_vector_of_one_component_is_spread() {
        let mut raw = [0i64; 256];
        raw[7] = 1;
        let sketch = Rotation::new(256).sketch(Embedding::from_sums(&raw).values());
        let positive = (0..256).filter(|component| number(&sketch, *component) >= 2).count();
        assert!((64..=192).contains(&positive), "{positive}");
    }

    #[test]
    fn a_component_is_in_the_step_where_it_lies() {
        let (rotation, model) = (Rotation::new(256), StaticEmbedder::shared());
        let values = model.embed("a dog barks");
        let (rotated, sketch) =
            (rotation.rotated(values.values()), rotation.sketch(values.values()));
        let squares = rotated.iter().map(|v| f64::from(*v).powi(2));
        let step = (squares.sum::<f64>() / 256.0).sqrt();
        let mut seen = [0; 4];
        for (component, value) in rotated.iter().enumerate() {
            let want = (f64::from(*value) / step).floor().clamp(-2.0, 1.0) + 2.0;
            let got = number(&sketch, component);
            assert!((f64::from(got) - want).abs() < 0.5, "{value} of {step}: {got}");
            seen[usize::from(got)] += 1;
        }
        assert!(seen.iter().all(|count| *count > 10), "{seen:?}");
    }

    #[test]
    fn farness_falls_as_the_sum_rises() {
        for dims in [64, 256, 384] {
            let rotation = Rotation::new(dims);
            let model = HashEmbedder::new(dims);
            let asked = QuerySketch::new(&rotation, model.embed("a dog barks").values());
            for text in ["a dog barks", "the puppy is barking", "quarterly tax report"] {
                let sketch = rotation.sketch(model.embed(text).values());
                let parts = asked.parts.concat();
                let one =
                    |(at, value): (usize, &i8)| i32::from(*value) * i32::from(number(&sketch, at));
                let sum: i32 = parts.iter().enumerate().map(one).sum();
                let mut out = [0];
                asked.far(&sketch, &mut out);
                assert_eq!(i32::from(out[0]), (asked.most() - sum) >> FARNESS_BITS);
                assert!(usize::from(out[0]) < asked.farthest());
            }
        }
    }

    #[test]
    fn golden() {
        let rotation = Rotation::new(256);
        let sketch = rotation.sketch(HashEmbedder::new(256).embed("fixed for ever").values());
        assert_eq!(rotation.bytes(), 64);
        assert_eq!(sketch, GOLDEN);
        assert_eq!(Rotation::new(384).bytes(), 128);
        assert_eq!(Rotation::new(3).bytes(), 16);
    }

    const GOLDEN: [u8; 64] = [
        57, 17, 10, 85, 151, 224, 101, 93, 70, 106, 21, 230, 90, 90, 164, 201, 186, 52, 34, 186,
        233, 190, 174, 88, 81, 190, 219, 144, 91, 174, 174, 165, 45, 167, 78, 93, 160, 42, 118, 49,
        122, 230, 161, 84, 34, 224, 159, 18, 137, 145, 109, 225, 102, 170, 172, 175, 191, 73, 183,
        232, 212, 155, 95, 83,
    ];
}
