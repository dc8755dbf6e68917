//! The daemon: one process owns a home, and everybody else talks to it over a local socket.
//!
//! - [`place`]: where lock and socket are. Who holds the lock owns the home; who finds it free may open it in process.
//! - [`protocol`]: one JSON object per line, with a handshake.
//! - [`server`] accepts and ends; `connection` answers; `forward` runs a command line for somebody else.
//! - [`client`] is what the interfaces use; [`start`] brings a daemon up when there is none.
//!
//! What must stay true: nothing is answered before it is on disk; a daemon that is told to end finishes what it began; a
//! lock or socket left behind by a killed one stops nobody.

pub mod client;
mod connection;
mod forward;
pub mod place;
pub mod protocol;
pub mod server;
pub mod start;
