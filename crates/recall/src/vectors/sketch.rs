//! The sketch: the signs of a vector after a fixed rotation, one bit each.
//!
//! Real embeddings put much of their length in few directions, where signs say little; the rotation (random signs, then a
//! Hadamard transform, twice) spreads it over all bits. Integers only, and the seed is fixed: sketches of different
//! processes are the same.

const SEED: u64 = 0x636f_7274_6578_0001;
const ROUNDS: usize = 2;

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

    /// Bits of a sketch. At least one word; padding to a power of two only adds zeros.
    pub(super) fn length(dims: usize) -> usize {
        dims.next_power_of_two().max(64)
    }

    /// How many u64 a sketch has.
    pub(super) fn words(&self) -> usize {
        self.length / 64
    }

    /// Appends the sketch of a vector.
    pub(super) fn sketch(&self, values: &[i16], out: &mut Vec<u64>) {
        out.extend(signs(&self.rotated(values)));
    }

    /// The vector that the signs are of.
    pub(super) fn rotated(&self, values: &[i16]) -> Vec<i32> {
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

/// The signs of a rotated vector, one bit each.
pub(super) fn signs(rotated: &[i32]) -> Vec<u64> {
    let word = |part: &[i32]| {
        part.iter().enumerate().fold(0u64, |word, (bit, &v)| word | (u64::from(v >= 0) << bit))
    };
    rotated.chunks(64).map(word).collect()
}

/// How near sketches are to a vector that is known in full: its components, each with the sign that the sketch has there.
///
/// Two sketches only count the signs that differ; here a large component weighs more than one that could as well have the
/// other sign. A table for each byte of a sketch has the sums of its eight components, so a row costs a lookup a byte.
pub(super) struct Nearness {
    tables: Vec<[i32; 256]>,
}

impl Nearness {
    pub(super) fn new(rotated: &[i32]) -> Nearness {
        let table = |part: &[i32]| {
            let mut table = [0i32; 256];
            // Each sum is that of the byte without its highest bit, with the sign of that bit turned.
            table[0] = -part.iter().sum::<i32>();
            for (bit, value) in part.iter().enumerate() {
                let (known, next) = table.split_at_mut(1 << bit);
                for (next, known) in next.iter_mut().zip(known) {
                    *next = *known + 2 * value;
                }
            }
            table
        };
        Nearness { tables: rotated.chunks_exact(8).map(table).collect() }
    }

    #[inline]
    pub(super) fn to(&self, sketch: &[u64]) -> i32 {
        let (tables, _) = self.tables.as_chunks::<8>();
        let word = |(word, tables): (&u64, &[[i32; 256]; 8])| -> i32 {
            let bytes = word.to_le_bytes();
            bytes.iter().zip(tables).map(|(byte, table)| table[usize::from(*byte)]).sum()
        };
        sketch.iter().zip(tables).map(word).sum()
    }
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
    use crate::embed::{Embedder, Embedding, HashEmbedder, StaticEmbedder};

    fn distance(a: &Embedding, b: &Embedding) -> u32 {
        let rotation = Rotation::new(a.dims());
        let (mut left, mut right) = (Vec::new(), Vec::new());
        rotation.sketch(a.values(), &mut left);
        rotation.sketch(b.values(), &mut right);
        left.iter().zip(&right).map(|(a, b)| (a ^ b).count_ones()).sum()
    }

    #[test]
    fn near_texts_have_near_sketches() {
        let model = StaticEmbedder::shared();
        let [dog, puppy, tax] =
            ["a dog barks", "the puppy is barking", "quarterly tax report"].map(|t| model.embed(t));
        assert_eq!(distance(&dog, &dog), 0);
        assert!(distance(&dog, &puppy) < distance(&dog, &tax));
    }

    #[test]
    fn even_a_vector_of_one_component_is_spread() {
        let mut raw = [0i64; 256];
        raw[7] = 1;
        let mut bits = Vec::new();
        Rotation::new(256).sketch(Embedding::from_sums(&raw).values(), &mut bits);
        let ones: u32 = bits.iter().map(|word| word.count_ones()).sum();
        assert!((64..=192).contains(&ones), "{ones}");
    }

    #[test]
    fn nearness_is_the_sum_with_the_signs_of_the_sketch() {
        let (rotation, model) = (Rotation::new(256), StaticEmbedder::shared());
        let rotated = rotation.rotated(model.embed("a dog barks").values());
        let nearness = Nearness::new(&rotated);
        for text in ["a dog barks", "the puppy is barking", "quarterly tax report"] {
            let mut sketch = Vec::new();
            rotation.sketch(model.embed(text).values(), &mut sketch);
            let bit = |at: usize| sketch[at / 64] >> (at % 64) & 1 == 1;
            let signed = rotated.iter().enumerate().map(|(at, v)| if bit(at) { *v } else { -v });
            assert_eq!(nearness.to(&sketch), signed.sum::<i32>());
        }
    }

    #[test]
    fn golden() {
        let rotation = Rotation::new(256);
        let mut bits = Vec::new();
        rotation.sketch(HashEmbedder::new(256).embed("fixed for ever").values(), &mut bits);
        assert_eq!(rotation.words(), 4);
        assert_eq!(bits, GOLDEN);
        assert_eq!(Rotation::new(384).words(), 8);
        assert_eq!(Rotation::new(3).words(), 1);
    }

    const GOLDEN: [u64; 4] = [
        0xe5b0_d366_766d_3b14,
        0x6be5_412d_76f9_b285,
        0x0dfc_37f3_e27f_4a61,
        0x3deb_6612_ee79_c830,
    ];
}
