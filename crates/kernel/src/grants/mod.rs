//! Grants: a signed permission for a delegate to see and change a slice of an actor's memory.
//!
//! What must stay true: a grant counts only because its bytes are in the actor's journal; only the holder of the named
//! key can use it; a delegate can hand on less than it has, never more; a private memory is seen by nobody but the
//! owner; and a delegate never widens its own slice by editing the fields a selector looks at. Keys, nonces and the
//! time come in from outside, so every decision here can be made again from the same bytes.

mod attenuate;
mod authority;
mod authorize;
mod grant;
mod nonce_guard;
mod request;
mod selector;
mod token;

#[cfg(test)]
mod fixture;

use minicbor::{Decode, Encode};
use proof::memory::Head;

pub use attenuate::check_attenuation;
pub use authority::{Authority, gate_named, gate_write};
pub use authorize::{authorize, check_issue};
pub use grant::{GRANT_BYTES_MAX, GRANT_LIFE_MS_MAX, Grant, PublicKey, SignedGrant};
pub use nonce_guard::{NONCE_CAPACITY, NonceGuard};
pub use request::{DelegateRequest, PRESENTATION_BYTES_MAX, Presentation, SignedRequest};
pub use selector::{Permission, Selector};

use crate::error::{Error, Result};

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

impl GrantState {
    /// A grant that entry `seq` has just journaled.
    pub fn new(grant: Vec<u8>, seq: u64) -> GrantState {
        GrantState { grant, seq, uses: 0 }
    }

    /// The state after `n` more uses. The count never wraps: a spent grant stays spent.
    pub fn used(mut self, n: u32) -> GrantState {
        self.uses = self.uses.saturating_add(u64::from(n));
        self
    }

    pub fn signed(&self) -> Result<SignedGrant> {
        SignedGrant::decode(&self.grant)
    }

    /// One line for a listing.
    pub fn describe(&self) -> Result<String> {
        let grant = self.signed()?;
        Ok(format!("{}; used {} times", grant.grant().describe(), self.uses))
    }
}

fn refused(reason: impl Into<String>) -> Error {
    Error::GrantRefused(reason.into())
}
