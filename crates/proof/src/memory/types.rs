//! The nine types, their codes, the `kind` table and what a type starts with.
//!
//! The set is closed: a tenth code is refused at write, decode and URI parse. Codes are never renumbered.

use minicbor::{Decode, Encode};

use crate::error::{Error, Result};

/// One of the nine shapes a memory can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum MemoryType {
    #[n(1)]
    Identity = 1,
    #[n(2)]
    Goal = 2,
    #[n(3)]
    Preference = 3,
    #[n(4)]
    Constraint = 4,
    #[n(5)]
    Decision = 5,
    #[n(6)]
    Fact = 6,
    #[n(7)]
    Pattern = 7,
    #[n(8)]
    Event = 8,
    #[n(9)]
    ArtifactRef = 9,
}

impl MemoryType {
    pub const ALL: [MemoryType; 9] = [
        MemoryType::Identity,
        MemoryType::Goal,
        MemoryType::Preference,
        MemoryType::Constraint,
        MemoryType::Decision,
        MemoryType::Fact,
        MemoryType::Pattern,
        MemoryType::Event,
        MemoryType::ArtifactRef,
    ];

    pub fn code(self) -> u8 {
        self as u8
    }

    pub fn from_code(code: u8) -> Option<MemoryType> {
        MemoryType::ALL.into_iter().find(|t| t.code() == code)
    }

    pub fn name(self) -> &'static str {
        match self {
            MemoryType::Identity => "Identity",
            MemoryType::Goal => "Goal",
            MemoryType::Preference => "Preference",
            MemoryType::Constraint => "Constraint",
            MemoryType::Decision => "Decision",
            MemoryType::Fact => "Fact",
            MemoryType::Pattern => "Pattern",
            MemoryType::Event => "Event",
            MemoryType::ArtifactRef => "ArtifactRef",
        }
    }

    /// The exact name, as in URIs.
    pub fn from_name(name: &str) -> Option<MemoryType> {
        MemoryType::ALL.into_iter().find(|t| t.name() == name)
    }

    /// The name as people type it: any case.
    pub fn parse(text: &str) -> Result<MemoryType> {
        MemoryType::ALL
            .into_iter()
            .find(|t| t.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| Error::UnknownType(text.chars().take(64).collect()))
    }

    /// The type that the caller's word stands for; unknown words are facts.
    pub fn of_kind(kind: &str) -> MemoryType {
        KINDS.iter().find(|(word, _)| *word == kind).map_or(MemoryType::Fact, |(_, t)| *t)
    }

    /// Importance of a new memory of this type, in parts per million.
    pub fn base_importance(self) -> u32 {
        match self {
            MemoryType::Identity => 1_000_000,
            MemoryType::Goal | MemoryType::Constraint => 900_000,
            MemoryType::Decision => 800_000,
            MemoryType::Preference => 700_000,
            MemoryType::Fact => 600_000,
            MemoryType::Event | MemoryType::ArtifactRef => 400_000,
            MemoryType::Pattern => 300_000,
        }
    }

    /// The kind a memory gets when the caller names only the type.
    pub fn default_kind(self) -> &'static str {
        match self {
            MemoryType::Identity => "identity",
            MemoryType::Goal => "todo",
            MemoryType::Preference => "preference",
            MemoryType::Constraint => "rule",
            MemoryType::Decision => "decision",
            MemoryType::Fact => "manual",
            MemoryType::Pattern => "pattern",
            MemoryType::Event => "event",
            MemoryType::ArtifactRef => "document",
        }
    }
}

/// The caller's word for a question that stands: what it says is answered by a page, and no search finds it.
pub const PAGE_KIND: &str = "page";

/// The one table from the caller's word to the type.
pub const KINDS: [(&str, MemoryType); 25] = [
    ("decision", MemoryType::Decision),
    ("architecture", MemoryType::Decision),
    ("bugfix", MemoryType::Fact),
    ("discovery", MemoryType::Fact),
    ("learning", MemoryType::Fact),
    ("config", MemoryType::Fact),
    ("manual", MemoryType::Fact),
    ("passive", MemoryType::Fact),
    ("pattern", MemoryType::Pattern),
    ("convention", MemoryType::Pattern),
    ("observation", MemoryType::Pattern),
    ("preference", MemoryType::Preference),
    ("session_summary", MemoryType::Event),
    ("tool_use", MemoryType::Event),
    ("command", MemoryType::Event),
    ("file_change", MemoryType::Event),
    ("event", MemoryType::Event),
    ("todo", MemoryType::Goal),
    ("goal", MemoryType::Goal),
    ("rule", MemoryType::Constraint),
    ("file", MemoryType::ArtifactRef),
    ("url", MemoryType::ArtifactRef),
    ("document", MemoryType::ArtifactRef),
    (PAGE_KIND, MemoryType::ArtifactRef),
    ("identity", MemoryType::Identity),
];

#[cfg(test)]
mod tests {
    use super::*;

    // kernel 10, kernel 39
    #[test]
    fn there_are_nine_types_and_no_tenth() {
        assert_eq!(MemoryType::ALL.map(MemoryType::code), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
        for code in (0..=u8::MAX).filter(|c| !(1..=9).contains(c)) {
            assert_eq!(MemoryType::from_code(code), None);
        }
        for byte in [0x00, 0x0a, 0x17] {
            assert!(crate::codec::decode::<MemoryType>("type", &[byte]).is_err());
        }
        assert!(MemoryType::parse("belief").is_err());
    }

    #[test]
    fn every_kind_is_a_slug_and_every_default_kind_maps_back() {
        for (kind, _) in KINDS {
            assert!(kind.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{kind}");
        }
        for memory_type in MemoryType::ALL {
            assert_eq!(MemoryType::of_kind(memory_type.default_kind()), memory_type);
        }
        assert_eq!(MemoryType::of_kind("anything"), MemoryType::Fact);
    }
}
