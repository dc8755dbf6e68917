//! Dates as people and programs write them, and who said something when, at the head of a text.
//!
//! Agents save plain text: `Ada, 8 May 2023: we moved`. What must stay true: a pure function of the text; a date that
//! could be two days (`03/04/2023`) is none, and ordinary prose has no speaker.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use kernel::memory::Millis;

/// The beginning of a text in which a date and a name are looked for, in characters.
const HEAD_CHARS: usize = 80;
/// The longest name that is a speaker's, in words.
const NAME_WORDS: usize = 3;
/// Years that a date may have.
const YEARS: std::ops::RangeInclusive<i16> = 1900..=2199;

/// Months by the first letters of their names, in English, German, French and Spanish. Longer beginnings come first.
const MONTHS: [(&str, i8); 36] = [
    ("janv", 1),
    ("jan", 1),
    ("jän", 1),
    ("ener", 1),
    ("feb", 2),
    ("fév", 2),
    ("fev", 2),
    ("mar", 3),
    ("mär", 3),
    ("maer", 3),
    ("apr", 4),
    ("avr", 4),
    ("abr", 4),
    ("may", 5),
    ("mai", 5),
    ("juni", 6),
    ("juin", 6),
    ("jun", 6),
    ("juli", 7),
    ("juil", 7),
    ("jul", 7),
    ("aug", 8),
    ("août", 8),
    ("aout", 8),
    ("ago", 8),
    ("sep", 9),
    ("okt", 10),
    ("oct", 10),
    ("nov", 11),
    ("dez", 12),
    ("dec", 12),
    ("déc", 12),
    ("dic", 12),
    ("ene", 1),
    ("marz", 3),
    ("set", 9),
];

/// A word that is a month, and only that: `mayor` and `marked` are none.
pub fn month(word: &str) -> Option<i8> {
    const WHOLE: [&str; 50] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "januar",
        "jänner",
        "februar",
        "märz",
        "maerz",
        "mai",
        "juni",
        "juli",
        "oktober",
        "dezember",
        "janvier",
        "février",
        "fevrier",
        "mars",
        "avril",
        "juin",
        "juillet",
        "août",
        "aout",
        "septembre",
        "octobre",
        "novembre",
        "décembre",
        "decembre",
        "enero",
        "febrero",
        "marzo",
        "abril",
        "mayo",
        "junio",
        "julio",
        "agosto",
        "septiembre",
        "setiembre",
        "octubre",
        "noviembre",
        "diciembre",
        "sept",
    ];
    let lower = word.to_lowercase();
    let short = lower.chars().count() == 3;
    if !short && !WHOLE.contains(&lower.as_str()) {
        return None;
    }
    MONTHS.iter().find(|(name, _)| lower.starts_with(name)).map(|(_, month)| *month)
}

/// The first date of a text; midnight of that day, or the moment if a program wrote it.
pub fn date_in(text: &str) -> Option<Millis> {
    for word in text.split_whitespace() {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        if let Ok(moment) = word.parse::<jiff::Timestamp>() {
            return Some(Millis(moment.as_millisecond()));
        }
    }
    let parts: Vec<Part<'_>> = parts(text);
    (0..parts.len()).find_map(|at| date_at(&parts[at..]))
}

/// A number or a word of a text, and what stands between it and the next.
#[derive(Clone, Copy, Debug)]
struct Part<'t> {
    text: &'t str,
    gap: &'t str,
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let class = |c: char| if c.is_ascii_digit() { 1 } else { u8::from(c.is_alphabetic()) * 2 };
    let mut parts: Vec<Part<'_>> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = class(first);
        let end = rest.find(|c: char| class(c) != kind).unwrap_or(rest.len());
        let (part, tail) = rest.split_at(end);
        if kind == 0 {
            if let Some(last) = parts.last_mut() {
                last.gap = part;
            }
        } else {
            parts.push(Part { text: part, gap: "" });
        }
        rest = tail;
    }
    parts
}

