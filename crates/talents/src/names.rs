//! The names that become parts of paths: talents, facets, days, segments, runs.
//!
//! A value of one of these types can be joined to a folder without a second look: it has no separator, no dot-dot,
//! no control character, and it has a length that every file system takes. Nothing else in this crate builds a path
//! from text that came from outside.

use std::fmt;

use jiff::civil::{Date, Time};
use thiserror::Error;

/// Longest talent name: it also names a folder and a symbolic link.
const TALENT_MAX: usize = 64;
const FACET_MAX: usize = 64;
/// Thirteen digits hold the milliseconds until the year 2286; more are refused before they become a file name.
const USE_ID_MAX: usize = 20;

#[derive(Clone, Debug, Error, Eq, PartialEq)]
#[error("{what} {given:?}: {rule}")]
pub struct NameError {
    /// Which kind of name it was to be, in the words of the wire.
    pub what: &'static str,
    /// What was given, shortened for the message.
    pub given: String,
    pub rule: &'static str,
}

impl NameError {
    fn new(what: &'static str, given: &str, rule: &'static str) -> NameError {
        NameError { what, given: given.chars().take(80).collect(), rule }
    }

    pub fn code(&self) -> &'static str {
        "bad_name"
    }
}

macro_rules! text_name {
    ($name:ident) => {
        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

/// The name of a talent: the stem of its file, a word of `a-z 0-9 _ -` that starts with a letter.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TalentName(String);
text_name!(TalentName);

impl TalentName {
    pub fn parse(text: &str) -> Result<TalentName, NameError> {
        slug("talent", text, TALENT_MAX).map(TalentName)
    }
}

/// The name of a facet, the project context of a run; the same namespace as a memory's project.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Facet(String);
text_name!(Facet);

impl Facet {
    pub fn parse(text: &str) -> Result<Facet, NameError> {
        slug("facet", text, FACET_MAX).map(Facet)
    }
}

fn slug(what: &'static str, text: &str, max: usize) -> Result<String, NameError> {
    let fits = text.len() <= max
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-')
        });
    if fits {
        Ok(text.to_owned())
    } else {
        Err(NameError::new(
            what,
            text,
            "starts with a letter a-z, then letters a-z, digits, _ and -, at most 64 characters",
        ))
    }
}

/// The id of a run: milliseconds since 1970 as decimal digits, unique in a home.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct UseId(String);
text_name!(UseId);

impl UseId {
    pub fn parse(text: &str) -> Result<UseId, NameError> {
        let fits = !text.is_empty()
            && text.len() <= USE_ID_MAX
            && text.bytes().all(|byte| byte.is_ascii_digit());
        if fits {
            Ok(UseId(text.to_owned()))
        } else {
            Err(NameError::new("use_id", text, "digits only, at most 20"))
        }
    }

    pub fn from_millis(millis: u64) -> UseId {
        UseId(millis.to_string())
    }
}

/// A day of the chronicle, `YYYYMMDD` on the wire and on disk.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Day(Date);

impl Day {
    pub fn parse(text: &str) -> Result<Day, NameError> {
        let bad = || NameError::new("day", text, "a date as YYYYMMDD");
        if text.len() != 8 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(bad());
        }
        let part = |from: usize, to: usize| text[from..to].parse::<i16>().map_err(|_| bad());
        let month = i8::try_from(part(4, 6)?).map_err(|_| bad())?;
        let day = i8::try_from(part(6, 8)?).map_err(|_| bad())?;
        Date::new(part(0, 4)?, month, day).map(Day).map_err(|_| bad())
    }

    pub fn date(self) -> Date {
        self.0
    }
}

impl From<Date> for Day {
    fn from(date: Date) -> Day {
        Day(date)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}{:02}{:02}", self.0.year(), self.0.month(), self.0.day())
    }
}

/// A stretch of a day, `HHMMSS_LENGTH` on the wire and on disk: when it starts, and for how many seconds it goes on.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Segment {
    start: Time,
    seconds: u32,
}

impl Segment {
    pub fn parse(text: &str) -> Result<Segment, NameError> {
        let bad = || NameError::new("segment", text, "HHMMSS_SECONDS, for example 120000_300");
        let (clock, seconds) = text.split_once('_').ok_or_else(bad)?;
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if clock.len() != 6
            || !digits(clock)
            || seconds.is_empty()
            || seconds.len() > 6
            || !digits(seconds)
        {
            return Err(bad());
        }
        let part = |from: usize| clock[from..from + 2].parse::<i8>().map_err(|_| bad());
        let start = Time::new(part(0)?, part(2)?, part(4)?, 0).map_err(|_| bad())?;
        let seconds = seconds.parse::<u32>().map_err(|_| bad())?;
        if seconds == 0 {
            return Err(bad());
        }
        Ok(Segment { start, seconds })
    }

    pub fn new(start: Time, seconds: u32) -> Result<Segment, NameError> {
        Segment::parse(&format!(
            "{:02}{:02}{:02}_{seconds}",
            start.hour(),
            start.minute(),
            start.second()
        ))
    }

    pub fn start(self) -> Time {
        self.start
    }

    pub fn seconds(self) -> u32 {
        self.seconds
    }

    /// When it ends; never past the last second of its day.
    pub fn end(self) -> Time {
        self.start
            .checked_add(jiff::SignedDuration::from_secs(i64::from(self.seconds)))
            .unwrap_or(Time::constant(23, 59, 59, 0))
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:02}{:02}{:02}_{}",
            self.start.hour(),
            self.start.minute(),
            self.start.second(),
            self.seconds
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_that_would_leave_their_folder_are_refused() {
        for bad in ["", "..", "a/b", "../a", "A", "9a", "a b", "a\0", "a.md", "ä", &"a".repeat(65)]
        {
            assert!(TalentName::parse(bad).is_err(), "{bad:?}");
            assert!(Facet::parse(bad).is_err(), "{bad:?}");
        }
        for bad in ["", "12a", "../1", "-1", " 1", &"1".repeat(21)] {
            assert!(UseId::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn days_and_segments_print_as_they_were_read() {
        for day in ["20250109", "00010101", "20240229"] {
            assert_eq!(Day::parse(day).expect("a day").to_string(), day);
        }
        for bad in ["2025019", "20250230", "20251301", "2025-1-9", "2025010a"] {
            assert!(Day::parse(bad).is_err(), "{bad:?}");
        }
        assert_eq!(
            Segment::parse("120000_300").expect("a segment").end(),
            Time::constant(12, 5, 0, 0)
        );
        assert_eq!(
            Segment::parse("235900_300").expect("a segment").end(),
            Time::constant(23, 59, 59, 0)
        );
        for bad in [
            "120000",
            "120000_",
            "120000_0",
            "126000_5",
            "240000_5",
            "1200_300",
            "120000_300_1",
            "120000_-5",
        ] {
            assert!(Segment::parse(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_accepted_is_one_plain_part_of_a_path(text in "\\PC{0,30}") {
            let one_part = |name: &str| std::path::Path::new(name).components().count() == 1 && !name.starts_with('.');
            if let Ok(name) = TalentName::parse(&text) {
                prop_assert!(one_part(name.as_str()));
            }
            if let Ok(segment) = Segment::parse(&text) {
                prop_assert_eq!(Segment::parse(&segment.to_string()), Ok(segment));
            }
        }
    }
}
