//! Connecting agents, settings, and whether everything is well.

pub(crate) mod agent_setup;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod init;
pub(crate) mod tour;
pub(crate) mod version;