/// A date that begins with the first of the parts.
fn date_at(parts: &[Part<'_>]) -> Option<Millis> {
    let number = |at: usize| parts.get(at).and_then(|part| part.text.parse::<i16>().ok());
    let year = |at: usize| number(at).filter(|y| YEARS.contains(y));
    let small = |at: usize, most: i8| {
        let value = number(at).and_then(|n| i8::try_from(n).ok());
        value.filter(|n| (1..=most).contains(n))
    };
    let named = |at: usize| parts.get(at).and_then(|part| month(part.text));
    let gap = |at: usize| parts.get(at).map_or("", |part| part.gap);
    let is = |at: usize, words: &[&str]| {
        parts.get(at).is_some_and(|part| words.contains(&part.text.to_lowercase().as_str()))
    };
    // 2023-05-08, 2023/05/08, 2023.05.08, 2023年5月8日
    if let (Some(y), Some(m), Some(d)) = (year(0), small(1, 12), small(2, 31))
        && matches!(gap(0), "-" | "/" | ".")
        && gap(0) == gap(1)
    {
        return day(y, m, d);
    }
    if is(1, &["年"]) && is(3, &["月"]) {
        return day(year(0)?, small(2, 12)?, small(4, 31)?);
    }
    // 08.05.2023 is a day first; with slashes only what can be nothing else.
    if let (Some(a), Some(b), Some(y)) = (small(0, 31), small(1, 31), year(2))
        && matches!(gap(0), "-" | "/" | ".")
        && gap(0) == gap(1)
    {
        let dotted = gap(0) == ".";
        return match (a <= 12, b <= 12) {
            (_, true) if dotted || a > 12 => day(y, b, a),
            (true, false) if !dotted => day(y, a, b),
            (true, true) if a == b => day(y, a, b),
            _ => None,
        };
    }
    // May 8, 2023; May 8th 2023; January-05-2024
    if let (Some(m), Some(d)) = (named(0), small(1, 31)) {
        let at = if is(2, &["st", "nd", "rd", "th"]) { 3 } else { 2 };
        return year(at).and_then(|y| day(y, m, d));
    }
    // 8 May 2023; 8th of May, 2023; 8. Mai 2023; 1er mai 2023; 8 de mayo de 2023
    let d = small(0, 31)?;
    let mut at = 1;
    at += usize::from(is(at, &["st", "nd", "rd", "th", "er", "º"]));
    at += usize::from(is(at, &["of", "de"]));
    let m = named(at)?;
    at += 1;
    at += usize::from(is(at, &["de", "del"]));
    year(at).and_then(|y| day(y, m, d))
}

fn day(year: i16, month: i8, day: i8) -> Option<Millis> {
    let date = Date::new(year, month, day).ok()?;
    Some(Millis(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond()))
}

/// Who says a text and when, as its head says: `Ada, 8 May 2023: …`, `[2023-05-08] Ada: …`, `Ada (8. Mai 2023): …`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextHead {
    pub speaker: Option<String>,
    pub at: Option<Millis>,
    /// Where the head ends in the trimmed text; 0 if it names nobody.
    end: usize,
}

impl TextHead {
    pub fn of(content: &str) -> TextHead {
        let line = content.trim_start().lines().next().unwrap_or_default();
        let end = line.char_indices().nth(HEAD_CHARS).map_or(line.len(), |(at, _)| at);
        let colon = line[..end].find(": ").or_else(|| line[..end].find('：'));
        let Some(at) = colon.and_then(|colon| date_in(&line[..colon])) else {
            // A date alone, before what happened then: `2023-05-08 moved to Bern`, `[8 May 2023] moved`.
            let start = line.trim_start_matches(['[', '(']);
            return TextHead { at: leading_date(start), ..TextHead::default() };
        };
        let colon = colon.unwrap_or(0);
        let head = &line[..colon];
        let mut names = head.split([',', '(', ')', '[', ']', '，', '（', '）', '|', '–', '—', '-']);
        let speaker = names.find_map(name).map(str::to_owned);
        let sign = line[colon..].chars().next().map_or(0, char::len_utf8);
        let end = if speaker.is_some() { colon + sign } else { 0 };
        TextHead { speaker, at: Some(at), end }
    }

