//! Dates in a question: years, months and days it names, and spans like "last week", matched with when something
//! happened.
//!
//! What must stay true: a function of the question and the moment at which it is asked.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use kernel::memory::Millis;

use text::analyze::fold;
use text::written_date::{date_in, month};

/// Days, weeks and the like that somebody looks back, at most.
const BACK_MAX: i64 = 400;
/// How far beside a span something still counts half: the days of a question are those of whoever asks, and those here
/// are UTC.
const BESIDE: i64 = 14 * 3_600_000;
const DAY: i64 = 86_400_000;
/// Years, months and days that a question may name, each.
const NAMED_MAX: usize = 8;
/// Days behind the day that a question names in which people mostly tell what happened on it.
const TOLD_WITHIN: i64 = 7;

/// What a question says of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DateWords {
    years: Vec<i64>,
    months: Vec<i64>,
    days: Vec<i64>,
    /// The days that these are together, since 1970; empty without a year.
    asked: Vec<i64>,
    /// The first moment and the first after it.
    span: Option<(i64, i64)>,
}

/// A part of the calendar, and how many of them ago; as folded words that follow one another.
const SPANS: [(&[&str], TimeUnit, i64); 27] = [
    (&["today"], TimeUnit::Day, 0),
    (&["heute"], TimeUnit::Day, 0),
    (&["hoy"], TimeUnit::Day, 0),
    (&["aujourd", "hui"], TimeUnit::Day, 0),
    (&["yesterday"], TimeUnit::Day, 1),
    (&["gestern"], TimeUnit::Day, 1),
    (&["ayer"], TimeUnit::Day, 1),
    (&["this", "week"], TimeUnit::Week, 0),
    (&["diese", "woche"], TimeUnit::Week, 0),
    (&["esta", "semana"], TimeUnit::Week, 0),
    (&["cette", "semaine"], TimeUnit::Week, 0),
    (&["last", "week"], TimeUnit::Week, 1),
    (&["letzte", "woche"], TimeUnit::Week, 1),
    (&["semana", "pasada"], TimeUnit::Week, 1),
    (&["semaine", "derniere"], TimeUnit::Week, 1),
    (&["this", "month"], TimeUnit::Month, 0),
    (&["diesen", "monat"], TimeUnit::Month, 0),
    (&["este", "mes"], TimeUnit::Month, 0),
    (&["ce", "mois"], TimeUnit::Month, 0),
    (&["last", "month"], TimeUnit::Month, 1),
    (&["letzten", "monat"], TimeUnit::Month, 1),
    (&["mes", "pasado"], TimeUnit::Month, 1),
    (&["mois", "dernier"], TimeUnit::Month, 1),
    (&["last", "year"], TimeUnit::Year, 1),
    (&["letztes", "jahr"], TimeUnit::Year, 1),
    (&["ano", "pasado"], TimeUnit::Year, 1),
    (&["annee", "derniere"], TimeUnit::Year, 1),
];

/// The same in Chinese, which has no spaces.
const CHINESE_SPANS: [(&str, TimeUnit, i64); 7] = [
    ("今天", TimeUnit::Day, 0),
    ("昨天", TimeUnit::Day, 1),
    ("上周", TimeUnit::Week, 1),
    ("这周", TimeUnit::Week, 0),
    ("上个月", TimeUnit::Month, 1),
    ("这个月", TimeUnit::Month, 0),
    ("去年", TimeUnit::Year, 1),
];

/// What is counted in "three weeks ago".
const UNITS: [(&str, TimeUnit); 8] = [
    ("day", TimeUnit::Day),
    ("days", TimeUnit::Day),
    ("week", TimeUnit::Week),
    ("weeks", TimeUnit::Week),
    ("month", TimeUnit::Month),
    ("months", TimeUnit::Month),
    ("year", TimeUnit::Year),
    ("years", TimeUnit::Year),
];

const NUMBERS: [&str; 13] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeUnit {
    Day,
    Week,
    Month,
    Year,
}

