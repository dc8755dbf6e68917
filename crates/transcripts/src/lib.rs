//! Transcripts: the files in which coding agents keep their sessions, read into one shape.
//!
//! - [`readers`]: one file per agent; [`bounded_lines`], `json`, `tools`, `times`: what they share.
//! - [`session`]: the one shape: whose session, and what was said and done in it.
//! - [`cleaner`]: the gate every text passes once: `noise` of agents and [`echo`] of Cortex out, secrets masked, cuts
//!   noted; [`counts`]: what was read and what was left out.
//! - [`surroundings`]: where the folders of agents are. [`limits`]: how much of a text is kept.
//!
//! What must stay true: a source is only ever read; no text leaves unmasked; there is no clock, no network and no
//! environment: they come in.

pub mod bounded_lines;
pub mod cleaner;
pub mod counts;
pub mod digests;
pub mod echo;
pub mod error;
mod json;
pub mod limits;
mod noise;
pub mod readers;
pub mod session;
pub mod surroundings;
mod times;
mod tools;
