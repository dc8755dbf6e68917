//! Writes a filter in the text form that `filter` reads. The form is stable: it is what audits and people see.

use std::fmt;

use proof::memory::Millis;

use super::field::{self, Kind};
use super::filter::{PPM_DIGITS, bare_value};
use super::predicate::{FieldValue, Predicate};

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Predicate::Eq(name, value) => test(f, name, "=", value),
            Predicate::Ne(name, value) => test(f, name, "!=", value),
            Predicate::Gt(name, value) => test(f, name, ">", value),
            Predicate::Gte(name, value) => test(f, name, ">=", value),
            Predicate::Lt(name, value) => test(f, name, "<", value),
            Predicate::Lte(name, value) => test(f, name, "<=", value),
            Predicate::In(name, values) => {
                write!(f, "{}=(", field::typed_name(name))?;
                for (i, value) in values.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { ", " })?;
                    write_value(f, name, value)?;
                }
                f.write_str(")")
            }
            Predicate::HasTag(tag) => {
                f.write_str("tag:")?;
                write_text(f, tag, true)
            }
            Predicate::Matches(name, pattern) => {
                write!(f, "{}~", field::typed_name(name))?;
                write_text(f, pattern, false)
            }
            Predicate::And(parts) if parts.len() > 1 => join(f, parts, " "),
            Predicate::Or(parts) if parts.len() > 1 => join(f, parts, " OR "),
            Predicate::And(parts) => {
                f.write_str("ALL(")?;
                join(f, parts, "")?;
                f.write_str(")")
            }
            Predicate::Or(parts) => {
                f.write_str("ANY(")?;
                join(f, parts, "")?;
                f.write_str(")")
            }
            Predicate::Not(part) => {
                f.write_str("NOT ")?;
                join(f, std::slice::from_ref(part.as_ref()), "")
            }
        }
    }
}

/// Writes parts so that each reads back as one.
fn join(f: &mut fmt::Formatter<'_>, parts: &[Predicate], between: &str) -> fmt::Result {
    for (i, part) in parts.iter().enumerate() {
        f.write_str(if i == 0 { "" } else { between })?;
        match part {
            Predicate::And(inner) | Predicate::Or(inner) if inner.len() > 1 => {
                write!(f, "({part})")?;
            }
            _ => write!(f, "{part}")?,
        }
    }
    Ok(())
}

fn test(f: &mut fmt::Formatter<'_>, name: &str, operator: &str, value: &FieldValue) -> fmt::Result {
    write!(f, "{}{operator}", field::typed_name(name))?;
    write_value(f, name, value)
}

fn write_value(f: &mut fmt::Formatter<'_>, name: &str, value: &FieldValue) -> fmt::Result {
    match value {
        FieldValue::Text(text) => {
            let bare = bare_value(name, text).is_some_and(|read| read == *value);
            write_text(f, text, bare)
        }
        FieldValue::Flag(flag) => write!(f, "{flag}"),
        FieldValue::Time(time) => write_time(f, *time),
        FieldValue::Number(number) => {
            let ratio = field::rows(name).iter().any(|row| matches!(row.kind, Kind::Ratio));
            if !ratio {
                return write!(f, "{}", number.get());
            }
            let sign = if number.get() < 0 { "-" } else { "" };
            let ppm = number.get().unsigned_abs();
            let fraction = format!("{:0PPM_DIGITS$}", ppm % 1_000_000);
            let fraction = fraction.trim_end_matches('0');
            let point = if fraction.is_empty() { "" } else { "." };
            write!(f, "{sign}{}{point}{fraction}", ppm / 1_000_000)
        }
    }
}

fn write_time(f: &mut fmt::Formatter<'_>, time: Millis) -> fmt::Result {
    // Years of other than four digits have no agreed spelling.
    const FIRST: i64 = -62_167_219_200_000;
    const LAST: i64 = 253_402_300_799_999;
    if !(FIRST..=LAST).contains(&time.get()) {
        write!(f, "@{}", time.get())
    } else if time.get().rem_euclid(86_400_000) == 0 {
        f.write_str(&time.date())
    } else {
        f.write_str(&time.rfc3339())
    }
}

/// Quotes a text unless it reads back without.
fn write_text(f: &mut fmt::Formatter<'_>, text: &str, bare: bool) -> fmt::Result {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@#".contains(c);
    if bare && !text.is_empty() && text.chars().all(plain) {
        return f.write_str(text);
    }
    write!(f, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
