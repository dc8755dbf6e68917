//! The runner with real processes: small shell scripts that behave and misbehave, and daemons that are killed.

mod endings;
mod kills;
mod lists;
mod requests;
mod support;
mod turns;
