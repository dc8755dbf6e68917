//! The program as a library: operations, the daemon that serves them, and the interfaces that translate.
//!
//! - [`ops`]: what may be asked of a home, as plain requests and answers; one error type.
//! - [`daemon`]: one owner per home, a local socket, and the client that the interfaces use.
//! - [`config`]: what can be set, and where each value came from.
//! - [`mcp`]: the tools that agents call.
//! - [`rest`]: the same operations over HTTP.
//! - `hands`: talents run: the bus, the runner and the supervisor, tied to the memory.
//! - `embedders`: the models one may choose besides the built-in one.
//! - `setup`, `hooks`: the settings of agents, and the events they send.
//! - `hands`: what talents need from a home, and what they give back to the memory.
//! - `transfer`: memories in and out.
//! - `tending`: the minds of a home: jobs, bulletins, maintenance, patterns.
//! - `intake`: what happens to a text before it becomes a memory.
//! - [`cli`]: the command line.
//! - [`tui`]: memories on a whole terminal.
//!
//! What must stay true: interfaces only translate; clock, chance and environment come in at the edge.

mod channels;
pub mod cli;
pub mod config;
pub mod daemon;
mod embedders;
mod hands;
mod hooks;
#[expect(dead_code, reason = "summaries by parts wait for the interface that shows them")]
mod intake;
pub mod mcp;
pub mod ops;
pub mod rest;
mod setup;
mod tending;
mod transfer;
pub mod tui;
