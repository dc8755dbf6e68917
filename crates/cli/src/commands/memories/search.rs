//! `cortex search` and `similar`: a question in ordinary words, and what is near a memory.

use api::outputs::OutputsRequest;
use api::past::{PastHit, PastSearchRequest};
use api::render::people::{self, HitDetail};
use api::search::{SearchAnswer, SearchRequest};
use clap::Args;
use proof::memory::Scope;
use serde::Serialize;

use crate::commands::memories::type_word;
use crate::commands::past::search::{self as past_search, SearchPlace};
use crate::failure::CommandResult;
use crate::invocation::Invocation;
use crate::output::{Output, plain};
use crate::wiring::words::MemoryRef;

/// Finds memories by a question in ordinary words, best first.
///
/// Words count by how rare they are, meaning by a model that is part of the program; no network, no tokens. Where
/// another model is chosen (`cortex model`), it judges the memories that have a vector of it; if it cannot be asked,
/// the built-in one judges alone, and a note says so. In the question, "two words" must stand together (beside other
/// words, what holds them comes first), -word must not be there, auth* is a beginning, and a mistyped word is read as
/// the nearest that is saved. Nothing is a syntax error.
///
/// JSON: {query, project, hits: [{id, title, type, memory_type, project, scope, session_id, topic_key, created_at,
/// updated_at, uri, preview, cut, rank, tokens, standing, pinned, superseded_by: [{id, title}], contradicts: [{id,
/// title}], by, author, proposed, relevance, level, happened_at?, arms: [{arm, rank, score, weight, by?}], reasons?:
/// [{feature, value, typical, moved}]}], answerable?: {level, probability}, candidates, mode, model?, by_model?,
/// put_away?: [id], elsewhere?, note?, past?: [{ref, agent, session, turn, title, project, folder, at, role,
/// preview, prompt, answered?, text, cut,
/// resume, changed_since, standing, rejected, kept_only_here, arms}]}; with --in past {query, past, matches}; with
/// --outputs {query, matches, outputs: [{path, day, segment?, facet?, talent, preview, score}]}
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cortex search how do we rotate the signing key
  cortex search 'login fails -oauth' --project web --type fact
  cortex search '\"empty password\"' --explain
  cortex search --in past why is the cache slow
  cortex search --outputs release date
  cortex search --in past 'linker error' --agent codex --work")]
pub(crate) struct SearchArgs {
    /// The question
    #[arg(value_name = "QUESTION", required = true)]
    question: Vec<String>,
    #[command(flatten)]
    filters: FilterArgs,
    /// What each arm said of each hit
    #[arg(long)]
    explain: bool,
    /// Where to look: in memories, in what coding agents wrote down (`cortex past`), or in both
    #[arg(long = "in", value_name = "PLACE", value_enum, default_value_t = SearchPlace::All)]
    place: SearchPlace,
    /// Of the past only sessions of this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Of the past also commands, outputs, edits and summaries
    #[arg(long)]
    work: bool,
    /// In what talents wrote, which is no memory, and nowhere else
    #[arg(long, conflicts_with_all = ["place", "agent", "work", "explain"])]
    outputs: bool,
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
    /// Only this project, or all [default: the one of this folder, and what is personal]
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
    /// What was put away by itself too; a search names how many of those match
    #[arg(long)]
    put_away: bool,
    /// How many
    #[arg(long, default_value_t = 10)]
    limit: usize,
}

impl FilterArgs {
    /// Whether everything that is asked for means something in the past, too.
    fn suit_the_past(&self) -> bool {
        self.scope.is_none()
            && self.types.is_empty()
            && self.kinds.is_empty()
            && self.tags.is_empty()
            && self.session.is_none()
            && self.as_of.is_none()
    }

    fn request(&self) -> CommandResult<SearchRequest> {
        // Operations forgive what agents write; at a terminal a word that is none is a typing error.
        self.scope.as_deref().map(Scope::parse).transpose()?;
        let (types, mut kinds) = type_word::of_filter(&self.types)?;
        kinds.extend(self.kinds.iter().cloned());
        Ok(SearchRequest {
            default_project: true,
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
            put_away: self.put_away,
            limit: Some(self.limit),
            // Somebody at a terminal looks; only agents use.
            quiet: true,
            ..SearchRequest::default()
        })
    }
}

/// What both places answer: the keys of memories stay as they are.
#[derive(Serialize)]
struct SearchInBoth<'a> {
    #[serde(flatten)]
    memories: &'a SearchAnswer,
    past: &'a [PastHit],
}

pub(crate) fn search(args: &SearchArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let query = args.question.join(" ");
    if args.outputs {
        return outputs(query, args.filters.limit, inv, out);
    }
    let past = PastSearchRequest {
        query: query.clone(),
        agent: args.agent.clone(),
        project: args.filters.project.clone(),
        since: args.filters.since.clone(),
        until: args.filters.until.clone(),
        work: args.work,
        limit: Some(args.filters.limit),
        ..PastSearchRequest::default()
    };
    if args.place == SearchPlace::Past {
        let session = args.filters.session.clone();
        return past_search::alone(
            PastSearchRequest { session, ..past },
            detail(args.explain),
            (inv, out),
        );
    }
    let request = SearchRequest { query, explain: args.explain, ..args.filters.request()? };
    let answer = inv.ask(request)?;
    // Conditions that only memories know leave nothing to look for in the past.
    let shown: Vec<u64> = answer.hits.iter().map(|hit| hit.id).collect();
    let beside = match args.place {
        SearchPlace::All if args.filters.suit_the_past() => {
            past_search::beside(past, &shown, inv, out)?
        }
        _ => None,
    };
    let Some(beside) = beside.filter(|beside| !beside.past.is_empty()) else {
        return show(&answer, detail(args.explain), out);
    };
    if out.is_json() {
        let both = SearchInBoth { memories: &answer, past: &beside.past };
        return out.object(&both);
    }
    show(&answer, detail(args.explain), out)?;
    out.line("from the past:")?;
    out.text(people::past_found(&beside, detail(args.explain)))
}

/// What talents wrote.
fn outputs(query: String, limit: usize, inv: &Invocation, out: &mut Output) -> CommandResult {
    let answer =
        inv.ask(OutputsRequest { query, limit: Some(limit), ..OutputsRequest::default() })?;
    if out.is_json() {
        return out.object(&answer);
    }
    if answer.outputs.is_empty() {
        return out.line("no output has these words");
    }
    for hit in &answer.outputs {
        out.line(plain(&hit.path))?;
        out.line(format!("  {}", plain(&hit.preview)))?;
    }
    Ok(())
}

pub(crate) fn similar(args: &SimilarArgs, inv: &Invocation, out: &mut Output) -> CommandResult {
    let id = args.memory.of(inv.actor())?.get();
    let filters = args.filters.request()?;
    let request = SearchRequest { similar_to: Some(id), default_project: false, ..filters };
    show(&inv.ask(request)?, detail(args.explain), out)
}

fn show(answer: &SearchAnswer, detail: HitDetail, out: &mut Output) -> CommandResult {
    out.answer(answer, |answer| people::found(answer, detail))?;
    if let Some(note) = answer.note.as_ref().filter(|_| !out.is_json()) {
        out.say(plain(note));
    }
    Ok(())
}

fn detail(explain: bool) -> HitDetail {
    if explain { HitDetail::Explained } else { HitDetail::Usual }
}
