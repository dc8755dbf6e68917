//! `cortex curl`: one request over HTTP as the owner, by the program curl.
//!
//! What must stay true: the token is on no command line; curl reads it from a pipe. The process becomes curl, so that
//! streams, signals and exit code are curl's own.

use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use api::{Error, ErrorCode, Fault};
use clap::Args;
use client::place::DaemonPlace;
use client::token;

use crate::commands::service::open::daemon;
use crate::failure::{CommandResult, Failure};
use crate::invocation::{CommandEnv, GlobalArgs, home_folder, wait};

/// Asks the daemon of this home over HTTP, as its owner, with the program curl.
///
/// The argument that starts with / is the path; everything else is for curl. The address and the token are found. The
/// exit code is that of curl.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex curl /api/stats
  cortex curl -s '/api/search?q=cache+keys'
  cortex curl -s /api/observations -H 'Content-Type: application/json' -d '{\"title\": \"A\", \"content\": \"B\"}'
  cortex curl -N /api/events")]
pub(crate) struct CurlArgs {
    /// The path, and options of curl
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "ARGS"
    )]
    arguments: Vec<String>,
}

pub(crate) fn run(args: &CurlArgs, globals: &GlobalArgs, env: &CommandEnv) -> CommandResult {
    let Some(place_of_path) = args.arguments.iter().position(|text| text.starts_with('/')) else {
        return Err(Failure::input("one argument must be a path: `cortex curl /api/stats`"));
    };
    let home = home_folder(globals, &env.variables, &env.cwd)?;
    let place = DaemonPlace::new(&home).waiting(wait(globals));
    let status = daemon(&place)?.status()?;
    // The page is where HTTP can be reached from here, whatever address it listens on.
    let Some((base, _)) = status["page"].as_str().and_then(|page| page.split_once("/open/")) else {
        let why = status["http_problem"].as_str().unwrap_or("this daemon serves no HTTP");
        return Err(Error::new(ErrorCode::NotServed, Fault::Missing, why)
            .with_hint("`cortex stop`, then `cortex serve` serves it")
            .into());
    };
    let token = token::ensure(&home)?;
    let failed = |error: std::io::Error| Failure::Io { what: "a pipe to curl".to_owned(), error };
    let (from, mut to) = std::io::pipe().map_err(failed)?;
    // A few bytes fit into a pipe that nobody reads yet.
    writeln!(to, "header = \"Authorization: Bearer {token}\"").map_err(failed)?;
    drop(to);
    rustix::io::fcntl_setfd(&from, rustix::io::FdFlags::empty())
        .map_err(|error| failed(error.into()))?;
    let mut arguments = args.arguments.clone();
    arguments[place_of_path].insert_str(0, base);
    let error = Command::new("curl")
        .arg("--config")
        .arg(format!("/dev/fd/{}", from.as_raw_fd()))
        .args(arguments)
        .exec();
    Err(Failure::Io { what: "curl".to_owned(), error })
}
