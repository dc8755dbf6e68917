//! What to do when a service has ended: start it again after a while, or give it up. Pure.

use std::time::Duration;

use super::SupervisorSettings;
use crate::bus::Backoff;

/// "Not ready yet", in the exit codes that programs agree on.
pub const NOT_READY: i32 = 75;

/// What comes next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Next {
    StartAfter(Duration),
    GiveUp,
}

/// Remembers the crashes of one service.
#[derive(Clone, Debug)]
pub struct Policy {
    backoff: Backoff,
    stable: Duration,
    not_ready: Duration,
    crashes_max: u32,
    crashes: u32,
}

impl Policy {
    pub fn new(settings: &SupervisorSettings) -> Policy {
        Policy {
            backoff: Backoff {
                first: Duration::from_millis(settings.restart_ms_first),
                max: Duration::from_millis(settings.restart_ms_max),
            },
            stable: Duration::from_millis(settings.stable_ms),
            not_ready: Duration::from_millis(settings.not_ready_ms),
            crashes_max: settings.crashes_max,
            crashes: 0,
        }
    }

    /// The service ended by itself after `uptime`; `roll` is the jitter.
    pub fn ended(&mut self, uptime: Duration, exit_code: Option<i32>, roll: f64) -> Next {
        if exit_code == Some(NOT_READY) {
            return Next::StartAfter(self.not_ready);
        }
        if uptime >= self.stable {
            self.crashes = 0;
        }
        self.crashes += 1;
        if self.crashes > self.crashes_max {
            return Next::GiveUp;
        }
        Next::StartAfter(self.backoff.wait(self.crashes - 1, roll))
    }

    /// Somebody asked for the service: its past is forgotten.
    pub fn forgive(&mut self) {
        self.crashes = 0;
    }

    pub fn crashes(&self) -> u32 {
        self.crashes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // execution 9.18
    #[test]
    fn a_service_that_only_crashes_is_given_up_and_one_that_recovers_is_not() {
        let settings = SupervisorSettings { crashes_max: 3, ..SupervisorSettings::default() };
        let mut policy = Policy::new(&settings);
        let crash = Duration::from_secs(1);
        for _ in 0..3 {
            assert!(matches!(policy.ended(crash, Some(1), 0.5), Next::StartAfter(_)));
        }
        assert_eq!(policy.ended(crash, Some(1), 0.5), Next::GiveUp);
        policy.forgive();
        for _ in 0..100 {
            assert!(matches!(
                policy.ended(Duration::from_secs(61), Some(1), 0.5),
                Next::StartAfter(_)
            ));
            assert!(matches!(policy.ended(crash, Some(NOT_READY), 0.5), Next::StartAfter(_)));
        }
        assert_eq!(policy.crashes(), 1);
    }

    proptest! {
        #[test]
        fn waits_grow_to_a_bound(rolls in prop::collection::vec(0.0f64..1.0, 1..8)) {
            let mut policy = Policy::new(&SupervisorSettings::default());
            for (index, roll) in rolls.into_iter().enumerate() {
                let next = policy.ended(Duration::ZERO, None, roll);
                let Next::StartAfter(wait) = next else { panic!("{next:?}") };
                let whole = Duration::from_millis(500 << index).min(Duration::from_mins(1));
                prop_assert!(wait >= whole / 2 && wait <= whole);
            }
        }
    }
}
