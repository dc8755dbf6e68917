//! The past from outside: made-up histories of agents are read, asked, broken, killed and forgotten.

#![allow(clippy::unwrap_used)]

mod agents;
mod aider;
mod fault_disk;
mod fixtures;
mod forgetting;
mod forgetting_sequences;
mod histories;
mod reading;
mod searching;
mod serving;
mod store;
