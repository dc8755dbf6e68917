//! `cortex score`: what a memory is worth now, and why.

use clap::Args;
use kernel::salience::{
    DecayPolicy, Signals, decayed_importance, factors, importance_score, salience,
};
use serde::Serialize;

use super::failure::Outcome;
use super::get;
use super::open::Invocation;
use super::output::Output;
use super::parse::{MemoryRef, from_ppm};

/// Shows what a memory is worth now: how it ranks, what its use says, and what is left of its importance.
///
/// All three are computed from the memory, its use and the clock when they are asked for; looking changes nothing.
///
/// JSON: {id, salience, factors: {recency, access, citation, importance}, score, importance, accesses, citations}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex score 12")]
pub(crate) struct ScoreArgs {
    /// Memory: 12 or a URI
    #[arg(value_name = "ID")]
    pub(crate) memory: MemoryRef,
}

#[derive(Debug, Serialize)]
struct ScoreView {
    id: u64,
    /// What ranking goes by, 0 to 1.
    salience: f64,
    factors: FactorsView,
    /// What use says, 0 to 5.
    score: f64,
    /// What time has left of the declared importance, 0 to 1.
    importance: f64,
    accesses: u64,
    citations: u64,
}

#[derive(Debug, Serialize)]
struct FactorsView {
    recency: f64,
    access: f64,
    citation: f64,
    importance: f64,
}

pub(crate) fn run(args: &ScoreArgs, inv: &Invocation, out: &mut Output) -> Outcome {
    let resolved = get::resolve(inv, &args.memory, None)?;
    let (head, usage) = (&resolved.head, &resolved.usage);
    let weights = inv.existing()?.read()?.view().weights()?;
    let now = inv.now()?.get();
    let signals = Signals::of(head, usage, None);
    let seen = factors(&signals, now);
    let last_access = usage.last_access.map(kernel::memory::Millis::get);
    let (created, edges) = (head.created.get(), usage.edges_in);
    let thousandths =
        importance_score(&head.kind, created, usage.accesses, last_access, edges, now);
    // Who somebody is does not fade, nor what was pinned.
    let exempt = head.pinned || head.memory_type == kernel::memory::MemoryType::Identity;
    let policy = DecayPolicy::default();
    let left = decayed_importance(head.importance, exempt, signals.last_used, now, &policy);
    let view = ScoreView {
        id: head.id.get(),
        salience: from_ppm(salience(&signals, now, &weights)),
        factors: FactorsView {
            recency: from_ppm(seen.recency),
            access: from_ppm(seen.access),
            citation: from_ppm(seen.citation),
            importance: from_ppm(seen.importance),
        },
        score: f64::from(thousandths) / 1_000.0,
        importance: from_ppm(left),
        accesses: usage.accesses,
        citations: usage.citations,
    };
    out.either(
        &view,
        format_args!(
            "salience {:.3} (recency {:.3}, access {:.3}, citation {:.3}, importance {:.3})\n\
             score {:.2} of 5, importance left {:.3}, {} accesses, {} citations",
            view.salience,
            view.factors.recency,
            view.factors.access,
            view.factors.citation,
            view.factors.importance,
            view.score,
            view.importance,
            view.accesses,
            view.citations,
        ),
    )
}
