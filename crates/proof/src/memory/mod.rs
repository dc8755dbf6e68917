//! Records: what is remembered and how it is written down.
//!
//! Plain data with one canonical encoding each. Nothing here reads a store or a clock, and nothing here judges
//! whether a record may be written: the kernel does that before a record enters the journal.

mod body;
mod head;
mod session;
mod types;
mod version;

use std::fmt;

use minicbor::{Decode, Encode};

pub use body::{
    ArtifactRef, Body, Constraint, Decision, DecisionStatus, Event, Fact, Fields, Goal, GoalStatus,
    Identity, Note, Outcome, Pattern, Polarity, Preference, Salt, SealedBody, Strength,
};
pub use head::{Edge, Head, Relation, Scope, Tombstone, Usage, Visibility};
pub use session::{Prompt, Session};
pub use types::{KINDS, MemoryType, PAGE_KIND};
pub use version::{PinnedVersion, Provenance, Source, Version};

/// The journal sequence number of the entry that created the memory. Never zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode)]
#[cbor(transparent)]
pub struct MemoryId(#[n(0)] u64);

impl MemoryId {
    pub fn new(id: u64) -> Option<MemoryId> {
        (id > 0).then_some(MemoryId(id))
    }

    pub fn get(self) -> u64 {
        self.0
    }
}

impl<'b, C> Decode<'b, C> for MemoryId {
    fn decode(
        d: &mut minicbor::Decoder<'b>,
        _: &mut C,
    ) -> std::result::Result<Self, minicbor::decode::Error> {
        let at = d.position();
        MemoryId::new(d.u64()?)
            .ok_or_else(|| minicbor::decode::Error::message("a memory id is not zero").at(at))
    }
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Unix milliseconds, UTC.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct Millis(#[n(0)] pub i64);

impl Millis {
    pub fn get(self) -> i64 {
        self.0
    }

    /// `YYYY-MM-DD`, proleptic Gregorian, UTC.
    pub fn date(self) -> String {
        let (year, month, day) = civil(self.0.div_euclid(86_400_000));
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// RFC 3339 with milliseconds, UTC.
    pub fn rfc3339(self) -> String {
        let ms = self.0.rem_euclid(86_400_000);
        let (h, m, s) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
        format!("{}T{h:02}:{m:02}:{s:02}.{:03}Z", self.date(), ms % 1_000)
    }
}

impl fmt::Debug for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0)
    }
}

/// Year, month and day of a day number counted from 1970-01-01.
fn civil(days: i64) -> (i64, i64, i64) {
    // Count in 400-year eras that start on 1 March, so that the leap day is the last day of a year.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_render_as_rfc_3339() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_794_700_799_999, "2026-11-14T23:59:59.999Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(Millis(ms).rfc3339(), text);
        }
    }
}
