//! How long to wait before the next try: twice as long each time, up to a bound, with jitter.

use std::time::Duration;

/// The waits between tries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Backoff {
    pub first: Duration,
    pub max: Duration,
}

impl Backoff {
    /// The wait before try number `attempt` (0 is the first retry); `roll` in `0.0 .. 1.0` takes away up to half of it.
    ///
    /// Half stays, so that a wait is never nothing; half is chance, so that peers cut at the same moment do not
    /// return at the same moment.
    pub fn wait(self, attempt: u32, roll: f64) -> Duration {
        let whole = self.first.saturating_mul(1 << attempt.min(20)).min(self.max);
        whole.mul_f64(0.5 + 0.5 * roll.clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn waits_are_bounded_and_never_nothing(attempt in 0u32..200, roll in 0.0f64..1.0) {
            let backoff = Backoff { first: Duration::from_millis(100), max: Duration::from_secs(30) };
            let wait = backoff.wait(attempt, roll);
            prop_assert!(wait >= Duration::from_millis(50) && wait <= Duration::from_secs(30));
            prop_assert!(backoff.wait(attempt + 1, roll) >= wait);
        }
    }
}
