//! The contract of Cortex: every operation with its request, its answer and the one error, as plain data.
//!
//! - [`operation`]: all operations as one list; [`Operation`] ties a request to its answer, [`Call`] is any of them.
//! - [`error`]: the one error of every interface, its codes, exit codes and HTTP statuses.
//! - [`caller`]: who asks, as it goes over a wire.
//! - [`memory`]: a memory as every answer shows it.
//! - One module per group of operations ([`save`], [`search`], [`session`] …) with requests, answers and bounds.
//! - [`render`]: answers as text, for people and for models, and what untrusted text passes first.
//! - [`run`]: what a run of a talent is asked for, and the events it sends.
//!
//! What must stay true: nothing here reads a file, a clock or a socket, and nothing here decides. Interfaces see this
//! crate and a handle that answers calls; field names are those of the wire, and are added, never renamed.

#[macro_use]
mod details;

pub mod activity;
pub mod admin;
pub mod archive;
pub mod attest;
pub mod audit;
pub mod auditor;
pub mod author;
pub mod backup;
pub mod bulletin;
pub mod bundle;
pub mod caller;
pub mod capture;
pub mod change;
pub mod change_many;
pub mod channel;
pub mod compact;
pub mod context;
pub mod counts;
pub mod error;
pub mod find;
pub mod grants;
pub mod graph;
pub mod handle;
pub mod health;
pub mod history;
pub mod hook;
pub mod journal;
pub mod memory;
pub mod mind;
pub mod operation;
pub mod outputs;
pub mod pages;
pub mod past;
pub mod projects;
pub mod prompt;
pub mod proof;
pub mod read;
pub mod render;
pub mod run;
pub mod run_spend;
pub mod save;
pub mod score;
pub mod search;
pub mod server_tools;
pub mod session;
pub mod settings;
pub mod stats;
pub mod talent_runs;
pub mod telling;
pub mod timeline;
pub mod transfer;
pub mod upkeep;

pub use caller::{CallerInfo, DEFAULT_ACTOR, GrantFiles};
pub use error::{CommandHint, Error, ErrorCode, Fault, Result};
pub use handle::{Handle, ask};
pub use operation::{Call, Operation};
