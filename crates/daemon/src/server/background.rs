//! Work that nobody waits for, begun again and again by the daemon's clock.
//!
//! What must stay true: one piece of work never runs twice at the same time, however long it takes, and work that is
//! to rest in proportion leaves the machine to those who wait, however often there is something to do.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use api::Result;

use crate::host::Host;

/// The longest rest, so that what follows the memories does not fall far behind them.
const REST_MAX: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug)]
enum Turn {
    Running,
    /// Not to begin before then.
    Resting(Instant),
}

/// One kind of work, and when it may begin again.
pub(super) struct PeriodicWork {
    work: fn(&Host) -> Result<()>,
    /// It rests so many times as long as it took.
    rest: u32,
    turn: Arc<Mutex<Turn>>,
}

impl PeriodicWork {
    pub(super) fn new(work: fn(&Host) -> Result<()>, rest: u32) -> PeriodicWork {
        PeriodicWork { work, rest, turn: Arc::new(Mutex::new(Turn::Resting(Instant::now()))) }
    }

    /// Begins it on a thread of its own, unless it runs or rests. What goes wrong is said in the log.
    pub(super) fn begin(&self, host: &Arc<Host>) {
        if !self.take_turn(Instant::now()) {
            return;
        }
        let (host, work) = (Arc::clone(host), self.work);
        let ended =
            EndOfTurn { turn: Arc::clone(&self.turn), rest: self.rest, began: Instant::now() };
        tokio::task::spawn_blocking(move || {
            if let Err(error) = work(&host) {
                tracing::warn!("in the background: {} ({})", error.message, error.code);
            }
            // Also dropped if the work panics.
            drop(ended);
        });
    }

    fn take_turn(&self, now: Instant) -> bool {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        match *turn {
            Turn::Resting(until) if now >= until => {
                *turn = Turn::Running;
                true
            }
            Turn::Running | Turn::Resting(_) => false,
        }
    }
}

struct EndOfTurn {
    turn: Arc<Mutex<Turn>>,
    rest: u32,
    began: Instant,
}

impl Drop for EndOfTurn {
    fn drop(&mut self) {
        let now = Instant::now();
        let rest = now.duration_since(self.began).saturating_mul(self.rest).min(REST_MAX);
        *self.turn.lock().unwrap_or_else(PoisonError::into_inner) = Turn::Resting(now + rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "work may fail")]
    fn nothing(_: &Host) -> Result<()> {
        Ok(())
    }

    #[test]
    fn work_that_runs_is_not_begun_again_and_rests_in_proportion() {
        let work = PeriodicWork::new(nothing, 4);
        let now = Instant::now();
        assert!(work.take_turn(now));
        assert!(!work.take_turn(now + Duration::from_hours(1)), "it still runs");
        let began = Instant::now().checked_sub(Duration::from_secs(1)).expect("a running clock");
        drop(EndOfTurn { turn: Arc::clone(&work.turn), rest: 4, began });
        assert!(!work.take_turn(Instant::now() + Duration::from_secs(3)), "it rests for 4 s");
        assert!(work.take_turn(Instant::now() + Duration::from_secs(5)));
    }

    #[test]
    fn a_rest_has_an_end_however_long_the_work_took() {
        let work = PeriodicWork::new(nothing, 1_000);
        assert!(work.take_turn(Instant::now()));
        let began = Instant::now().checked_sub(Duration::from_mins(1)).expect("a running clock");
        drop(EndOfTurn { turn: Arc::clone(&work.turn), rest: 1_000, began });
        assert!(work.take_turn(Instant::now() + REST_MAX));
    }
}
