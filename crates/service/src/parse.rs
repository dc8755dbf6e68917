//! How people write times, spans, ratios and memories on the command line.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use kernel::actor::ActorName;
use kernel::memory::{MemoryId, Millis, PinnedVersion};
use kernel::uri::Uri;
use kernel::{Error, Result};

const PPM: f64 = 1_000_000.0;

/// RFC 3339, or a date for its first moment in UTC.
pub fn time(text: &str) -> Result<Millis> {
    if let Ok(timestamp) = text.parse::<jiff::Timestamp>() {
        return Ok(Millis(timestamp.as_millisecond()));
    }
    text.parse::<Date>()
        .ok()
        .filter(|_| text.len() == "2026-01-31".len())
        .and_then(|date| date.to_zoned(TimeZone::UTC).ok())
        .map(|zoned| Millis(zoned.timestamp().as_millisecond()))
        .ok_or_else(|| {
            Error::invalid(
                "time",
                format!("{:?} is neither 2026-01-31 nor 2026-01-31T10:00:00Z", shown(text)),
            )
        })
}

/// A span like `90s`, `15m`, `12h`, `7d`, `2w`, or a moment; both as the moment they end.
pub fn until(text: &str, now: Millis) -> Result<Millis> {
    let unit_ms = |unit: &str| match unit {
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        "w" => Some(7 * 86_400_000),
        _ => None,
    };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    match (number.parse::<i64>(), unit_ms(unit)) {
        (Ok(number), Some(unit)) => number
            .checked_mul(unit)
            .and_then(|span| now.get().checked_add(span))
            .map(Millis)
            .ok_or_else(|| Error::invalid("expires", "is too far away")),
        _ => time(text).map_err(|_| {
            Error::invalid(
                "expires",
                format!("{:?} is neither a span like 90s, 12h, 7d nor a time", shown(text)),
            )
        }),
    }
}

/// A number from 0 to 1 as parts per million.
pub fn ratio(field: &'static str, text: &str) -> Result<u32> {
    let wrong = || Error::invalid(field, format!("{:?} is not a number from 0 to 1", shown(text)));
    let number: f64 = text.parse().map_err(|_| wrong())?;
    ratio_of(field, number)
}

/// The same for a number that is one already.
pub fn ratio_of(field: &'static str, number: f64) -> Result<u32> {
    if !(0.0..=1.0).contains(&number) {
        return Err(Error::invalid(field, "must lie between 0 and 1"));
    }
    // In range, so neither sign nor size can be lost.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Ok((number * PPM).round() as u32)
}

/// Parts per million as the number people wrote.
pub fn from_ppm(ppm: u32) -> f64 {
    f64::from(ppm) / PPM
}

/// A memory as people name it: `12`, `12#3` or a URI. A version, if there is one, is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryRef {
    pub id: MemoryId,
    pub version: Option<u32>,
    pub uri: Option<Uri>,
}

impl MemoryRef {
    /// Fails if the memory is named as another actor's.
    pub fn of(&self, actor: &ActorName) -> Result<MemoryId> {
        match &self.uri {
            Some(uri) if uri.actor != *actor => {
                let reason = "it belongs to another actor; name that one with --actor";
                Err(Error::BadUri { uri: uri.to_string(), reason })
            }
            _ => Ok(self.id),
        }
    }

    /// The memory at its version, or at the one `current` says.
    pub fn pinned(&self, current: impl FnOnce() -> Result<u32>) -> Result<PinnedVersion> {
        let version = self.version.map_or_else(current, Ok)?;
        Ok(PinnedVersion { id: self.id, version })
    }
}

impl std::str::FromStr for MemoryRef {
    type Err = Error;

    fn from_str(text: &str) -> Result<MemoryRef> {
        if text.starts_with("cortex:") {
            let uri: Uri = text.parse()?;
            return Ok(MemoryRef { id: uri.id, version: Some(uri.version), uri: Some(uri) });
        }
        let wrong = || {
            let shown = shown(text);
            Error::invalid("id", format!("{shown:?} is neither a number, nor 12#3, nor a URI"))
        };
        let number = |text: &str| text.parse::<u64>().ok().filter(|n| *n > 0);
        let (id, version) = match text.split_once('#') {
            Some((id, version)) => (id, Some(version)),
            None => (text, None),
        };
        let version = version
            .map(|version| number(version).and_then(|n| u32::try_from(n).ok()).ok_or_else(wrong))
            .transpose()?;
        let id = number(id).and_then(MemoryId::new).ok_or_else(wrong)?;
        Ok(MemoryRef { id, version, uri: None })
    }
}

/// The start of what was typed, for a message.
pub fn shown(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates_or_rfc_3339() {
        assert_eq!(time("1970-01-02").unwrap(), Millis(86_400_000));
        assert_eq!(time("1970-01-01T01:00:00+01:00").unwrap(), Millis(0));
        assert_eq!(time("2026-11-14T23:59:59.999Z").unwrap().rfc3339(), "2026-11-14T23:59:59.999Z");
        for bad in
            ["", "yesterday", "2026-13-01", "2026-01-32", "2026-01-31T10:00", "1", "20260131"]
        {
            assert!(time(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn spans_end_after_now() {
        assert_eq!(until("7d", Millis(5)).unwrap(), Millis(5 + 7 * 86_400_000));
        assert_eq!(until("1970-01-02", Millis(5)).unwrap(), Millis(86_400_000));
        for bad in ["7", "d", "7y", "-1d", "99999999999999999w", ""] {
            assert!(until(bad, Millis(5)).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn memories_are_numbers_versions_or_uris() {
        let parse = |text: &str| text.parse::<MemoryRef>();
        assert_eq!(parse("12").unwrap().version, None);
        assert_eq!(parse("12#3").unwrap().version, Some(3));
        assert_eq!(parse("cortex://ada/Fact/12#3").unwrap().id.get(), 12);
        for bad in ["", "0", "-1", "12#", "12#0", "12#latest", "x", "cortex://ada/Fact/12", "1 2"] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn ratios_keep_six_digits() {
        assert_eq!(ratio("importance", "0.7").unwrap(), 700_000);
        assert_eq!(ratio("importance", "0.000001").unwrap(), 1);
        for bad in ["", "1.1", "-0.1", "NaN", "inf", "x"] {
            assert!(ratio("importance", bad).is_err(), "{bad:?}");
        }
    }
}
