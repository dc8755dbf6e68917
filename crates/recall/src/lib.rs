//! Recall: finds the right memory, at once, offline.

pub mod analyze;
pub mod embed;
pub mod entities;
pub mod text;
pub mod vectors;
