//! How a reading went, per agent: what was read, what was left out and why, and what nobody knows.
//!
//! What must stay true: it holds kinds and numbers, never a text of a session. Drift is counted, never fatal.

use std::collections::BTreeMap;

use minicbor::{Decode, Encode};
use serde::Serialize;

/// Different unknown types that are named; more are counted together.
const UNKNOWN_TYPES_MAX: usize = 32;
/// A source of this size without a prompt is drift.
pub const SILENT_BYTES_MIN: u64 = 64 << 10;
/// Unknown records above this share are drift.
pub const UNKNOWN_PERCENT_MAX: u64 = 30;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReadCounts {
    /// Sources that were opened.
    pub files: u64,
    pub bytes: u64,
    pub records: u64,
    /// Records of a type that is known to hold nothing for us.
    pub skipped: u64,
    pub malformed: u64,
    pub too_large: u64,
    pub unknown: BTreeMap<String, u64>,
    pub prompts: u64,
    pub items: u64,
    /// Items that another session, or an earlier reading, already holds.
    pub copies: u64,
    /// Blocks that agents put into the words of a person.
    pub noise: u64,
    /// Texts and results of Cortex itself.
    pub echoes: u64,
    pub masked: BTreeMap<&'static str, u64>,
    /// Items that belong to something that was forgotten.
    pub forgotten: u64,
    /// Sources of at least 64 KiB without a prompt.
    pub silent_files: u64,
    /// Sources that could not be read, and why.
    pub unreadable: Vec<String>,
}

impl ReadCounts {
    pub fn unknown(&mut self, kind: &str) {
        let kind: String = kind.chars().filter(char::is_ascii_graphic).take(48).collect();
        let room = self.unknown.len() < UNKNOWN_TYPES_MAX || self.unknown.contains_key(&kind);
        *self.unknown.entry(if room { kind } else { "other".to_owned() }).or_default() += 1;
    }

    pub fn add(&mut self, other: &ReadCounts) {
        let numbers = [
            (&mut self.files, other.files),
            (&mut self.bytes, other.bytes),
            (&mut self.records, other.records),
            (&mut self.skipped, other.skipped),
            (&mut self.malformed, other.malformed),
            (&mut self.too_large, other.too_large),
            (&mut self.prompts, other.prompts),
            (&mut self.items, other.items),
            (&mut self.copies, other.copies),
            (&mut self.noise, other.noise),
            (&mut self.echoes, other.echoes),
            (&mut self.forgotten, other.forgotten),
            (&mut self.silent_files, other.silent_files),
        ];
        for (sum, number) in numbers {
            *sum += number;
        }
        for (kind, count) in &other.unknown {
            *self.unknown.entry(kind.clone()).or_default() += count;
        }
        for (kind, count) in &other.masked {
            *self.masked.entry(kind).or_default() += count;
        }
        self.unreadable.extend(other.unreadable.iter().cloned());
    }

    /// Notes what one source gave.
    pub fn end_of_source(&mut self, bytes: u64, is_from_start: bool, prompts_before: u64) {
        self.files += 1;
        self.bytes += bytes;
        if is_from_start && bytes >= SILENT_BYTES_MIN && self.prompts == prompts_before {
            self.silent_files += 1;
        }
    }

    /// Whether the agent seems to write in a form that this build does not know.
    pub fn has_drifted(&self) -> bool {
        let unknown: u64 = self.unknown.values().sum();
        self.silent_files > 0 || unknown * 100 > self.records.max(1) * UNKNOWN_PERCENT_MAX
    }
}

/// What a source gave so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct SourceTally {
    #[n(0)]
    pub bytes: u64,
    #[n(1)]
    pub records: u64,
    #[n(2)]
    pub unknown: u64,
    #[n(3)]
    pub malformed: u64,
    #[n(4)]
    pub masked: u64,
}

impl SourceTally {
    pub fn add(&mut self, counts: &ReadCounts) {
        self.bytes += counts.bytes;
        self.records += counts.records;
        self.unknown += counts.unknown.values().sum::<u64>();
        self.malformed += counts.malformed;
        self.masked += counts.masked.values().sum::<u64>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // past 68
    #[test]
    fn drift_is_told_by_share_and_by_silence() {
        let mut counts = ReadCounts { records: 10, prompts: 1, ..ReadCounts::default() };
        assert!(!counts.has_drifted());
        (0..4).for_each(|_| counts.unknown("new-kind"));
        assert!(counts.has_drifted());
        let mut silent = ReadCounts { records: 10, ..ReadCounts::default() };
        silent.end_of_source(1_000, true, 0);
        assert!(!silent.has_drifted());
        silent.end_of_source(SILENT_BYTES_MIN, false, 0);
        assert!(!silent.has_drifted());
        silent.end_of_source(SILENT_BYTES_MIN, true, 0);
        assert!(silent.has_drifted());
    }

    #[test]
    fn the_names_of_unknown_types_are_bounded() {
        let mut counts = ReadCounts::default();
        (0..200).for_each(|n| counts.unknown(&format!("type-{n}")));
        assert!(counts.unknown.len() <= UNKNOWN_TYPES_MAX + 1);
        assert_eq!(counts.unknown.values().sum::<u64>(), 200);
    }
}
