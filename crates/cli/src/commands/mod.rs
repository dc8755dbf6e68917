//! The commands, one file each, in folders by what they are about.

pub(crate) mod grants;
pub(crate) mod ledger;
pub(crate) mod memories;
pub(crate) mod mind;
pub(crate) mod models;
pub(crate) mod past;
pub(crate) mod proofs;
pub(crate) mod service;
pub(crate) mod sessions;
pub(crate) mod setup;
pub(crate) mod transfer;
