//! The vector every model produces: i16 values, length 32767.
//!
//! Because the length is fixed, the dot product of two embeddings is their cosine times `ONE`, and no partial sum can
//! leave an i32. Both rest on `Embedding` having no constructor that skips the normalisation or its check.

/// The dot product of an embedding with itself, up to rounding: cosine 1.
pub const ONE: i64 = UNIT * UNIT;

const UNIT: i64 = 32_767;

/// Components are brought to this many bits before the norm is taken: 2^27 squared, times 512 dimensions, fits u64.
const WORK_BITS: u32 = 27;
const WORK_DIMS: usize = 512;
/// With more dimensions than that: 2^25 squared, times 4096.
const WIDE_WORK_BITS: u32 = 25;

/// The widest vector there is. The models people serve have up to 4096 dimensions.
pub const DIMS_MAX: usize = 4_096;

/// A vector of length 32767, or the zero vector ("nothing is known").
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Embedding {
    values: Vec<i16>,
}

impl Embedding {
    pub fn zero(dims: usize) -> Embedding {
        Embedding { values: vec![0; dims.min(DIMS_MAX)] }
    }

    /// The direction of `raw`. Dimensions beyond `DIMS_MAX` are dropped; who brings vectors from outside
    /// checks their number first.
    pub fn from_sums(raw: &[i64]) -> Embedding {
        let raw = &raw[..raw.len().min(DIMS_MAX)];
        let largest = raw.iter().map(|v| v.unsigned_abs()).max().unwrap_or(0);
        if largest == 0 {
            return Embedding::zero(raw.len());
        }
        let work = if raw.len() > WORK_DIMS { WIDE_WORK_BITS } else { WORK_BITS };
        // The largest component gets exactly that many bits, whatever the length of the text was.
        let bits = u64::BITS - largest.leading_zeros();
        let scaled = |value: i64| {
            if bits > work { value >> (bits - work) } else { value << (work - bits) }
        };
        let squares: u64 = raw.iter().map(|&v| scaled(v).unsigned_abs().pow(2)).sum();
        // At least 2^24, since one component is; so the reciprocal below is under 2^24 and the product under 2^50.
        let norm = squares.isqrt().cast_signed();
        let reciprocal = (UNIT << 32) / norm;
        let values = raw
            .iter()
            .map(|&v| {
                let unit = (scaled(v) * reciprocal + (1 << 31)) >> 32;
                i16::try_from(unit.clamp(-UNIT, UNIT)).unwrap_or(0)
            })
            .collect();
        Embedding { values }
    }

    /// The direction of a float vector from an outside model. Each component is rounded once, to a 2^-30 part of the
    /// largest, by exact scaling; what is not finite counts as zero.
    pub fn from_floats(raw: &[f32]) -> Embedding {
        let largest = raw.iter().filter(|v| v.is_finite()).fold(0f32, |a, v| a.max(v.abs()));
        if largest == 0.0 {
            return Embedding::zero(raw.len());
        }
        let unit = f64::from(largest);
        let sums: Vec<i64> = raw
            .iter()
            .map(|&v| if v.is_finite() { fixed(f64::from(v) / unit) } else { 0 })
            .collect();
        Embedding::from_sums(&sums)
    }

    /// The direction of a weighted sum: a turn blended with its neighbours. Dimensions are those of the first.
    pub fn blend(parts: &[(&Embedding, i32)]) -> Embedding {
        let dims = parts.first().map_or(0, |(first, _)| first.dims());
        let mut sums = vec![0i64; dims];
        for (part, weight) in parts {
            for (sum, &value) in sums.iter_mut().zip(&part.values) {
                *sum += i64::from(value) * i64::from(*weight);
            }
        }
        Embedding::from_sums(&sums)
    }

    /// Takes values that claim to be an embedding; `None` when their length is not that of one.
    pub fn from_unit_values(values: Vec<i16>) -> Option<Embedding> {
        if values.len() > DIMS_MAX {
            return None;
        }
        let squares: u64 = values.iter().map(|&v| u64::from(v.unsigned_abs()).pow(2)).sum();
        let norm = squares.isqrt();
        // Rounding moves each component by at most 1, so the length by at most the root of their number.
        let slack = (values.len() as u64).isqrt() + 1;
        (norm == 0 || norm.abs_diff(UNIT.unsigned_abs()) <= slack).then_some(Embedding { values })
    }

    pub fn dims(&self) -> usize {
        self.values.len()
    }

    pub fn values(&self) -> &[i16] {
        &self.values
    }

    pub fn is_zero(&self) -> bool {
        self.values.iter().all(|&v| v == 0)
    }

    /// Cosine times `ONE`.
    pub fn dot(&self, other: &Embedding) -> i64 {
        // No partial sum exceeds the product of the lengths (Cauchy-Schwarz on the same prefix): under 2^31.
        let sum: i32 =
            self.values.iter().zip(&other.values).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
        i64::from(sum)
    }
}

/// A ratio in -1..=1 as 30-bit fixed point.
#[expect(clippy::cast_possible_truncation, reason = "|ratio| <= 1, so the product is within 2^30")]
fn fixed(ratio: f64) -> i64 {
    (ratio * f64::from(1u32 << 30)).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn length_is_fixed_and_direction_kept() {
        let a = Embedding::from_sums(&[3, -4]);
        assert_eq!(a.values(), &[19_660, -26_214]);
        assert_eq!(Embedding::from_sums(&[3 << 50, -4 << 50]), a);
        assert_eq!(Embedding::from_floats(&[0.3, -0.4]).values(), a.values());
        assert_eq!(Embedding::from_sums(&[0, -1]).values(), &[0, -32_767]);
        assert_eq!(Embedding::from_sums(&[i64::MIN, 0]).values(), &[-32_767, 0]);
    }

    #[test]
    fn nothing_is_zero() {
        assert!(Embedding::from_sums(&[0; 4]).is_zero());
        assert!(Embedding::from_floats(&[f32::NAN, f32::INFINITY]).is_zero());
        assert_eq!(Embedding::from_sums(&[]).dims(), 0);
        assert_eq!(Embedding::blend(&[]).dims(), 0);
    }

    #[test]
    fn blend_leans_to_the_heavier() {
        let (a, b) = (Embedding::from_sums(&[1, 0]), Embedding::from_sums(&[0, 1]));
        let mix = Embedding::blend(&[(&a, 4), (&b, 1)]);
        assert!(mix.dot(&a) > mix.dot(&b) && mix.dot(&b) > 0);
    }

    proptest! {
        #[test]
        fn any_sums_give_a_unit(raw in prop::collection::vec(any::<i64>(), 1..1200)) {
            let e = Embedding::from_sums(&raw);
            prop_assert!(Embedding::from_unit_values(e.values().to_vec()).is_some());
            if !e.is_zero() {
                prop_assert!((e.dot(&e) - ONE).abs() < ONE / 1000);
            }
        }
    }
}
