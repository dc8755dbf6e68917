//! Goal: the HTTP interface answers as its contract says, whatever is sent, and only those who may ask.
//! Method: the real program on a port of its own, and a client of a few lines that writes what it likes to the socket.

#![allow(clippy::unwrap_used)]

mod agent_setup;
mod agents;
mod contract;
mod doors;
mod grants;
mod happenings;
mod memories;
mod odd_questions;
mod oracles;
mod owner;
mod parts;
mod runs;
mod support;
mod transfer;
mod wedges;
