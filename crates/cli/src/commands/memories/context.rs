//! `cortex context`: what to know before a task, or what happened lately.

use api::bundle::{BUNDLE_TOKENS_DEFAULT, BundleAnswer, BundleRequest};
use api::context::ContextRequest;
use api::stats::ProjectsRequest;
use clap::Args;

use crate::failure::{CommandResult, Failure};
use crate::invocation::Invocation;
use crate::output::Output;

/// Gathers what to know before a task, as one text within a budget.
///
/// Pinned memories first (identities, hard constraints, active goals, what somebody pinned), then what is relevant,
/// then the newest outcomes. Hard constraints lead, under Rules, within 40 % of the budget: in short if they would not
/// fit in full, and with the number of those that did not fit even so. Rules and preferences that an agent, an import
/// or a web page wrote stand apart as proposed; `cortex confirm` makes them rules.
///
/// Words say what the task is about; a single word that names a project means that project, as with --project.
///
/// With --recent it shows what agents see when they ask for their context: the latest sessions, memories and prompts.
///
/// JSON: {text, digest, root, size, now, tokens, pinned, relevant, outcomes: [{uri, score, standing, proposed, text,
/// tokens}], overflow: [uri], trimmed, rules_missing, rows_examined, capped}; with --recent {text, project, sessions,
/// prompts, pinned, memories, left_out}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex context rotate the signing keys
  cortex context --project web --budget 2000
  cortex context --about 'rotate the signing keys' --budget 1500
  cortex context web --recent
  cortex context --tag auth --session s-2026-11-14 --explain")]
pub(crate) struct ContextArgs {
    /// The task in words, or a project
    #[arg(value_name = "TASK|PROJECT", num_args = 0..)]
    words: Vec<String>,
    /// Project the task is about
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Session it runs in
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// What it is about, in words: what is near in meaning counts more
    #[arg(long, value_name = "TEXT")]
    about: Option<String>,
    /// Tag of what it is about; repeat or separate with commas
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
    #[arg(long, value_name = "TOKENS", default_value_t = BUNDLE_TOKENS_DEFAULT)]
    budget: u32,
    /// short, medium or full
    #[arg(long, default_value = "medium")]
    form: String,
    /// Say how the text came about
    #[arg(long)]
    explain: bool,
    /// What happened lately, as agents see it
    #[arg(long, conflicts_with_all = [
        "session", "about", "tags", "types", "tiers", "outcomes", "budget", "form", "explain",
    ])]
    recent: bool,
    /// With --recent: project or personal
    #[arg(long, requires = "recent")]
    scope: Option<String>,
    /// With --recent: memories at most [default: 20]
    #[arg(long, value_name = "N", requires = "recent")]
    limit: Option<usize>,
}

pub(crate) fn run(args: &ContextArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let (project, about) = meant(args, inv)?;
    if args.recent {
        let (scope, limit) = (args.scope.clone(), args.limit);
        let request = ContextRequest {
            project,
            scope,
            limit,
            default_project: true,
            ..ContextRequest::default()
        };
        let answer = inv.ask(request)?;
        return out.either(&answer, answer.text.trim_end());
    }
    let request = BundleRequest {
        project,
        session_id: args.session.clone(),
        about,
        tags: args.tags.clone(),
        memory_types: args.types.clone(),
        tiers: args.tiers.clone(),
        outcomes: args.outcomes,
        budget: Some(args.budget),
        form: Some(args.form.clone()),
    };
    let bundle = inv.ask(request)?;
    if out.is_json() {
        return out.object(&bundle);
    }
    out.line(bundle.text.trim_end())?;
    out.flush()?;
    if args.explain {
        explain(&bundle, out);
    }
    Ok(())
}

/// The project and the task that the words mean.
fn meant(args: &ContextArgs, inv: &Invocation) -> CommandResult<(Option<String>, Option<String>)> {
    let words = args.words.join(" ");
    let (project, about) = (args.project.clone(), args.about.clone());
    let is_project = match args.words.as_slice() {
        [] => return Ok((project, about)),
        [word] if project.is_none() => {
            args.recent
                || about.is_some()
                || inv.ask(ProjectsRequest {})?.projects.iter().any(|known| {
                    known.name == *word || known.aliases.iter().any(|alias| alias == word)
                })
        }
        _ => false,
    };
    match (is_project, about) {
        (true, about) => Ok((Some(words), about)),
        (false, None) if !args.recent => Ok((project, Some(words))),
        (false, _) => Err(Failure::input("say the task once: as words or with --about")),
    }
}

fn explain(bundle: &BundleAnswer, out: &Output) {
    let tiers = [
        ("pinned", &bundle.pinned),
        ("relevant", &bundle.relevant),
        ("outcomes", &bundle.outcomes),
    ];
    for (tier, items) in tiers {
        for item in items {
            out.say(format_args!(
                "{tier:<8} {} salience {:.6}, {}, {} tokens",
                item.uri, item.score, item.standing, item.tokens,
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
