//! Talents in this program: what they need from a home, and what they give back to the memory.
//!
//! - `host`: talents in the daemon: the bus, the runner and the supervisor, put together and tied to the memory.
//! - `context`: files, models and providers; [`settings`]: which providers and models there are.
//! - [`memory`]: the ordinary operations, asked of the daemon if there is one; [`toolbox`]: what a model sees of them,
//!   within the talent's grant and facet; `bulletin`: what matters now.
//! - `run_rules`: what a run may have and reach, from settings, talent and providers.
//! - `facts`: what the runner must know of a talent; `attest`: what a run that has ended teaches the memory.
//! - `days`: the work of days, through `own_runs`, with the sessions of agents as a source (`agent_days`); `readiness`:
//!   what could be asked now; [`bus_runs`]: runs over the bus, for commands.
//! - `runner_handle`: the runner as operations use it; `run_watch`: what the mind learns of runs while they go on;
//!   `journal_watch`: what happens to memories, on the bus.
//! - `triggers`: talents that the clock or the memory starts. [`event_summary`]: events of runs as lines for people.
//!
//! What must stay true: a talent reaches memories only through `toolbox`, and what it read is in the answer's `cited`;
//! keys of services are looked up where they are used and stand in no text made here.

mod agent_days;
mod attest;
mod bulletin;
pub mod bus_runs;
mod context;
mod days;
pub mod event_summary;
mod facts;
mod host;
mod journal_watch;
pub mod memory;
mod own_runs;
mod readiness;
mod run_rules;
mod run_watch;
mod runner_handle;
pub mod settings;
pub mod toolbox;
mod triggers;

pub use context::{Readiness, TalentContext, now, zone};
pub use host::{RunCounts, TalentsHost, TalentsSettings};
