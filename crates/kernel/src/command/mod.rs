//! What may be asked of the writer: one command per change, with who asks, when and why.
//!
//! Commands are requests in the caller's words; `admit` turns them into journal entries or refuses them.

mod memories;
mod records;

use minicbor::Encode;
use proof::Digest;
use proof::codec;
use proof::journal::EntryKind;
use proof::memory::{Body, MemoryId, Millis, Salt};

use crate::limits::CLOCK_LAG_MS_MAX;

pub use memories::{Draft, EdgeDraft, EdgeRemoval, HeadRevision, Removal, Revision};
pub use records::{
    Attestation, Compaction, GrantDraft, LateFind, MigrationDraft, MindRunDraft, PastForgetDraft,
    PastRestoreDraft, PromptDraft, Revocation, SessionClose, SessionDraft, SnapshotDraft, Touches,
    Violation,
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
    /// The time is that of something made elsewhere, as an import has it, and not what the clock says.
    pub is_dated: bool,
    /// Of a shared ledger: the size of the copy by which this was decided. If another node's entry came to the copy
    /// since, it is refused (`Overtaken`), and the caller decides again.
    pub decided_at: Option<u64>,
}

impl Stamp {
    pub fn new(at: Millis, by: impl Into<String>) -> Stamp {
        Stamp {
            at,
            by: by.into(),
            run: None,
            idempotency_key: None,
            is_dated: false,
            decided_at: None,
        }
    }

    /// The time of an entry behind one of `last`: what the clock says. A caller that is a little behind has waited its
    /// turn; a clock that is far behind was set back, and is followed. An entry that is dated is never put before the
    /// last one.
    pub(crate) fn entry_time(&self, last: Millis) -> Millis {
        let is_set_back = !self.is_dated && is_clock_jump(last, self.at);
        if is_set_back { self.at } else { self.at.max(last) }
    }
}

/// True if an entry of `at` behind one of `last` says that the clock was set back.
pub(crate) fn is_clock_jump(last: Millis, at: Millis) -> bool {
    last.get().saturating_sub(at.get()) > CLOCK_LAG_MS_MAX
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
    #[n(23)]
    PastForget(#[n(0)] PastForgetDraft),
    #[n(24)]
    PastRestore(#[n(0)] PastRestoreDraft),
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
            Command::PastForget(_) => EntryKind::PastForget,
            Command::PastRestore(_) => EntryKind::PastRestore,
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
