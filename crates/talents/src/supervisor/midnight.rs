//! The user's calendar: which day it is, and when the next one begins. Pure: the time comes in.
//!
//! A day is over when the user's calendar shows the next one. What counts is the calendar, not a timer that must
//! fire at midnight: after sleep, after downtime, over a change of the clocks and in zones whose days begin at one
//! o'clock, the same question gives the right answer. A clock that is set back makes nothing due a second time.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::Day;

/// The user's calendar.
#[derive(Clone, Debug)]
pub struct Calendar {
    pub zone: TimeZone,
    pub catch_up_days_max: u32,
}

impl Calendar {
    pub fn today(&self, now: Timestamp) -> Day {
        now.to_zoned(self.zone.clone()).date().into()
    }

    pub fn yesterday(&self, now: Timestamp) -> Day {
        let today = self.today(now).date();
        today.yesterday().unwrap_or(today).into()
    }

    /// Whether a day is over for so long that nobody makes up for it by himself.
    pub fn is_long_over(&self, day: Day, now: Timestamp) -> bool {
        let days = self.today(now).date().since(day.date()).map_or(0, |span| span.get_days());
        u32::try_from(days).is_ok_and(|days| days > self.catch_up_days_max)
    }

    /// When the next day begins.
    pub fn next_midnight(&self, now: Timestamp) -> Timestamp {
        let tomorrow = after(self.today(now).date());
        // A day that lacks its midnight begins at the first moment it has.
        tomorrow.to_zoned(self.zone.clone()).map_or(now, |start| start.timestamp())
    }
}

fn after(date: Date) -> Date {
    date.tomorrow().unwrap_or(date)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn calendar(zone: &str, max: u32) -> Calendar {
        Calendar { zone: TimeZone::posix(zone).expect("a zone"), catch_up_days_max: max }
    }

    fn day(text: &str) -> Day {
        Day::parse(text).expect("a day")
    }

    /// Berlin; a zone without daylight saving; one whose clocks change at midnight itself; New York.
    const ZONES: [&str; 4] = [
        "CET-1CEST,M3.5.0,M10.5.0/3",
        "IST-5:30",
        "<-03>3<-02>,M10.3.0/0,M2.3.0/0",
        "EST5EDT,M3.2.0,M11.1.0",
    ];

    #[test]
    fn a_day_without_a_midnight_still_begins() {
        // On the third Sunday of October the clocks go from 00:00 to 01:00.
        let calendar = calendar(ZONES[2], 4);
        let evening: Timestamp = "2026-10-18T02:30:00Z".parse().expect("a time");
        assert_eq!(calendar.today(evening), day("20261017"));
        let next = calendar.next_midnight(evening);
        assert_eq!(next.to_string(), "2026-10-18T03:00:00Z");
        assert_eq!(calendar.today(next), day("20261018"));
    }

    #[test]
    fn a_day_is_long_over_after_so_many_days() {
        let calendar = calendar(ZONES[0], 2);
        let now: Timestamp = "2026-03-30T10:00:00Z".parse().expect("a time");
        for (text, long) in
            [("20260330", false), ("20260328", false), ("20260327", true), ("20260401", false)]
        {
            assert_eq!(calendar.is_long_over(day(text), now), long, "{text}");
        }
    }

    proptest! {
        // execution 5.6, 9.18, R94, R134: days follow each other whatever the clock does
        #[test]
        fn days_begin_at_midnight_over_changes_of_the_clock(
            zone in 0usize..4,
            now in 1_700_000_000i64..1_900_000_000,
        ) {
            let calendar = calendar(ZONES[zone], 1_000);
            let at = |seconds| Timestamp::from_second(seconds).expect("a time");
            let midnight = calendar.next_midnight(at(now));
            prop_assert!(midnight > at(now));
            prop_assert!(midnight.as_second() - now <= 25 * 3_600 + 1);
            prop_assert_eq!(calendar.today(midnight).date(), after(calendar.today(at(now)).date()));
            let just_before = Timestamp::from_second(midnight.as_second() - 1).expect("a time");
            prop_assert_eq!(calendar.today(just_before), calendar.today(at(now)));
        }
    }
}
