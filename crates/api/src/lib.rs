//! What is asked of Cortex and what it answers, as types: requests, answers, events.
//!
//! This crate has no logic and no input or output. Whoever speaks for a user (command line, HTTP, terminal
//! interface) and whoever does the work share these types, so that a key or a bound is written once.

pub mod run;
