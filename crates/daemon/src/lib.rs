//! The process that owns a home.
//!
//! - [`server`]: accepts, answers and ends. What it answers is in the crate [`host`].
//! - [`cluster_host`]: a daemon that is a node of a cluster; [`cluster_settings`]: as what is set says.
//! - [`talents_host`]: talents in the daemon: the bus, the runner and the supervisor, tied to the memory.
//!
//! What must stay true: a daemon that is told to end finishes what it began; what is wrong with talents or HTTP is no
//! reason not to serve the memory.

pub(crate) mod cluster_checkpoints;
pub mod cluster_host;
pub mod cluster_settings;
pub mod server;
pub mod talents_host;
