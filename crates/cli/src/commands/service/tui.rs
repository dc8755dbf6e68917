//! `cortex tui`: memories on a whole terminal.

use std::io::IsTerminal as _;

use clap::Args;
use client::place::DaemonPlace;
use client::pool::ClientPool;

use crate::failure::{CommandResult, Failure};
use crate::invocation::{CommandEnv, GlobalArgs, caller, home_folder, wait};
use crate::process::own_variable;

/// Opens memories on the whole terminal: search as you type, history, proofs, sessions, projects, live activity.
///
/// Keys and mouse; ? shows what they do. Starts the daemon of this home in the background if it does not run. NO_COLOR
/// switches colours off.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex tui
  cortex tui --actor alice
  NO_COLOR=1 cortex tui")]
pub(crate) struct TuiArgs {}

pub(crate) fn run(_: &TuiArgs, globals: &GlobalArgs, env: &CommandEnv) -> CommandResult {
    if !std::io::stdout().is_terminal() || !env.input_is_terminal {
        let which = if env.input_is_terminal { "output" } else { "input" };
        return Err(Failure::input(format!(
            "standard {which} is no terminal, and `cortex tui` needs one; \
             `cortex search`, `context` and `stats` print the same for pipes and files"
        )));
    }
    let folder = home_folder(globals, &env.variables, &env.cwd)?;
    let caller = caller(globals, &env.variables, &env.cwd, None)?;
    let pool = ClientPool::new(DaemonPlace::new(&folder).waiting(wait(globals)), caller.info())?;
    tui::run(pool, &|| Ok(caller.now()?), own_variable("NO_COLOR").is_some())?;
    Ok(())
}
