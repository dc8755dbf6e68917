//! The functions between the matrix products, in f32, written so that the compiler can run them on several values at
//! once.

/// Below this, e^x is zero for our purposes; the reduction needs a bound.
const LOWEST: f32 = -87.0;
const HIGHEST: f32 = 88.0;
/// Added and taken away again, this rounds to a whole number, which then stands in the low bits.
const ROUNDER: f32 = 12_582_912.0;

/// e^x, to about two units in the last place between the bounds.
pub(super) fn exp(x: f32) -> f32 {
    let x = x.clamp(LOWEST, HIGHEST);
    let shifted = x * std::f32::consts::LOG2_E + ROUNDER;
    let whole = shifted - ROUNDER;
    // ln 2 in two parts, so that the rest keeps all its digits.
    let rest = (x - whole * 0.693_359_4) - whole * -2.121_944_4e-4;
    let mut sum = 1.0 / 720.0;
    for coefficient in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        sum = sum * rest + coefficient;
    }
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
    sum * power
}

/// x * P(a normal variable is below x). The error function by Abramowitz and Stegun 7.1.26: within 1.5e-7.
pub(super) fn gelu(values: &mut [f32]) {
    for value in values {
        let z = value.abs() * std::f32::consts::FRAC_1_SQRT_2;
        let t = 1.0 / (1.0 + 0.327_591_1 * z);
        let mut sum = 1.061_405_4;
        for coefficient in [-1.453_152_1, 1.421_413_8, -0.284_496_72, 0.254_829_6] {
            sum = sum * t + coefficient;
        }
        let tail = 0.5 * sum * t * exp(-z * z);
        let below = if *value < 0.0 { tail } else { 1.0 - tail };
        *value *= below;
    }
}

/// Turns a row of scores into shares that add up to one.
pub(super) fn softmax(row: &mut [f32]) {
    let highest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for value in &mut *row {
        *value = exp(*value - highest);
    }
    let total: f32 = row.iter().sum();
    for value in row {
        *value /= total;
    }
}

/// A learned scale and shift, applied to a row of mean 0 and variance 1.
#[derive(Debug)]
pub(super) struct Norm {
    pub(super) weight: Vec<f32>,
    pub(super) bias: Vec<f32>,
    pub(super) epsilon: f32,
}

impl Norm {
    pub(super) fn apply(&self, row: &mut [f32]) {
        let share = 1.0 / count(row.len());
        let mean = row.iter().sum::<f32>() * share;
        let variance = row.iter().map(|v| (v - mean) * (v - mean)).sum::<f32>() * share;
        let scale = 1.0 / (variance + self.epsilon).sqrt();
        for ((value, weight), bias) in row.iter_mut().zip(&self.weight).zip(&self.bias) {
            *value = (*value - mean) * scale * weight + bias;
        }
    }
}

/// A small count as a float.
pub(super) fn count(n: usize) -> f32 {
    f32::from(u16::try_from(n).unwrap_or(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_follows_the_library() {
        for step in -8_700..=8_800i16 {
            let x = f32::from(step) / 100.0;
            let want = f64::from(x).exp();
            assert!((f64::from(exp(x)) - want).abs() <= want * 3e-7, "{x}: {} {want}", exp(x));
        }
        assert!(exp(f32::NEG_INFINITY) < 1e-37 && exp(-1e9) < 1e-37);
    }

    #[test]
    fn gelu_of_known_values() {
        // Values of x * Phi(x) to seven digits.
        for (x, want) in [
            (0.0, 0.0),
            (1.0, 0.841_344_8),
            (-1.0, -0.158_655_25),
            (2.0, 1.954_499_7),
            (-3.0, -0.004_049_69),
            (0.5, 0.345_731_23),
            (10.0, 10.0),
            (-40.0, 0.0),
        ] {
            let mut value = [x];
            gelu(&mut value);
            assert!((value[0] - want).abs() < 1e-6, "{x}: {} {want}", value[0]);
        }
    }

    #[test]
    fn softmax_adds_up_to_one_also_for_large_scores() {
        let mut row = [1000.0, 1000.0, -1000.0];
        softmax(&mut row);
        assert!((row[0] - 0.5).abs() < 1e-6 && row[2] < 1e-30);
        let mut one = [f32::MIN];
        softmax(&mut one);
        assert_eq!(one.map(f32::to_bits), [1f32.to_bits()]);
    }
}
