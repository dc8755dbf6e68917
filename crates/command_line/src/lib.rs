//! What every command of the command line shares.
//!
//! - [`invocation`]: one command that was typed, the arguments that all have, and whoever answers it; clock, chance and
//!   environment come in here. [`process`]: what a command passes on to a process that it starts.
//! - [`output`]: data and talk, kept apart, as text or as JSON. [`views`]: JSON shapes that no operation has.
//! - [`failure`]: exit codes and hints.
//! - [`wiring`]: where commands meet what lies behind [`api`].
//!
//! What must stay true: nothing here knows a command; a command that names nothing but this crate and `api` is the same
//! whether a daemon answers or this process.

pub mod failure;
pub mod invocation;
pub mod output;
pub mod process;
pub mod views;
pub mod wiring;
