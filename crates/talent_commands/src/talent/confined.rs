//! `cortex talent confined`: becomes a program that reaches only what a policy grants.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use ::talents::confine::{self, ConfineError, Reach, RunPolicy};
use clap::Args;

use command_line::failure::{CommandResult, Failure};

/// Internal: restricts itself as a policy says, then becomes the program that follows.
///
/// A run starts the command line tool of its provider through this. What is laid on stays on for the tool and for all
/// that it starts.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex talent confined \"$POLICY\" -- claude -p 'What is in this folder?'")]
pub(super) struct ConfinedArgs {
    /// What it may reach, in JSON
    policy: String,
    /// The program and its arguments
    #[arg(required = true, last = true)]
    program: Vec<OsString>,
}

pub(super) fn run(args: &ConfinedArgs) -> CommandResult {
    let policy = read(&args.policy)?;
    restrict(&policy, &policy.tool)?;
    // A group of its own: what multiplies can be ended as a whole, without the process that watches it.
    confine::tree::lead_group()
        .map_err(|error| Failure::Io { what: "a process group".to_owned(), error })?;
    let Some((program, words)) = args.program.split_first() else {
        return Err(Failure::input("there is no program to become"));
    };
    let error = Command::new(program).args(words).exec();
    Err(Failure::Io { what: program.to_string_lossy().into_owned(), error })
}

/// Restricts this process as a run's own.
pub(super) fn enter(text: &str) -> CommandResult<RunPolicy> {
    let policy = read(text)?;
    restrict(&policy, &policy.process)?;
    Ok(policy)
}

fn read(text: &str) -> CommandResult<RunPolicy> {
    serde_json::from_str(text)
        .map_err(|error| Failure::input(format!("the policy of the run: {error}")))
}

fn restrict(policy: &RunPolicy, reach: &Reach) -> CommandResult {
    let failed =
        |error: ConfineError| Failure::Check { code: error.code(), message: error.to_string() };
    let there = confine::enter(policy.mode, policy.limits, reach).map_err(failed)?;
    if policy.mode != confine::ConfineMode::Off && !there.is_enough() {
        eprintln!("this run is not confined: {there}");
    }
    Ok(())
}
