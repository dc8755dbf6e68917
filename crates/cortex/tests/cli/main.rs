//! The command line as users and scripts meet it: the real binary, in homes of its own.
//!
//! `transcripts` are snapshots of what people see, reproducible to the last byte of a root. The others check what scripts
//! rely on: exit codes, JSON, streams, and that nothing acknowledged is ever lost.

mod bad_input;
mod delegates;
mod memories;
mod proofs;
mod streams;
mod support;
mod transcripts;
