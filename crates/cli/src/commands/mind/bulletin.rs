//! `cortex bulletin`: what matters now, as every session starts with it.

use api::bulletin::{BulletinHistoryRequest, BulletinRequest};
use api::render::people;
use clap::Args;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;

/// Shows the memory bulletin: what matters now, in at most 500 words, every line with the ids it comes from.
///
/// The daemon makes it again every hour if memories changed, and agents get it at the start of a session. Without a
/// daemon it is made when you ask. Rules write it, or the model that [providers] names for `mind.bulletin`.
///
/// JSON: {bulletin: {number, audience, text, words, generated_at, age_seconds, made_by, fallback, run, inputs, size,
/// cited, changes: {added, removed, revised}, sources}}; with --history {bulletins, total}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex bulletin
  cortex bulletin --project shop
  cortex bulletin --refresh
  cortex bulletin --explain
  cortex bulletin --history --limit 5
  cortex bulletin --audience shared --json")]
pub(crate) struct BulletinArgs {
    /// The bulletin of this project: its memories, those of no project, and what is personal
    #[arg(long, value_name = "NAME", conflicts_with = "history")]
    project: Option<String>,
    /// With what changed since the last session of this agent
    #[arg(long, value_name = "NAME", conflicts_with = "history")]
    agent: Option<String>,
    /// Look at the memories again now
    #[arg(long)]
    refresh: bool,
    /// Earlier ones, newest first
    #[arg(long, conflicts_with_all = ["refresh", "explain"])]
    history: bool,
    /// The memories it comes from, who wrote it and what changed
    #[arg(long)]
    explain: bool,
    /// Who reads it: owner or shared; what is private is never in the shared one
    #[arg(long, value_name = "WHO", default_value = "owner", value_parser = ["owner", "shared"])]
    audience: String,
    /// How many with --history
    #[arg(long, value_name = "N", default_value_t = 20, requires = "history")]
    limit: usize,
}

pub(crate) fn run(args: &BulletinArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let audience = Some(args.audience.clone());
    if args.history {
        let request = BulletinHistoryRequest { audience, limit: Some(args.limit) };
        let answer = inv.ask(request)?;
        return out.answer(&answer, people::bulletins);
    }
    let (refresh, explain) = (args.refresh, args.explain);
    let (project, agent) = (args.project.clone(), args.agent.clone());
    let request =
        BulletinRequest { audience, refresh, explain, project, agent, ..Default::default() };
    let answer = inv.ask(request)?;
    out.answer(&answer, |answer| match &answer.bulletin {
        Some(bulletin) if explain => people::bulletin_explained(bulletin),
        bulletin => people::bulletin(bulletin.as_ref()),
    })
}
