//! Many machines, one truth: the journals of all actors in PostgreSQL, and the nodes that share them.
//!
//! - [`settings`]: where the database is. `tls`, `pool`: connections to it, bounded and checked.
//! - [`schema`], `tables`: the tables. [`ledger`]: the kernel's shared journals on top of them.
//! - `nodes`: who is there. [`placement`]: who of them serves an actor. [`node`]: this one, and how it passes requests
//!   on.
//! - [`tokens`]: who may come in. `seal`: how nodes know each other.
//! - `news`, `following`: which journals grew. [`push`]: a home's journals, put into the database.
//! - [`counters`]: what happened.
//!
//! What must stay true: the primary key `(actor, seq)` is all that keeps two nodes from writing the same entry; leases,
//! placement and heartbeats only save work. Nothing is acknowledged that the database has not committed. An append
//! whose answer was lost is sent again with the same bytes until the database says what became of it.

pub mod checkpoints;
pub mod counters;
mod error;
mod following;
pub mod ledger;
mod news;
pub mod node;
mod nodes;
pub mod placement;
mod pool;
pub mod push;
pub mod schema;
mod seal;
pub mod settings;
mod tables;
mod tls;
pub mod tokens;

pub use error::{Error, Result};
pub use ledger::PostgresLedger;
pub use news::JournalNews;
pub use node::Node;
pub use nodes::Peer;
pub use settings::LedgerSettings;
