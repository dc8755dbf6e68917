//! The hands: talents run as supervised processes, and everything they do is on disk and on the bus.
//!
//! A run is asked for on the bus, owned by one task from its first line to its last, and ends with exactly one terminal
//! event. This crate knows processes, files, sockets and providers; it does not know the memory: the tools a talent may
//! use come in as a trait, and what a finished run teaches goes out as an event.

mod api_error;
pub mod callosum;
pub mod chronicle;
pub mod layout;
pub mod models;
pub mod names;
pub mod process;
pub mod providers;
pub mod runner;
pub mod supervisor;
pub mod talents;
pub mod think;
pub mod world;

pub use layout::Layout;
pub use names::{Day, Facet, NameError, Segment, TalentName, UseId};
