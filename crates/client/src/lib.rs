//! Talking to the daemon of a home.
//!
//! - `private`: folders and files that are one user's alone; [`token`]: what shows the owner over HTTP.
//! - [`place`]: where lock and socket are. Who holds the lock owns the home; who finds it free may open it in process.
//! - [`protocol`]: one JSON object per line, with a handshake.
//! - [`dial`]: a socket whose other end is this user's. [`connection`]: one connection to the daemon; [`start`] brings
//!   a daemon up when there is none.
//! - [`pool`]: connections that several threads share, with a retry that never acts twice.
//!
//! What must stay true: a lock or socket left behind by a killed daemon stops nobody; no word
//! is said to a socket before it is known to be this user's; no daemon that is silent is waited for without end.

pub mod connection;
pub mod dial;
pub mod place;
pub mod pool;
pub mod private;
pub mod protocol;
pub mod start;
pub mod token;
