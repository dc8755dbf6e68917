//! `cortex search` and `similar`: a question in ordinary words, and what is near a memory.

use api::search::{HitView, NamedView, SearchAnswer, SearchRequest};
use clap::Args;
use kernel::memory::Scope;
use service::parse::MemoryRef;

use crate::commands::memories::type_word;
use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::{Output, plain};

/// Finds memories by a question in ordinary words, best first.
///
/// Words count by how rare they are, meaning by a model that is part of the program; no network, no tokens. Where
/// another model is chosen (`cortex model`), it judges the memories that have a vector of it; if it cannot be asked,
/// the built-in one judges alone, and a note says so. In the question, "two words" must stand together (beside other
/// words, what holds them comes first), -word must not be there, auth* is a beginning, and a mistyped word is read as
/// the nearest that is saved. Nothing is a syntax error.
///
/// JSON: {query, hits: [{id, title, type, memory_type, project, scope, session_id, topic_key, created_at, updated_at,
/// uri, preview, cut, rank, tokens, standing, pinned, superseded_by: [{id, title}], contradicts: [{id, title}],
/// relevance, arms: [{arm, rank, score, weight, by?}], reasons?: [{feature, value, typical, moved}]}],
/// answerable?: {level, probability}, candidates, mode, model?, by_model?, elsewhere?, note?}
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

/// Finds memories near a given one by meaning, nearest first.
///
/// The rank is how near the nearest passages of both are: 1 is the same. Good for finding what was said twice.
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

#[derive(Args, Debug)]
struct FilterArgs {
    /// Only this project
    #[arg(long)]
    project: Option<String>,
    /// project or personal
    #[arg(long)]
    scope: Option<String>,
    /// Only these types, or kinds
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
    /// Show what was known at this time
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
}

impl FilterArgs {
    fn request(&self) -> CommandResult<SearchRequest> {
        // Operations forgive what agents write; at a terminal a word that is none is a typing error.
        self.scope.as_deref().map(Scope::parse).transpose()?;
        let (types, mut kinds) = type_word::of_filter(&self.types)?;
        kinds.extend(self.kinds.iter().cloned());
        Ok(SearchRequest {
            kinds,
            memory_types: types.iter().map(|known| known.name().to_owned()).collect(),
            project: self.project.clone(),
            scope: self.scope.clone(),
            session_id: self.session.clone(),
            tags: self.tags.clone(),
            since: self.since.clone(),
            until: self.until.clone(),
            as_of: self.as_of.clone(),
            include_forgotten: self.forgotten,
            include_archived: self.archived,
            limit: Some(self.limit),
            // Somebody at a terminal looks; only agents use.
            quiet: true,
            ..SearchRequest::default()
        })
    }
}

pub(crate) fn search(args: &SearchArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let query = args.question.join(" ");
    let request = SearchRequest { query, explain: args.explain, ..args.filters.request()? };
    show(&inv.ops().service.search(inv.caller(), request)?, args.explain, out)
}

pub(crate) fn similar(args: &SimilarArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let id = args.memory.of(inv.actor())?.get();
    let request = SearchRequest { similar_to: Some(id), ..args.filters.request()? };
    show(&inv.ops().service.search(inv.caller(), request)?, args.explain, out)
}

fn show(answer: &SearchAnswer, explain: bool, out: &mut Output) -> CommandResult {
    if out.is_json() {
        return out.object(answer);
    }
    if let Some(answerable) = answer.answerable.as_ref().filter(|it| it.level == "nothing") {
        let share = answerable.probability;
        out.line(format_args!("nothing here seems to answer this ({share} of 1000); nearest:"))?;
    }
    answer.hits.iter().try_for_each(|hit| show_hit(hit, explain, out))?;
    out.line(format_args!("{} of {} candidates", answer.hits.len(), answer.candidates))?;
    if let Some(elsewhere) = &answer.elsewhere {
        out.line(plain(elsewhere))?;
    }
    if let (true, Some(model), Some(count)) = (explain, &answer.model, answer.by_model) {
        out.line(format_args!("meaning of {count} by {}", plain(model)))?;
    }
    if let Some(note) = &answer.note {
        out.say(plain(note));
    }
    Ok(())
}

fn show_hit(hit: &HitView, explain: bool, out: &mut Output) -> CommandResult {
    let mark = match hit.standing.as_str() {
        "current" => String::new(),
        other => format!(" ({other})"),
    };
    let (id, kind, rank) = (hit.id, &hit.memory_type, hit.rank);
    out.line(format_args!("{id:>6}  {kind:<11} {rank:.3}  {}{mark}", titled(&hit.title)))?;
    if !hit.preview.is_empty() && hit.preview != hit.title {
        out.line(format_args!("        {}", plain(&hit.preview)))?;
    }
    let related = [("superseded by", &hit.superseded_by), ("contradicts", &hit.contradicts)];
    for (relation, others) in related {
        for NamedView { id, title } in others {
            out.line(format_args!("        {relation} {id}: {}", titled(title)))?;
        }
    }
    for arm in hit.arms.iter().filter(|arm| explain && arm.score > 0.0) {
        let by = arm.by.as_ref().map(|model| format!("  by {}", plain(model))).unwrap_or_default();
        let (name, rank, score, weight) = (&arm.arm, arm.rank, arm.score, arm.weight);
        out.line(format_args!("          {name:<12} rank {rank:<4} {score:.3} x {weight:.2}{by}"))?;
    }
    for reason in hit.reasons.iter().filter(|_| explain) {
        let (feature, value, typical) = (&reason.feature, reason.value, reason.typical);
        let way = if reason.moved > 0 { "up" } else { "down" };
        out.line(format_args!(
            "          {way:<4} by {feature} {value}, where most have {typical}"
        ))?;
    }
    Ok(())
}

/// A memory always has a title, until it is erased.
fn titled(title: &str) -> String {
    if title.is_empty() { "[erased]".to_owned() } else { plain(title) }
}
