//! The work of days: segments as they close, the day as a whole once it is over, and again when late data comes.
//!
//! What became of each day is in a file that is replaced in one step, written after the work: a daemon that dies in
//! the middle does it again, and the work finds out what is left of it. The clock on the wall is asked again and
//! again, because waits do not count the time that a machine sleeps.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use llm::providers::BoxFuture;
use tokio::sync::{Notify, watch};

use super::ledger::{DayFailure, ScheduleState, SeenDay};
use super::midnight::Calendar;
use crate::Day;
use crate::bus::{Backoff, BusMessage, Hub, SUPERVISOR_TOPIC};
use crate::clock::Timing;

/// How long the wall clock and the chronicle are not looked at.
const LOOK_EVERY: Duration = Duration::from_secs(30);
const RETRY: Backoff = Backoff { first: Duration::from_mins(1), max: Duration::from_hours(1) };

/// Does the work of days.
pub trait DayWorker: Send + Sync {
    /// Takes in what sources have new, then tells which days lie in the chronicle, from the first on.
    fn look(&self, since: Day) -> BoxFuture<'_, Result<Vec<SeenDay>, String>>;

    /// Works on a day; one that is not over has only its closed segments worked on.
    fn work(&self, day: Day, is_over: bool) -> BoxFuture<'_, Result<(), DayProblem>>;

    /// Whether nothing of a day is left to do, because somebody did it. Asks no model.
    fn is_done(&self, day: Day, is_over: bool) -> BoxFuture<'_, bool>;

    /// What could be asked now, as one word that changes when a provider, a budget or a setting does. Asked only
    /// while a day waits.
    fn readiness(&self) -> BoxFuture<'_, String>;
}

/// Why a day could not be done.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DayProblem {
    /// In words.
    pub why: String,
    /// Models were asked and answered, and nothing else was wrong.
    pub is_of_answers: bool,
}

impl From<String> for DayProblem {
    fn from(why: String) -> DayProblem {
        DayProblem { why, is_of_answers: false }
    }
}

/// The schedule of one home.
pub struct DaySchedule {
    path: PathBuf,
    calendar: Calendar,
    timing: Timing,
    hub: Hub,
    worker: Arc<dyn DayWorker>,
    state: Mutex<ScheduleState>,
    now: Notify,
}

