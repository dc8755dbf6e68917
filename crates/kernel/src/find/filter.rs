//! The text form of a filter: what people type, and what `Display` writes back.
//!
//! ```text
//! filter  = any
//! any     = every ( "OR" every )*
//! every   = one ( [ "AND" ] one )*
//! one     = ( "NOT" | "-" ) one | "(" any ")" | "ALL(" one* ")" | "ANY(" one* ")" | tag | test
//! tag     = ( "tag" | "tags" ) ( ":" | "=" | "!=" ) text
//! test    = field ( ":" | "=" | "!=" | ">" | ">=" | "<" | "<=" ) value
//!         | field ( ":" | "=" | "!=" ) "(" [ value ( "," value )* ] ")"
//!         | field "~" text
//! value   = word | text
//! text    = word | '"' … '"'
//! ```
//!
//! `type:decision tag:auth importance>=0.7 created>2026-01-01 (status=accepted OR pinned=true) NOT title~"(?i)draft"`
//!
//! Conditions side by side must all hold; `OR` binds looser; `AND`, `OR`, `NOT`, `ALL`, `ANY` are in capitals. A list
//! in parentheses means one of these. A field is typed bare (`project`, `confidence`, `status`) or in full
//! (`version.created`); bare names look at the head first, then the version, then the body. What a word means follows
//! from its field: ratios are decimals from 0 to 1 with up to six digits, times are `2026-01-31`,
//! `2026-01-31T10:00[:00[.000]]Z` or `@` and Unix milliseconds, flags are `true` and `false`. In quotes, `\"` is a
//! quote and `\\` a backslash; any other backslash stays, so patterns need no doubling. Whatever is in quotes is text.
//!
//! For every filter that passes the checks, parsing what `Display` wrote gives the same filter.

use std::str::FromStr;

use proof::memory::Millis;

use super::field::{self, Kind};
use super::predicate::{FieldValue, Number, Predicate};
use crate::error::{Error, Result};

/// A filter as text, in bytes.
pub const FILTER_BYTES_MAX: usize = 65_536;
/// Brackets and negations inside each other; more cannot pass the depth check of a filter anyway.
const NESTING_MAX: usize = 64;

pub(super) const PPM_DIGITS: usize = 6;

