//! The per-actor memory graph.

pub mod actor;
mod admit;
mod apply;
pub mod codec;
pub mod command;
mod commitments;
pub mod compact;
pub mod context;
mod cortex;
pub mod digest;
pub mod error;
pub mod find;
pub mod forms;
pub mod graph;
pub mod home;
pub mod hook;
pub mod journal;
pub mod keys;
pub mod limits;
pub mod memory;
pub mod merkle;
mod pen;
pub mod proof;
mod replay;
pub mod salience;
pub mod scope;
pub mod state;
pub mod store;
pub mod uri;

pub use apply::{Changes, EdgeChange, HeadChange};
pub use cortex::{Cortex, HookFactory, Options, Reading, Resolved, birth};
pub use digest::Digest;
pub use error::{Error, Fault, Result};
pub use pen::{Progress, Request};
pub use replay::{PROBLEMS_MAX, Problem, VerifyReport};
