//! The mutable side of a memory: its head, its usage, its edges.
//!
//! The head is what the state tree commits to, and it holds the hash of the current version, which holds the hash of
//! the body: one leaf vouches for everything the memory says. Usage stays outside the root, because looking is not
//! changing.

use minicbor::{Decode, Encode};

use super::body::words;
use super::types::MemoryType;
use super::{MemoryId, Millis};
use crate::codec;
use crate::digest::Digest;

words!(
    /// Whether a memory belongs to its project or to the person across projects.
    Scope { Project = 1 "project", Personal = 2 "personal" }
);
words!(
    /// What a grant may show: nothing of it, what its selector matches, or in any case.
    Visibility { Private = 1 "private", Scoped = 2 "scoped", Public = 3 "public" }
);
words!(
    /// What one memory is to another.
    Relation {
        References = 1 "references",
        RelatesTo = 2 "relates_to",
        Follows = 3 "follows",
        Supersedes = 4 "supersedes",
        Contradicts = 5 "contradicts",
        Updates = 6 "updates",
        CausedBy = 7 "caused_by",
        PartOf = 8 "part_of",
        ResultOf = 9 "result_of",
    }
);

impl Relation {
    pub fn code(self) -> u8 {
        self as u8
    }

    pub fn from_code(code: u8) -> Option<Relation> {
        Relation::ALL.iter().copied().find(|r| r.code() == code)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Head {
    #[n(0)]
    pub id: MemoryId,
    #[n(1)]
    pub memory_type: MemoryType,
    #[n(2)]
    pub kind: String,
    #[n(3)]
    pub version: u32,
    #[n(4)]
    pub version_hash: Digest,
    #[n(5)]
    pub project: Option<String>,
    #[n(6)]
    pub scope: Scope,
    #[n(7)]
    pub visibility: Visibility,
    #[n(8)]
    pub pinned: bool,
    #[n(9)]
    pub archived: bool,
    #[n(10)]
    pub tombstone: Option<Tombstone>,
    /// The content is gone for good; see `erase`.
    #[n(11)]
    pub erased: bool,
    /// Sorted, no duplicates.
    #[n(12)]
    pub tags: Vec<String>,
    #[n(13)]
    pub topic_key: Option<String>,
    #[n(14)]
    pub session: Option<String>,
    #[n(15)]
    pub channel: Option<String>,
    /// Parts per million.
    #[n(16)]
    pub importance: u32,
    /// How often the same thing was saved again instead of becoming a new memory.
    #[n(17)]
    pub duplicates: u32,
    #[n(18)]
    pub created: Millis,
    #[n(19)]
    pub updated: Millis,
    /// The journal entry that last changed this head.
    #[n(20)]
    pub seq: u64,
}

impl Head {
    /// A context looks at it before all others, whatever it is about.
    pub fn is_foremost(&self) -> bool {
        let binding = [MemoryType::Identity, MemoryType::Constraint, MemoryType::Goal];
        self.pinned || binding.contains(&self.memory_type)
    }

    /// What the leaf of the heads tree holds.
    pub fn leaf_hash(&self) -> Digest {
        Digest::of("cortex/head/1", &[&codec::encode(self)])
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Tombstone {
    #[n(0)]
    pub reason: String,
    #[n(1)]
    pub by: String,
    #[n(2)]
    pub at: Millis,
}

/// How a memory is used. Derived from touches, late finds, attestations and edges; never part of a root.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Usage {
    #[n(0)]
    pub accesses: u64,
    #[n(1)]
    pub last_access: Option<Millis>,
    #[n(2)]
    pub citations: u64,
    #[n(3)]
    pub edges_in: u32,
    #[n(4)]
    pub edges_out: u32,
    /// Live `supersedes` edges that point here.
    #[n(5)]
    pub superseded: u32,
    /// Live `contradicts` edges that touch this memory, either way.
    #[n(6)]
    pub contradicted: u32,
    /// How often it stood in a list or a briefing, and when it last did. That is no access: it lifts no score.
    #[n(7)]
    pub shown: Option<u64>,
    #[n(8)]
    pub last_shown: Option<Millis>,
}

impl Usage {
    /// When it was last opened, cited or shown: what is still in use does not fade.
    pub fn last_seen(&self) -> Option<Millis> {
        self.last_access.max(self.last_shown)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Edge {
    #[n(0)]
    pub src: MemoryId,
    #[n(1)]
    pub relation: Relation,
    #[n(2)]
    pub dst: MemoryId,
    /// Parts per million.
    #[n(3)]
    pub weight: u32,
    #[n(4)]
    pub by: String,
    #[n(5)]
    pub at: Millis,
    /// The journal entry that made this edge.
    #[n(6)]
    pub seq: u64,
}

impl Edge {
    /// What the leaf of the edges tree holds.
    pub fn leaf_hash(&self) -> Digest {
        Digest::of("cortex/edge/1", &[&codec::encode(self)])
    }
}
