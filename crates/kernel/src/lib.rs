//! The per-actor memory graph.

pub mod actor;
pub mod codec;
pub mod command;
pub mod compact;
pub mod context;
pub mod digest;
pub mod error;
pub mod find;
pub mod forms;
pub mod graph;
pub mod journal;
pub mod keys;
pub mod limits;
pub mod memory;
pub mod salience;
pub mod scope;
pub mod state;
pub mod store;
pub mod uri;

pub use digest::Digest;
pub use error::{Error, Fault, Result};
