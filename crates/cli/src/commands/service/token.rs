//! `cortex token`: what programs of the owner show over HTTP.

use clap::Args;
use client::token;
use serde_json::json;

use crate::failure::CommandResult;
use crate::invocation::{CommandEnv, GlobalArgs, home_folder};
use crate::output::Output;

/// Prints the token of this home, which programs send over HTTP as `Authorization: Bearer TOKEN`.
///
/// Whoever has it is you: treat it like a password. It is in the file `token` of the home, which only you can read;
/// `cortex curl`, `cortex open` and everything on the command line find it by themselves.
///
/// JSON: {token, file}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex token
  curl -H \"Authorization: Bearer $(cortex token)\" localhost:7438/api/stats
  cortex token --new")]
pub(crate) struct TokenArgs {
    /// Make a new one; the old one and all browsers that were let in by it are worth nothing from then on
    #[arg(long)]
    new: bool,
}

pub(crate) fn run(
    args: &TokenArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let home = home_folder(globals, &env.variables, &env.cwd)?;
    let token = if args.new { token::renew(&home)? } else { token::ensure(&home)? };
    let file = token::path(&home).display().to_string();
    out.either(&json!({"token": token, "file": file}), &token)
}
