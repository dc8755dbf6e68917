//! Grants as their owner sees them: giving them, which there are, and taking them back.
//!
//! What must stay true: a grant that is refused leaves nothing behind; a delegate's secret key is in the answer and
//! nowhere else.

use std::ops::ControlFlow;

use api::grants::{
    GrantAnswer, GrantListAnswer, GrantListRequest, GrantRequest, GrantView, RevokeAnswer,
    RevokeRequest, Slice,
};
use ed25519_dalek::SigningKey;
use kernel::command::{Command, GrantDraft, Revocation};
use kernel::digest::encode_hex;
use kernel::grants::{Grant, GrantState, Permission, Selector, SignedGrant};
use kernel::journal::SCHEMA;
use kernel::memory::{MemoryType, Millis};
use kernel::store::KeyRange;
use kernel::{Digest, codec, keys};

use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::grant_file::{public_key, read_or_make_key};
use crate::read::memory_id;
use crate::{Service, parse};

/// How long a grant lasts unless told otherwise.
const EXPIRES_DEFAULT: &str = "7d";

impl Service {
    /// Lets a delegate read or change a part of this memory. A snapshot is taken first, because a grant speaks of a
    /// state it can prove.
    pub fn grant(&self, caller: &Caller, request: GrantRequest) -> Result<GrantAnswer> {
        let cortex = self.existing(caller)?;
        let now = caller.now()?;
        let drawn = || -> Result<[u8; 32]> {
            let mut bytes = [0; 32];
            caller.environment.fill(&mut bytes)?;
            Ok(bytes)
        };
        let (audience, secret) = match &request.delegate_key {
            Some(hex) => (public_key(hex)?, None),
            None => {
                let key = SigningKey::from_bytes(&drawn()?);
                (key.verifying_key().to_bytes(), Some(key))
            }
        };
        let exclude = self.selector(caller, &request.exclude)?;
        let expires = request.expires.as_deref().unwrap_or(EXPIRES_DEFAULT);
        let key_file = self.folder.join("keys").join(format!("{}.key", caller.actor));
        let issuer = read_or_make_key(&key_file, drawn)?;
        let mut nonce = [0; 16];
        caller.environment.fill(&mut nonce)?;
        let mut grant = Grant {
            schema: SCHEMA,
            actor: caller.actor.to_string(),
            issuer: issuer.verifying_key().to_bytes(),
            audience,
            audience_name: request.name.clone(),
            operations: lanes(&request.operations)?,
            include: self.selector(caller, &request.include)?,
            exclude: Some(exclude).filter(|selector| !selector.is_empty()),
            issued: now,
            expires: parse::until(expires, now)?,
            use_limit: request.use_limit,
            budget_tokens: request.budget_tokens,
            parent: None,
            nonce,
            root: Digest::ZERO,
            size: cortex.read()?.roots()?.size,
        };
        // Checked before the snapshot is taken, so that a refused grant leaves nothing behind.
        grant.check()?;
        let why = format!("grant for {}", request.name);
        let manifest = cortex.snapshot(caller.plain_stamp()?, &why)?;
        (grant.root, grant.size) = (manifest.root, manifest.size);
        let signed = SignedGrant::sign(grant, &issuer)?;
        let draft = GrantDraft { grant: signed.to_bytes() };
        self.submit(&cortex, caller.stamp()?, Command::ScopeGrant(draft))?;
        let inner = signed.grant();
        Ok(GrantAnswer {
            id: signed.id().to_string(),
            delegate: inner.audience_name.clone(),
            operations: inner
                .operations
                .iter()
                .map(|permission| permission.name().to_owned())
                .collect(),
            expires: inner.expires.rfc3339(),
            use_limit: inner.use_limit,
            budget_tokens: inner.budget_tokens,
            public_key: encode_hex(&inner.audience),
            root: inner.root.to_string(),
            line: inner.describe(),
            file: crate::grant_file::of_grant(&signed, secret.as_ref()),
        })
    }

    fn selector(&self, caller: &Caller, slice: &Slice) -> Result<Selector> {
        let types = slice.types.iter().map(|name| MemoryType::parse(name));
        let projects = slice.projects.iter().map(|name| {
            self.named(&caller.actor, name).ok_or_else(|| Error::invalid("project", "is empty"))
        });
        let selector = Selector {
            types: types.collect::<kernel::Result<_, kernel::ProofError>>()?,
            tags: slice.tags.clone(),
            projects: projects.collect::<Result<_>>()?,
            ids: slice.ids.iter().map(|id| memory_id(*id)).collect::<Result<_>>()?,
        };
        Ok(selector.normal())
    }

    pub fn grant_list(&self, caller: &Caller, _: GrantListRequest) -> Result<GrantListAnswer> {
        let (_, reading) = self.reading(caller)?;
        let view = reading.view();
        let mut states: Vec<GrantState> = Vec::new();
        view.scan(&KeyRange::prefix(&keys::grants()), &mut |_, value| {
            states.push(codec::decode("grant", value)?);
            Ok(ControlFlow::Continue(()))
        })?;
        states.sort_by_key(|state| state.seq);
        let now = caller.now()?;
        let mut grants = Vec::new();
        for state in &states {
            let signed = state.signed()?;
            let revoked = view.is_revoked(signed.id())?;
            let line = state.describe()?;
            grants.push(GrantView { line, ..grant_view(state, signed.grant(), revoked, now) });
        }
        Ok(GrantListAnswer { grants })
    }

    /// Takes a grant back. One that a delegate made from its own can be revoked too, although the journal does not hold
    /// it.
    pub fn revoke(&self, caller: &Caller, request: RevokeRequest) -> Result<RevokeAnswer> {
        let grant: Digest = request
            .id
            .parse()
            .map_err(|_| Error::invalid("id", "expected 64 hexadecimal digits"))?;
        let cortex = self.existing(caller)?;
        let known = cortex.read()?.view().grant(grant)?.is_some();
        let reason = request.reason.filter(|reason| !reason.trim().is_empty());
        let reason = reason.unwrap_or_else(|| "revoked".to_owned());
        let command = Command::ScopeRevoke(Revocation { grant, reason });
        let receipt = self.submit(&cortex, caller.stamp()?, command)?;
        let (changed, seq) = (receipt.changed, receipt.seq);
        Ok(RevokeAnswer { id: grant.to_string(), changed, seq, known })
    }
}

pub(crate) fn lanes(names: &[String]) -> Result<Vec<Permission>> {
    let permission = |name: &String| {
        Permission::from_name(name).ok_or_else(|| {
            let all = Permission::ALL.map(Permission::name).join(", ");
            let shown = parse::shown(name);
            Error::invalid("operation", format!("{shown:?} is not one of {all}"))
        })
    };
    let mut lanes = names.iter().map(permission).collect::<Result<Vec<_>>>()?;
    lanes.sort_unstable();
    lanes.dedup();
    Ok(lanes)
}

fn grant_view(state: &GrantState, grant: &Grant, revoked: bool, now: Millis) -> GrantView {
    GrantView {
        id: grant.id().to_string(),
        delegate: grant.audience_name.clone(),
        operations: grant.operations.iter().map(|o| o.name().to_owned()).collect(),
        include: grant.include.describe(),
        exclude: grant.exclude.as_ref().map(Selector::describe).unwrap_or_default(),
        issued: grant.issued.rfc3339(),
        expires: grant.expires.rfc3339(),
        expired: grant.expires <= now,
        revoked,
        uses: state.uses,
        use_limit: grant.use_limit,
        budget_tokens: grant.budget_tokens,
        seq: state.seq,
        line: String::new(),
    }
}
