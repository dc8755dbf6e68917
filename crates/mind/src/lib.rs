//! The mind tends the memory. Every part is a state machine: what happened and what time it is go in, what to do comes out.
//!
//! Nothing in here reads a clock, opens a file, talks to a network or calls a model. The daemon runs the effects and brings
//! their answers back as events, so a year of ticks can be tried in seconds and gives the same result every time.
//!
//! A tour:
//!
//! - [`Mind`] is the whole for one actor: [`Event`]s in, [`Effect`]s out, [`MindState`] kept over restarts. Its parts can be
//!   used alone.
//! - [`settings`]: every knob, its default, its text; the presets. [`error`]: what can be refused.
//! - [`jobs`]: named duties on a clock that comes in. [`breaker`]: what stops a thing that keeps failing.
//! - [`budget`]: what models may cost. [`quote`]: memories inside prompts, as data.
//! - [`audience`]: who reads it, and how far it can be trusted. [`memory_recall`]: the one way to ask the memory.
//! - [`bulletin`]: what matters now, in 500 words, cited. [`warmup`]: ready before work.
//! - [`maintenance`]: fading, forgetting, joining, undoing. [`patterns`]: what repeats. Both make a plan of proposals;
//!   [`proposal`] carries it out through the caller's door.
//! - [`supervision`]: who runs, who is stuck. [`hook`]: looks over the shoulder of a run.
//! - [`conversation`]: channels and branches. [`admin`]: what an administrator types.

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
