//! `cortex admin`: asks the memory about itself, in words.

use std::io::{BufRead as _, BufReader};

use api::admin::AdminRequest;
use clap::Args;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;

/// Answers questions about the memory and what tends it, and does what an administrator asks, without a model.
///
/// Without a message it reads one per line from standard input. `cortex admin help` lists what can be asked.
///
/// JSON: {agent_id, response, asked, data}, one line per message
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex admin show me recent memory activity
  cortex admin what is running
  cortex admin preview maintenance
  echo 'status' | cortex admin --json")]
pub(crate) struct AdminArgs {
    /// What to ask
    #[arg(value_name = "MESSAGE", trailing_var_arg = true)]
    message: Vec<String>,
}

pub(crate) fn run(args: &AdminArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    if !args.message.is_empty() {
        return ask(args.message.join(" "), inv, out);
    }
    for line in BufReader::new(inv.take_input()?.reader).lines() {
        let line = line.map_err(|error| crate::failure::Failure::Io {
            what: "standard input".to_owned(),
            error,
        })?;
        if line.trim().is_empty() {
            continue;
        }
        // In a conversation a refusal is an answer, and the next line is read.
        if let Err(failure) = ask(line, inv, out) {
            out.failure(&failure);
        }
        out.flush()?;
    }
    Ok(())
}

fn ask(message: String, inv: &Invocation, out: &mut Output) -> CommandResult {
    let answer = inv.ask(AdminRequest { agent_id: None, message })?;
    // What it says was put together from harmless lines; its headings are our own.
    out.either(&answer, answer.response.trim_end())
}