impl FromStr for Predicate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Predicate> {
        if text.len() > FILTER_BYTES_MAX {
            return Err(Error::TooLarge {
                field: "filter",
                size: text.len(),
                max: FILTER_BYTES_MAX,
            });
        }
        let mut parser = Parser { text, at: 0, nesting: 0 };
        let found = parser.any()?;
        parser.skip_space();
        if parser.at < text.len() {
            Err(parser.expected("a condition or the end"))
        } else {
            Ok(found)
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    nesting: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// An error at the current place, counted in characters from 1.
    fn expected(&self, what: &str) -> Error {
        let place = self.text[..self.at].chars().count() + 1;
        let found: String = self.rest().chars().take(20).collect();
        let found = if found.is_empty() { "the end".into() } else { format!("{found:?}") };
        Error::invalid("filter", format!("at {place}: expected {what}, found {found}"))
    }

    fn eat(&mut self, token: &str) -> bool {
        let hit = self.rest().starts_with(token);
        if hit {
            self.at += token.len();
        }
        hit
    }

    /// True, and past it, if the next thing is this word in capitals.
    fn keyword(&mut self, word: &str) -> bool {
        self.skip_space();
        let after = self.rest().strip_prefix(word);
        let hit = after.is_some_and(|after| {
            after.chars().next().is_none_or(|c| c.is_whitespace() || "()-".contains(c))
        });
        if hit {
            self.at += word.len();
        }
        hit
    }

    fn any(&mut self) -> Result<Predicate> {
        let mut parts = vec![self.every()?];
        while self.keyword("OR") {
            parts.push(self.every()?);
        }
        Ok(one_or(parts, Predicate::Or))
    }

    fn every(&mut self) -> Result<Predicate> {
        let mut parts = vec![self.one()?];
        loop {
            let start = self.at;
            if self.keyword("AND") {
                parts.push(self.one()?);
                continue;
            }
            self.skip_space();
            let ends = self.rest().is_empty() || self.rest().starts_with(')') || self.keyword("OR");
            if ends {
                self.at = start;
                return Ok(one_or(parts, Predicate::And));
            }
            parts.push(self.one()?);
        }
    }

    fn one(&mut self) -> Result<Predicate> {
        self.nesting += 1;
        if self.nesting > NESTING_MAX {
            return Err(Error::TooMany {
                field: "filter depth",
                count: self.nesting,
                max: NESTING_MAX,
            });
        }
        let found = self.one_inside();
        self.nesting -= 1;
        found
    }

    fn one_inside(&mut self) -> Result<Predicate> {
        if self.keyword("NOT") || self.eat("-") {
            return Ok(Predicate::Not(Box::new(self.one()?)));
        }
        if self.eat("(") {
            let inner = self.any()?;
            return self.close().map(|()| inner);
        }
        for (word, make) in
            [("ALL(", Predicate::And as fn(Vec<Predicate>) -> Predicate), ("ANY(", Predicate::Or)]
        {
            if self.eat(word) {
                let mut parts = Vec::new();
                loop {
                    self.skip_space();
                    if self.eat(")") {
                        return Ok(make(parts));
                    }
                    parts.push(self.one()?);
                }
            }
        }
        self.test()
    }

    fn close(&mut self) -> Result<()> {
        self.skip_space();
        if self.eat(")") { Ok(()) } else { Err(self.expected("`)`")) }
    }

    fn test(&mut self) -> Result<Predicate> {
        let start = self.at;
        let name_len = self
            .rest()
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
            .unwrap_or(self.rest().len());
        if name_len == 0 {
            return Err(self.expected("a field name, `tag`, `NOT` or `(`"));
        }
        let typed = &self.rest()[..name_len];
        self.at += name_len;
        self.skip_space();
        let operators = ["!=", ">=", "<=", ":", "=", ">", "<", "~"];
        let Some(operator) = operators.into_iter().find(|operator| self.eat(operator)) else {
            return Err(self.expected(&format!("one of : = != > >= < <= ~ after {typed:?}")));
        };
        self.skip_space();
        if matches!(typed, "tag" | "tags") {
            return match operator {
                ":" | "=" => self.text_value().map(Predicate::HasTag),
                "!=" => Ok(Predicate::Not(Box::new(Predicate::HasTag(self.text_value()?)))),
                _ => {
                    self.at = start;
                    Err(self.expected("`tag:` and a tag"))
                }
            };
        }
        let name = field::full_name(typed)
            .ok_or_else(|| Error::UnknownField(typed.chars().take(64).collect()))?;
        let field = name.to_owned();
        if operator == "~" {
            return Ok(Predicate::Matches(field, self.text_value()?));
        }
        if matches!(operator, ":" | "=" | "!=") && self.eat("(") {
            let list = Predicate::In(field, self.list(name)?);
            return Ok(if operator == "!=" { Predicate::Not(Box::new(list)) } else { list });
        }
        let value = self.value(name)?;
        Ok(match operator {
            "!=" => Predicate::Ne(field, value),
            ">" => Predicate::Gt(field, value),
            ">=" => Predicate::Gte(field, value),
            "<" => Predicate::Lt(field, value),
            "<=" => Predicate::Lte(field, value),
            _ => Predicate::Eq(field, value),
        })
    }

    fn list(&mut self, name: &str) -> Result<Vec<FieldValue>> {
        let mut values = Vec::new();
        self.skip_space();
        if self.eat(")") {
            return Ok(values);
        }
        loop {
            self.skip_space();
            values.push(self.value(name)?);
            self.skip_space();
            if !self.eat(",") {
                return self.close().map(|()| values);
            }
        }
    }

    fn value(&mut self, name: &str) -> Result<FieldValue> {
        if self.rest().starts_with('"') {
            return self.text_value().map(FieldValue::Text);
        }
        let start = self.at;
        let word = self.word()?;
        bare_value(name, word).ok_or_else(|| {
            self.at = start;
            let kind = field::rows(name).first().map(|row| row.kind);
            self.expected(match kind {
                Some(Kind::Number | Kind::Ids) => "a whole number",
                Some(Kind::Ratio) => "a decimal like 0.7",
                Some(Kind::Time) => "a time like 2026-01-31 or 2026-01-31T10:00:00Z",
                Some(Kind::Flag) => "true or false",
                Some(Kind::Text | Kind::Word(_) | Kind::Texts) | None => "a text",
            })
        })
    }

    fn word(&mut self) -> Result<&'a str> {
        let ends = |c: char| c.is_whitespace() || "(),\"".contains(c);
        let word = &self.rest()[..self.rest().find(ends).unwrap_or(self.rest().len())];
        if word.is_empty() {
            return Err(self.expected("a value"));
        }
        self.at += word.len();
        Ok(word)
    }

