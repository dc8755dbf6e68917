//! The command line as users and scripts meet it: the real binary, in homes of its own.
//!
//! `transcripts` are snapshots of what people see, reproducible to the last byte of a root. The others check what
//! scripts rely on: exit codes, JSON, streams, and that nothing acknowledged is ever lost.

// Helpers of tests are tests, and a few short strings need no buffer.
#![allow(clippy::unwrap_used, clippy::format_collect, clippy::format_push_string)]

mod agent_texts;
mod answers;
mod audit;
mod bad_input;
mod confinement;
mod delegates;
mod documents;
mod everyday;
mod hardship;
mod hooks;
mod hostile;
mod kills;
mod meaning;
mod memories;
mod mind;
mod models;
mod past;
mod proofs;
mod renewal;
mod runs;
mod service;
mod setup;
mod streams;
mod supervising;
mod support;
mod talents;
mod thinking;
mod through_daemon;
mod tiny_model;
mod transcripts;
mod vocabulary;
