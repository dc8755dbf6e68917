//! Parts of grants: what a delegate hands on, without the owner.
//!
//! What must stay true: a part allows nothing that the grant it comes of does not; the kernel checks each link again.

use api::grants::Slice;
use kernel::grants::{Grant, PublicKey, Selector, SignedGrant, check_attenuation};
use kernel::memory::{MemoryType, Millis};

use crate::delegate::Delegate;
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

impl Delegate {
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
