//! The work of a day, done once the day is over, also if that is noticed late.
//!
//! How far it has come is in a file that is replaced in one step. A day is written down as done after its work, so
//! a daemon that dies in the middle does it again: the work must be able to find out what is left of it. The clock
//! on the wall is asked again and again, because waits do not count the time that a machine sleeps.

use std::collections::BTreeMap;
use std::fs;
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, watch};

use super::midnight::Calendar;
use crate::Day;
use crate::bus::{Backoff, BusMessage, Hub, SUPERVISOR_TOPIC};
use crate::clock::Timing;

/// How long the wall clock is not looked at.
const LOOK_EVERY: Duration = Duration::from_secs(30);
const RETRY: Backoff = Backoff { first: Duration::from_mins(1), max: Duration::from_hours(1) };

/// Does the work of a day; the error says in words why it could not.
pub type DayWork =
    Arc<dyn Fn(Day) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync>;

/// How far the schedule has come, as it is on disk.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct ScheduleState {
    /// The last day whose work is done or was left out.
    pub done: Option<String>,
    /// When that was, in milliseconds since 1970.
    pub at: u64,
    /// How often the next day was tried in vain, and why the last time.
    pub attempts: u32,
    pub error: Option<String>,
    /// Days that were left out, with the reason; the newest 100.
    pub left_out: BTreeMap<String, String>,
}

/// How many days that were left out are remembered.
const LEFT_OUT_MAX: usize = 100;

/// The schedule of one home.
pub struct MidnightSchedule {
    path: PathBuf,
    calendar: Calendar,
    attempts_max: u32,
    timing: Timing,
    hub: Hub,
    work: DayWork,
    state: Mutex<ScheduleState>,
    now: Notify,
}

impl std::fmt::Debug for MidnightSchedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schedule")
            .field("path", &self.path)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl MidnightSchedule {
    /// Reads how far it has come. A home without that begins with today: nothing before it is made up for.
    pub fn open(
        path: PathBuf,
        calendar: Calendar,
        attempts_max: u32,
        timing: Timing,
        hub: Hub,
        work: DayWork,
    ) -> io::Result<MidnightSchedule> {
        let has_day = |state: &ScheduleState| {
            state.done.as_deref().is_some_and(|day| Day::parse(day).is_ok())
        };
        let known = match fs::read(&path) {
            Ok(bytes) => {
                let state = serde_json::from_slice(&bytes).ok().filter(has_day);
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
        let state = known.unwrap_or_else(|| ScheduleState {
            done: Some(calendar.yesterday(now).to_string()),
            at: timing.clock.millis(),
            ..ScheduleState::default()
        });
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let schedule = MidnightSchedule {
            path,
            calendar,
            attempts_max,
            timing,
            hub,
            work,
            state: Mutex::new(state),
            now: Notify::new(),
        };
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

    /// Looks at the clock now, and not only at the next look.
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

    /// Does the work of each day that is over, until told to stop. Run it in a task of its own.
    pub async fn run(&self, mut stop: watch::Receiver<bool>) {
        loop {
            let wait = tokio::select! {
                wait = self.catch_up() => wait,
                _ = stop.wait_for(|stop| *stop) => return,
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.now.notified() => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
        }
    }

    /// Works through what is due; says how long to wait before the next look.
    async fn catch_up(&self) -> Duration {
        loop {
            let now = self.timing.clock.now();
            let state = self.state();
            let Some(done) = state.done.as_deref().and_then(|day| Day::parse(day).ok()) else {
                return LOOK_EVERY;
            };
            let due = self.calendar.due(done, now);
            if let Some((first, last)) = due.left_out {
                self.leave_out(&format!("{first}-{last}"), last, "missed for too long");
            }
            let Some(day) = due.days.first().copied() else { return LOOK_EVERY };
            self.hub.publish(
                BusMessage::new(SUPERVISOR_TOPIC, "midnight")
                    .with("day", day.to_string())
                    .with("attempt", state.attempts + 1),
            );
            match (self.work)(day).await {
                Ok(()) => self.change(|state| {
                    state.done = Some(day.to_string());
                    state.at = self.timing.clock.millis();
                    state.attempts = 0;
                    state.error = None;
                }),
                Err(why) if state.attempts + 1 >= self.attempts_max => {
                    self.leave_out(&day.to_string(), day, &why);
                }
                Err(why) => {
                    self.change(|state| {
                        state.attempts += 1;
                        state.error = Some(why);
                    });
                    return RETRY.wait(state.attempts, self.timing.jitter.roll());
                }
            }
        }
    }

    fn leave_out(&self, days: &str, last: Day, why: &str) {
        self.hub.publish(
            BusMessage::new(SUPERVISOR_TOPIC, "left_out").with("day", days).with("reason", why),
        );
        self.change(|state| {
            state.done = Some(last.to_string());
            state.at = self.timing.clock.millis();
            state.attempts = 0;
            state.error = None;
            state.left_out.insert(days.to_owned(), why.to_owned());
            while state.left_out.len() > LEFT_OUT_MAX {
                state.left_out.pop_first();
            }
        });
    }
}
