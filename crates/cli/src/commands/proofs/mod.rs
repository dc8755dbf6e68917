//! What can be checked: roots, snapshots, proofs, the journal, and the store against it.

pub(crate) mod checkpoint;
pub(crate) mod diff;
pub(crate) mod journal;
pub(crate) mod prove;
pub(crate) mod root;
pub(crate) mod snapshot;
pub(crate) mod verify;
pub(crate) mod verify_proof;
