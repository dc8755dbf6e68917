//! Dates as other tools write them, as Unix milliseconds.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

/// Epoch numbers below this are seconds, up to a thousand times this milliseconds, above that microseconds. In seconds
/// it is the year 5138, in milliseconds 1973.
const SECONDS_MAX: i64 = 100_000_000_000;

/// RFC 3339, `2026-01-31 10:00:00` or `2026-01-31T10:00` (UTC), a date, or an epoch number as text.
pub(super) fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(timestamp) = text.parse::<jiff::Timestamp>() {
        return Some(timestamp.as_millisecond());
    }
    if let Ok(civil) = text.parse::<DateTime>()
        && text.len() >= "2026-01-31".len()
    {
        return civil.to_zoned(TimeZone::UTC).ok().map(|z| z.timestamp().as_millisecond());
    }
    text.parse::<i64>().ok().and_then(epoch)
}

/// Seconds, milliseconds or microseconds since 1970, told apart by their size. Zero stands for nothing.
pub(super) fn epoch(number: i64) -> Option<i64> {
    match number {
        ..=0 => None,
        n if n < SECONDS_MAX => n.checked_mul(1_000),
        n if n < SECONDS_MAX * 1_000 => Some(n),
        n => Some(n / 1_000),
    }
}

pub(super) fn value(value: Option<&Value>) -> Option<i64> {
    match value? {
        Value::String(text) => parse(text),
        // Fractions of a second are below what is kept.
        Value::Number(number) => {
            number.as_i64().or_else(|| seconds(number.as_f64()?)).and_then(epoch)
        }
        _ => None,
    }
}

fn seconds(number: f64) -> Option<i64> {
    // Exact for every date: a date in microseconds is below 2^53.
    #[allow(clippy::cast_possible_truncation)]
    (number.abs() < 9e15).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn dates_of_every_tool_are_read() {
        let at = Some(1_774_692_000_000);
        for text in [
            "2026-03-28T10:00:00Z",
            "2026-03-28T12:00:00+02:00",
            "2026-03-28 10:00:00",
            "2026-03-28T10:00:00",
            " 2026-03-28 10:00 ",
            "1774692000",
            "1774692000000",
            "1774692000000000",
        ] {
            assert_eq!(parse(text), at, "{text:?}");
        }
        assert_eq!(parse("2026-03-28"), Some(1_774_656_000_000));
        assert_eq!(value(Some(&json!(1_774_692_000))), at);
        assert_eq!(value(Some(&json!(1_774_692_000.5))), at);
        for bad in ["", "yesterday", "0", "-5", "2026-13-01", "10:00"] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }
}