    /// What is said, without who says it and when.
    pub fn said<'t>(&self, content: &'t str) -> &'t str {
        let content = content.trim();
        content.get(self.end..).unwrap_or(content).trim_start()
    }
}

/// The date that a text begins with.
fn leading_date(text: &str) -> Option<Millis> {
    let word = text.split_whitespace().next()?.trim_end_matches(['.', ',', ';', ':', ']', ')']);
    if let Ok(moment) = word.parse::<jiff::Timestamp>() {
        return Some(Millis(moment.as_millisecond()));
    }
    date_at(&parts(text))
}

/// A part of a head that is a name: a few words, each with a capital or of a script without, and no date.
fn name(part: &str) -> Option<&str> {
    let part = part.trim();
    let part = part.split(" on ").next().unwrap_or(part).trim();
    let words: Vec<&str> = part.split_whitespace().collect();
    let fits = |word: &&str| {
        word.starts_with(|c: char| c.is_alphabetic() && !c.is_lowercase())
            && word.chars().all(|c| c.is_alphabetic() || matches!(c, '.' | '\''))
            && month(word).is_none()
            && !word.contains(['年', '月', '日'])
    };
    let is_name = (1..=NAME_WORDS).contains(&words.len()) && words.iter().all(fits);
    is_name.then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2023-05-08
    const DAY: Millis = Millis(1_683_504_000_000);

    // Q5
    #[test]
    fn one_day_in_many_spellings_and_five_languages() {
        for text in [
            "2023-05-08",
            "2023/05/08",
            "8 May 2023",
            "8 may 2023",
            "1:56 pm on 8 May, 2023",
            "on the 8th of May 2023",
            "May 8, 2023",
            "May 8th 2023",
            "May-08-2023",
            "08.05.2023",
            "8. Mai 2023",
            "am 8. Mai 2023 in Bern",
            "8 mai 2023",
            "8 de mayo de 2023",
            "2023年5月8日",
            "05/08/2023 is two days, so 2023-05-08",
        ] {
            assert_eq!(date_in(text), Some(DAY), "{text}");
        }
        assert_eq!(date_in("2023-05-08T01:00:00Z"), Some(Millis(1_683_507_600_000)));
        assert_eq!(date_in("13/05/2023"), date_in("05/13/2023"));
        assert_eq!(date_in("1er janvier 2024"), date_in("1. Januar 2024"));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "May",
            "2023",
            "31 February 2023",
            "sometime",
            "03/04/2023",
            "v1.2.3",
            "10.0.0.1",
            "8 mayors 2023",
            "in 8 may 20234",
            "marked 5 2023",
        ] {
            assert_eq!(date_in(text), None, "{text}");
        }
    }

    // Q5
    #[test]
    fn the_head_of_a_text_says_who_and_when() {
        for text in [
            "Ada, 8 May 2023: we moved",
            "[2023-05-08] Ada: we moved",
            "Ada (8. Mai 2023): wir sind umgezogen",
            "Ada, 8 de mayo de 2023: nos mudamos",
            "Ada – 8 mai 2023 : nous avons déménagé",
            "Ada on May 8, 2023: we moved",
        ] {
            let head = TextHead::of(text);
            assert_eq!((head.speaker.as_deref(), head.at), (Some("Ada"), Some(DAY)), "{text}");
            assert!(!head.said(text).contains("Ada"), "{text}");
        }
        let chinese = TextHead::of("艾达，2023年5月8日：我们搬家了");
        assert_eq!((chinese.speaker.as_deref(), chinese.at), (Some("艾达"), Some(DAY)));
        let dated = TextHead::of("2023-05-08 moved to Bern");
        assert_eq!((dated.speaker, dated.at), (None, Some(DAY)));
        for text in ["Warning: do not", "**What**: a fix", "see: 8 May 2023", "we moved", ""] {
            assert_eq!(TextHead::of(text), TextHead::default(), "{text}");
        }
    }
}
