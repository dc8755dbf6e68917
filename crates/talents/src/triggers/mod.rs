//! What starts a talent by itself besides days and segments: times of the clock, and what happens in the memory.
//!
//! `cron` reads times; here is what else a talent's file says of it, and the count of what was started. What must stay
//! true: a time that was missed is made up for once and not for every one missed; no talent is started more often in a
//! day than its file allows; what was started is counted before it is started.

mod cron;

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

pub use cron::CronTimes;

use crate::digests::TextDigest;
use crate::names::Day;

/// How often a talent is started in a day if its file does not say.
pub const RUNS_PER_DAY: u32 = 50;
/// Talents whose last start is remembered.
const REMEMBERED_MAX: usize = 1_000;

/// What happens in the memory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MemoryEvent {
    SessionEnd,
    Saved,
}

impl MemoryEvent {
    pub fn parse(word: &str) -> Option<MemoryEvent> {
        match word {
            "session_end" => Some(MemoryEvent::SessionEnd),
            "memory.saved" => Some(MemoryEvent::Saved),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            MemoryEvent::SessionEnd => "session_end",
            MemoryEvent::Saved => "memory.saved",
        }
    }
}

/// Which of them start a talent: every condition that is given must hold.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EventFilter {
    pub event: MemoryEvent,
    pub project: Option<String>,
    pub kind: Option<String>,
    pub tag: Option<String>,
}

impl EventFilter {
    pub fn fits(&self, event: MemoryEvent, project: &str, kind: &str, tags: &[String]) -> bool {
        self.event == event
            && self.project.as_ref().is_none_or(|wanted| wanted == project)
            && self.kind.as_ref().is_none_or(|wanted| wanted == kind)
            && self.tag.as_ref().is_none_or(|wanted| tags.contains(wanted))
    }
}

/// What starts a talent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Trigger {
    Cron(CronTimes),
    Event(EventFilter),
}

/// What was started, as it is on disk.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct TriggerState {
    /// The last time of each talent that was seen to, in milliseconds since 1970.
    pub last: BTreeMap<String, i64>,
    /// How often each talent was started today.
    pub day: String,
    pub counts: BTreeMap<String, u32>,
    /// The last entry of the journal that was looked at.
    pub entry: Option<u64>,
}

/// A wait of up to so many seconds that is the same for the same talent and time.
fn jitter_ms(talent: &str, at: i64, seconds: u32) -> i64 {
    let mut digest = TextDigest::default();
    digest.add(talent);
    digest.add(&at.to_string());
    let number = i64::from_str_radix(&digest.hex(4), 16).unwrap_or(0);
    number % (i64::from(seconds) * 1_000 + 1)
}

impl TriggerState {
    /// Is a talent due by the clock? A talent that was never seen begins now. Several times that were missed are one.
    pub fn is_due(
        &mut self,
        talent: &str,
        times: &CronTimes,
        jitter_seconds: u32,
        now: Timestamp,
        zone: &TimeZone,
    ) -> bool {
        let millis = now.as_millisecond();
        let Some(last) = self.last.get(talent).copied() else {
            self.last.insert(talent.to_owned(), millis);
            while self.last.len() > REMEMBERED_MAX {
                self.last.pop_first();
            }
            return false;
        };
        let Ok(last) = Timestamp::from_millisecond(last) else { return false };
        let Some(next) = times.next(last, zone) else { return false };
        let next = next.as_millisecond();
        if millis < next.saturating_add(jitter_ms(talent, next, jitter_seconds)) {
            return false;
        }
        self.last.insert(talent.to_owned(), millis);
        true
    }

    /// Counts a start; false if the day has had enough of them.
    pub fn count(&mut self, talent: &str, most: u32, today: Day) -> bool {
        let today = today.to_string();
        if self.day != today {
            self.day = today;
            self.counts.clear();
        }
        let count = self.counts.entry(talent.to_owned()).or_default();
        if *count >= most {
            return false;
        }
        *count += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    // T21
    #[test]
    fn a_missed_time_is_made_up_for_once_and_jitter_only_waits() {
        let times = CronTimes::parse("0 9 * * *").unwrap();
        let mut state = TriggerState::default();
        let mut due =
            |now: &str, jitter: u32| state.is_due("t", &times, jitter, at(now), &TimeZone::UTC);
        assert!(!due("2026-01-05T12:00:00Z", 0), "begins now");
        assert!(!due("2026-01-06T08:59:00Z", 0));
        assert!(due("2026-01-06T09:00:30Z", 0));
        assert!(!due("2026-01-06T09:01:00Z", 0));
        assert!(due("2026-01-20T12:00:00Z", 0), "two weeks are one");
        assert!(!due("2026-01-20T12:00:30Z", 0));
        let waits = (0..600).find(|second| {
            due(
                &(at("2026-01-21T09:00:00Z") + jiff::SignedDuration::from_secs(*second))
                    .to_string(),
                300,
            )
        });
        assert!(waits.is_some_and(|second| second <= 301), "{waits:?}");
    }

    #[test]
    fn a_day_has_its_cap_and_the_next_day_its_own() {
        let mut state = TriggerState::default();
        let (one, two) = (Day::parse("20260105").unwrap(), Day::parse("20260106").unwrap());
        assert!(state.count("t", 2, one) && state.count("t", 2, one));
        assert!(!state.count("t", 2, one) && state.count("other", 2, one));
        assert!(state.count("t", 2, two));
    }

    #[test]
    fn every_condition_of_a_filter_must_hold() {
        let filter = EventFilter {
            event: MemoryEvent::Saved,
            project: Some("web".to_owned()),
            kind: Some("decision".to_owned()),
            tag: None,
        };
        assert!(filter.fits(MemoryEvent::Saved, "web", "decision", &[]));
        assert!(!filter.fits(MemoryEvent::Saved, "web", "bugfix", &[]));
        assert!(!filter.fits(MemoryEvent::Saved, "app", "decision", &[]));
        assert!(!filter.fits(MemoryEvent::SessionEnd, "web", "decision", &[]));
    }
}
