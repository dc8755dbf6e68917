//! `cortex similar`: what is near a memory.

use clap::Args;
use kernel::scope::{Gate, Operation};
use recall::search::similar;

use super::failure::Outcome;
use super::hits::{self, FilterArgs};
use super::open::{Invocation, request_digest};
use super::output::Output;
use super::parse::MemoryRef;

/// Finds memories near a given one by meaning, nearest first.
///
/// The score is how near the nearest passages of both are: 1 is the same. Good for finding what was said twice.
///
/// JSON: as `cortex search`
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex similar 12
  cortex similar 12 --project web --type decision --limit 5")]
pub(crate) struct SimilarArgs {
    /// Memory: 12 or a URI
    #[arg(value_name = "ID")]
    pub(crate) memory: MemoryRef,
    #[command(flatten)]
    filters: FilterArgs,
    /// How near, and at which rank
    #[arg(long)]
    explain: bool,
}

pub(crate) fn run(args: &SimilarArgs, inv: &Invocation, out: &mut Output) -> Outcome {
    let query = args.filters.query("")?;
    let cortex = inv.existing()?;
    let id = args.memory.of(inv.actor())?;
    let now = inv.now()?;
    let digest = request_digest(&[b"similar", format!("{args:?}").as_bytes()]);
    let authority = inv.authority(&cortex, Operation::Find, digest)?;
    if let Some(authority) = &authority {
        cortex.check_sight(authority, Operation::Find, id, now)?;
    }
    let gate = authority.as_ref().map(|authority| authority as &dyn Gate);
    let reading = cortex.read()?;
    let answer = similar(&reading, gate, &crate::ops::recall::analyzer(), id, &query, now)?;
    hits::show(&reading, &answer, args.explain, out)
}
