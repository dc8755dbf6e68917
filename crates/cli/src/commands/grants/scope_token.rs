//! `cortex scope-token`: a bearer token that stands for a grant, for callers over HTTP.

use std::path::PathBuf;

use api::grants::GrantFile;
use clap::Args;
use client::place::DaemonPlace;
use serde_json::json;

use crate::failure::{CommandResult, Failure};
use crate::invocation::{CommandEnv, GlobalArgs, home_folder};
use crate::output::Output;
use crate::wiring::grants::bearer;

/// Makes a bearer token that stands for a grant, for whoever asks over HTTP.
///
/// The grant must hold its key (scope-grant --new-key). The home keeps the key, sealed with the token, and nowhere the
/// token itself: it is printed once. It ends with the grant.
///
/// JSON: {token, id, delegate}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex scope-token reviewer.grant
  curl -s localhost:7438/api/observations -H \"Authorization: Bearer $(cortex scope-token reviewer.grant)\"")]
pub(crate) struct ScopeTokenArgs {
    /// A file of scope-grant or scope-attenuate
    file: PathBuf,
}

pub(crate) fn run(
    args: &ScopeTokenArgs,
    globals: &GlobalArgs,
    env: &CommandEnv,
    out: &mut Output,
) -> CommandResult {
    let home = home_folder(globals, &env.variables, &env.cwd)?;
    DaemonPlace::new(&home).prepare()?;
    let text = std::fs::read_to_string(env.cwd.join(&args.file))
        .map_err(|error| Failure::file(&args.file, error))?;
    let file: GrantFile = serde_json::from_str(&text)
        .map_err(|error| Failure::input(format!("{}: {error}", args.file.display())))?;
    let token = bearer(&home, &file)?;
    out.either(&json!({"token": token, "id": file.id, "delegate": file.delegate}), &token)
}
