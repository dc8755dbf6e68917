//! The payload of each entry kind: complete, so that a rebuild needs nothing else. Here are those that change memories
//! and edges; `records` has the others.

use minicbor::{Decode, Encode};

use super::entry::EntryKind;
use super::records::{
    Attest, Compact, FindLate, LearnWeights, Manifest, Migration, MindRun, PastForget, PastRestore,
    PromptRecord, ScopeGrant, ScopeRevoke, ScopeViolation, SessionEnd, SessionStart, Touch,
};
use crate::codec;
use crate::digest::Digest;
use crate::error::Result;
use crate::memory::{MemoryId, MemoryType, Millis, Provenance, Relation, Scope, Visibility};

/// Declares the `Payload` enum with its encoding by kind.
macro_rules! payloads {
    ($($kind:ident($type:ty)),+ $(,)?) => {
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Payload { $($kind($type)),+ }

        impl Payload {
            pub fn kind(&self) -> EntryKind {
                match self { $(Payload::$kind(_) => EntryKind::$kind),+ }
            }

            pub fn to_bytes(&self) -> Vec<u8> {
                match self { $(Payload::$kind(payload) => codec::encode(payload)),+ }
            }

            pub fn from_bytes(kind: EntryKind, bytes: &[u8]) -> Result<Payload> {
                match kind { $(EntryKind::$kind => codec::decode(kind.name(), bytes).map(Payload::$kind)),+ }
            }
        }
    };
}

payloads! {
    Write(Write), Update(Update), UpdateHead(UpdateHead), Tombstone(TombstoneMemory), Restore(Restore), Erase(Erase),
    AddEdge(AddEdge), RemoveEdge(RemoveEdge), Touch(Touch), FindLate(FindLate), Attest(Attest),
    LearnWeights(LearnWeights), Compact(Compact), SessionStart(SessionStart), SessionEnd(SessionEnd),
    Prompt(PromptRecord), Snapshot(Manifest), ScopeGrant(ScopeGrant), ScopeRevoke(ScopeRevoke),
    ScopeViolation(ScopeViolation), MindRun(MindRun), Migration(Migration),
    PastForget(PastForget), PastRestore(PastRestore),
}

/// A new memory. Its id is the entry's `seq`, its version 1.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Write {
    #[n(0)]
    pub memory_type: MemoryType,
    #[n(1)]
    pub kind: String,
    #[n(2)]
    pub body_hash: Digest,
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
    #[n(11)]
    pub importance: u32,
    #[n(12)]
    pub provenance: Provenance,
    #[n(13)]
    pub confidence: u32,
    #[n(14)]
    pub valid_from: Option<Millis>,
    #[n(15)]
    pub valid_until: Option<Millis>,
    #[n(16)]
    pub expires: Option<Millis>,
}

/// A new version of a memory, with any change of its head in the same step.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Update {
    #[n(0)]
    pub id: MemoryId,
    /// The version this entry makes: the one before plus one.
    #[n(1)]
    pub version: u32,
    #[n(2)]
    pub body_hash: Digest,
    #[n(3)]
    pub provenance: Provenance,
    #[n(4)]
    pub confidence: u32,
    #[n(5)]
    pub valid_from: Option<Millis>,
    #[n(6)]
    pub valid_until: Option<Millis>,
    #[n(7)]
    pub expires: Option<Millis>,
    #[n(8)]
    pub patch: HeadPatch,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct UpdateHead {
    #[n(0)]
    pub id: MemoryId,
    #[n(1)]
    pub patch: HeadPatch,
    #[n(2)]
    pub reason: Option<String>,
}

/// Fields to replace in a head; absent ones stay. An empty text clears project, topic key, session or channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct HeadPatch {
    #[n(0)]
    pub kind: Option<String>,
    #[n(1)]
    pub project: Option<String>,
    #[n(2)]
    pub scope: Option<Scope>,
    #[n(3)]
    pub visibility: Option<Visibility>,
    #[n(4)]
    pub pinned: Option<bool>,
    #[n(5)]
    pub archived: Option<bool>,
    #[n(6)]
    pub tags: Option<Vec<String>>,
    #[n(7)]
    pub topic_key: Option<String>,
    #[n(8)]
    pub session: Option<String>,
    #[n(9)]
    pub channel: Option<String>,
    #[n(10)]
    pub importance: Option<u32>,
    #[n(11)]
    pub duplicates: Option<u32>,
}

impl HeadPatch {
    pub fn is_empty(&self) -> bool {
        *self == HeadPatch::default()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct TombstoneMemory {
    #[n(0)]
    pub id: MemoryId,
    #[n(1)]
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Restore {
    #[n(0)]
    pub id: MemoryId,
    #[n(1)]
    pub reason: String,
}

/// The bodies of all versions of a memory are deleted with this entry; or the one body of another entry.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Erase {
    /// The memory, or the `seq` of an entry that wrote a prompt, a summary or a query.
    #[n(0)]
    pub id: MemoryId,
    #[n(1)]
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct AddEdge {
    #[n(0)]
    pub src: MemoryId,
    #[n(1)]
    pub relation: Relation,
    #[n(2)]
    pub dst: MemoryId,
    #[n(3)]
    pub weight: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct RemoveEdge {
    #[n(0)]
    pub src: MemoryId,
    #[n(1)]
    pub relation: Relation,
    #[n(2)]
    pub dst: MemoryId,
    #[n(3)]
    pub reason: String,
}
