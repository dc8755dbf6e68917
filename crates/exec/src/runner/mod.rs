//! Runs of talents.

mod follow;
pub mod log;

pub use follow::{Follow, Followed};
