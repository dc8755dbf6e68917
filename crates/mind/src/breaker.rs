//! A circuit breaker: what keeps failing is left alone for a while, then tried once.
//!
//! One implementation for jobs, providers and tools. What must stay true: while open nothing passes, while half-open
//! one try passes, and the state after a sequence of events is a function of that sequence and its times.

use std::collections::BTreeMap;

use kernel::memory::Millis;
use serde::{Deserialize, Serialize};

/// Breakers kept by name. The one that was quiet longest makes room.
pub const BREAKERS_MAX: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// Failures in a row that open it.
    pub threshold: u32,
    pub cool_down_ms: i64,
}

impl BreakerPolicy {
    pub fn of(settings: &crate::settings::CortexSettings) -> BreakerPolicy {
        BreakerPolicy {
            threshold: settings.circuit_breaker_threshold,
            cool_down_ms: crate::settings::secs_ms(settings.circuit_breaker_cooldown_secs),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Circuit {
    Closed,
    /// Nothing passes before this moment.
    Open {
        until_unix_ms: i64,
    },
    /// One try is under way; its outcome decides. A try that is never heard of again does not count for longer than
    /// the cool-down.
    HalfOpen,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    pub circuit: Circuit,
    /// Failures in a row.
    pub failures: u32,
    /// How often it opened.
    pub trips: u64,
    pub last_error: Option<String>,
    changed_unix_ms: i64,
    /// How long the last trip keeps it open, and a try may take.
    #[serde(default)]
    cool_down_ms: i64,
}

impl Default for Breaker {
    fn default() -> Breaker {
        Breaker {
            circuit: Circuit::Closed,
            failures: 0,
            trips: 0,
            last_error: None,
            changed_unix_ms: 0,
            cool_down_ms: 0,
        }
    }
}

impl Breaker {
    /// True if a try may begin now. From an open circuit whose time is over this is the one try.
    pub fn admit(&mut self, now: Millis) -> bool {
        let admits = self.would_admit(now);
        if admits && self.circuit != Circuit::Closed {
            self.circuit = Circuit::HalfOpen;
            self.changed_unix_ms = now.get();
        }
        admits
    }

    /// True if `admit` would say yes; changes nothing.
    pub fn would_admit(&self, now: Millis) -> bool {
        match self.circuit {
            Circuit::Closed => true,
            Circuit::HalfOpen => {
                now.get().saturating_sub(self.changed_unix_ms) >= self.cool_down_ms.max(1)
            }
            Circuit::Open { until_unix_ms } => now.get() >= until_unix_ms,
        }
    }

    /// Forgets every failure.
    pub fn close(&mut self) {
        *self = Breaker { trips: self.trips, ..Breaker::default() };
    }

    pub fn succeeded(&mut self, now: Millis) {
        *self = Breaker { trips: self.trips, changed_unix_ms: now.get(), ..Breaker::default() };
    }

    /// True if this failure opened the circuit.
    pub fn failed(&mut self, error: &str, policy: BreakerPolicy, now: Millis) -> bool {
        self.failures = self.failures.saturating_add(1);
        self.last_error = Some(error.to_owned());
        self.changed_unix_ms = now.get();
        let opens = self.circuit == Circuit::HalfOpen || self.failures >= policy.threshold.max(1);
        if opens {
            self.trips += 1;
            self.cool_down_ms = policy.cool_down_ms;
            let until_unix_ms = now.get().saturating_add(policy.cool_down_ms.max(1));
            self.circuit = Circuit::Open { until_unix_ms };
        }
        opens
    }
}

/// Breakers by name: `provider:…`, `tool:…`, `job:…`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breakers {
    by_name: BTreeMap<String, Breaker>,
}

impl Breakers {
    pub fn get(&self, name: &str) -> Option<&Breaker> {
        self.by_name.get(name)
    }

    pub fn all(&self) -> impl Iterator<Item = (&str, &Breaker)> {
        self.by_name.iter().map(|(name, breaker)| (name.as_str(), breaker))
    }

    pub fn admit(&mut self, name: &str, now: Millis) -> bool {
        self.by_name.get_mut(name).is_none_or(|breaker| breaker.admit(now))
    }

    /// Forgets the failures of all whose name begins so. Returns the names of those that were not closed.
    pub fn close(&mut self, start: &str) -> Vec<String> {
        let mut open = Vec::new();
        for (name, breaker) in &mut self.by_name {
            if name.starts_with(start) {
                let was_closed = breaker.circuit == Circuit::Closed;
                open.extend((!was_closed).then(|| name.clone()));
                breaker.close();
            }
        }
        open
    }

    pub fn succeeded(&mut self, name: &str, now: Millis) {
        if let Some(breaker) = self.by_name.get_mut(name) {
            breaker.succeeded(now);
        }
    }

    /// True if this failure opened the circuit.
    pub fn failed(&mut self, name: &str, error: &str, policy: BreakerPolicy, now: Millis) -> bool {
        if !self.by_name.contains_key(name) && self.by_name.len() == BREAKERS_MAX {
            let quietest = self.by_name.iter().min_by_key(|(_, breaker)| breaker.changed_unix_ms);
            if let Some(quietest) = quietest.map(|(name, _)| name.clone()) {
                self.by_name.remove(&quietest);
            }
        }
        self.by_name.entry(name.to_owned()).or_default().failed(error, policy, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: BreakerPolicy = BreakerPolicy { threshold: 3, cool_down_ms: 1_000 };

    fn fail(breaker: &mut Breaker, at: i64) -> bool {
        breaker.failed("boom", POLICY, Millis(at))
    }

    #[test]
    fn it_opens_after_failures_in_a_row_and_one_try_passes_after_the_cool_down() {
        let mut breaker = Breaker::default();
        assert!(!fail(&mut breaker, 0) && !fail(&mut breaker, 1));
        assert!(breaker.admit(Millis(1)));
        assert!(fail(&mut breaker, 2));
        assert!(!breaker.admit(Millis(1_001)));
        assert!(breaker.would_admit(Millis(1_002)) && breaker.admit(Millis(1_002)));
        assert!(!breaker.admit(Millis(1_003)), "only one try at a time");
        assert!(fail(&mut breaker, 1_004), "a failed try opens it again at once");
        assert!(!breaker.admit(Millis(2_003)) && breaker.admit(Millis(2_004)));
        breaker.succeeded(Millis(2_005));
        assert_eq!((breaker.circuit, breaker.failures, breaker.trips), (Circuit::Closed, 0, 2));
    }

    // T12
    #[test]
    fn breakers_are_closed_by_name() {
        let mut breakers = Breakers::default();
        for name in ["provider:a", "tool:b"] {
            for at in 0..3 {
                breakers.failed(name, "boom", POLICY, Millis(at));
            }
        }
        assert_eq!(breakers.close("provider:"), ["provider:a"]);
        assert!(breakers.admit("provider:a", Millis(4)) && !breakers.admit("tool:b", Millis(4)));
        assert_eq!(breakers.close(""), ["tool:b"]);
        assert_eq!(breakers.close(""), [""; 0]);
    }

    // The process that tried may have died; the circuit must not stay half-open for ever.
    #[test]
    fn a_try_that_is_never_heard_of_again_makes_room_for_another() {
        let mut breaker = Breaker::default();
        for at in 0..3 {
            fail(&mut breaker, at);
        }
        assert!(breaker.admit(Millis(1_002)) && !breaker.admit(Millis(2_001)));
        assert!(breaker.admit(Millis(2_002)) && !breaker.admit(Millis(2_003)));
        assert_eq!(breaker.circuit, Circuit::HalfOpen);
    }

    #[test]
    fn a_success_forgets_earlier_failures() {
        let mut breaker = Breaker::default();
        for round in 0..10 {
            assert!(!fail(&mut breaker, round) && !fail(&mut breaker, round));
            breaker.succeeded(Millis(round));
        }
        assert_eq!(breaker.trips, 0);
    }

    #[test]
    fn breakers_by_name_are_bounded() {
        let mut breakers = Breakers::default();
        for n in 0..2 * i64::try_from(BREAKERS_MAX).unwrap() {
            breakers.failed(&format!("tool:{n}"), "boom", POLICY, Millis(n));
        }
        assert_eq!(breakers.all().count(), BREAKERS_MAX);
        assert!(breakers.get("tool:0").is_none() && breakers.get("tool:511").is_some());
        assert!(breakers.admit("tool:unheard", Millis(0)));
    }
}