impl TimeUnit {
    /// The part of the calendar so many before that of a day: its first day, and the first behind it.
    fn before(self, today: Date, ago: i64) -> Option<(Date, Date)> {
        let monday = i64::from(today.weekday().to_monday_zero_offset());
        let (first, one, back) = match self {
            TimeUnit::Day => (today, Span::new().days(1), Span::new().try_days(ago)),
            TimeUnit::Week => {
                let first = today.checked_sub(Span::new().days(monday)).ok()?;
                (first, Span::new().weeks(1), Span::new().try_weeks(ago))
            }
            TimeUnit::Month => {
                (today.first_of_month(), Span::new().months(1), Span::new().try_months(ago))
            }
            TimeUnit::Year => {
                (today.first_of_year(), Span::new().years(1), Span::new().try_years(ago))
            }
        };
        let first = first.checked_sub(back.ok()?).ok()?;
        Some((first, first.checked_add(one).ok()?))
    }
}

impl DateWords {
    /// What a question says that is asked at a moment.
    pub(super) fn of(text: &str, now: Millis) -> DateWords {
        let mut words = DateWords::default();
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            let lower = word.to_lowercase();
            let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            match digits.parse::<i64>() {
                Ok(year) if (1900..2200).contains(&year) => words.years.push(year),
                Ok(day) if (1..=31).contains(&day) => words.days.push(day),
                _ => words.months.extend(named_month(word, &lower)),
            }
        }
        if words.months.is_empty() {
            // A number alone is no date, but for one that is written as a whole: 2023-05-08.
            words.days.clear();
            if let Some((_, month, day)) = date_in(text).and_then(parts) {
                words.months.push(month);
                words.days.push(day);
            }
        }
        for numbers in [&mut words.years, &mut words.months, &mut words.days] {
            numbers.sort_unstable();
            numbers.dedup();
            numbers.truncate(NAMED_MAX);
        }
        words.asked = words.asked_days(&words.years);
        words.span = span(text, now);
        words
    }

    /// How well a moment fits, in thousandths.
    pub(super) fn matches(&self, at: Millis) -> u64 {
        let within = self.span.map_or(0, |(from, until)| {
            if (from..until).contains(&at.0) {
                1_000
            } else if (from.saturating_sub(BESIDE)..until.saturating_add(BESIDE)).contains(&at.0) {
                500
            } else {
                0
            }
        });
        within.max(self.matches_date(at))
    }

    fn matches_date(&self, at: Millis) -> u64 {
        if self.years.is_empty() && self.months.is_empty() {
            return 0;
        }
        let Some((year, month, _)) = parts(at) else { return 0 };
        let fits = |asked: &[i64], found: i64| asked.is_empty() || asked.contains(&found);
        let month_fits = fits(&self.years, year) && fits(&self.months, month);
        if self.days.is_empty() {
            return if month_fits { 1_000 } else { 0 };
        }
        let of_its_year = if self.years.is_empty() { self.asked_days(&[year]) } else { Vec::new() };
        let later = |asked: &i64| at.0.div_euclid(DAY) - asked;
        let all = || self.asked.iter().chain(&of_its_year).map(later);
        if all().any(|days| days == 0) {
            1_000
        } else if all().any(|days| (1..=TOLD_WITHIN).contains(&days)) {
            700
        } else if month_fits {
            200
        } else {
            0
        }
    }

    /// The days that a question names of some years, since 1970.
    fn asked_days(&self, years: &[i64]) -> Vec<i64> {
        let mut asked = Vec::new();
        for year in years {
            for month in &self.months {
                asked.extend(self.days.iter().filter_map(|day| days(*year, *month, *day)));
            }
        }
        asked
    }
}

/// Days of a date since 1970.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let [month, day] = [month, day].map(|part| i8::try_from(part).ok());
    let date = Date::new(i16::try_from(year).ok()?, month?, day?).ok()?;
    let start = date.to_zoned(TimeZone::UTC).ok()?.timestamp();
    Some(start.as_millisecond().div_euclid(DAY))
}

/// The month that a word of a question names. "may" and "march" are mostly verbs and "Mars" is mostly a planet.
fn named_month(word: &str, lower: &str) -> Option<i64> {
    let capital = word.starts_with(char::is_uppercase);
    let is_month = match lower {
        "set" | "ago" => false,
        "mai" => true,
        "mars" => !capital,
        "march" => capital,
        _ => capital || lower.chars().count() > 3,
    };
    month(lower).filter(|_| is_month).map(i64::from)
}

