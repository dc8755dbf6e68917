//! `cortex context`: what an intent should know before it starts.

use clap::Args;
use kernel::context::{Bundle, BundleItem, ContextQuery, Tier};
use kernel::forms::Form;
use kernel::limits::BUDGET_TOKENS_DEFAULT;
use kernel::memory::MemoryType;
use kernel::scope::Operation;
use serde::Serialize;

use super::failure::Outcome;
use super::open::{Invocation, request_digest};
use super::output::{Output, plain_lines};
use super::parse::from_ppm;

/// Gathers what an intent should know before it starts, as one text within a budget.
///
/// Pinned memories first (identities, hard constraints, active goals, what somebody pinned), then what is relevant, then
/// the newest outcomes. Hard constraints are never left out: if they do not fit, this fails.
///
/// JSON: {text, digest, root, size, now, tokens, pinned, relevant, outcomes: [{uri, score, standing, text, tokens}],
/// overflow: [uri], trimmed, rows_examined, capped}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex context --project web --budget 2000
  cortex context --tag auth --session s-2026-11-14 --explain")]
pub(crate) struct ContextArgs {
    /// Project the intent is about
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Session it runs in
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// What it is about; repeat or separate with commas
    #[arg(long = "tag", value_name = "TAG", value_delimiter = ',')]
    tags: Vec<String>,
    /// Types among the relevant; repeat or separate with commas [default: all]
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    types: Vec<String>,
    /// pinned, relevant, outcomes; repeat or separate with commas [default: all]
    #[arg(long = "tier", value_name = "TIER", value_delimiter = ',')]
    tiers: Vec<String>,
    /// Events at most
    #[arg(long, value_name = "N")]
    outcomes: Option<u32>,
    /// Tokens at most
    #[arg(long, value_name = "TOKENS", default_value_t = BUDGET_TOKENS_DEFAULT)]
    budget: u32,
    /// short, medium or full
    #[arg(long, default_value = "medium")]
    form: String,
    /// Say how the text came about
    #[arg(long)]
    explain: bool,
}

#[derive(Debug, Serialize)]
struct BundleView<'a> {
    text: &'a str,
    digest: String,
    root: String,
    size: u64,
    now: String,
    tokens: u32,
    pinned: Vec<ItemView<'a>>,
    relevant: Vec<ItemView<'a>>,
    outcomes: Vec<ItemView<'a>>,
    overflow: Vec<String>,
    trimmed: u32,
    rows_examined: u32,
    capped: bool,
}

#[derive(Debug, Serialize)]
struct ItemView<'a> {
    uri: String,
    score: f64,
    standing: &'static str,
    text: &'a str,
    tokens: u32,
}

pub(crate) fn run(args: &ContextArgs, inv: &Invocation, out: &mut Output) -> Outcome {
    let mut query = ContextQuery::new(inv.now()?);
    query.project.clone_from(&args.project);
    query.session.clone_from(&args.session);
    query.tags.clone_from(&args.tags);
    query.types =
        args.types.iter().map(|name| MemoryType::parse(name)).collect::<kernel::Result<_>>()?;
    if !args.tiers.is_empty() {
        query.tiers =
            args.tiers.iter().map(|name| Tier::parse(name)).collect::<kernel::Result<_>>()?;
    }
    query.outcomes_limit = args.outcomes.unwrap_or(query.outcomes_limit);
    query.budget_tokens = args.budget;
    query.form = Form::parse(&args.form)?;

    let cortex = inv.existing()?;
    let asked = format!("{args:?}");
    let digest = request_digest(&[b"context", asked.as_bytes()]);
    let bundle = match inv.authority(&cortex, Operation::Context, digest)? {
        Some(authority) => cortex.context_for(&authority, &query)?,
        None => cortex.context(&query)?,
    };
    if out.is_json() {
        return out.object(&view(&bundle));
    }
    out.line(plain_lines(bundle.text.trim_end()))?;
    out.flush()?;
    if args.explain {
        explain(&bundle, out);
    }
    Ok(())
}

fn explain(bundle: &Bundle, out: &Output) {
    let tiers = [
        (Tier::Pinned, &bundle.pinned),
        (Tier::Relevant, &bundle.relevant),
        (Tier::Outcomes, &bundle.outcomes),
    ];
    for (tier, items) in tiers {
        for item in items {
            let (score, standing) = (from_ppm(item.score), item.standing.name());
            let tier = tier.name();
            out.say(format_args!(
                "{tier:<8} {} salience {score:.6}, {standing}, {} tokens",
                item.uri, item.tokens,
            ));
        }
    }
    out.say(format_args!(
        "{} tokens, {} left out, {} rows examined{}; digest {}",
        bundle.tokens,
        bundle.trimmed,
        bundle.rows_examined,
        if bundle.capped { " (stopped at the cap)" } else { "" },
        bundle.digest,
    ));
}

fn view(bundle: &Bundle) -> BundleView<'_> {
    BundleView {
        text: &bundle.text,
        digest: bundle.digest.to_string(),
        root: bundle.root.to_string(),
        size: bundle.size,
        now: bundle.now.rfc3339(),
        tokens: bundle.tokens,
        pinned: items(&bundle.pinned),
        relevant: items(&bundle.relevant),
        outcomes: items(&bundle.outcomes),
        overflow: bundle.overflow.iter().map(ToString::to_string).collect(),
        trimmed: bundle.trimmed,
        rows_examined: bundle.rows_examined,
        capped: bundle.capped,
    }
}

fn items(items: &[BundleItem]) -> Vec<ItemView<'_>> {
    items
        .iter()
        .map(|item| ItemView {
            uri: item.uri.to_string(),
            score: from_ppm(item.score),
            standing: item.standing.name(),
            text: &item.text,
            tokens: item.tokens,
        })
        .collect()
}
