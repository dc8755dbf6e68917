//! Commands that change memories and edges, in the caller's words.

use minicbor::Encode;
use proof::journal::HeadPatch;
use proof::memory::{Body, MemoryId, Millis, Provenance, Relation, Salt, Scope, Visibility};

/// A memory to be written. The type follows from the body's fields.
#[derive(Clone, Debug, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct Draft {
    #[n(0)]
    pub body: Body,
    #[n(1)]
    pub salt: Salt,
    /// The caller's word; the type's own word if absent.
    #[n(2)]
    pub kind: Option<String>,
    #[n(3)]
    pub project: Option<String>,
    #[n(4)]
    pub scope: Scope,
    #[n(5)]
    pub visibility: Visibility,
    #[n(6)]
    pub pinned: bool,
    #[n(7)]
    pub tags: Vec<String>,
    #[n(8)]
    pub topic_key: Option<String>,
    #[n(9)]
    pub session: Option<String>,
    #[n(10)]
    pub channel: Option<String>,
    /// Parts per million; the type's own if absent.
    #[n(11)]
    pub importance: Option<u32>,
    #[n(12)]
    pub provenance: Provenance,
    /// Parts per million.
    #[n(13)]
    pub confidence: u32,
    #[n(14)]
    pub valid_from: Option<Millis>,
    #[n(15)]
    pub valid_until: Option<Millis>,
    #[n(16)]
    pub expires: Option<Millis>,
}

impl Draft {
    /// A draft with nothing but its body set.
    pub fn new(body: Body, salt: Salt) -> Draft {
        Draft {
            body,
            salt,
            kind: None,
            project: None,
            scope: Scope::Project,
            visibility: Visibility::Scoped,
            pinned: false,
            tags: Vec::new(),
            topic_key: None,
            session: None,
            channel: None,
            importance: None,
            provenance: Provenance::user(),
            confidence: 1_000_000,
            valid_from: None,
            valid_until: None,
            expires: None,
        }
    }
}

/// A new version of a memory, with changes of its head in the same step.
#[derive(Clone, Debug, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct Revision {
    #[n(0)]
    pub id: MemoryId,
    /// The version the caller read. A lost race is a `VersionConflict`, never a lost write.
    #[n(1)]
    pub expected: Option<u32>,
    #[n(2)]
    pub body: Body,
    #[n(3)]
    pub salt: Salt,
    #[n(4)]
    pub provenance: Provenance,
    #[n(5)]
    pub confidence: u32,
    #[n(6)]
    pub valid_from: Option<Millis>,
    #[n(7)]
    pub valid_until: Option<Millis>,
    #[n(8)]
    pub expires: Option<Millis>,
    #[n(9)]
    pub patch: HeadPatch,
}

impl Revision {
    pub fn new(id: MemoryId, expected: Option<u32>, body: Body, salt: Salt) -> Revision {
        Revision {
            id,
            expected,
            body,
            salt,
            provenance: Provenance::user(),
            confidence: 1_000_000,
            valid_from: None,
            valid_until: None,
            expires: None,
            patch: HeadPatch::default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct HeadRevision {
    #[n(0)]
    pub id: MemoryId,
    #[n(1)]
    pub expected: Option<u32>,
    #[n(2)]
    pub patch: HeadPatch,
    #[n(3)]
    pub reason: Option<String>,
}

/// Forgetting, restoring or erasing one memory.
#[derive(Clone, Debug, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct Removal {
    #[n(0)]
    pub id: MemoryId,
    #[n(1)]
    pub expected: Option<u32>,
    #[n(2)]
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct EdgeDraft {
    #[n(0)]
    pub src: MemoryId,
    #[n(1)]
    pub relation: Relation,
    #[n(2)]
    pub dst: MemoryId,
    /// Parts per million.
    #[n(3)]
    pub weight: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct EdgeRemoval {
    #[n(0)]
    pub src: MemoryId,
    #[n(1)]
    pub relation: Relation,
    #[n(2)]
    pub dst: MemoryId,
    #[n(3)]
    pub reason: String,
}
