//! The journal: the truth of an actor, one entry after the other.
//!
//! An entry is complete. Deleting everything but entries and bodies loses nothing that `apply` cannot write again,
//! because no payload refers to state it does not carry or that an earlier entry did not make. Entries are never
//! edited; `seq` starts at 1 and has no gaps.

mod entry;
mod payload;
mod weights;

pub use entry::{Entry, EntryKind, Idempotency, SCHEMA};
pub use payload::{
    Access, AddEdge, Attest, Compact, Erase, FindLate, FoundMemory, GrantUse, HeadPatch,
    LearnWeights, Manifest, Migration, MindRun, MindRunPhase, Payload, PromptRecord, RemoveEdge,
    Restore, ScopeGrant, ScopeRevoke, ScopeViolation, SessionEnd, SessionStart, Stub,
    TombstoneMemory, Touch, Update, UpdateHead, Write,
};
pub use weights::{WEIGHT_CAP, WEIGHT_FLOOR, WEIGHT_SUM, Weights};
