//! Grants as their owner sees them: for whom, for what, until when; and taking them back.

use std::ops::ControlFlow;

use kernel::command::{Command, Revocation};
use kernel::memory::Millis;
use kernel::scope::{Grant, GrantState, Selector};
use kernel::store::KeyRange;
use kernel::{Digest, codec, keys};
use serde::{Deserialize, Serialize};

use super::Ops;
use super::caller::Caller;
use super::error::{Error, Result};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GrantListRequest {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct GrantListAnswer {
    /// Oldest first.
    pub grants: Vec<GrantView>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct GrantView {
    pub id: String,
    /// The name it was given.
    pub delegate: String,
    pub operations: Vec<String>,
    /// What it covers, in words.
    pub include: String,
    /// What it leaves out of that. Empty if nothing.
    pub exclude: String,
    pub issued: String,
    pub expires: String,
    pub expired: bool,
    pub revoked: bool,
    pub uses: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub use_limit: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<u32>,
    /// The entry that journaled it.
    pub seq: u64,
    /// All of it in one line, for people.
    pub line: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RevokeRequest {
    /// 64 hexadecimal digits.
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RevokeAnswer {
    pub id: String,
    /// False: it was revoked before.
    pub changed: bool,
    pub seq: u64,
}

impl Ops {
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

    /// Takes a grant back. One that a delegate made from its own can be revoked too, although the journal does not hold it.
    pub fn revoke(&self, caller: &Caller, request: RevokeRequest) -> Result<RevokeAnswer> {
        let grant: Digest = request
            .id
            .parse()
            .map_err(|_| Error::invalid("id", "expected 64 hexadecimal digits"))?;
        let cortex = self.existing(caller)?;
        let reason = request.reason.filter(|reason| !reason.trim().is_empty());
        let reason = reason.unwrap_or_else(|| "revoked".to_owned());
        let command = Command::ScopeRevoke(Revocation { grant, reason });
        let receipt = self.submit(&cortex, caller.stamp()?, command)?;
        Ok(RevokeAnswer { id: grant.to_string(), changed: receipt.changed, seq: receipt.seq })
    }
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
