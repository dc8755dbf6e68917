//! All that a command may look at besides its arguments: folder, variables, streams.
//!
//! A command runs the same in this process and in the daemon for somebody else; what differs is here.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};

use daemon::server::command::CommandContext;

/// The variables that the command line reads, besides those that start with `CORTEX_`.
const VARIABLES: [&str; 4] = ["USER", "LOGNAME", "USERNAME", "HOME"];

/// What a command of this process may look at.
pub fn own_context() -> CommandContext {
    CommandContext {
        cwd: std::env::current_dir().unwrap_or_default(),
        variables: own_variables(),
        input: Box::new(io::stdin()),
        input_is_terminal: io::stdin().is_terminal(),
        out: Box::new(io::stdout()),
        talk: Box::new(io::stderr()),
        talk_is_terminal: io::stderr().is_terminal(),
        host: None,
    }
}

/// A variable of this process that a setting names.
pub fn own_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The whole environment of this process: talents may need keys from it, whose names settings tell.
pub fn own_environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// The variables of this process that commands read.
pub fn own_variables() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, value)| {
            let name = name.as_str();
            // Those of agents say where the past is.
            let is_read =
                VARIABLES.contains(&name) || transcripts::surroundings::VARIABLES.contains(&name);
            !value.is_empty() && (name.starts_with("CORTEX_") || is_read)
        })
        .collect()
}
