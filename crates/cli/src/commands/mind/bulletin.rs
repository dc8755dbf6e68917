//! `cortex bulletin`: what matters now, as every session starts with it.

use api::bulletin::{BulletinHistoryRequest, BulletinRequest, BulletinView};
use clap::Args;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::{Output, plain};

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
  cortex bulletin --refresh
  cortex bulletin --explain
  cortex bulletin --history --limit 5
  cortex bulletin --audience shared --json")]
pub(crate) struct BulletinArgs {
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
        let answer = inv.ops().bulletin_history(inv.caller(), request)?;
        if out.is_json() {
            return out.object(&answer);
        }
        for bulletin in &answer.bulletins {
            let changes = &bulletin.changes;
            out.line(format_args!(
                "{:>5}  {}  {:>4} words  by {}  {} new, {} gone, {} revised",
                bulletin.number,
                bulletin.generated_at,
                bulletin.words,
                plain(&bulletin.made_by),
                changes.added.len(),
                changes.removed.len(),
                changes.revised.len()
            ))?;
        }
        return out.line(format_args!("{} of {}", answer.bulletins.len(), answer.total));
    }
    let (refresh, explain) = (args.refresh, args.explain);
    let request = BulletinRequest { audience, refresh, explain, ..BulletinRequest::default() };
    let answer = inv.ops().bulletin(inv.caller(), request)?;
    if out.is_json() {
        return out.object(&answer);
    }
    match &answer.bulletin {
        Some(bulletin) if explain => explained(bulletin, out),
        // Its lines passed `untrusted` when it was made, and its headings are our own.
        Some(bulletin) => out.line(bulletin.text.trim_end()),
        None => out.line("there is no bulletin yet"),
    }
}

fn explained(bulletin: &BulletinView, out: &mut Output) -> CommandResult {
    out.line(format_args!("number      {}", bulletin.number))?;
    out.line(format_args!("generated   {}", bulletin.generated_at))?;
    out.line(format_args!("made by     {}", plain(&bulletin.made_by)))?;
    if let Some(why) = &bulletin.fallback {
        out.line(format_args!("because     {}", plain(why)))?;
    }
    out.line(format_args!("run         {}", plain(&bulletin.run)))?;
    out.line(format_args!("words       {}", bulletin.words))?;
    out.line(format_args!("journal     {} entries", bulletin.size))?;
    out.line(format_args!("inputs      {}", bulletin.inputs))?;
    let changes = &bulletin.changes;
    for (name, ids) in
        [("new", &changes.added), ("gone", &changes.removed), ("revised", &changes.revised)]
    {
        let ids: Vec<String> = ids.iter().map(|id| format!("#{id}")).collect();
        let ids = if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
        out.line(format_args!("{name:<11} {ids}"))?;
    }
    for source in &bulletin.sources {
        let state = match source {
            _ if source.forgotten => " (forgotten since)",
            _ if source.now_version != source.version => " (changed since)",
            _ => "",
        };
        out.line(format_args!(
            "{:>7}  {:<16}  {:<12}  {}{state}",
            format!("#{}", source.id),
            plain(&source.section),
            plain(&source.kind),
            plain(&source.title)
        ))?;
    }
    Ok(())
}
