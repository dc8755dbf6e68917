//! Which days want work now. Pure: the time, what lies in the chronicle and whether anything has come back come in.
//!
//! A day wants work if what lies there is not what was last worked through, or if the day has ended since. Work that
//! failed is wanted again after a pause that grows, at once when what lies there changes, and at once when a provider,
//! a budget or a setting has changed since. No number of failures ends that: as long as there is data, there is work.
//! Only where models answered, and answered wrongly, a few tries are enough: the same question to the same model is
//! paid for again and again and has the same answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Day;

/// Days that are remembered.
pub(super) const DAYS_MAX: usize = 400;
/// How often models are asked the same for a day, if what they answer is not what was asked for.
const ANSWER_TRIES: u32 = 3;
/// Days that were left out and are remembered.
const LEFT_OUT_MAX: usize = 100;

/// What lies in the chronicle for a day.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SeenDay {
    pub day: Day,
    /// Changes when a source comes, goes or changes.
    pub print: String,
}

/// What became of a day so far.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct DayRecord {
    /// What lay there when its work was last done, with whether the day was over.
    pub done: Option<String>,
    /// When that was, in milliseconds since 1970.
    pub at: u64,
    /// What lay there when its work was last tried.
    pub tried: Option<String>,
    /// How often that was in vain, and why the last time.
    pub attempts: u32,
    pub error: Option<String>,
    /// When it is tried again, in milliseconds since 1970.
    pub next_at: u64,
    /// What could be asked when it failed; if that changes it is tried at once.
    pub readiness: String,
    /// Models answered wrongly, as often as is paid for: it rests until its data, a model or a setting changes.
    pub rests: bool,
}

/// How far the schedule has come, as it is on disk.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct ScheduleState {
    /// The first day that is worked on; nothing before it is made up for.
    pub since: Option<String>,
    /// Written by earlier versions: the last day that was done.
    #[serde(skip_serializing)]
    pub(super) done: Option<String>,
    pub days: BTreeMap<String, DayRecord>,
    /// Days that were left out, with the reason.
    pub left_out: BTreeMap<String, String>,
}

/// What a day's data and its being over are to the ledger.
fn key(print: &str, is_over: bool) -> String {
    format!("{print}{}", if is_over { " over" } else { "" })
}

impl ScheduleState {
    /// The state in a file, one of an earlier version included: that began after the last day that was done. The error
    /// says what is wrong.
    pub fn read(bytes: &[u8]) -> Result<ScheduleState, String> {
        let mut state: ScheduleState =
            serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let parsed = |text: &Option<String>| text.as_deref().and_then(|day| Day::parse(day).ok());
        if parsed(&state.since).is_none() {
            let next = parsed(&state.done).and_then(|done| done.date().tomorrow().ok());
            let next = next.ok_or("it does not say with which day it began")?;
            state.since = Some(Day::from(next).to_string());
        }
        state.done = None;
        Ok(state)
    }

    /// The days whose work is not done, with what is known of them, oldest first.
    pub fn waiting(&self) -> impl Iterator<Item = (&str, &DayRecord)> {
        let waits = |record: &&DayRecord| record.attempts > 0;
        self.days.iter().map(|(day, record)| (day.as_str(), record)).filter(move |(_, r)| waits(r))
    }

    /// The newest day that is done with.
    pub fn done_until(&self) -> Option<&str> {
        let done =
            |record: &DayRecord| record.done.as_ref().is_some_and(|key| key.ends_with(" over"));
        self.days.iter().rev().find(|(_, record)| done(record)).map(|(day, _)| day.as_str())
    }

    /// Does this day want work now?
    pub fn is_due(&self, seen: &SeenDay, is_over: bool, now: u64, readiness: &str) -> bool {
        let Some(record) = self.days.get(&seen.day.to_string()) else { return true };
        let wanted = key(&seen.print, is_over);
        if record.done.as_ref() == Some(&wanted) {
            return false;
        }
        // New data, or the end of the day, is no repetition of what failed.
        if record.attempts == 0 || record.tried.as_ref() != Some(&wanted) {
            return true;
        }
        (now >= record.next_at && !record.rests) || record.readiness != readiness
    }

    /// The work of a day is done.
    pub(super) fn finished(&mut self, seen: &SeenDay, is_over: bool, now: u64) {
        let done = Some(key(&seen.print, is_over));
        let record = DayRecord { done, at: now, ..DayRecord::default() };
        self.days.insert(seen.day.to_string(), record);
        self.left_out.remove(&seen.day.to_string());
        self.bound();
    }

