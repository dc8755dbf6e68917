//! `cortex search`: a question in ordinary words.

use clap::Args;
use kernel::memory::{MemoryType, Scope};
use kernel::scope::Operation;
use recall::search::{ArmScore, Hit, Query};
use serde::Serialize;

use super::failure::{Failure, Outcome};
use super::open::{Invocation, request_digest};
use super::output::{Output, plain};
use super::parse;

/// Finds memories by a question in ordinary words, best first.
///
/// Words count by how rare they are, meaning by a model that is part of the program; no network, no tokens. In the
/// question, "two words" must stand together, -word must not be there, auth* is a beginning. Nothing is a syntax error.
///
/// JSON: {hits: [{id, uri, type, kind, title, preview, score, tokens, standing, arms?}], candidates}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex search how do we rotate the signing key
  cortex search 'login fails -oauth' --project web --type fact
  cortex search '\"empty password\"' --explain")]
pub(crate) struct SearchArgs {
    /// The question
    #[arg(value_name = "QUESTION", required = true)]
    question: Vec<String>,
    /// Only this project
    #[arg(long)]
    project: Option<String>,
    /// project or personal
    #[arg(long)]
    scope: Option<String>,
    /// Only these types
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    types: Vec<String>,
    /// Only these kinds
    #[arg(long = "kind", value_name = "KIND", value_delimiter = ',')]
    kinds: Vec<String>,
    /// All of these tags
    #[arg(long = "tag", value_name = "TAG", value_delimiter = ',')]
    tags: Vec<String>,
    /// Only this session
    #[arg(long)]
    session: Option<String>,
    /// Written at or after this time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Written before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Show what was known at this time; found by the words of today's versions
    #[arg(long, value_name = "TIME")]
    as_of: Option<String>,
    /// Forgotten ones too
    #[arg(long)]
    forgotten: bool,
    /// Archived ones too
    #[arg(long)]
    archived: bool,
    /// How many
    #[arg(long, default_value_t = 10)]
    limit: usize,
    /// What each arm said of each hit
    #[arg(long)]
    explain: bool,
}

#[derive(Debug, Serialize)]
struct AnswerView {
    hits: Vec<HitView>,
    candidates: usize,
}

#[derive(Debug, Serialize)]
struct HitView {
    id: u64,
    uri: String,
    #[serde(rename = "type")]
    memory_type: &'static str,
    kind: String,
    title: Option<String>,
    preview: String,
    /// 0 to 1.
    score: f64,
    /// What the full text costs.
    tokens: u32,
    standing: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arms: Option<Vec<ArmView>>,
}

#[derive(Debug, Serialize)]
struct ArmView {
    arm: &'static str,
    rank: usize,
    score: f64,
    weight: f64,
}

impl From<&ArmScore> for ArmView {
    fn from(arm: &ArmScore) -> ArmView {
        ArmView {
            arm: arm.arm.name(),
            rank: arm.rank,
            score: ratio(arm.score),
            weight: f64::from(arm.weight) / 100.0,
        }
    }
}

fn ratio(ppm: u64) -> f64 {
    parse::from_ppm(u32::try_from(ppm).unwrap_or(u32::MAX))
}

pub(crate) fn run(args: &SearchArgs, inv: &Invocation, out: &mut Output) -> Outcome {
    if args.limit == 0 || args.limit > recall::search::LIMIT_MAX {
        let most = recall::search::LIMIT_MAX;
        return Err(Failure::Input(format!("--limit must lie between 1 and {most}")));
    }
    let time = |text: &Option<String>| text.as_deref().map(parse::time).transpose();
    let query = Query {
        project: args.project.clone(),
        scope: args.scope.as_deref().map(Scope::parse).transpose()?,
        types: args.types.iter().map(|t| MemoryType::parse(t)).collect::<kernel::Result<_>>()?,
        kinds: args.kinds.clone(),
        tags: args.tags.clone(),
        session: args.session.clone(),
        created_from: time(&args.since)?,
        created_until: time(&args.until)?,
        as_of: time(&args.as_of)?,
        include_forgotten: args.forgotten,
        include_archived: args.archived,
        ..Query::new(args.question.join(" "), args.limit)
    };
    let cortex = inv.existing()?;
    let digest = request_digest(&[b"search", query.text.as_bytes()]);
    let authority = inv.authority(&cortex, Operation::Find, digest)?;
    let gate = authority.as_ref().map(|authority| authority as &dyn kernel::scope::Gate);
    let reading = cortex.read()?;
    let answer = crate::ops::recall::search(&reading, gate, &query, inv.now()?)?;
    let view = |hit: &Hit| HitView {
        id: hit.id.get(),
        uri: reading.uri(&hit.head, hit.version.n).to_string(),
        memory_type: hit.head.memory_type.name(),
        kind: hit.head.kind.clone(),
        title: hit.body.as_ref().map(|body| body.title.clone()),
        preview: hit.preview.clone(),
        score: ratio(hit.score),
        tokens: hit.tokens,
        standing: hit.standing.name(),
        arms: args.explain.then(|| hit.arms.iter().map(ArmView::from).collect()),
    };
    let views: Vec<HitView> = answer.hits.iter().map(view).collect();
    if out.is_json() {
        return out.object(&AnswerView { hits: views, candidates: answer.candidates });
    }
    for hit in &views {
        let mark = match hit.standing {
            "current" => String::new(),
            other => format!(" ({other})"),
        };
        let title = plain(hit.title.as_deref().unwrap_or("[erased]"));
        out.line(format_args!(
            "{:>6}  {:<11} {:.3}  {title}{mark}",
            hit.id, hit.memory_type, hit.score
        ))?;
        if !hit.preview.is_empty() && hit.preview != title {
            out.line(format_args!("        {}", plain(&hit.preview)))?;
        }
        for arm in hit.arms.iter().flatten().filter(|arm| arm.score > 0.0) {
            out.line(format_args!(
                "          {:<12} rank {:<4} {:.3} x {:.2}",
                arm.arm, arm.rank, arm.score, arm.weight
            ))?;
        }
    }
    out.line(format_args!("{} of {} candidates", views.len(), answer.candidates))
}
