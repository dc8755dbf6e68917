//! What recall promises, tried where it could break: between the steps of a commit, during a rebuild, behind rare
//! filters, after an erasure, and with questions nobody should ask.
//!
//! Method: every answer of the open actor is compared in full with that of a reader which keeps nothing in memory.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod erased;
mod filters;
mod flush_points;
mod languages;
mod moments;
mod odd_questions;
mod past;
mod scrubs;
mod support;
