//! Commands that record something beside memories: accesses, finds, intents, sessions, snapshots, grants, runs.

use minicbor::Encode;
use proof::Digest;
use proof::journal::{Access, FoundMemory, GrantUse, MindRunPhase, Stub};
use proof::memory::{MemoryId, Outcome, PinnedVersion, Salt};

#[derive(Clone, Debug, Default, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct Touches {
    #[n(0)]
    pub accesses: Vec<Access>,
    #[n(1)]
    pub grants: Vec<GrantUse>,
    /// What stood in lists and briefings.
    #[n(2)]
    pub shown: Vec<Access>,
}

/// A find that has been run and is now to be recorded.
#[derive(Clone, Debug, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct LateFind {
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    pub query: Vec<u8>,
    #[n(1)]
    pub salt: Salt,
    #[n(2)]
    pub size: u64,
    #[n(3)]
    pub root: Digest,
    #[n(4)]
    pub results: Vec<FoundMemory>,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct Attestation {
    #[n(0)]
    pub intent: String,
    #[n(1)]
    pub outcome: Outcome,
    #[n(2)]
    pub reason: Option<String>,
    #[n(3)]
    pub cited: Vec<PinnedVersion>,
    /// What the intent was shown; those it did not cite teach the learner what was not useful.
    #[n(4)]
    pub retrieved: Vec<MemoryId>,
    #[n(5)]
    pub bundle: Option<Digest>,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct Compaction {
    #[n(0)]
    pub intent: String,
    #[n(1)]
    pub step: String,
    #[n(2)]
    pub budget: u32,
    #[n(3)]
    pub kept: Vec<PinnedVersion>,
    #[n(4)]
    pub stubs: Vec<Stub>,
    #[n(5)]
    pub tokens: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct SessionDraft {
    #[n(0)]
    pub session: String,
    #[n(1)]
    pub project: Option<String>,
    #[n(2)]
    pub directory: Option<String>,
    #[n(3)]
    pub agent: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct SessionClose {
    #[n(0)]
    pub session: String,
    #[n(1)]
    pub summary: Option<String>,
    #[n(2)]
    pub salt: Salt,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct PromptDraft {
    #[n(0)]
    pub session: Option<String>,
    #[n(1)]
    pub project: Option<String>,
    #[n(2)]
    pub text: String,
    #[n(3)]
    pub salt: Salt,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct SnapshotDraft {
    #[n(0)]
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct GrantDraft {
    /// Canonical bytes of a signed grant.
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    pub grant: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct Revocation {
    #[n(0)]
    pub grant: Digest,
    #[n(1)]
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct Violation {
    #[n(0)]
    pub grant: Digest,
    #[n(1)]
    pub operation: String,
    #[n(2)]
    pub memory: Option<MemoryId>,
    #[n(3)]
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct MindRunDraft {
    #[n(0)]
    pub run: String,
    #[n(1)]
    pub job: String,
    #[n(2)]
    pub phase: MindRunPhase,
    #[n(3)]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct MigrationDraft {
    #[n(0)]
    pub component: String,
    #[n(1)]
    pub from: u32,
    #[n(2)]
    pub to: u32,
}

/// What of the past is to stay forgotten, as keyed digests.
#[derive(Clone, Debug, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct PastForgetDraft {
    #[n(0)]
    pub subject: Digest,
    #[n(1)]
    pub members: Vec<Digest>,
    #[n(2)]
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct PastRestoreDraft {
    #[n(0)]
    pub subject: Digest,
}
