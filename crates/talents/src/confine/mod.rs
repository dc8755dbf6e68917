//! What a run may reach: variables, files, ports, processes, memory.
//!
//! `settings` is the `[exec]` part of the configuration; `variables` decides about the environment; `policy` makes
//! from settings, talent and providers the list of what a run reaches; `sandbox` lays it on the process that calls
//! it, for good; `tree` finds and ends what descends from a process, whatever group or session it is in.
//!
//! What must stay true: a request can name no variable that nobody declared, and none that decides which code runs; a
//! process is restricted before it reads anything, and its children inherit that; nothing here widens what a
//! process has already lost.

mod policy;
mod sandbox;
mod settings;
mod system;
pub mod tree;
mod variables;

pub use policy::{FileGrant, Reach, RunPolicy, RunPolicyParts};
pub use sandbox::{ConfineError, Confinement, available, enter};
pub use settings::{ConfineMode, ExecLimits, ExecSettings};
pub use variables::{FORBIDDEN, VariableRules, forbidden};

/// The variable in which the runner tells a process what it may reach.
pub const POLICY_VARIABLE: &str = "CORTEX_CONFINE";
