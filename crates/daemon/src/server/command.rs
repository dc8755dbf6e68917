//! A command line and all that it may look at besides its arguments: folder, variables, streams.
//!
//! A command runs the same in its own process and in the daemon for somebody else; what differs is here.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use host::Host;

/// Runs a command line for somebody else and gives its exit code. The command line brings it.
pub(crate) type RunCommand = fn(&[String], CommandContext) -> u8;

/// What a command may look at besides its arguments.
pub struct CommandContext {
    /// The folder that relative paths mean.
    pub cwd: PathBuf,
    /// Those that the command line reads, as far as they are set to something.
    pub variables: BTreeMap<String, String>,
    pub input: Box<dyn Read + Send>,
    pub input_is_terminal: bool,
    /// Where data goes.
    pub out: Box<dyn Write + Send>,
    /// Where talk goes.
    pub talk: Box<dyn Write + Send>,
    pub talk_is_terminal: bool,
    /// Who answers operations; a command makes its own host if there is none.
    pub host: Option<Arc<Host>>,
}

impl fmt::Debug for CommandContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandContext").field("cwd", &self.cwd).finish_non_exhaustive()
    }
}
