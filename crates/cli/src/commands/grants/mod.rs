//! What delegates may see and do.

pub(crate) mod scope;
