//! The days on which an actor was active: somebody wrote, asked, opened or changed something.
//!
//! Memories age by these days and by no others, so that a holiday or an import ages nothing. What the mind, the runner
//! and talents do by themselves is no activity; what somebody says to a talent is, and stands in the journal beside
//! it. What must stay true: the days are a function of the journal, however often and at whatever moments it was
//! followed.

use kernel::journal::{Entry, EntryKind, Payload};
use kernel::memory::Millis;
use kernel::salience::DAY_MS;
use kernel::store::View;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::proposal::BY;

/// Days that are kept; a hundred years. The oldest make room.
pub const DAYS_MAX: usize = 36_600;

/// How keys begin under which the tools of a talent write, whatever its name is.
pub const TALENT_KEYS: &str = "talent-";
/// Names under which Cortex writes by itself.
const BY_ITSELF: [&str; 3] = [BY, "runner", "talent"];

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveDays {
    /// Journal entries that were looked at.
    followed: u64,
    /// Numbers of days since 1970, in order.
    days: Vec<i64>,
}

/// The number of the day that a moment is in (UTC).
pub fn day_of(at: Millis) -> i64 {
    at.get().div_euclid(DAY_MS)
}

impl ActiveDays {
    /// The days of a whole journal.
    pub fn of(view: &View<'_>) -> Result<ActiveDays> {
        let mut days = ActiveDays::default();
        days.follow(view)?;
        Ok(days)
    }

    /// Reads what is new in the journal. One entry of somebody's is enough for a day, so the rest of it is skipped.
    pub fn follow(&mut self, view: &View<'_>) -> Result<()> {
        let size = view.counters()?.size;
        if self.followed > size {
            *self = ActiveDays::default();
        }
        let mut seq = self.followed + 1;
        if let Some(last) = self.days.last() {
            seq = first_from(view, *last + 1, seq, size)?;
        }
        while seq <= size {
            let Some(entry) = view.entry(seq)?.filter(is_activity) else {
                seq += 1;
                continue;
            };
            let day = day_of(entry.at);
            if self.days.last().is_none_or(|last| *last < day) {
                self.days.push(day);
            }
            seq = first_from(view, day + 1, seq + 1, size)?;
        }
        let surplus = self.days.len().saturating_sub(DAYS_MAX);
        self.days.drain(..surplus);
        self.followed = size;
        Ok(())
    }

    /// Active days up to and with the day of a moment.
    pub fn until(&self, at: Millis) -> i64 {
        let day = day_of(at);
        i64::try_from(self.days.partition_point(|known| *known <= day)).unwrap_or(i64::MAX)
    }

    /// Active days after the day of `since`, up to and with that of `now`.
    pub fn between(&self, since: Millis, now: Millis) -> i64 {
        (self.until(now) - self.until(since)).max(0)
    }
}

fn is_activity(entry: &Entry) -> bool {
    let by_itself =
        entry.run.is_some() || BY_ITSELF.contains(&entry.by.as_str()) || is_talents(entry);
    let kept_up = matches!(
        entry.kind,
        EntryKind::MindRun | EntryKind::Snapshot | EntryKind::Migration | EntryKind::LearnWeights
    );
    !by_itself && !kept_up
}

/// Written by the tools of a talent, or about the session that such a run has for itself.
fn is_talents(entry: &Entry) -> bool {
    let by_key = entry.idempotency.as_ref().is_some_and(|it| it.key.starts_with(TALENT_KEYS));
    let of_session = matches!(entry.kind, EntryKind::SessionStart | EntryKind::SessionEnd);
    by_key || (of_session && entry.payload().is_ok_and(|payload| is_own_session(&payload)))
}

fn is_own_session(payload: &Payload) -> bool {
    match payload {
        Payload::SessionStart(start) => start.session.starts_with(TALENT_KEYS),
        Payload::SessionEnd(end) => end.session.starts_with(TALENT_KEYS),
        _ => false,
    }
}

/// The first entry from `low` on whose time is in `day` or later; `size + 1` if there is none. Times of the journal
/// never run back.
fn first_from(view: &View<'_>, day: i64, low: u64, size: u64) -> Result<u64> {
    let (mut low, mut high) = (low, size + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        let is_before = view.entry(middle)?.is_some_and(|entry| day_of(entry.at) < day);
        if is_before {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}
