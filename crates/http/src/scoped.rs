//! Scoped tokens: a grant file, in base64, as a bearer token.
//!
//! Whoever presents one is a delegate: every operation is signed with the key of the file and judged by the grants in
//! the journal, as it is on the command line.

use service::grant_file;
use std::sync::Arc;

use axum::http::StatusCode;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use proof::actor::ActorName;

use crate::problem::Problem;
use api::grants::GrantFile;
use api::render::quotation::Author;
use api::{Error, ErrorCode};
use service::{Caller, Delegate};

/// With or without padding: tools differ.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The delegate that a token stands for, or none if it is no grant at all.
pub(super) fn delegate(token: &str) -> Result<Option<Arc<Delegate>>, Problem> {
    let file = BASE64.decode(token).ok();
    let file = file.and_then(|bytes| serde_json::from_slice::<GrantFile>(&bytes).ok());
    let Some(file) = file else { return Ok(None) };
    let delegate = grant_file::into_delegate(file, None, None).map_err(|error| {
        Problem::new(StatusCode::UNAUTHORIZED, ErrorCode::TokenRefused, error.to_string())
            .with_hint("send a file of `cortex scope-grant --new-key`, in base64")
    })?;
    Ok(Some(Arc::new(delegate)))
}

/// A grant file as a token.
pub(super) fn token(file: &GrantFile) -> Result<String, Error> {
    let bytes = serde_json::to_vec(file).map_err(|error| Error::internal(error.to_string()))?;
    Ok(BASE64.encode(bytes))
}

/// The delegate as one who asks: under its own name, for the memory its grant is about.
pub(super) fn caller(delegate: &Arc<Delegate>) -> service::Result<Caller> {
    let mut caller = Caller::new(ActorName::parse(delegate.actor())?, delegate.name());
    caller.delegate = Some(Arc::clone(delegate));
    caller.author = Author::Agent;
    Ok(caller)
}
