//! Grants: a signed permission for a delegate to see and change a slice of an actor's memory.

use minicbor::{Decode, Encode};

use crate::memory::Head;

/// What a delegate may see. Every read lane and every step of a graph walk asks it.
pub trait Gate {
    fn sees(&self, head: &Head) -> bool;
}

/// A grant as the journal left it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct GrantState {
    /// Canonical bytes of the signed grant.
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    pub grant: Vec<u8>,
    #[n(1)]
    pub seq: u64,
    #[n(2)]
    pub uses: u64,
}
