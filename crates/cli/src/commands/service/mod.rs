//! What stays running or is called by agents: the daemon, its supervisor, MCP, hooks and the terminal interface.

pub(crate) mod hook;
pub(crate) mod mcp;
pub(crate) mod serve;
pub(crate) mod supervisor;
pub(crate) mod tui;
