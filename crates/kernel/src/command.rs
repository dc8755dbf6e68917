//! What may be asked of the writer: one command per change, with who asks, when and why.
//!
//! Commands are requests in the caller's words; `admit` turns them into journal entries or refuses them.

use minicbor::Encode;

use proof::Digest;
use proof::codec;
use proof::journal::{Access, EntryKind, FoundMemory, GrantUse, HeadPatch, MindRunPhase, Stub};
use proof::memory::{
    Body, MemoryId, Millis, Outcome, PinnedVersion, Provenance, Relation, Salt, Scope, Visibility,
};

/// Who asks and when. The clock and every random byte come in with the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub at: Millis,
    pub by: String,
    /// The background run the change belongs to.
    pub run: Option<String>,
    /// Makes a retry return the first answer instead of acting again.
    pub idempotency_key: Option<String>,
}

impl Stamp {
    pub fn new(at: Millis, by: impl Into<String>) -> Stamp {
        Stamp { at, by: by.into(), run: None, idempotency_key: None }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Encode)]
pub enum Command {
    #[n(1)]
    Write(#[n(0)] Box<Draft>),
    #[n(2)]
    Update(#[n(0)] Box<Revision>),
    #[n(3)]
    UpdateHead(#[n(0)] HeadRevision),
    #[n(4)]
    Tombstone(#[n(0)] Removal),
    #[n(5)]
    Restore(#[n(0)] Removal),
    #[n(6)]
    Erase(#[n(0)] Removal),
    #[n(7)]
    AddEdge(#[n(0)] EdgeDraft),
    #[n(8)]
    RemoveEdge(#[n(0)] EdgeRemoval),
    #[n(9)]
    Touch(#[n(0)] Touches),
    #[n(10)]
    FindLate(#[n(0)] LateFind),
    #[n(11)]
    Attest(#[n(0)] Attestation),
    #[n(13)]
    Compact(#[n(0)] Compaction),
    #[n(14)]
    SessionStart(#[n(0)] SessionDraft),
    #[n(15)]
    SessionEnd(#[n(0)] SessionClose),
    #[n(16)]
    Prompt(#[n(0)] PromptDraft),
    #[n(17)]
    Snapshot(#[n(0)] SnapshotDraft),
    #[n(18)]
    ScopeGrant(#[n(0)] GrantDraft),
    #[n(19)]
    ScopeRevoke(#[n(0)] Revocation),
    #[n(20)]
    ScopeViolation(#[n(0)] Violation),
    #[n(21)]
    MindRun(#[n(0)] MindRunDraft),
    #[n(22)]
    Migration(#[n(0)] MigrationDraft),
}

impl Command {
    /// What was asked, hashed with the salt of the body that was stored for it first.
    ///
    /// The request made again comes with a salt of its own, so that one is left out; and once the body is erased, with
    /// its salt, nobody can test a guess of the content against the digest in the journal.
    pub fn request_digest(&self, stored: Salt) -> Digest {
        Digest::of("cortex/request/1", &[&stored.0, &codec::encode(self)])
    }

    /// The kind of the first entry this command becomes.
    pub fn kind(&self) -> EntryKind {
        match self {
            Command::Write(_) => EntryKind::Write,
            Command::Update(_) => EntryKind::Update,
            Command::UpdateHead(_) => EntryKind::UpdateHead,
            Command::Tombstone(_) => EntryKind::Tombstone,
            Command::Restore(_) => EntryKind::Restore,
            Command::Erase(_) => EntryKind::Erase,
            Command::AddEdge(_) => EntryKind::AddEdge,
            Command::RemoveEdge(_) => EntryKind::RemoveEdge,
            Command::Touch(_) => EntryKind::Touch,
            Command::FindLate(_) => EntryKind::FindLate,
            Command::Attest(_) => EntryKind::Attest,
            Command::Compact(_) => EntryKind::Compact,
            Command::SessionStart(_) => EntryKind::SessionStart,
            Command::SessionEnd(_) => EntryKind::SessionEnd,
            Command::Prompt(_) => EntryKind::Prompt,
            Command::Snapshot(_) => EntryKind::Snapshot,
            Command::ScopeGrant(_) => EntryKind::ScopeGrant,
            Command::ScopeRevoke(_) => EntryKind::ScopeRevoke,
            Command::ScopeViolation(_) => EntryKind::ScopeViolation,
            Command::MindRun(_) => EntryKind::MindRun,
            Command::Migration(_) => EntryKind::Migration,
        }
    }

    /// The body it would write, if it writes one.
    pub(crate) fn body(&self) -> Option<&Body> {
        match self {
            Command::Write(draft) => Some(&draft.body),
            Command::Update(revision) => Some(&revision.body),
            _ => None,
        }
    }

    /// Bytes of text the command carries, for limits on what one commit may hold.
    pub fn content_bytes(&self) -> usize {
        match self {
            Command::Write(draft) => draft.body.title.len() + draft.body.content.len(),
            Command::Update(revision) => revision.body.title.len() + revision.body.content.len(),
            Command::Prompt(draft) => draft.text.len(),
            Command::SessionEnd(close) => close.summary.as_ref().map_or(0, String::len),
            _ => 0,
        }
    }
}

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

#[derive(Clone, Debug, Default, PartialEq, Eq, Encode)]
#[cbor(map)]
pub struct Touches {
    #[n(0)]
    pub accesses: Vec<Access>,
    #[n(1)]
    pub grants: Vec<GrantUse>,
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

/// The answer to a command that is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The first entry written for it; the journal's last if it changed nothing.
    pub seq: u64,
    pub at: Millis,
    pub kind: EntryKind,
    pub id: Option<MemoryId>,
    pub version: Option<u32>,
    /// False: the state was already as asked, nothing was journaled.
    pub changed: bool,
    /// True: an earlier request with the same idempotency key was answered.
    pub replayed: bool,
    /// What was named but could not be used, with the reason (attest). Not remembered for a replay.
    pub skipped: Vec<(MemoryId, &'static str)>,
}