impl std::fmt::Debug for DaySchedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DaySchedule")
            .field("path", &self.path)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl DaySchedule {
    /// Reads how far it has come. A home without that begins with yesterday, so that whoever connects an agent has a
    /// brief of what was done last; nothing before it is made up for. One whose file cannot be read begins with today:
    /// nobody knows what was done.
    pub fn open(
        path: PathBuf,
        calendar: Calendar,
        timing: Timing,
        hub: Hub,
        worker: Arc<dyn DayWorker>,
    ) -> io::Result<DaySchedule> {
        let is_new = !path.exists();
        let known = match fs::read(&path) {
            Ok(bytes) => {
                let state = ScheduleState::read(&bytes).ok();
                if state.is_none() {
                    // Kept for whoever wants to know which days were missed; the schedule goes on from today.
                    fs::rename(&path, path.with_extension("json.unreadable"))?;
                    hub.publish(
                        BusMessage::new(SUPERVISOR_TOPIC, "schedule_unreadable")
                            .with("path", path.to_string_lossy().into_owned()),
                    );
                }
                state
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let now = timing.clock.now();
        let first = if is_new { calendar.yesterday(now) } else { calendar.today(now) }.to_string();
        let state = known
            .unwrap_or_else(|| ScheduleState { since: Some(first), ..ScheduleState::default() });
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let (state, now) = (Mutex::new(state), Notify::new());
        let schedule = DaySchedule { path, calendar, timing, hub, worker, state, now };
        schedule.save()?;
        Ok(schedule)
    }

    pub fn state(&self) -> ScheduleState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// When the next day begins.
    pub fn next_midnight(&self) -> Timestamp {
        self.calendar.next_midnight(self.timing.clock.now())
    }

    /// Looks at the clock and the chronicle now, and not only at the next look.
    pub fn look(&self) {
        self.now.notify_one();
    }

    fn save(&self) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(&self.state())?;
        llm::files::write_atomic_private(&self.path, &text)
    }

    fn change(&self, change: impl FnOnce(&mut ScheduleState)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        if let Err(error) = self.save() {
            let told = BusMessage::new(SUPERVISOR_TOPIC, "schedule_unsaved")
                .with("error", error.to_string());
            self.hub.publish(told);
        }
    }

    /// Does the work of days until told to stop. Run it in a task of its own.
    pub async fn run(&self, mut stop: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                () = self.catch_up() => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = self.now.notified() => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
        }
    }

    /// Works on every day that wants it, oldest first; one that fails holds up no other.
    async fn catch_up(&self) {
        let state = self.state();
        let Some(since) = state.since.as_deref().and_then(|day| Day::parse(day).ok()) else {
            return;
        };
        let seen = match self.worker.look(since).await {
            Ok(seen) => seen,
            Err(why) => {
                let told = BusMessage::new(SUPERVISOR_TOPIC, "chronicle_unread").with("error", why);
                self.hub.publish(told);
                return;
            }
        };
        let readiness = match state.waiting().next() {
            Some(_) => self.worker.readiness().await,
            None => String::new(),
        };
        for seen in seen {
            let now = self.timing.clock.now();
            let today = self.calendar.today(now);
            if seen.day < since || seen.day > today {
                continue;
            }
            let is_over = seen.day < today;
            let (state, millis) = (self.state(), self.timing.clock.millis());
            if !state.is_due(&seen, is_over, millis, &readiness) {
                if state.rests(&seen, is_over) && self.worker.is_done(seen.day, is_over).await {
                    self.change(|state| state.finished(&seen, is_over, millis));
                }
                continue;
            }
            if !state.days.contains_key(&seen.day.to_string())
                && self.calendar.is_long_over(seen.day, now)
            {
                self.leave_out(seen.day);
                continue;
            }
            self.work(&seen, is_over).await;
        }
    }

    async fn work(&self, seen: &SeenDay, is_over: bool) {
        let attempts = self.state().attempts(seen, is_over);
        self.hub.publish(
            BusMessage::new(SUPERVISOR_TOPIC, if is_over { "midnight" } else { "segments_closed" })
                .with("day", seen.day.to_string())
                .with("attempt", attempts + 1),
        );
        match self.worker.work(seen.day, is_over).await {
            Ok(()) => {
                let now = self.timing.clock.millis();
                self.change(|state| state.finished(seen, is_over, now));
            }
            Err(DayProblem { why, is_of_answers }) => {
                let pause = RETRY.wait(attempts, self.timing.jitter.roll());
                let pause = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
                let next_at = self.timing.clock.millis().saturating_add(pause);
                let told = BusMessage::new(SUPERVISOR_TOPIC, "day_waits")
                    .with("day", seen.day.to_string())
                    .with("reason", why.clone())
                    .with("next_at", next_at);
                self.hub.publish(told);
                let readiness = self.worker.readiness().await;
                let failure = DayFailure { why, next_at, readiness, is_of_answers };
                self.change(|state| state.failed(seen, is_over, failure));
            }
        }
    }

    fn leave_out(&self, day: Day) {
        const WHY: &str = "missed for too long";
        let mut is_new = false;
        let known = self.state().left_out.contains_key(&day.to_string());
        if !known {
            self.change(|state| is_new = state.leave_out(day, WHY));
        }
        if is_new {
            let told = BusMessage::new(SUPERVISOR_TOPIC, "left_out").with("day", day.to_string());
            self.hub.publish(told.with("reason", WHY));
        }
    }
}
