//! The envelope around a payload, and the registry of kinds.

use minicbor::{Decode, Encode};

use super::payload::Payload;
use crate::codec;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::memory::Millis;

/// Version of every hashed format in the kernel. It is mixed into roots, manifests and grants, so a change is explicit.
pub const SCHEMA: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Entry {
    #[n(0)]
    pub schema: u32,
    #[n(1)]
    pub seq: u64,
    #[n(2)]
    pub kind: EntryKind,
    /// Never earlier than the entry before.
    #[n(3)]
    pub at: Millis,
    #[n(4)]
    pub by: String,
    /// Canonical bytes of the payload that `kind` names.
    #[n(5)]
    #[cbor(with = "minicbor::bytes")]
    pub payload: Vec<u8>,
    /// The background run this change belongs to, so that the run can be listed and undone.
    #[n(6)]
    pub run: Option<String>,
    /// The caller's key that makes a retry safe, with a digest of what was asked.
    #[n(7)]
    pub idempotency: Option<Idempotency>,
}

#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Idempotency {
    #[n(0)]
    pub key: String,
    #[n(1)]
    pub request: Digest,
}

impl Entry {
    pub fn to_bytes(&self) -> Vec<u8> {
        codec::encode(self)
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Entry> {
        let entry: Entry = codec::decode("journal entry", bytes)?;
        if entry.schema != SCHEMA {
            return Err(Error::Schema { found: entry.schema, expected: SCHEMA });
        }
        Ok(entry)
    }

    pub fn payload(&self) -> Result<Payload> {
        Payload::from_bytes(self.kind, &self.payload)
    }
}

/// What an entry does. Codes are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(index_only)]
pub enum EntryKind {
    #[n(1)]
    Write = 1,
    #[n(2)]
    Update = 2,
    #[n(3)]
    UpdateHead = 3,
    #[n(4)]
    Tombstone = 4,
    #[n(5)]
    Restore = 5,
    #[n(6)]
    Erase = 6,
    #[n(7)]
    AddEdge = 7,
    #[n(8)]
    RemoveEdge = 8,
    #[n(9)]
    Touch = 9,
    #[n(10)]
    FindLate = 10,
    #[n(11)]
    Attest = 11,
    #[n(12)]
    LearnWeights = 12,
    #[n(13)]
    Compact = 13,
    #[n(14)]
    SessionStart = 14,
    #[n(15)]
    SessionEnd = 15,
    #[n(16)]
    Prompt = 16,
    #[n(17)]
    Snapshot = 17,
    #[n(18)]
    ScopeGrant = 18,
    #[n(19)]
    ScopeRevoke = 19,
    #[n(20)]
    ScopeViolation = 20,
    #[n(21)]
    MindRun = 21,
    #[n(22)]
    Migration = 22,
    #[n(23)]
    PastForget = 23,
    #[n(24)]
    PastRestore = 24,
}

impl EntryKind {
    pub const ALL: [EntryKind; 24] = [
        EntryKind::Write,
        EntryKind::Update,
        EntryKind::UpdateHead,
        EntryKind::Tombstone,
        EntryKind::Restore,
        EntryKind::Erase,
        EntryKind::AddEdge,
        EntryKind::RemoveEdge,
        EntryKind::Touch,
        EntryKind::FindLate,
        EntryKind::Attest,
        EntryKind::LearnWeights,
        EntryKind::Compact,
        EntryKind::SessionStart,
        EntryKind::SessionEnd,
        EntryKind::Prompt,
        EntryKind::Snapshot,
        EntryKind::ScopeGrant,
        EntryKind::ScopeRevoke,
        EntryKind::ScopeViolation,
        EntryKind::MindRun,
        EntryKind::Migration,
        EntryKind::PastForget,
        EntryKind::PastRestore,
    ];

    pub fn name(self) -> &'static str {
        match self {
            EntryKind::Write => "write",
            EntryKind::Update => "update",
            EntryKind::UpdateHead => "update_head",
            EntryKind::Tombstone => "tombstone",
            EntryKind::Restore => "restore",
            EntryKind::Erase => "erase",
            EntryKind::AddEdge => "add_edge",
            EntryKind::RemoveEdge => "remove_edge",
            EntryKind::Touch => "touch",
            EntryKind::FindLate => "find_late",
            EntryKind::Attest => "attest",
            EntryKind::LearnWeights => "learn_weights",
            EntryKind::Compact => "compact",
            EntryKind::SessionStart => "session_start",
            EntryKind::SessionEnd => "session_end",
            EntryKind::Prompt => "prompt",
            EntryKind::Snapshot => "snapshot",
            EntryKind::ScopeGrant => "scope_grant",
            EntryKind::ScopeRevoke => "scope_revoke",
            EntryKind::ScopeViolation => "scope_violation",
            EntryKind::MindRun => "mind_run",
            EntryKind::Migration => "migration",
            EntryKind::PastForget => "past_forget",
            EntryKind::PastRestore => "past_restore",
        }
    }

    pub fn parse(text: &str) -> Result<EntryKind> {
        EntryKind::ALL.into_iter().find(|k| k.name() == text).ok_or_else(|| {
            let names: Vec<_> = EntryKind::ALL.iter().map(|k| k.name()).collect();
            Error::invalid("entry kind", format!("not one of {}", names.join(", ")))
        })
    }
}
