//! Export and import as users meet them: the real binary, real databases of other tools, real folders.
//!
//! `sources` makes databases with the tables that the tools have; `round_trip` compares exports; `kill` ends a running
//! import and goes on.

// Helpers of tests are tests, and a few short strings need no buffer.
#![allow(clippy::unwrap_used, clippy::format_collect, clippy::format_push_string)]

mod files;
mod kill;
mod notes;
mod round_trip;
mod sources;
#[path = "../cli/support.rs"]
#[allow(dead_code, reason = "each test binary uses a part of it")]
mod support;
mod tables;
