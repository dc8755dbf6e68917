//! All that a command may look at besides its arguments: folder, variables, streams.
//!
//! A command runs the same in this process and in the daemon for somebody else; what differs is here.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, IsTerminal as _, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use crate::ops::Ops;

/// The variables that the command line reads, besides those that start with `CORTEX_`.
const VARIABLES: [&str; 4] = ["USER", "LOGNAME", "USERNAME", "HOME"];

pub struct Surroundings {
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
    /// The operations to use; a command makes its own if there are none.
    pub ops: Option<Arc<Ops>>,
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings").field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

impl Surroundings {
    /// Those of this process.
    pub fn own() -> Surroundings {
        Surroundings {
            cwd: std::env::current_dir().unwrap_or_default(),
            variables: own_variables(),
            input: Box::new(io::stdin()),
            input_is_terminal: io::stdin().is_terminal(),
            out: Box::new(io::stdout()),
            talk: Box::new(io::stderr()),
            talk_is_terminal: io::stderr().is_terminal(),
            ops: None,
        }
    }
}

/// A variable of this process that a setting names.
pub fn own_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// All variables of this process that are text.
pub fn own_environment() -> BTreeMap<String, String> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// The variables of this process that commands read.
pub fn own_variables() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, value)| {
            !value.is_empty() && (name.starts_with("CORTEX_") || VARIABLES.contains(&name.as_str()))
        })
        .collect()
}
