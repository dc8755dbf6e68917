//! Whoever acts under grants: the grants, and the key that signs requests in their name.

use std::fmt;

use api::GrantFiles;
use api::grants::Slice;
use ed25519_dalek::SigningKey;
use kernel::Digest;
use kernel::grants::{
    DelegateRequest, Grant, Permission, Presentation, PublicKey, Selector, SignedGrant,
    SignedRequest, check_attenuation,
};
use kernel::memory::{MemoryType, Millis};

use crate::error::Result;
use crate::grants::lanes;
use crate::parse;
use crate::read::memory_id;

/// What a delegate hands on of its grant. What is empty or absent stays as it is in the grant.
#[derive(Debug)]
pub struct GrantPart {
    /// The name of whoever gets it.
    pub name: String,
    pub audience: PublicKey,
    pub operations: Vec<String>,
    pub include: Slice,
    pub expires: Option<String>,
    pub use_limit: Option<u32>,
    pub budget_tokens: Option<u32>,
}

/// Grants and the key to use them with.
pub struct Delegate {
    /// `None` for one that presented them with its request.
    files: Option<GrantFiles>,
    /// The owner's grant first, the delegate's own last.
    chain: Vec<SignedGrant>,
    last: SignedGrant,
    key: SigningKey,
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

    /// Something that its grants are for, whatever that is.
    pub(crate) fn any_permission(&self) -> Permission {
        self.last.grant().operations.first().copied().unwrap_or(Permission::Read)
    }

    /// Hands on a part of its grant: the chain with one more link, signed by the delegate. Nothing can be added to it.
    pub fn attenuate(
        &self,
        part: GrantPart,
        now: Millis,
        nonce: [u8; 16],
    ) -> Result<Vec<SignedGrant>> {
        let parent = self.last.grant();
        let operations = if part.operations.is_empty() {
            parent.operations.clone()
        } else {
            lanes(&part.operations)?
        };
        let expires = part.expires.as_deref().map(|when| parse::until(when, now)).transpose()?;
        let child = Grant {
            issuer: self.key.verifying_key().to_bytes(),
            audience: part.audience,
            audience_name: part.name,
            operations,
            include: narrowed(&parent.include, part.include)?,
            issued: now,
            expires: expires.unwrap_or(parent.expires).min(parent.expires),
            use_limit: part.use_limit.or(parent.use_limit),
            budget_tokens: part.budget_tokens.or(parent.budget_tokens),
            parent: Some(parent.id()),
            nonce,
            ..parent.clone()
        };
        check_attenuation(parent, &child)?;
        let mut chain = self.chain.clone();
        chain.push(SignedGrant::sign(child, &self.key)?);
        Ok(chain)
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

/// The parent's selection, with each list that is given in place of its own.
fn narrowed(parent: &Selector, slice: Slice) -> Result<Selector> {
    fn or<T: Clone>(given: Vec<T>, parent: &[T]) -> Vec<T> {
        if given.is_empty() { parent.to_vec() } else { given }
    }
    let types = slice.types.iter().map(|name| MemoryType::parse(name));
    let types = types.collect::<kernel::Result<Vec<_>, kernel::ProofError>>()?;
    let ids = slice.ids.iter().map(|id| memory_id(*id)).collect::<Result<Vec<_>>>()?;
    let projects = slice.projects.iter().map(|name| name.trim().to_lowercase()).collect();
    let selector = Selector {
        types: or(types, &parent.types),
        tags: or(slice.tags, &parent.tags),
        projects: or(projects, &parent.projects),
        ids: or(ids, &parent.ids),
    };
    Ok(selector.normal())
}
