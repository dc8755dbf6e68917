//! When a service that failed is asked again: how often, and after which pauses.
//!
//! There is one policy for all that speaks HTTP. Pauses double up to a bound, lose up to half of their length by
//! jitter so that many who wait do not come back together, and give way to the pause that the service asks for. A
//! service that asks for more than the bound is not asked again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often a service is asked, and how long the pauses are.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    pub attempts: u32,
    pub first_pause: Duration,
    /// The bound of every pause, also of one that the service asks for.
    pub longest_pause: Duration,
}

/// Numbers for jitter, from a seed: the same seed gives the same pauses.
#[derive(Debug)]
pub struct PauseJitter(AtomicU64);

impl PauseJitter {
    pub fn new(seed: u64) -> PauseJitter {
        PauseJitter(AtomicU64::new(seed))
    }

    /// Between half of the pause and all of it.
    fn shorten(&self, pause: Duration) -> Duration {
        let mut x = self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let share = u32::try_from((x >> 33) % 1_000).unwrap_or_default();
        pause / 2 + pause.saturating_mul(share) / 2_000
    }
}

/// The tries of one call.
#[derive(Debug)]
pub struct Retries<'a> {
    policy: RetryPolicy,
    jitter: &'a PauseJitter,
    attempt: u32,
    pause: Duration,
}

impl<'a> Retries<'a> {
    pub fn new(policy: RetryPolicy, jitter: &'a PauseJitter) -> Retries<'a> {
        Retries { policy, jitter, attempt: 1, pause: policy.first_pause }
    }

    /// The pause before the next try, after a failure that may pass; `None` if there is no next try. `wanted` is
    /// the pause that the service asks for.
    pub fn next_pause(&mut self, wanted: Option<Duration>) -> Option<Duration> {
        let pause = wanted.unwrap_or_else(|| self.jitter.shorten(self.pause));
        if self.attempt >= self.policy.attempts || pause > self.policy.longest_pause {
            return None;
        }
        self.attempt += 1;
        self.pause = self.pause.saturating_mul(2).min(self.policy.longest_pause);
        Some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: RetryPolicy = RetryPolicy {
        attempts: 4,
        first_pause: Duration::from_millis(100),
        longest_pause: Duration::from_millis(250),
    };

    #[test]
    fn pauses_grow_to_a_bound_and_end() {
        let jitter = PauseJitter::new(7);
        let mut retries = Retries::new(POLICY, &jitter);
        for whole in [100, 200, 250] {
            let pause = retries.next_pause(None).expect("another try");
            let whole = Duration::from_millis(whole);
            assert!(pause >= whole / 2 && pause <= whole, "{pause:?} of {whole:?}");
        }
        assert_eq!(retries.next_pause(None), None);
    }

    #[test]
    fn the_service_may_ask_for_a_pause_within_the_bound() {
        let jitter = PauseJitter::new(7);
        let mut retries = Retries::new(POLICY, &jitter);
        let asked = Duration::from_millis(30);
        assert_eq!(retries.next_pause(Some(asked)), Some(asked));
        assert_eq!(retries.next_pause(Some(Duration::from_secs(1))), None);
    }
}
