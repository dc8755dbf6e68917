//! What a verifier needs and nothing else: records, their canonical bytes, the Merkle trees over them, and proof files.
//!
//! A proof states one claim about an actor's memory at one root. Checking it recomputes every hash from the disclosed
//! records up to that root; nothing in the file is taken on trust. There is no store, no clock and no key in this
//! crate; the trees read and return rows through the small trait [`merkle::Pages`], and whoever has a store implements
//! it.
//!
//! - [`ProofFile`] is the file, [`check`] reads it and says what it proves.
//! - [`merkle`] are the trees and their proofs.
//! - [`journal`] are the entries that the journal's tree covers, [`memory`] the records that the other trees cover.
//! - [`actor`] is whose memory it is, [`codec`] and [`digest`] are the bytes underneath, [`Error`] is what can go
//!   wrong.

pub mod actor;
mod check;
pub mod codec;
pub mod digest;
mod error;
mod file;
pub mod journal;
pub mod memory;
pub mod merkle;

pub use check::{CheckedProof, ProvedFact, check};
pub use digest::Digest;
pub use error::{Error, Result};
pub use file::{
    AppendOnlyClaim, Claim, MemoryClaim, PROOF_BYTES_MAX, ProofFile, SliceClaim, SliceRecord,
};
