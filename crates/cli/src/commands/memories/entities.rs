//! `cortex entities`: what memories name.

use api::render::people;
use api::stats::EntityListRequest;
use clap::Args;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;

/// Lists the files, packages, symbols and the like that memories name, the most named first.
///
/// `cortex search NAME` finds the memories that name one.
///
/// JSON: {entities: [{type, value, memories}], total}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex entities
  cortex entities --kind file --project web")]
pub(crate) struct EntitiesArgs {
    /// file, url, package, symbol, endpoint, env_var, version or error
    #[arg(long)]
    kind: Option<String>,
    /// Only named in this project
    #[arg(long)]
    project: Option<String>,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

pub(crate) fn run(args: &EntitiesArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = EntityListRequest {
        kind: args.kind.clone(),
        project: args.project.clone(),
        limit: Some(args.limit),
    };
    let answer = inv.ask(request)?;
    out.answer(&answer, people::entities)?;
    out.flush()?;
    if answer.total > answer.entities.len() && !out.is_json() {
        let more = answer.total - answer.entities.len();
        out.say(format_args!("{more} more with a higher --limit"));
    }
    Ok(())
}