    /// The work of a day failed; it is tried again at `next_at`.
    pub(super) fn failed(&mut self, seen: &SeenDay, is_over: bool, failure: DayFailure) {
        let tried = key(&seen.print, is_over);
        let record = self.days.entry(seen.day.to_string()).or_default();
        let again = record.tried.as_ref() == Some(&tried);
        record.attempts = if again { record.attempts.saturating_add(1) } else { 1 };
        record.tried = Some(tried);
        record.error = Some(failure.why);
        record.next_at = failure.next_at;
        record.readiness = failure.readiness;
        record.rests = failure.is_of_answers && record.attempts >= ANSWER_TRIES;
        self.bound();
    }

    /// A day that rests, as it lies there now.
    pub(super) fn rests(&self, seen: &SeenDay, is_over: bool) -> bool {
        let record = self.days.get(&seen.day.to_string());
        record.is_some_and(|it| it.rests && it.tried.as_ref() == Some(&key(&seen.print, is_over)))
    }

    /// How often the same work failed before.
    pub(super) fn attempts(&self, seen: &SeenDay, is_over: bool) -> u32 {
        let record = self.days.get(&seen.day.to_string());
        let same =
            record.filter(|record| record.tried.as_ref() == Some(&key(&seen.print, is_over)));
        same.map_or(0, |record| record.attempts)
    }

    /// A day that nobody tried while it was new is left out, and named.
    pub(super) fn leave_out(&mut self, day: Day, why: &str) -> bool {
        if self.days.contains_key(&day.to_string()) {
            return false;
        }
        let is_new = self.left_out.insert(day.to_string(), why.to_owned()).is_none();
        while self.left_out.len() > LEFT_OUT_MAX {
            self.left_out.pop_first();
        }
        is_new
    }

    fn bound(&mut self) {
        while self.days.len() > DAYS_MAX {
            self.days.pop_first();
        }
    }
}

/// Why the work of a day failed, and when it is tried again.
#[derive(Clone, Debug)]
pub(super) struct DayFailure {
    pub(super) why: String,
    pub(super) next_at: u64,
    pub(super) readiness: String,
    pub(super) is_of_answers: bool,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seen(print: &str) -> SeenDay {
        SeenDay { day: Day::parse("20260327").expect("a day"), print: print.to_owned() }
    }

    #[test]
    fn a_day_is_wanted_until_it_is_done_and_again_when_it_changes() {
        // T15, T16
        let mut state = ScheduleState::default();
        assert!(state.is_due(&seen("a"), false, 0, "up"));
        state.finished(&seen("a"), false, 1);
        assert!(!state.is_due(&seen("a"), false, 2, "up"));
        assert!(state.is_due(&seen("a"), true, 3, "up"), "the day has ended");
        state.finished(&seen("a"), true, 4);
        assert!(!state.is_due(&seen("a"), true, 5, "up"));
        assert!(state.is_due(&seen("b"), true, 6, "up"), "late data reopens it");
        assert_eq!(state.done_until(), Some("20260327"));
    }

    // Idling costs nothing, also while a model does not answer as it was asked to.
    #[test]
    fn wrong_answers_are_paid_for_three_times_and_again_for_something_new() {
        let mut state = ScheduleState::default();
        for tried in 1..=ANSWER_TRIES {
            assert!(state.is_due(&seen("a"), true, 1, "tiny"), "{tried}");
            let failure = DayFailure {
                why: "no JSON".to_owned(),
                next_at: 1,
                readiness: "tiny".to_owned(),
                is_of_answers: true,
            };
            state.failed(&seen("a"), true, failure);
        }
        assert!(!state.is_due(&seen("a"), true, u64::MAX, "tiny") && state.rests(&seen("a"), true));
        assert!(state.is_due(&seen("a"), true, 0, "large"), "another model");
        assert!(state.is_due(&seen("b"), true, 0, "tiny"), "other data");
        assert!(!state.rests(&seen("b"), true));
        assert_eq!(state.waiting().count(), 1, "it is still named");
    }

    proptest! {
        // T15: however often it fails, it is tried again: after its pause, or as soon as anything has come back
        #[test]
        fn no_number_of_failures_ends_the_tries(failures in 1_u32..500, pause in 1_u64..10_000) {
            let mut state = ScheduleState::default();
            for n in 0..failures {
                prop_assert_eq!(state.attempts(&seen("a"), true), n);
                let failure = DayFailure {
                    why: "down".to_owned(),
                    next_at: pause,
                    readiness: "down".to_owned(),
                    is_of_answers: false,
                };
                state.failed(&seen("a"), true, failure);
            }
            prop_assert!(!state.is_due(&seen("a"), true, pause - 1, "down"));
            prop_assert!(state.is_due(&seen("a"), true, pause, "down"));
            prop_assert!(state.is_due(&seen("a"), true, 0, "up"));
            prop_assert!(state.is_due(&seen("b"), true, 0, "down"));
            prop_assert_eq!(state.waiting().count(), 1);
            prop_assert!(!state.leave_out(seen("a").day, "old"));
        }
    }
}
