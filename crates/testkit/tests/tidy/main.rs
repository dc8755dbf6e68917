//! Rules about the repository itself, checked like any other test.

mod crates;
mod edges;
mod metadata;