/// The first span that a question names, in milliseconds.
fn span(text: &str, now: Millis) -> Option<(i64, i64)> {
    let folded: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(fold)
        .collect();
    let follow = |phrase: &[&str]| folded.windows(phrase.len()).any(|words| words == phrase);
    let named = SPANS.iter().find(|(phrase, ..)| follow(phrase)).map(|(_, unit, n)| (*unit, *n));
    let chinese = || CHINESE_SPANS.iter().find(|(phrase, ..)| text.contains(phrase));
    let named = named.or_else(|| chinese().map(|(_, unit, ago)| (*unit, *ago)));
    let (unit, ago) = named.or_else(|| folded.windows(3).find_map(so_long_ago))?;
    let today = Timestamp::from_millisecond(now.0).ok()?.to_zoned(TimeZone::UTC).date();
    let (from, until) = unit.before(today, ago)?;
    let start = |day: Date| {
        day.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp().as_millisecond())
    };
    Some((start(from)?, start(until)?))
}

/// "3 weeks ago", "two days ago".
fn so_long_ago(words: &[String]) -> Option<(TimeUnit, i64)> {
    let [count, unit, ago] = words else { return None };
    let spelled = || NUMBERS.iter().position(|number| number == count);
    let count = count.parse().ok().or_else(|| i64::try_from(spelled()?).ok());
    let unit = UNITS.iter().find(|(name, _)| name == unit);
    let count = count.filter(|count| ago == "ago" && (1..=BACK_MAX).contains(count))?;
    unit.map(|(_, unit)| (*unit, count))
}

/// Year, month and day.
fn parts(at: Millis) -> Option<(i64, i64, i64)> {
    let date = Timestamp::from_millisecond(at.0).ok()?.to_zoned(TimeZone::UTC).date();
    Some((date.year().into(), date.month().into(), date.day().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2023-05-08, a Monday.
    const MAY: Millis = Millis(1_683_504_000_000);

    #[test]
    fn a_named_month_and_year_match_what_happened_then() {
        for (question, expected) in [
            ("What happened in May 2023?", 1_000),
            ("What happened on 8 May 2023?", 1_000),
            ("What happened on May 9th, 2023?", 200),
            ("What happened on May 7th, 2023?", 700),
            ("What happened on 30 April 2023?", 0),
            ("What happened on 30 February or 3 May 2023?", 700),
            ("What happened in June 2023?", 0),
            ("What may happen in 2023?", 1_000),
            ("What may happen?", 0),
            ("8 things to do", 0),
            ("What happened on 2023-05-08?", 1_000),
            ("What happened on 2023-05-09?", 200),
            ("What happened on 2023-06-08?", 0),
            ("Was geschah im Mai 2023?", 1_000),
            ("Qu'est-ce qui s'est passé en mai 2023 ?", 1_000),
            ("¿Qué pasó en mayo de 2023?", 1_000),
            ("¿Qué pasó en junio de 2023?", 0),
            ("Set the alarm, march on", 0),
        ] {
            assert_eq!(DateWords::of(question, Millis(0)).matches(MAY), expected, "{question}");
        }
    }

    #[test]
    fn a_span_is_counted_from_the_moment_of_the_question() {
        // From Monday, 8 May on: what is asked, after how many days it means that day, and one that it does not mean.
        for (question, hit, miss) in [
            ("What did we decide today?", 0, 2),
            ("What did we decide yesterday?", 1, 3),
            ("Was haben wir gestern beschlossen?", 1, 3),
            ("¿Qué decidimos ayer?", 1, 3),
            ("昨天我们决定了什么？", 1, 3),
            ("What broke last week?", 9, 16),
            ("Was ging letzte Woche kaputt?", 9, 16),
            ("Qu'est-ce qui a cassé la semaine dernière ?", 9, 16),
            ("What broke this week?", 3, 9),
            ("notes of last month", 30, 80),
            ("notes of last year", 300, 0),
            ("what was said 2 weeks ago", 15, 30),
            ("what was said three days ago", 3, 6),
        ] {
            let asked = |days: i64| DateWords::of(question, Millis(MAY.0 + days * DAY + DAY / 2));
            assert_eq!(asked(hit).matches(MAY), 1_000, "{question}");
            assert_eq!(asked(miss).matches(MAY), 0, "{question}");
        }
        // The evening before in UTC may be the same day where the question was asked.
        let asked = DateWords::of("what did I do yesterday?", Millis(MAY.0 + DAY + DAY / 2));
        assert_eq!(asked.matches(Millis(MAY.0 - 3_600_000)), 500);
        for question in ["ago", "days ago", "0 days ago", "the last of us", "hier"] {
            assert_eq!(DateWords::of(question, MAY), DateWords::default(), "{question}");
        }
    }
}
