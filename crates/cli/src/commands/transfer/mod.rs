//! Memories in and out, as files and from other tools.

pub(crate) mod backup;
pub(crate) mod export;
pub(crate) mod import;
