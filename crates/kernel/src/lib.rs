//! The per-actor memory graph.

pub mod codec;
pub mod digest;
pub mod error;
pub mod salience;

pub use digest::Digest;
pub use error::{Error, Fault, Result};
