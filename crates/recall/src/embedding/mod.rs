//! Meaning as numbers: a text becomes a vector of unit length, without a network and without a download.
//!
//! Owns the `Embedder` trait, the `Embedding` every model must produce, and the built-in static model. What must stay
//! true: an embedding is a function of (model id, text) alone, bit for bit, on every machine. So everything from the
//! table to the score is integer arithmetic, and a model whose output changes in any way gets another id.

mod dot;
#[cfg(test)]
mod hash;
mod max_sim;
mod static_model;
mod vector;
mod wordpiece;

pub(crate) use dot::{FETCHED, Wide, dot, fetch, widest};
#[cfg(test)]
pub(crate) use hash::HashEmbedder;
pub use max_sim::{MaxSim, SIM_ONE};
pub use static_model::{DIMS, ROWS, StaticEmbedder, TokenTable};
pub use vector::{DIMS_MAX, Embedding, ONE};
pub use wordpiece::{UNKNOWN, WordPiece};

/// A model that turns text into vectors.
pub trait Embedder: Send + Sync {
    /// Names the model and everything else the numbers depend on; vectors of different ids must never be compared.
    fn model(&self) -> &str;

    fn dims(&self) -> usize;

    /// The zero vector when the text holds nothing the model knows.
    fn embed(&self, text: &str) -> Embedding;
}
