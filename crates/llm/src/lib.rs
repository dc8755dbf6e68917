//! Models that answer.
//!
//! `models` decides which provider and which model a call goes to, and why. `providers` asks it: services over HTTP
//! and command line tools, behind one interface. `line_codec` and `files` are what both this crate and `talents`
//! need of input and output. This crate knows nothing of talents, runs or memories.

pub mod files;
pub mod line_codec;
pub mod models;
pub mod providers;
pub mod retry;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
