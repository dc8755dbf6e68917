//! The mind tends the memory. Every part is a state machine: what happened and what time it is go in, what to do comes out.
//!
//! Nothing in here reads a clock, opens a file, talks to a network or calls a model. The daemon runs the effects and brings
//! their answers back as events, so a year of ticks can be tried in seconds and gives the same result every time.
//!
//! - [`settings`]: every knob, its default, its text; the presets. [`error`]: what can be refused.
//! - [`jobs`]: named duties on a clock that comes in. [`breaker`]: what stops a thing that keeps failing.

pub mod admin;
pub mod audience;
pub mod breaker;
pub mod budget;
pub mod bulletin;
pub mod conversation;
pub mod error;
pub mod hook;
pub mod jobs;
pub mod maintenance;
pub mod memory_recall;
pub mod patterns;
pub mod proposal;
pub mod quote;
pub mod settings;
pub mod supervision;
pub mod warmup;
pub mod whole;

pub use whole::{Effect, Event, Mind, MindState};
