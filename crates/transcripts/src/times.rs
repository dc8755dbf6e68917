//! Times as agents write them: RFC 3339, or numbers whose size says what they count.
//!
//! What must stay true: a text that is no time is none, and a time that lies ahead of the reader's clock is taken back
//! to it, so that a session never sorts before what is written tomorrow.

/// Reads a time: RFC 3339, `2026-10-01 08:00:00` as UTC, or digits.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(number) = text.parse::<i64>() {
        return of_number(number);
    }
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Some(time.as_millisecond());
    }
    let local: jiff::civil::DateTime = text.parse().ok()?;
    Some(local.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

/// Seconds, milliseconds, microseconds or nanoseconds since 1970, by size: each range ends in the year 5138 of the
/// smaller unit and begins in 1973 of the larger one.
pub(crate) fn of_number(number: i64) -> Option<i64> {
    match number {
        ..=0 => None,
        1..100_000_000_000 => Some(number * 1_000),
        100_000_000_000..100_000_000_000_000 => Some(number),
        100_000_000_000_000..100_000_000_000_000_000 => Some(number / 1_000),
        _ => Some(number / 1_000_000),
    }
}

/// A time that is not after `now`.
pub(crate) fn clamp(at: i64, now: i64) -> i64 {
    at.min(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    // past 17
    #[test]
    fn every_kind_of_time_is_read() {
        let expected = Some(1_790_841_600_000);
        for text in [
            "2026-10-01T08:00:00Z",
            "2026-10-01T10:00:00+02:00",
            "2026-10-01 08:00:00",
            "1790841600",
            "1790841600000",
            "1790841600000000",
            "1790841600000000000",
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
        for text in ["", "soon", "0", "-5", "2026-13-01T00:00:00Z"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(clamp(7, 5), 5);
        assert_eq!(clamp(3, 5), 3);
    }
}
