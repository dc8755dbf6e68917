//! The laws of the index: a search equals the naive scorer below for every history; rows depend on the history alone.

mod harness;
mod kernel_hook;
mod laws;
