//! Talents run as supervised processes, and everything they do is on disk and on the bus.
//!
//! A run is asked for on the bus, owned by one task from its first line to its last, and ends with exactly one
//! terminal event. This crate knows processes, files and sockets; `llm` asks the models; it does not know the
//! memory: the tools a talent may use come in as a trait, and what a finished run teaches goes out as an event.

mod api_error;
pub mod bus;
pub mod bus_server;
pub mod chronicle;
pub mod clock;
pub mod confine;
mod digests;
pub mod layout;
pub mod names;
pub mod process;
pub mod runner;
pub mod supervisor;
pub mod talent_files;
pub mod think;
pub mod triggers;

pub use layout::Layout;
pub use names::{Day, Facet, NameError, Segment, TalentName, UseId};
