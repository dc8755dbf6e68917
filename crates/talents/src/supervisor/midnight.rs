//! Which days are over and still want their work. Pure: the time comes in.
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

/// What is to be done.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Due {
    /// Days that are over, oldest first.
    pub days: Vec<Day>,
    /// Days that are over too long ago: the first and the last of them.
    pub left_out: Option<(Day, Day)>,
}

impl Calendar {
    pub fn today(&self, now: Timestamp) -> Day {
        now.to_zoned(self.zone.clone()).date().into()
    }

    /// The last day that is over.
    pub fn yesterday(&self, now: Timestamp) -> Day {
        before(self.today(now).date()).into()
    }

    /// The days after `done` that are over at `now`.
    pub fn due(&self, done: Day, now: Timestamp) -> Due {
        let yesterday = self.yesterday(now);
        if yesterday <= done {
            return Due::default();
        }
        let mut days = Vec::new();
        let mut day = yesterday.date();
        while day > done.date() && days.len() < self.catch_up_days_max as usize {
            days.push(Day::from(day));
            day = before(day);
        }
        days.reverse();
        let first_left = after(done.date());
        let left_out = (day > done.date()).then(|| (Day::from(first_left), Day::from(day)));
        Due { days, left_out }
    }

    /// When the next day begins.
    pub fn next_midnight(&self, now: Timestamp) -> Timestamp {
        let tomorrow = after(self.today(now).date());
        // A day that lacks its midnight begins at the first moment it has.
        tomorrow.to_zoned(self.zone.clone()).map_or(now, |start| start.timestamp())
    }
}

fn before(date: Date) -> Date {
    date.yesterday().unwrap_or(date)
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
    fn days_missed_for_long_are_named_and_left_out() {
        let calendar = calendar(ZONES[0], 2);
        let now: Timestamp = "2026-03-30T10:00:00Z".parse().expect("a time");
        let due = calendar.due(day("20260320"), now);
        assert_eq!(due.days, [day("20260328"), day("20260329")]);
        assert_eq!(due.left_out, Some((day("20260321"), day("20260327"))));
        assert_eq!(calendar.due(day("20260329"), now), Due::default());
        // Set back: nothing is due again.
        assert_eq!(calendar.due(day("20260405"), now), Due::default());
    }

    proptest! {
        // execution 5.6, 9.18, R94, R134: whatever the clock does, each day's work is due once and in order
        #[test]
        fn every_day_is_done_once_over_changes_of_the_clock_sleep_and_downtime(
            zone in 0usize..4,
            start in 1_700_000_000i64..1_900_000_000,
            steps in prop::collection::vec(
                prop_oneof![1i64..120, 600i64..90_000, -7_200i64..0, 86_400i64..250_000],
                1..200,
            ),
        ) {
            let calendar = calendar(ZONES[zone], 1_000);
            let mut now = start;
            let at = |seconds| Timestamp::from_second(seconds).expect("a time");
            let mut done = calendar.yesterday(at(now));
            let first = done;
            let mut worked: Vec<Day> = Vec::new();
            for step in steps {
                now += step;
                let due = calendar.due(done, at(now));
                prop_assert_eq!(due.left_out, None);
                for day in due.days {
                    prop_assert!(day > done && day < calendar.today(at(now)));
                    worked.push(day);
                    done = day;
                }
                let midnight = calendar.next_midnight(at(now));
                prop_assert!(midnight > at(now));
                prop_assert!(midnight.as_second() - now <= 25 * 3_600 + 1);
                prop_assert_eq!(calendar.today(midnight).date(), after(calendar.today(at(now)).date()));
                let just_before = Timestamp::from_second(midnight.as_second() - 1).expect("a time");
                prop_assert_eq!(calendar.today(just_before), calendar.today(at(now)));
            }
            let mut expected = first.date();
            for day in worked {
                expected = after(expected);
                prop_assert_eq!(day.date(), expected);
            }
        }
    }
}
