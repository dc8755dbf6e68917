//! `cortex salience`: what ranking has learned.

use api::attest::{SalienceRequest, WeightsView};
use clap::Args;

use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::Output;

/// Shows how much each factor counts in salience, and how attested work moved it.
///
/// JSON: {weights: {recency, access, citation, importance, similarity}, which sum to 1, at_first: {…}, lessons: [{seq,
/// at, intent, outcome, cited, before: {…}, after: {…}, skipped?}]}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex salience
  cortex salience --limit 50 --json | jq .lessons")]
pub(crate) struct SalienceArgs {
    /// Lessons to show, the newest
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
}

pub(crate) fn run(args: &SalienceArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let answer = inv.ask(SalienceRequest { limit: Some(args.limit) })?;
    if out.is_json() {
        return out.object(&answer);
    }
    for ((name, now), (_, first)) in answer.weights.parts().into_iter().zip(answer.at_first.parts())
    {
        out.line(format_args!("{name:<12} {now:.4}  {:+.4} since the beginning", now - first))?;
    }
    if answer.lessons.is_empty() {
        return out.line("nothing was attested yet; runs of talents and `cortex attest` teach it");
    }
    out.line("")?;
    for lesson in &answer.lessons {
        let moved = match &lesson.skipped {
            Some(why) => format!("nothing learned: {why}"),
            None => moved(&lesson.before, &lesson.after),
        };
        let (at, intent, outcome) = (&lesson.at, &lesson.intent, &lesson.outcome);
        out.line(format_args!("{at}  {intent} {outcome}, {} cited: {moved}", lesson.cited))?;
    }
    Ok(())
}

/// What moved, by how much.
fn moved(before: &WeightsView, after: &WeightsView) -> String {
    let parts = before.parts().into_iter().zip(after.parts());
    let moved: Vec<String> = parts
        .map(|((name, before), (_, after))| (name, after - before))
        .filter(|(_, by)| by.abs() >= 0.000_05)
        .map(|(name, by)| format!("{name} {by:+.4}"))
        .collect();
    if moved.is_empty() { "hardly moved".to_owned() } else { moved.join(", ") }
}
