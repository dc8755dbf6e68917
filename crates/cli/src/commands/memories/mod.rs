//! What people keep: saving, reading, finding, changing and forgetting memories, and what is said about them all.

#[macro_use]
mod detail_args;
pub(crate) mod audit;
pub(crate) mod confirm;
pub(crate) mod context;
pub(crate) mod edit;
pub(crate) mod entities;
pub(crate) mod find;
pub(crate) mod forget;
pub(crate) mod get;
pub(crate) mod graph;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod relate;
pub(crate) mod save;
mod save_lines;
pub(crate) mod score;
pub(crate) mod search;
pub(crate) mod stats;
mod type_word;
pub(crate) mod update;
