//! Proofs that leave the store: files that anybody can check with nothing but the file and a root.
//!
//! A proof states one claim about an actor's memory at one root. Checking recomputes every hash from the disclosed records
//! up to that root; nothing in the file is taken on trust. The checker has no access to a store, a clock or a key.

mod check;
mod file;
mod make;

pub use check::{Checked, Fact, check};
pub use file::{Claim, MemoryClaim, ProofFile, SliceClaim, SliceRecord, SnapshotClaim};
pub use make::{Subject, prove, prove_since, prove_slice};
