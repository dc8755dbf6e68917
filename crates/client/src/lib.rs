//! Talking to the daemon of a home.
//!
//! - [`place`]: where lock and socket are. Who holds the lock owns the home; who finds it free may open it in process.
//! - [`protocol`]: one JSON object per line, with a handshake.
//! - [`connection`]: one connection to the daemon; [`start`] brings a daemon up when there is none.
//! - [`pool`]: connections that several threads share, with a retry that never acts twice.
//!
//! What must stay true: a lock or socket left behind by a killed daemon stops nobody.

pub mod connection;
pub mod place;
pub mod pool;
pub mod protocol;
pub mod start;
