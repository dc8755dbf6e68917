//! Times of the clock in five fields: minute, hour, day of the month, month, day of the week.
//!
//! Or a name for them, such as `@daily`. A field is `*`, a number, a range `a-b`, a list `a,b`, each with an optional
//! step `/n`; months and days of the week also by their first three letters; Sunday is 0 and 7. As in cron, a day fits
//! if either of its two fields does, where both are given. What must stay true: the next time is later than the one
//! asked about, and over a change of the clocks each named time comes at most once.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// How far ahead a next time is looked for: the 29th of February comes within this.
const DAYS_AHEAD: u32 = 366 * 9;
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Times that have a name.
const NAMED: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

/// Times of the clock. Each field is a set of bits.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CronTimes {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    any_day: bool,
    any_weekday: bool,
    text: String,
}

/// One field as bits.
fn field(text: &str, least: u32, most: u32, names: &[&str]) -> Result<u64, String> {
    let number = |word: &str| -> Result<u32, String> {
        let lower = word.to_ascii_lowercase();
        if let Some(place) = names.iter().position(|name| *name == lower) {
            // Months begin with 1, days of the week with 0.
            let first = u32::from(names.len() == 12);
            return Ok(u32::try_from(place).unwrap_or(0) + first);
        }
        let found = word.parse::<u32>().ok().filter(|number| (least..=most).contains(number));
        found.ok_or_else(|| format!("{word:?} is not between {least} and {most}"))
    };
    let mut bits = 0_u64;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => {
                let step = step.parse::<u32>().ok().filter(|step| *step > 0);
                (range, step.ok_or_else(|| format!("{part:?} has no step"))?)
            }
            None => (part, 1),
        };
        let (from, to) = match (range, range.split_once('-')) {
            ("*", _) => (least, most),
            // A week may end with Sunday: "sat-sun".
            (_, Some((from, to))) if names.len() == 7 && to.eq_ignore_ascii_case("sun") => {
                (number(from)?, 7)
            }
            (_, Some((from, to))) => (number(from)?, number(to)?),
            // With a step a single number is where it begins.
            _ if part.contains('/') => (number(range)?, most),
            _ => (number(range)?, number(range)?),
        };
        if from > to {
            return Err(format!("{range:?} ends before it begins"));
        }
        let mut at = from;
        while at <= to {
            bits |= 1 << at;
            at += step;
        }
    }
    Ok(bits)
}

