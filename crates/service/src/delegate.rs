//! Whoever acts under grants: the grants, and the key that signs requests in their name.

use std::fmt;

use api::GrantFiles;
use ed25519_dalek::SigningKey;
use kernel::Digest;
use kernel::grants::{DelegateRequest, Permission, Presentation, SignedGrant, SignedRequest};
use kernel::memory::Millis;

/// Grants and the key to use them with.
pub struct Delegate {
    /// `None` for one that presented them with its request.
    files: Option<GrantFiles>,
    /// The owner's grant first, the delegate's own last.
    pub(crate) chain: Vec<SignedGrant>,
    pub(crate) last: SignedGrant,
    pub(crate) key: SigningKey,
}

// The key is a secret.
impl fmt::Debug for Delegate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delegate").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl Delegate {
    /// `None` if there is no grant to act under.
    pub fn new(
        files: Option<GrantFiles>,
        chain: Vec<SignedGrant>,
        key: SigningKey,
    ) -> Option<Delegate> {
        let last = chain.last()?.clone();
        Some(Delegate { files, chain, last, key })
    }

    pub fn files(&self) -> Option<&GrantFiles> {
        self.files.as_ref()
    }

    /// Whose memory it may use.
    pub fn actor(&self) -> &str {
        &self.last.grant().actor
    }

    /// What it is called by whoever granted.
    pub fn name(&self) -> &str {
        &self.last.grant().audience_name
    }

    /// What the owner's grant is known by, whoever has passed a part of it on.
    pub fn owner_grant(&self) -> Digest {
        self.chain.first().unwrap_or(&self.last).id()
    }

    /// A key for retries as it stands in the journal: in a space of the delegate's own, where it neither meets the keys
    /// of others nor learns which of them were used.
    pub(crate) fn own_key(&self, key: &str) -> String {
        let grant = self.last.id();
        Digest::of("cortex/delegate-retry-key/1", &[grant.as_bytes(), key.as_bytes()]).to_string()
    }

    /// Something that its grants are for, whatever that is.
    pub(crate) fn any_permission(&self) -> Permission {
        self.last.grant().operations.first().copied().unwrap_or(Permission::Read)
    }

    /// Signs one request.
    pub(crate) fn present(
        &self,
        permission: Permission,
        digest: Digest,
        at: Millis,
        nonce: [u8; 16],
    ) -> Presentation {
        let request =
            DelegateRequest { grant: self.last.id(), operation: permission, digest, at, nonce };
        Presentation { chain: self.chain.clone(), request: SignedRequest::sign(request, &self.key) }
    }
}
