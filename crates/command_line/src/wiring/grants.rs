//! Grants that are made without asking a daemon: a part of one that is held, and a token that stands for one.
//!
//! Neither is an operation: the first needs no home at all, the second only the folder of one, and a secret key goes
//! into a file of the caller's.

use std::path::Path;

use api::GrantFiles;
use api::grants::{GrantFile, Slice};
use ed25519_dalek::SigningKey;
use kernel::digest::encode_hex;
use kernel::grants::{Grant, SignedGrant};
use service::attenuate::GrantPart;
use service::bearer::Bearers;
use service::grant_file::{self, write_secret};
use service::{Environment as _, SystemEnvironment};

use crate::failure::{CommandResult, Failure};
use crate::invocation::fill_random;

/// What a part of a grant is to be; what is absent stays as in the grant it is made of.
#[derive(Debug)]
pub struct PartPlan<'a> {
    pub held: GrantFiles,
    pub name: &'a str,
    /// The public key of whoever gets it; `None`: a new key is made and put into the file.
    pub delegate_key: Option<&'a str>,
    pub operations: &'a [String],
    pub include: Slice,
    pub expires: Option<&'a str>,
    pub uses: Option<u32>,
    pub budget: Option<u32>,
}

/// A grant as it was written to its file.
#[derive(Debug)]
pub struct PartReport {
    pub id: String,
    pub delegate: String,
    pub operations: Vec<&'static str>,
    pub expires: Option<String>,
    pub public_key: Option<String>,
    /// The grant in a line for people.
    pub line: String,
}

/// Makes a part of a grant and writes it to a file that must not exist.
pub fn attenuate(plan: PartPlan<'_>, out: &Path) -> CommandResult<PartReport> {
    let (_, held) = grant_file::load(plan.held)?;
    let mut drawn = [0; 32];
    fill_random(&mut drawn)?;
    let (audience, secret) = match plan.delegate_key {
        Some(hex) => (grant_file::public_key(hex)?, None),
        None => {
            let key = SigningKey::from_bytes(&drawn);
            (key.verifying_key().to_bytes(), Some(key))
        }
    };
    let mut nonce = [0; 16];
    fill_random(&mut nonce)?;
    let part = GrantPart {
        name: plan.name.to_owned(),
        audience,
        operations: plan.operations.to_vec(),
        include: plan.include,
        expires: plan.expires.map(str::to_owned),
        use_limit: plan.uses,
        budget_tokens: plan.budget,
    };
    let chain = held.attenuate(part, SystemEnvironment.now()?, nonce)?;
    let file = grant_file::of_chain(&chain, secret.as_ref())?;
    let text =
        serde_json::to_string_pretty(&file).map_err(|error| Failure::input(error.to_string()))?;
    write_secret(out, &format!("{text}\n")).map_err(|error| Failure::file(out, error))?;
    let made = chain.last().map(SignedGrant::grant);
    let operations = made.map(|grant| grant.operations.iter().map(|one| one.name()).collect());
    Ok(PartReport {
        id: file.id,
        delegate: file.delegate,
        operations: operations.unwrap_or_default(),
        expires: made.map(|grant| grant.expires.rfc3339()),
        public_key: made.map(|grant| encode_hex(&grant.audience)),
        line: made.map(Grant::describe).unwrap_or_default(),
    })
}

/// A new bearer token that stands for the grant; the home keeps its key, sealed with the token.
pub fn bearer(home: &Path, file: &GrantFile) -> CommandResult<String> {
    let mut drawn = [0; 32];
    fill_random(&mut drawn)?;
    Ok(Bearers::new(home).issue(file, drawn, SystemEnvironment.now()?)?)
}
