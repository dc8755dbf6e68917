//! The program as a library: operations, the daemon that serves them, and the interfaces that translate.
//!
//! - [`ops`]: what may be asked of a home, as plain requests and answers; one error type.
//! - [`daemon`]: one owner per home, a local socket, and the client that the interfaces use.
//! - [`config`]: what can be set, and where each value came from.
//! - [`mcp`]: the tools that agents call.
//! - [`cli`]: the command line.
//!
//! What must stay true: interfaces only translate; clock, chance and environment come in at the edge.

pub mod cli;
pub mod ops;
