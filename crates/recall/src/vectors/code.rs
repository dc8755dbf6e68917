//! One vector as it is kept: i8 levels scaled by its largest component, and its sketch.

use std::ops::Range;

use super::sketch::{self, Rotation};
use crate::embedding::Embedding;

/// Levels go from -127 to 127.
pub(super) const LEVELS: i64 = 127;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The largest component; 0 for the zero vector.
    pub(crate) scale: i16,
    pub(crate) levels: Vec<i8>,
    pub(crate) sketch: Vec<u8>,
}

/// Makes codes of vectors with so many dimensions.
#[derive(Debug)]
pub struct Coder {
    rotation: Rotation,
}

impl Coder {
    pub fn new(dims: usize) -> Coder {
        Coder { rotation: Rotation::new(dims) }
    }

    pub fn code(&self, embedding: &Embedding) -> Code {
        let scale = embedding.values().iter().map(|v| v.saturating_abs()).max().unwrap_or(0);
        let sketch = self.rotation.sketch(embedding.values());
        let levels = levels(embedding.values(), scale.max(1));
        Code { scale, levels, sketch }
    }
}

impl Code {
    /// The vector again, as near as its levels keep it.
    pub(crate) fn embedding(&self) -> Embedding {
        let levels: Vec<i64> = self.levels.iter().map(|level| i64::from(*level)).collect();
        Embedding::from_sums(&levels)
    }

    /// Bytes of a code in a row.
    pub(crate) fn size(dims: usize) -> usize {
        2 + dims + sketch_bytes(dims)
    }

    pub(crate) fn push_to(&self, out: &mut Vec<u8>) {
        out.extend(self.scale.to_le_bytes());
        out.extend(self.levels.iter().map(|level| level.cast_unsigned()));
        out.extend(&self.sketch);
    }

    /// Bytes of a code without its levels: scale and sketch.
    pub(crate) fn head_size(dims: usize) -> usize {
        Code::size(dims) - dims
    }

    /// Reads what `push_to` wrote; `None` if there are not just as many bytes.
    pub(crate) fn read(dims: usize, bytes: &[u8]) -> Option<Code> {
        let (scale, levels, sketch) = Code::parts(dims, bytes)?;
        let levels = levels.iter().map(|level| level.cast_signed()).collect();
        Some(Code { scale, levels, sketch: sketch.to_vec() })
    }

    /// Scale, levels and sketch in what `push_to` wrote.
    pub(crate) fn parts(dims: usize, bytes: &[u8]) -> Option<(i16, &[u8], &[u8])> {
        let (scale, rest) = bytes.split_first_chunk::<2>()?;
        let (levels, sketch) = rest.split_at_checked(dims)?;
        let whole = sketch.len() == sketch_bytes(dims);
        whole.then_some((i16::from_le_bytes(*scale), levels, sketch))
    }
}

/// Vectors without their levels, which lie in groups: scale and sketch of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heads<'h> {
    /// The number of the first vector. It says where its levels are.
    pub(crate) first: u64,
    pub(crate) bytes: &'h [u8],
}

impl<'h> Heads<'h> {
    pub(crate) fn each(self, dims: usize) -> impl Iterator<Item = (u64, &'h [u8])> {
        (self.first..).zip(self.bytes.chunks(Code::head_size(dims)))
    }

    /// The numbers of all.
    pub(crate) fn numbers(self, dims: usize) -> Range<u64> {
        let count = self.bytes.len() / Code::head_size(dims);
        self.first..self.first.saturating_add(u64::try_from(count).unwrap_or(u64::MAX))
    }
}

/// Each value as a share of `scale`, rounded half away from zero as `rounded` does.
///
/// By a product and a shift, because a division for each value costs more than all the rest of a code. The quotient is
/// exact: a dividend is below 2^23 and the scale below 2^15, so what the reciprocal is too large by adds less than
/// 2^-2.
fn levels(values: &[i16], scale: i16) -> Vec<i8> {
    let by = u64::from(scale.unsigned_abs());
    let reciprocal = (1u64 << 40) / by + 1;
    let level = |value: &i16| {
        let dividend = u64::from(value.unsigned_abs()) * LEVELS.unsigned_abs() + by / 2;
        let level = i8::try_from((dividend * reciprocal) >> 40).unwrap_or(i8::MAX);
        if *value < 0 { -level } else { level }
    };
    values.iter().map(level).collect()
}

fn sketch_bytes(dims: usize) -> usize {
    Rotation::length(dims) / sketch::PER_BYTE
}

/// Divides, half away from zero, for a positive divisor.
pub(super) fn rounded(value: i64, by: i64) -> i64 {
    (value + value.signum() * (by / 2)) / by
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedding::{Embedder, HashEmbedder};

    #[test]
    fn levels_are_those_of_a_division() {
        let divided = |value: i16, scale: i16| {
            i8::try_from(rounded(i64::from(value) * LEVELS, i64::from(scale))).unwrap()
        };
        for scale in (1..=i16::MAX).step_by(7).chain([1, 2, 3, 32_766, i16::MAX]) {
            let all = (-i32::from(scale)..=i32::from(scale)).step_by(61);
            let edges = [-i32::from(scale), i32::from(scale), 0, 1, -1];
            for value in all.chain(edges).filter_map(|value| i16::try_from(value).ok()) {
                assert_eq!(levels(&[value], scale), [divided(value, scale)], "{value} of {scale}");
            }
        }
    }

    #[test]
    fn comes_back() {
        for dims in [1, 16, 256, 384] {
            for embedding in [HashEmbedder::new(dims).embed("two words"), Embedding::zero(dims)] {
                let code = Coder::new(dims).code(&embedding);
                let mut bytes = Vec::new();
                code.push_to(&mut bytes);
                assert_eq!(bytes.len(), Code::size(dims));
                assert_eq!(Code::read(dims, &bytes), Some(code));
                assert_eq!(Code::read(dims, &bytes[1..]), None);
            }
        }
    }
}
