//! `cortex tui`: memories on a whole terminal.

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::{Command, Stdio};

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
    let actor = caller.actor.to_string();
    let around = tui::TuiSurroundings {
        now: &|| Ok(caller.now()?),
        edit: &|id| edited(&folder, &actor, id),
        is_plain: own_variable("NO_COLOR").is_some(),
    };
    tui::run(pool, &around)?;
    Ok(())
}

/// `cortex edit` of this very program, with the terminal to itself: what went wrong, in its words.
fn edited(home: &Path, actor: &str, id: u64) -> Option<String> {
    let told = |what: &dyn std::fmt::Display| Some(format!("the editor was not opened: {what}"));
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return told(&error),
    };
    let mut command = Command::new(program);
    command.arg("--home").arg(home).args(["--actor", actor, "edit", &id.to_string()]);
    // What it says is shown when the screen is back. The editor itself gets the terminal.
    command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::piped());
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return told(&error),
    };
    if output.status.success() {
        return None;
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Some(words.split_whitespace().collect::<Vec<_>>().join(" "))
}
