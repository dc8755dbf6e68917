//! Scoped tokens: a grant file, in base64, as a bearer token.
//!
//! Whoever presents one is a delegate: every operation is signed with the key of the file and judged by the grants in the
//! journal, as it is on the command line. What the file says about itself counts for nothing.

use std::sync::Arc;

use axum::http::StatusCode;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ed25519_dalek::SigningKey;
use kernel::actor::ActorName;
use kernel::digest::decode_hex;
use kernel::scope::SignedGrant;
use serde::Deserialize;

use super::problem::Problem;
use crate::ops::error::Error;
use crate::ops::{Caller, Delegate};

/// With or without padding: tools differ.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What is needed of the file that `cortex scope-grant` writes.
#[derive(Deserialize)]
struct GrantFile {
    cortex_grant: u32,
    chain: Vec<String>,
    secret_key: Option<String>,
}

/// The delegate that a token stands for, or none if it is no grant at all.
pub(super) fn delegate(token: &str) -> Result<Option<Arc<Delegate>>, Problem> {
    let file = BASE64.decode(token).ok();
    let file = file.and_then(|bytes| serde_json::from_slice::<GrantFile>(&bytes).ok());
    let Some(file) = file else { return Ok(None) };
    let wrong = |message: &str| {
        Problem::new(StatusCode::UNAUTHORIZED, "token_refused", message)
            .with_hint("send a file of `cortex scope-grant --new-key`, in base64")
    };
    if file.cortex_grant != 1 {
        return Err(wrong("the grant has a format that is not known here"));
    }
    let chain: Result<Vec<SignedGrant>, _> =
        file.chain.iter().map(|token| SignedGrant::from_token(token)).collect();
    let chain = chain.map_err(|_| wrong("the grant is damaged"))?;
    let key = file.secret_key.as_deref().and_then(decode_hex);
    let key = key.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    let key = key.ok_or_else(|| wrong("the grant holds no secret key"))?;
    let delegate = Delegate::new(None, chain, SigningKey::from_bytes(&key));
    delegate.map(|delegate| Some(Arc::new(delegate))).ok_or_else(|| wrong("it holds no grant"))
}

/// The delegate as one who asks: under its own name, for the memory its grant is about.
pub(super) fn caller(delegate: &Arc<Delegate>) -> Result<Caller, Error> {
    let mut caller = Caller::new(ActorName::parse(delegate.actor())?, delegate.name());
    caller.delegate = Some(Arc::clone(delegate));
    Ok(caller)
}
