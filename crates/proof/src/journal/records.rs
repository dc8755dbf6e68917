//! Payloads about use: accesses, finds, intents, sessions, snapshots, grants, runs and migrations.

use minicbor::{Decode, Encode};

use super::weights::Weights;
use crate::codec;
use crate::digest::Digest;
use crate::memory::{MemoryId, Millis, Outcome, PinnedVersion};

/// Accesses gathered and written together, and uses of grants that count them.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Touch {
    /// Ascending by id.
    #[n(0)]
    pub accesses: Vec<Access>,
    #[n(1)]
    pub grants: Vec<GrantUse>,
    /// What stood in lists and briefings, ascending by id; absent if nothing did.
    #[n(2)]
    pub shown: Option<Vec<Access>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Access {
    #[n(0)]
    pub id: MemoryId,
    #[n(1)]
    pub count: u32,
    /// When the last of them happened.
    #[n(2)]
    pub at: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct GrantUse {
    #[n(0)]
    pub grant: Digest,
    #[n(1)]
    pub uses: u32,
}

/// A find that was made to act upon: what was asked, against which state, what came back.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct FindLate {
    /// Canonical bytes of the whole query, sealed beside the entry because a query may quote content.
    #[n(0)]
    pub query_hash: Digest,
    /// Journal size the find read at, and the root then.
    #[n(1)]
    pub size: u64,
    #[n(2)]
    pub root: Digest,
    /// In the order returned.
    #[n(3)]
    pub results: Vec<FoundMemory>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct FoundMemory {
    #[n(0)]
    pub id: MemoryId,
    #[n(1)]
    pub version: u32,
    /// Salience, parts per million.
    #[n(2)]
    pub score: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Attest {
    #[n(0)]
    pub intent: String,
    #[n(1)]
    pub outcome: Outcome,
    #[n(2)]
    pub reason: Option<String>,
    /// Ascending by id; what was named but cannot be cited is not here.
    #[n(3)]
    pub cited: Vec<PinnedVersion>,
    /// What the intent was shown and did not cite, ascending.
    #[n(4)]
    pub uncited: Vec<MemoryId>,
    /// Digest of the context bundle the intent started from.
    #[n(5)]
    pub bundle: Option<Digest>,
}

/// Always the entry right after its `attest`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct LearnWeights {
    #[n(0)]
    pub attest_seq: u64,
    #[n(1)]
    pub previous: Weights,
    #[n(2)]
    pub next: Weights,
    /// Why nothing was learned, if so.
    #[n(3)]
    pub skipped: Option<String>,
}

/// What stays in an intent's context in full and what is reduced to a stub. Texts are rendered from the pinned
/// versions.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Compact {
    #[n(0)]
    pub intent: String,
    #[n(1)]
    pub step: String,
    #[n(2)]
    pub budget: u32,
    /// Ascending by id.
    #[n(3)]
    pub kept: Vec<PinnedVersion>,
    #[n(4)]
    pub stubs: Vec<Stub>,
    #[n(5)]
    pub tokens: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Stub {
    #[n(0)]
    pub memory: PinnedVersion,
    /// Salience at the time of the entry, parts per million.
    #[n(1)]
    pub score: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct SessionStart {
    #[n(0)]
    pub session: String,
    #[n(1)]
    pub project: Option<String>,
    #[n(2)]
    pub directory: Option<String>,
    #[n(3)]
    pub agent: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct SessionEnd {
    #[n(0)]
    pub session: String,
    /// Hash of the sealed summary beside this entry.
    #[n(1)]
    pub summary_hash: Option<Digest>,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct PromptRecord {
    #[n(0)]
    pub session: Option<String>,
    #[n(1)]
    pub project: Option<String>,
    #[n(2)]
    pub body_hash: Digest,
}

/// The state as of the entry before: roots, counters, and the digest of the snapshot before.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Manifest {
    #[n(0)]
    pub schema: u32,
    #[n(1)]
    pub actor: String,
    /// From 1, without gaps.
    #[n(2)]
    pub number: u64,
    /// Journal entries covered: `seq` of the snapshot entry minus one.
    #[n(3)]
    pub size: u64,
    #[n(4)]
    pub journal_root: Digest,
    #[n(5)]
    pub heads_root: Digest,
    #[n(6)]
    pub edges_root: Digest,
    #[n(7)]
    pub root: Digest,
    #[n(8)]
    pub previous: Option<Digest>,
    #[n(9)]
    pub reason: String,
    #[n(10)]
    pub live: u64,
    #[n(11)]
    pub tombstoned: u64,
    #[n(12)]
    pub edges: u64,
}

impl Manifest {
    /// What the next manifest holds of this one.
    pub fn digest(&self) -> Digest {
        Digest::of("cortex/manifest/1", &[&codec::encode(self)])
    }
}

/// The signed grant itself; the grant is its own authority only because its entry is here.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ScopeGrant {
    #[n(0)]
    pub id: Digest,
    #[n(1)]
    #[cbor(with = "minicbor::bytes")]
    pub grant: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ScopeRevoke {
    #[n(0)]
    pub grant: Digest,
    #[n(1)]
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ScopeViolation {
    #[n(0)]
    pub grant: Digest,
    #[n(1)]
    pub operation: String,
    #[n(2)]
    pub memory: Option<MemoryId>,
    #[n(3)]
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct MindRun {
    #[n(0)]
    pub run: String,
    #[n(1)]
    pub job: String,
    #[n(2)]
    pub phase: MindRunPhase,
    #[n(3)]
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum MindRunPhase {
    #[n(1)]
    Started,
    #[n(2)]
    Finished,
    #[n(3)]
    Failed,
    #[n(4)]
    Undone,
}

/// Something of the past that agents wrote down is to stay forgotten. All of it is keyed digests: no text is here, and
/// without the key of the home no guess can be tested.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct PastForget {
    /// The session or turn; by it the tombstone is lifted.
    #[n(0)]
    pub subject: Digest,
    /// All by which copies of it are known.
    #[n(1)]
    pub members: Vec<Digest>,
    #[n(2)]
    pub reason: String,
}

/// The tombstones of a subject do not hold any more.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct PastRestore {
    #[n(0)]
    pub subject: Digest,
}

/// A component that derives state from the journal changed how it does so from here on.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Migration {
    #[n(0)]
    pub component: String,
    #[n(1)]
    pub from: u32,
    #[n(2)]
    pub to: u32,
}