    fn text_value(&mut self) -> Result<String> {
        if !self.eat("\"") {
            return self.word().map(str::to_owned);
        }
        let start = self.at;
        let mut text = String::new();
        let mut chars = self.rest().char_indices().peekable();
        while let Some((offset, c)) = chars.next() {
            match c {
                '"' => {
                    self.at = start + offset + 1;
                    return Ok(text);
                }
                '\\' if chars.peek().is_some_and(|(_, next)| matches!(next, '"' | '\\')) => {
                    text.extend(chars.next().map(|(_, next)| next));
                }
                _ => text.push(c),
            }
        }
        self.at = self.text.len();
        Err(self.expected("a closing quote"))
    }
}

fn one_or(mut parts: Vec<Predicate>, many: impl Fn(Vec<Predicate>) -> Predicate) -> Predicate {
    match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            parts.extend(last);
            many(parts)
        }
    }
}

/// What an unquoted word means for a field.
pub(super) fn bare_value(name: &str, word: &str) -> Option<FieldValue> {
    field::rows(name).iter().find_map(|row| match row.kind {
        Kind::Flag => match word {
            "true" | "yes" => Some(FieldValue::Flag(true)),
            "false" | "no" => Some(FieldValue::Flag(false)),
            _ => None,
        },
        Kind::Number => parse_number(word).map(FieldValue::Number),
        Kind::Ids => parse_number(word.strip_prefix('#').unwrap_or(word)).map(FieldValue::Number),
        Kind::Ratio => parse_ratio(word).map(FieldValue::Number),
        Kind::Time => parse_time(word).map(FieldValue::Time),
        Kind::Text | Kind::Texts | Kind::Word(_) => Some(FieldValue::Text(word.to_owned())),
    })
}

fn parse_number(word: &str) -> Option<Number> {
    word.parse().ok().and_then(Number::new)
}

/// A decimal as parts per million, exactly; `None` if that needs more than six digits.
fn parse_ratio(word: &str) -> Option<Number> {
    let (negative, digits) = word.strip_prefix('-').map_or((false, word), |rest| (true, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty()
        || fraction.len() > PPM_DIGITS
        || !all_digits(whole)
        || !all_digits(fraction)
    {
        return None;
    }
    let whole: i128 = whole.parse().ok()?;
    let fraction: i128 = format!("{fraction:0<PPM_DIGITS$}").parse().ok()?;
    let ppm = whole.checked_mul(1_000_000)?.checked_add(fraction)?;
    Number::new(if negative { -ppm } else { ppm })
}

/// `2026-01-31`, `2026-01-31T10:00Z` with optional seconds and milliseconds, or `@` and Unix milliseconds.
pub fn parse_time(word: &str) -> Option<Millis> {
    if let Some(ms) = word.strip_prefix('@') {
        return ms.parse().ok().map(Millis);
    }
    let (date, clock) = match word.split_once('T') {
        Some((date, clock)) => (date, clock.strip_suffix('Z')?),
        None => (word, "00:00"),
    };
    let two = |text: &str, max: i64| -> Option<i64> {
        let digits = text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
        text.parse().ok().filter(|n| digits && *n <= max)
    };
    let mut parts = date.splitn(3, '-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if year.len() != 4 || !year.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (year, month, day): (i64, i64, i64) = (year.parse().ok()?, two(month, 12)?, two(day, 31)?);
    let mut parts = clock.splitn(3, ':');
    let (hours, minutes) = (two(parts.next()?, 23)?, two(parts.next()?, 59)?);
    let (seconds, ms) = match parts.next() {
        None => (0, 0),
        Some(seconds) => {
            let (seconds, ms) = seconds.split_once('.').unwrap_or((seconds, "000"));
            let digits = ms.len() == 3 && ms.bytes().all(|b| b.is_ascii_digit());
            (two(seconds, 59)?, ms.parse::<i64>().ok().filter(|_| digits)?)
        }
    };
    let midnight = Millis(days_from_civil(year, month, day)? * 86_400_000);
    // A day that the month does not have comes out as another date.
    (midnight.date() == date)
        .then(|| Millis(midnight.0 + ((hours * 60 + minutes) * 60 + seconds) * 1_000 + ms))
}

/// Days since 1970-01-01, counted in years that start on 1 March so that the leap day comes last.
fn days_from_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    if month < 1 || day < 1 {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(year * 365 + leaps + day_of_year - 719_468)
}
