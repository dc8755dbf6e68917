//! What stays running or is called by agents: the daemon, its supervisor, MCP, hooks, the terminal interface, and HTTP
//! as its owner.

pub(crate) mod curl;
pub(crate) mod hook;
pub(crate) mod mcp;
pub(crate) mod open;
pub(crate) mod serve;
pub(crate) mod supervisor;
pub(crate) mod token;
pub(crate) mod tui;
