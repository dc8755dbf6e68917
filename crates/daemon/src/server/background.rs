//! Work that nobody waits for, begun again and again by the daemon's clock.
//!
//! What must stay true: one piece of work never runs twice at the same time, however long it takes, and work that is
//! to rest in proportion leaves the machine to those who wait, however often there is something to do.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use api::{DEFAULT_ACTOR, Result};
use kernel::actor::ActorName;
use service::{Caller, Environment as _, SystemEnvironment};
use tokio::time::{Interval, MissedTickBehavior, interval};

use host::Host;

/// How often accesses are journaled and idle actors closed.
const TIDY_EVERY: Duration = Duration::from_secs(5);
/// How often new memories get their vectors of the chosen model.
const EMBED_EVERY: Duration = Duration::from_secs(2);
/// How often the minds look what is due.
const MINDS_EVERY: Duration = Duration::from_secs(5);
/// How soon a bulletin follows a change; changes within it are one.
const CHANGES_EVERY: Duration = Duration::from_millis(250);
/// Bulletins rest so many times as long as they took: under steady writing they have a tenth of a core.
const BULLETINS_REST: u32 = 9;
/// How often it is looked whether coding agents wrote something.
const FOLLOW_EVERY: Duration = Duration::from_secs(5);
/// How often it is looked whether a backup or the read of a ledger is due.
const KEEP_SAFE_EVERY: Duration = Duration::from_mins(1);
/// The longest rest, so that what follows the memories does not fall far behind them.
const REST_MAX: Duration = Duration::from_secs(30);

/// All work of the daemon, each kind in its own rhythm.
pub(super) struct Rounds(Vec<(Interval, PeriodicWork)>);

impl Rounds {
    pub(super) fn new() -> Rounds {
        Rounds::of([
            (TIDY_EVERY, PeriodicWork::new(|host| Ok(host.tidy(SystemEnvironment.now()?)?), 0)),
            (EMBED_EVERY, PeriodicWork::new(embed_new, 0)),
            (MINDS_EVERY, PeriodicWork::new(tick_minds, 0)),
            (CHANGES_EVERY, PeriodicWork::new(follow_changes, BULLETINS_REST)),
            (FOLLOW_EVERY, PeriodicWork::new(|host| Ok(host.follow_past()?), 0)),
            (KEEP_SAFE_EVERY, PeriodicWork::new(|host| Ok(host.keep_safe()?), 0)),
        ])
    }

    fn of<const KINDS: usize>(works: [(Duration, PeriodicWork); KINDS]) -> Rounds {
        let rhythm = |(every, work)| {
            let mut interval = interval(every);
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            (interval, work)
        };
        Rounds(works.map(rhythm).into())
    }

    /// Waits until something is due. Nothing is lost if the caller stops waiting.
    pub(super) async fn next(&mut self) -> &PeriodicWork {
        let due = poll_fn(|context| {
            let mut works = self.0.iter_mut();
            let due = works.position(|(interval, _)| interval.poll_tick(context).is_ready());
            due.map_or(Poll::Pending, Poll::Ready)
        });
        let due = due.await;
        &self.0[due].1
    }
}

/// New memories get their vectors of the chosen model.
fn embed_new(host: &Host) -> Result<()> {
    Ok(host.service.embed_new(SystemEnvironment.now()?).map(drop)?)
}

/// What is due for the minds of the home.
fn tick_minds(host: &Host) -> Result<()> {
    let actor = ActorName::parse(DEFAULT_ACTOR).map_err(service::Error::from)?;
    Ok(host.tick_minds(&Caller::new(actor, mind::proposal::BY))?)
}

/// Bulletins follow what was written since the last look.
fn follow_changes(host: &Host) -> Result<()> {
    let actor = ActorName::parse(DEFAULT_ACTOR).map_err(service::Error::from)?;
    Ok(host.follow_changes(&Caller::new(actor, mind::proposal::BY))?)
}

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

    #[tokio::test]
    async fn each_kind_of_work_comes_round_in_its_own_rhythm() {
        let works =
            [1, 2, 3].map(|rest| (Duration::from_hours(1), PeriodicWork::new(nothing, rest)));
        let mut rounds = Rounds::of(works);
        let mut seen = Vec::new();
        for _ in 0..3 {
            seen.push(rounds.next().await.rest);
        }
        assert_eq!(seen, [1, 2, 3], "all are due at once");
        let early = tokio::time::timeout(Duration::ZERO, rounds.next()).await;
        assert!(early.is_err(), "and then not for an hour");
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
