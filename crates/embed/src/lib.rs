//! Optional embedding models: vectors that recall can use besides those of its built-in model.
//!
//! - [`MiniLm`]: all-MiniLM-L6-v2 from a local folder; [`install`]: how that folder comes to this machine.
//! - [`http`]: vectors from a service that speaks the protocol of OpenAI's embeddings.
//! - [`EmbeddingCache`]: the vectors of one model for one actor, in a file that may be deleted at any time.
//! - [`settings`]: which of them a home has chosen.
//!
//! This crate reads files, asks the network and computes in floats, so it stands outside of the deterministic crates.
//! What must stay true: nothing here is needed to save or to search, and no root depends on what it makes.
//! Configuration, environment and the moment at which a model is asked are the caller's.

mod cache;
pub mod http;
pub mod install;
mod minilm;
pub mod settings;
mod vector_bytes;

pub use cache::{CacheError, EmbeddingCache, forget_everywhere};
pub use minilm::{MiniLm, ModelError};