impl CronTimes {
    pub fn parse(text: &str) -> Result<CronTimes, String> {
        let named = NAMED.iter().find(|(name, _)| text.trim().eq_ignore_ascii_case(name));
        let words: Vec<&str> =
            named.map_or(text, |(_, fields)| fields).split_whitespace().collect();
        let [minute, hour, day, month, weekday] = words.as_slice() else {
            return Err(
                "five fields are needed, minute hour day month weekday, or a name as @daily"
                    .to_owned(),
            );
        };
        let mut weekdays = field(weekday, 0, 7, &WEEKDAYS)?;
        if weekdays & (1 << 7) != 0 {
            weekdays |= 1;
        }
        Ok(CronTimes {
            minutes: field(minute, 0, 59, &[])?,
            hours: field(hour, 0, 23, &[])?,
            days: field(day, 1, 31, &[])?,
            months: field(month, 1, 12, &MONTHS)?,
            weekdays,
            any_day: day.starts_with('*'),
            any_weekday: weekday.starts_with('*'),
            text: words.join(" "),
        })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn has_day(&self, date: Date) -> bool {
        let bit = |bits: u64, at: i8| bits & (1 << u32::try_from(at).unwrap_or(63)) != 0;
        let day = bit(self.days, date.day());
        let weekday = bit(self.weekdays, date.weekday().to_sunday_zero_offset());
        let fits = match (self.any_day, self.any_weekday) {
            (false, false) => day || weekday,
            _ => day && weekday,
        };
        fits && bit(self.months, date.month())
    }

    /// The first time after a moment; nothing if none comes for years.
    pub fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let mut date = after.to_zoned(zone.clone()).date();
        for _ in 0..DAYS_AHEAD {
            if self.has_day(date) {
                let hours = (0..24).filter(|hour| self.hours & (1 << hour) != 0);
                for hour in hours {
                    let minutes = (0..60).filter(|minute| self.minutes & (1 << minute) != 0);
                    for minute in minutes {
                        let at = date.at(hour, minute, 0, 0).to_zoned(zone.clone()).ok();
                        // A time that the change of the clocks leaves out is that moment's next one.
                        if let Some(at) = at.map(|at| at.timestamp()).filter(|at| *at > after) {
                            return Some(at);
                        }
                    }
                }
            }
            date = date.tomorrow().ok()?;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn next(cron: &str, after: &str) -> String {
        let after: Timestamp = after.parse().unwrap();
        let at = CronTimes::parse(cron).unwrap().next(after, &TimeZone::UTC).unwrap();
        at.to_string()
    }

    // T21
    #[test]
    fn times_are_those_of_cron() {
        for (cron, after, wanted) in [
            ("0 9 * * mon-fri", "2026-01-09T10:00:00Z", "2026-01-12T09:00:00Z"),
            ("*/15 * * * *", "2026-01-09T10:07:00Z", "2026-01-09T10:15:00Z"),
            ("*/15 * * * *", "2026-01-09T10:15:00Z", "2026-01-09T10:30:00Z"),
            ("30 6,18 * * *", "2026-01-09T10:00:00Z", "2026-01-09T18:30:00Z"),
            ("0 0 1 * *", "2026-01-09T10:00:00Z", "2026-02-01T00:00:00Z"),
            ("0 0 29 feb *", "2026-01-09T10:00:00Z", "2028-02-29T00:00:00Z"),
            // Either of the two days, where both are given.
            ("0 0 13 * fri", "2026-01-09T10:00:00Z", "2026-01-13T00:00:00Z"),
            ("0 0 * * 7", "2026-01-09T10:00:00Z", "2026-01-11T00:00:00Z"),
            ("5/20 * * * *", "2026-01-09T10:06:00Z", "2026-01-09T10:25:00Z"),
            ("0 9 * * sat-sun", "2026-01-10T10:00:00Z", "2026-01-11T09:00:00Z"),
            ("0 9 * * Fri-Sun", "2026-01-11T10:00:00Z", "2026-01-16T09:00:00Z"),
            ("0 9 * * sun-mon", "2026-01-09T10:00:00Z", "2026-01-11T09:00:00Z"),
            ("@weekly", "2026-01-09T10:00:00Z", "2026-01-11T00:00:00Z"),
            ("@Daily", "2026-01-09T10:00:00Z", "2026-01-10T00:00:00Z"),
        ] {
            assert_eq!(next(cron, after), wanted, "{cron}");
        }
        assert_eq!(
            CronTimes::parse("0 0 31 2 *").unwrap().next(Timestamp::UNIX_EPOCH, &TimeZone::UTC),
            None
        );
    }

    #[test]
    fn what_is_no_time_is_refused_in_words() {
        for bad in [
            "",
            "* * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 8",
            "5-1 * * * *",
            "*/0 * * * *",
            "a * * * *",
            "* * * * * *",
            "@sometimes",
            "0 9 * * wed-tue",
        ] {
            assert!(CronTimes::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn the_next_time_is_later_and_fits(
            minute in 0_u32..60,
            hour in 0_u32..24,
            at in 1_700_000_000_i64..1_900_000_000,
        ) {
            let cron = CronTimes::parse(&format!("{minute} {hour} * * *")).unwrap();
            let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
            let after = Timestamp::from_second(at).unwrap();
            let next = cron.next(after, &zone).unwrap();
            prop_assert!(next > after && next.as_second() - at <= 26 * 3_600);
            let local = next.to_zoned(zone);
            prop_assert_eq!(u32::try_from(local.minute()).unwrap(), minute);
        }
    }
}
