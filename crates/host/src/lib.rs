//! Everything that answers the operations of a home, in the daemon or in the process of one command.
//!
//! - `home`: [`Host`]: the [`service`], the minds, the channels, and whoever runs talents. [`dispatch`] answers any
//!   call; `operations` are those that need more than the memory.
//! - [`admin_grammar`]: what administrators type, as typed questions.
//! - `mind_host`: the minds of a home: jobs, bulletins, maintenance, patterns; their effects and what is kept of them.
//! - `channels`: conversations that Cortex keeps, their runs and their files.
//! - [`confinement`]: how runs and the tools they start are held in.
//! - [`handle`]: the host as interfaces see it.
//! - `outputs`: what talents wrote, found apart from memories.
//! - [`pools`]: places for work that blocks, so that no kind of it can stop another.
//! - [`run_control`]: how operations start and stop runs without knowing the runner.
//! - `feed`: what happens to memories, on the bus; what was told to whom. [`log_tail`]: the newest lines of the log.
//! - [`tool_servers`]: tools of other servers that talents may use, and the calls that wait for a person.
//!
//! What must stay true: nothing is answered before it is on disk; nothing here accepts a connection or owns a process:
//! that is the crate `daemon`.

pub mod admin_grammar;
pub mod channels;
pub mod confinement;
pub mod dispatch;
mod feed;
pub mod handle;
mod home;
pub mod log_tail;
pub mod mind_host;
pub mod operations;
mod outputs;
pub mod pools;
pub mod run_control;
pub mod tool_servers;

pub use handle::HostHandle;
pub use home::{Host, process_of};
