//! `cortex search`: a question in ordinary words.

use clap::Args;
use kernel::scope::Operation;

use super::failure::Outcome;
use super::hits::{self, FilterArgs};
use super::open::{Invocation, request_digest};
use super::output::Output;

/// Finds memories by a question in ordinary words, best first.
///
/// Words count by how rare they are, meaning by a model that is part of the program; no network, no tokens. In the
/// question, "two words" must stand together, -word must not be there, auth* is a beginning. Nothing is a syntax error.
///
/// JSON: {hits: [{id, uri, type, kind, title, preview, score, tokens, standing,
/// superseded_by: [{id, title}], contradicts: [{id, title}], arms?}], candidates}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex search how do we rotate the signing key
  cortex search 'login fails -oauth' --project web --type fact
  cortex search '\"empty password\"' --explain")]
pub(crate) struct SearchArgs {
    /// The question
    #[arg(value_name = "QUESTION", required = true)]
    question: Vec<String>,
    #[command(flatten)]
    filters: FilterArgs,
    /// What each arm said of each hit
    #[arg(long)]
    explain: bool,
}

pub(crate) fn run(args: &SearchArgs, inv: &Invocation, out: &mut Output) -> Outcome {
    let query = args.filters.query(args.question.join(" "))?;
    let cortex = inv.existing()?;
    let digest = request_digest(&[b"search", query.text.as_bytes()]);
    let authority = inv.authority(&cortex, Operation::Find, digest)?;
    let gate = authority.as_ref().map(|authority| authority as &dyn kernel::scope::Gate);
    let reading = cortex.read()?;
    let answer = crate::ops::recall::search(&reading, gate, &query, inv.now()?)?;
    hits::show(&reading, &answer, args.explain, out)
}
