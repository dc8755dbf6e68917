//! The process that owns a home.
//!
//! - [`host`]: everything that answers operations of a home: the [`service`], the minds, the channels, and whoever runs
//!   talents. [`dispatch`] answers any call; `operations` are those that need more than the memory.
//! - `mind_host`: the minds of a home: jobs, bulletins, maintenance, patterns; their effects and what is kept of them.
//! - `channels`: conversations that Cortex keeps, their runs and their files.
//! - [`cluster_host`]: a daemon that is a node of a cluster; [`cluster_settings`]: as what is set says.
//! - [`confinement`]: how runs and the tools they start are held in.
//! - [`handle`]: the host as interfaces see it.
//! - [`pools`]: places for work that blocks, so that no kind of it can stop another.
//! - [`run_control`]: how operations start and stop runs without knowing the runner.
//! - [`talents_host`]: talents in the daemon: the bus, the runner and the supervisor, tied to the memory.
//! - [`server`]: accepts, answers and ends.
//!
//! What must stay true: nothing is answered before it is on disk; a daemon that is told to end finishes what it began;
//! what is wrong with talents or HTTP is no reason not to serve the memory.

pub mod channels;
pub mod cluster_host;
pub mod cluster_settings;
pub mod confinement;
pub mod dispatch;
pub mod handle;
pub mod host;
pub mod mind_host;
pub mod operations;
pub mod pools;
pub(crate) mod run_control;
pub mod server;
pub mod talents_host;

pub use handle::HostHandle;
pub use host::Host;
