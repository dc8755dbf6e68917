//! What Cortex knows of coding agents: how each is set up to use the memory, and the events that its hooks send.
//!
//! - [`Agent`]: which agents there are.
//! - [`setup`]: the settings of an agent, edited so that no other byte changes, and taken back again.
//! - [`hooks`]: an agent's hook event as it comes in, and the reply that it understands.
//!
//! What must stay true: setting up twice changes nothing; removing gives back the bytes from before; a hook never stops
//! an agent.

mod agent;
pub mod hooks;
pub mod setup;

pub use agent::{Agent, UnknownAgent};
