//! The journal: the truth of an actor, one entry after the other.
//!
//! An entry is complete. Deleting everything but entries and bodies loses nothing that `apply` cannot write again,
//! because no payload refers to state it does not carry or that an earlier entry did not make. Entries are never
//! edited; `seq` starts at 1 and has no gaps.

mod entry;
mod payload;
mod records;
mod weights;

pub use entry::{Entry, EntryKind, Idempotency, SCHEMA};
pub use payload::{
    AddEdge, Erase, HeadPatch, Payload, RemoveEdge, Restore, TombstoneMemory, Update, UpdateHead,
    Write,
};
pub use records::{
    Access, Attest, Compact, FindLate, FoundMemory, GrantUse, LearnWeights, Manifest, Migration,
    MindRun, MindRunPhase, PastForget, PastRestore, PromptRecord, ScopeGrant, ScopeRevoke,
    ScopeViolation, SessionEnd, SessionStart, Stub, Touch,
};
pub use weights::{WEIGHT_CAP, WEIGHT_FLOOR, WEIGHT_SUM, Weights};
