//! The two decisions about a grant: may it enter the journal, and does a presented chain authorise a request.
//!
//! The checks run from cheap to dear, and nothing is trusted before the check that establishes it: a chain starts with
//! bytes the journal already holds, each link is signed by the delegate before it and takes nothing but away, and the
//! request is signed by the last delegate. Damage of the store is reported as such, never as a refusal.

use proof::Digest;
use proof::actor::ActorName;
use proof::journal::SCHEMA;
use proof::memory::Millis;

use super::attenuate::check_attenuation;
use super::authority::{Authority, selectors};
use super::grant::{Grant, SignedGrant};
use super::refused;
use super::request::Presentation;
use super::selector::Permission;
use crate::error::{Error, Result};
use crate::limits::{GRANT_CHAIN_MAX, REQUEST_SKEW_MS_MAX};
use crate::store::View;

/// Decides whether `presented` allows `operation` with the request `request_digest` at `now`.
///
/// A nonce seen before is not noticed here; `NonceGuard::check` follows.
pub fn authorize(
    view: &View<'_>,
    actor: &ActorName,
    presented: &Presentation,
    operation: Permission,
    request_digest: Digest,
    now: Millis,
) -> Result<Authority> {
    let chain = &presented.chain;
    let (Some(first), Some(last)) = (chain.first(), chain.last()) else {
        return Err(refused("no grant was presented"));
    };
    if chain.len() > GRANT_CHAIN_MAX {
        return Err(refused(format!("a chain has at most {GRANT_CHAIN_MAX} grants")));
    }
    let grants: Vec<&Grant> = chain.iter().map(SignedGrant::grant).collect();
    let ids: Vec<Digest> = grants.iter().map(|grant| grant.id()).collect();
    grants.iter().try_for_each(|grant| check_belongs(grant, actor))?;

    let state = view.grant(ids[0])?.ok_or_else(|| refused("the grant is not in the journal"))?;
    if state.grant != first.to_bytes() {
        return Err(refused("the grant differs from the one in the journal"));
    }
    if grants[0].parent.is_some() {
        return Err(refused("the first grant of a chain is the owner's"));
    }
    for id in &ids {
        if view.is_revoked(*id)? {
            return Err(refused("the grant or one it was made from is revoked"));
        }
    }
    chain.iter().try_for_each(SignedGrant::verify_signature)?;
    grants.windows(2).try_for_each(|pair| check_attenuation(pair[0], pair[1]))?;
    grants.iter().try_for_each(|grant| check_time(grant, now))?;
    // Only the owner's grant has a count, so a limit further down bounds the uses of the whole chain.
    let use_limit = grants.iter().filter_map(|grant| grant.use_limit).min();
    if use_limit.is_some_and(|limit| state.uses >= u64::from(limit)) {
        return Err(refused("the grant is used up"));
    }

    let request = presented.request.request();
    if request.grant != ids[ids.len() - 1] {
        return Err(refused("the request is for another grant"));
    }
    if !presented.request.is_signed_by(&last.grant().audience) {
        return Err(refused("the request is not signed by the delegate"));
    }
    if request.at.get().abs_diff(now.get()) > REQUEST_SKEW_MS_MAX.unsigned_abs() {
        return Err(refused("the request's time is too far from now"));
    }
    if request.operation != operation {
        return Err(refused("the request was signed for another operation"));
    }
    if request.digest != request_digest {
        return Err(refused("what is asked is not what was signed"));
    }
    if !last.grant().operations.contains(&operation) {
        return Err(refused(format!("the grant does not allow {}", operation.name())));
    }

    let (includes, excludes) = selectors(&grants);
    Ok(Authority {
        grant: request.grant,
        root_grant: ids[0],
        audience_name: last.grant().audience_name.clone(),
        operation,
        operations: last.grant().operations.clone(),
        includes,
        excludes,
        budget_tokens: grants.iter().filter_map(|grant| grant.budget_tokens).min(),
        counts_uses: use_limit.is_some(),
        root: last.grant().root,
        size: last.grant().size,
    })
}

/// Decides whether a signed grant may enter the journal, and returns it.
///
/// A grant is pinned to a kept snapshot, so that the root it carries is one its delegate can be shown proofs for,
/// however much is written afterwards.
pub fn check_issue(
    view: &View<'_>,
    actor: &ActorName,
    bytes: &[u8],
    now: Millis,
) -> Result<SignedGrant> {
    let signed = SignedGrant::decode(bytes)?;
    let grant = signed.grant();
    check_belongs(grant, actor)?;
    if grant.parent.is_some() {
        return Err(refused("a grant made from another is presented with it, not journaled"));
    }
    signed.verify_signature()?;
    check_time(grant, now)?;
    if view.is_revoked(signed.id())? {
        return Err(refused("the grant is revoked"));
    }
    let pinned = match view.snapshot_number_of(grant.root)? {
        Some(number) => view.snapshot(number)?,
        None => None,
    };
    if pinned.is_none_or(|manifest| manifest.size != grant.size) {
        return Err(refused("its root is not that of a snapshot; take one first"));
    }
    Ok(signed)
}

// kernel 72: another schema may mean other rules, so its grants do not count here.
fn check_belongs(grant: &Grant, actor: &ActorName) -> Result<()> {
    if grant.schema != SCHEMA {
        return Err(refused(format!("it has schema {}, not {SCHEMA}", grant.schema)));
    }
    if grant.actor != actor.as_str() {
        return Err(refused("it is for another actor"));
    }
    Ok(())
}

fn check_time(grant: &Grant, now: Millis) -> Result<(), Error> {
    if now >= grant.expires {
        return Err(refused(format!("expired at {}", grant.expires.rfc3339())));
    }
    if grant.issued.get() > now.get().saturating_add(REQUEST_SKEW_MS_MAX) {
        return Err(refused("it is issued in the future"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
