//! `cortex mcp`: the tools of an agent, over standard input and output.

use std::sync::Arc;

use clap::Args;

use super::failure::Outcome;
use super::open::{Around, Globals, caller, home_folder};
use crate::daemon::place::Place;
use crate::mcp::backend::{Backend, Pool};
use crate::mcp::tools::Choice;
use crate::mcp::{Server, serve_stdio};

/// Serves an agent over standard input and output, in the Model Context Protocol.
///
/// Starts the daemon of this home in the background if it does not run. The folder it is started in says which project
/// is meant when a tool names none.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex mcp
  cortex mcp --tools=agent
  cortex mcp --tools=mem_save,mem_search")]
pub(crate) struct McpArgs {
    /// agent, admin, all, or names of tools, with commas between
    #[arg(long, value_name = "TOOLS", default_value = "all")]
    tools: String,
}

pub(crate) fn run(args: &McpArgs, globals: &Globals, around: &Around) -> Outcome {
    let choice = Choice::parse(&args.tools)?;
    let folder = home_folder(globals, &around.variables, &around.cwd)?;
    let mut caller = caller(globals, &around.variables, &around.cwd, None)?;
    caller.any_folder = true;
    let pool = Pool::new(Place::new(&folder), caller)?;
    serve_stdio(Server::new(Backend::Daemon(Arc::new(pool)), &choice))?;
    Ok(())
}
