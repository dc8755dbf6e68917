//! Dates in a question: years, months and days it names, matched with when something happened.

use kernel::memory::Millis;

use crate::document::MONTHS;

/// What a question says of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DateWords {
    years: Vec<i64>,
    months: Vec<i64>,
    days: Vec<i64>,
}

impl DateWords {
    pub(super) fn of(text: &str) -> DateWords {
        let mut words = DateWords::default();
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            let lower = word.to_lowercase();
            let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            match digits.parse::<i64>() {
                Ok(year) if (1900..2200).contains(&year) => words.years.push(year),
                Ok(day) if (1..=31).contains(&day) => words.days.push(day),
                _ => {
                    // "may" is mostly a verb; a month is written with a capital.
                    let capital = word.starts_with(char::is_uppercase);
                    words.months.extend(month(&lower).filter(|_| capital));
                }
            }
        }
        // A number alone is no date.
        if words.months.is_empty() {
            words.days.clear();
        }
        words
    }

    /// Whether the question names a year or a month.
    pub(super) fn are_named(&self) -> bool {
        !self.years.is_empty() || !self.months.is_empty()
    }

    /// How well a moment fits, in thousandths.
    pub(super) fn matches(&self, at: Millis) -> u64 {
        if !self.are_named() {
            return 0;
        }
        let date = at.date();
        let mut parts = date.rsplitn(3, '-').map(|part| part.parse::<i64>().unwrap_or(0));
        let (day, month, year) = (parts.next(), parts.next(), parts.next());
        let hit = |asked: &[i64], found: Option<i64>| found.is_some_and(|f| asked.contains(&f));
        let fits = |asked: &[i64], found: Option<i64>| asked.is_empty() || hit(asked, found);
        if !fits(&self.years, year) || !fits(&self.months, month) {
            return 0;
        }
        if self.days.is_empty() || hit(&self.days, day) { 1_000 } else { 500 }
    }
}

/// A month's number by its name or its first three letters.
fn month(word: &str) -> Option<i64> {
    let named = |name: &&str| *name == word || (word.len() == 3 && name.starts_with(word));
    let place = MONTHS.iter().position(named).or((word == "sept").then_some(8))?;
    i64::try_from(place).ok().map(|place| place + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_month_and_year_match_what_happened_then() {
        // 2023-05-08
        let may = Millis(1_683_504_000_000);
        for (question, expected) in [
            ("What happened in May 2023?", 1_000),
            ("What happened on 8 May 2023?", 1_000),
            ("What happened on May 9th, 2023?", 500),
            ("What happened in June 2023?", 0),
            ("What may happen in 2023?", 1_000),
            ("What may happen?", 0),
            ("8 things to do", 0),
        ] {
            assert_eq!(DateWords::of(question).matches(may), expected, "{question}");
        }
    }
}
