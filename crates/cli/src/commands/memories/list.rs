//! `cortex list`: memories, newest first.

use api::read::ListRequest;
use api::render::people;
use clap::Args;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;

/// Lists memories, newest first: number, date, kind, project and title.
///
/// JSON: {memories: [as `cortex get`], total}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex list
  cortex list --project web --kind decision
  cortex list --tag auth --limit 50
  cortex list --forgotten")]
pub(crate) struct MemoryListArgs {
    /// Only this project
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Only this kind: decision, bugfix …
    #[arg(long, value_name = "WORD")]
    kind: Option<String>,
    /// Only those with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only those of this session
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// What was archived, instead of what is in sight
    #[arg(long)]
    archived: bool,
    /// What was forgotten, instead of what is in sight
    #[arg(long, conflicts_with = "archived")]
    forgotten: bool,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// How many to pass over
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: usize,
}

pub(crate) fn run(args: &MemoryListArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let request = ListRequest {
        project: args.project.clone(),
        kind: args.kind.clone(),
        tag: args.tag.clone(),
        session_id: args.session.clone(),
        archived: args.archived,
        forgotten: args.forgotten,
        limit: Some(args.limit),
        offset: args.offset,
        ..ListRequest::default()
    };
    let answer = inv.ask(request)?;
    out.answer(&answer, people::table)
}
