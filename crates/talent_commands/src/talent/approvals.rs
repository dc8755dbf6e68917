//! `cortex talent approvals`, `approve` and `deny`: calls of tools that wait for a person.

use api::server_tools::{ApprovalView, ApprovalsRequest, DecideRequest};
use clap::Args;
use client::connection::DaemonClient;

use crate::bus::place;
use command_line::failure::{CommandResult, Failure};
use command_line::invocation::{CommandEnv, GlobalArgs, caller};
use command_line::output::{Output, plain};

/// Lists the calls of tools that wait for a person, oldest first.
///
/// A talent that uses a tool of another server ([tools.servers]) waits here if the server's approval is "ask". A call
/// that nobody decides in time is not made. JSON: {approvals: [{id, run, talent, tool, args, at, state}]}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex talent approvals
  cortex talent approvals --json | jq -r '.approvals[].id'")]
pub(super) struct ApprovalsArgs {}

/// Lets a run make the call that waits, once and with exactly these arguments.
///
/// JSON: {id, run, talent, tool, args, at, state}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex talent approve 1768464000123-1")]
pub(super) struct ApproveArgs {
    /// As `cortex talent approvals` shows it
    id: String,
}

/// Says no to a call that waits; its run goes on without it.
///
/// JSON: {id, run, talent, tool, args, at, state}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex talent deny 1768464000123-1")]
pub(super) struct DenyArgs {
    /// As `cortex talent approvals` shows it
    id: String,
}

pub(super) fn list(
    _: &ApprovalsArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let place = place(globals, env)?;
    let caller = caller(globals, &env.variables, &env.cwd, None)?;
    // Without a daemon nothing runs, and so nothing waits.
    let answer = match DaemonClient::connect(&place)? {
        Some(mut client) => client.ask(&caller.info(), ApprovalsRequest {})?,
        None => api::server_tools::ApprovalsAnswer::default(),
    };
    if out.is_json() {
        return out.object(&answer);
    }
    if answer.approvals.is_empty() {
        return out.line("nothing waits for an approval");
    }
    for view in &answer.approvals {
        out.line(line(view))?;
    }
    Ok(())
}

fn line(view: &ApprovalView) -> String {
    let args = plain(&view.args.to_string());
    format!("{}  {} ({}) wants {} {args}", view.id, view.talent, view.run, plain(&view.tool))
}

pub(super) fn approve(
    args: &ApproveArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    decide(&args.id, true, globals, env, out)
}

pub(super) fn deny(
    args: &DenyArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    decide(&args.id, false, globals, env, out)
}

fn decide(
    id: &str,
    approve: bool,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let place = place(globals, env)?;
    let caller = caller(globals, &env.variables, &env.cwd, None)?;
    let Some(mut client) = DaemonClient::connect(&place)? else {
        return Err(Failure::from(api::Error::missing("call", id)));
    };
    let view = client.ask(&caller.info(), DecideRequest { id: id.to_owned(), approve })?;
    let word = if approve { "approved" } else { "denied" };
    let said = format!("{word} {}", plain(&view.tool));
    out.either(&view, said)
}
