//! The process that owns a home.
//!
//! - [`host`]: everything that answers operations of a home: the [`service`], the minds, the channels, and whoever runs
//!   talents. [`dispatch`] answers any call; `operations` are those that need more than the memory.
//! - `mind_host`: the minds of a home: jobs, bulletins, maintenance, patterns; their effects and what is kept of them.
//! - `channels`: conversations that Cortex keeps, their runs and their files.
//! - [`cluster_host`]: a daemon that is a node of a cluster; [`cluster_settings`]: as what is set says.
//! - [`confinement`]: how runs and the tools they start are held in.
//! - [`handle`]: the host as interfaces see it.
//! - `outputs`: what talents wrote, found apart from memories.
//! - [`pools`]: places for work that blocks, so that no kind of it can stop another.
//! - [`run_control`]: how operations start and stop runs without knowing the runner.
//! - `feed`: what happens to memories, on the bus; what was told to whom.
//! - [`talents_host`]: talents in the daemon: the bus, the runner and the supervisor, tied to the memory.
//! - `tool_servers`: tools of other servers that talents may use, and the calls that wait for a person.
//! - [`server`]: accepts, answers and ends.
//!
//! What must stay true: nothing is answered before it is on disk; a daemon that is told to end finishes what it began;
//! what is wrong with talents or HTTP is no reason not to serve the memory.

pub mod channels;
pub(crate) mod cluster_checkpoints;
pub mod cluster_host;
pub mod cluster_settings;
pub mod confinement;
pub mod dispatch;
pub(crate) mod feed;
pub mod handle;
pub mod host;
pub mod mind_host;
pub mod operations;
pub(crate) mod outputs;
pub mod pools;
pub(crate) mod run_control;
pub mod server;
pub mod talents_host;
pub(crate) mod tool_servers;

pub use handle::HostHandle;
pub use host::Host;
