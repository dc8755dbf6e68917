//! The mind tends the memory. Every part is a state machine: what happened and what time it is go in, what to do
//! comes out.
//!
//! Nothing in here reads a clock, opens a file, talks to a network or calls a model. The daemon carries out the
//! effects and brings their answers back as events, so a year of ticks can be tried in seconds and gives the same
//! result every time.
//!
//! A tour:
//!
//! - [`Mind`] is the mind of one actor: [`MindEvent`]s in, [`MindEffect`]s out, [`MindState`] kept over restarts. Its
//!   parts can be used alone.
//! - [`settings`]: every setting, its default, its text; the presets. [`error`]: what can be refused.
//! - [`jobs`]: named duties on a clock that comes in. [`breaker`]: what stops a thing that keeps failing.
//! - [`budget`]: what models may cost. [`quote`]: memories inside prompts, as data.
//! - [`fading`]: the one importance, and who chose to keep what. [`active_days`]: the days that memories age by.
//! - [`audience`]: who reads it, and how far it can be trusted. [`memory_recall`]: the one way to ask the memory.
//! - [`bulletin`]: what matters now, in 500 words, cited. [`warmup`]: ready before work.
//! - [`maintenance`]: fading, forgetting, joining, undoing. [`patterns`]: what repeats. Both make a plan of
//!   proposals; [`proposal`] carries it out with the caller's way to submit commands.
//! - [`supervision`]: who runs, who is stuck. [`hook`]: tells supervision what a run does.
//! - [`conversation`]: channels and branches.

pub mod active_days;
pub mod audience;
pub mod breaker;
pub mod budget;
pub mod bulletin;
pub mod conversation;
pub mod error;
pub mod fading;
pub mod hook;
pub mod jobs;
pub mod maintenance;
pub mod memory_recall;
mod mind;
pub mod patterns;
pub mod proposal;
pub mod quote;
pub mod settings;
pub mod supervision;
mod turning_words;
pub mod warmup;

pub use mind::{
    BULLETIN, Mind, MindEffect, MindEvent, MindState, ModelAnswer, ModelFailure, ModelProvider,
    PAGE_CALLS_MAX, PAGES,
};
