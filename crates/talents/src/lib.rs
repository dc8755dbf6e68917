//! What talents are and when they are wanted: their files, the chronicle of days they read and write, schedules,
//! triggers, what a run may reach, and the bus on which everything that acts is told.
//!
//! Which day or event asks for which run is decided here, and nothing is run here: `runs` does that. This crate does
//! not know the memory either.

mod api_error;
pub mod bus;
pub mod chronicle;
pub mod clock;
pub mod confine;
pub mod digests;
pub mod layout;
pub mod names;
pub mod supervisor;
pub mod talent_files;
pub mod think;
pub mod triggers;

pub use layout::Layout;
pub use names::{Day, Facet, NameError, Segment, TalentName, UseId};
