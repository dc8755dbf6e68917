//! Chance from a number: the same seed gives the same corpus on every run.

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// Independent of other `stream`s of the same seed.
    pub fn of(seed: u64, stream: u64) -> Chance {
        let mut chance = Chance(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95));
        chance.next();
        chance
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In 0..1.
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// Both ends included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }

    /// Low numbers are much more frequent: rank 0 about as often as ranks n/2.. together.
    pub fn skewed(&mut self, n: usize) -> usize {
        ((n as f64 + 1.0).powf(self.share()) - 1.0) as usize % n.max(1)
    }
}
