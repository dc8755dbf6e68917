//! What delegates may see and do.

pub(crate) mod attenuate;
pub(crate) mod scope;
pub(crate) mod scope_token;
