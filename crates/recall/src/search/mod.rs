//! Search: a question in ordinary words, and the memories that answer it, best first.
//!
//! Three arms do most of the ranking: words (BM25F), meaning (one vector per memory) and late interaction (each word of
//! the question looks for its best match). All arms score the same candidates. Scores are put on one scale per question
//! and added by weight; who is named, which date is named and what the neighbours in a session say add a little.
//! Everything is a whole number, ties go to the smaller id, the clock is a parameter: the same question at the same
//! root gives the same answer.

mod asked_words;
mod asking;
mod by_model;
mod context;
mod corpus;
mod dates;
mod dense_question;
mod evidence;
mod filter;
mod former;
mod fusion;
mod meaning;
mod near;
mod neighbours;
mod order;
mod passage_reader;
mod phrases;
mod preview;
mod ranking;
mod retrievers;
mod rules;
mod scoring;
mod sessions;
mod signals;
mod similar;
mod spelling;
mod surroundings;
mod texts;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use kernel::Reading;
use kernel::find::Standing;
use kernel::grants::Gate;
use kernel::memory::{Body, Head, MemoryId, MemoryType, Millis, PAGE_KIND, Scope, Usage, Version};
use kernel::render::Form;

use crate::columns::IndexCache;
use crate::error::{Error, Result};
use crate::language;
use crate::ranker::{AnswerEstimate, FeatureRow};
use text::analyze::fold;

use context::SearchContext;
use filter::{MemoryFilter, MemoryRow};
use order::{CandidateOrder, CandidatePlace};
use preview::Previews;
use ranking::CANDIDATES;

pub use by_model::{ModelQuestion, question_text};
pub use fusion::{Arm, ArmScore, ArmWeights};
pub use near::near;
pub use order::HitOrder;
pub use similar::similar;
pub use texts::{
    FoundTurn, PlacedText, TextCandidate, TextNeighbour, TextNeighbours, TextOrder, TextPlace,
    TextQuestion, near_by_bits, order_texts,
};

/// Hits a search may return.
pub const LIMIT_MAX: usize = 200;
/// A question, in bytes. Longer ones are refused: nobody asks them.
pub const QUESTION_BYTES_MAX: usize = 262_144;

/// What is asked, and where to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchQuery {
    pub text: String,
    pub project: Option<String>,
    pub scope: Option<Scope>,
    pub types: Vec<MemoryType>,
    pub kinds: Vec<String>,
    /// A memory must have all of them.
    pub tags: Vec<String>,
    pub session: Option<String>,
    pub created_from: Option<Millis>,
    pub created_until: Option<Millis>,
    pub as_of: Option<Millis>,
    pub include_forgotten: bool,
    pub include_archived: bool,
    pub limit: usize,
    pub weights: ArmWeights,
    pub order: HitOrder,
    /// Who stands before others.
    pub boost: Option<SpeakerBoost>,
    /// The question in an optional model. Memories with a vector of it (`models::load`) are judged by it, the others by
    /// the built-in one.
    pub model: Option<ModelQuestion>,
}

/// A speaker whose memories stand before those of others, as if the question named them a little: in talks with an
/// assistant the person says what is so, and the assistant says it again at length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpeakerBoost {
    speaker: String,
    share: u32,
}

impl SpeakerBoost {
    /// `share`: hundredths of what it counts to be named in the question.
    pub fn new(speaker: &str, share: u32) -> SpeakerBoost {
        SpeakerBoost { speaker: fold(speaker), share: share.min(100) }
    }

    /// Thousandths for a memory in which these speak.
    fn of(&self, speakers: &[String]) -> u64 {
        if speakers.contains(&self.speaker) { u64::from(self.share) * 10 } else { 0 }
    }
}

impl SearchQuery {
    pub fn new(text: impl Into<String>, limit: usize) -> SearchQuery {
        SearchQuery {
            text: text.into(),
            project: None,
            scope: None,
            types: Vec::new(),
            kinds: Vec::new(),
            tags: Vec::new(),
            session: None,
            created_from: None,
            created_until: None,
            as_of: None,
            include_forgotten: false,
            include_archived: false,
            limit,
            weights: ArmWeights::default(),
            order: HitOrder::default(),
            boost: None,
            model: None,
        }
    }

    /// A question that stands answers none, so it is found only by whoever names its kind.
    fn admits_kind(&self, kind: &str) -> bool {
        if self.kinds.is_empty() {
            kind != PAGE_KIND
        } else {
            self.kinds.iter().any(|asked| asked == kind)
        }
    }
}

/// A memory that answers, and why it stands where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    pub id: MemoryId,
    pub head: Head,
    pub version: Version,
    pub usage: Usage,
    pub body: Option<Body>,
    pub standing: Standing,
    /// Its place in this answer, as parts per million; it says nothing about other questions.
    pub score: u64,
    /// How likely it answers, in thousandths: the same number means the same for every question and store.
    pub relevance: u16,
    pub arms: Vec<ArmScore>,
    /// Its meaning was judged by the query's model, and not by the built-in one.
    pub by_model: bool,
    /// What the ranker looked at; `None` if it stands too far behind.
    pub signals: Option<FeatureRow>,
    /// The text around the best passage.
    pub preview: String,
    /// What the full text would cost a model, in tokens.
    pub tokens: u32,
    /// What replaces it, at most `kernel::find::LABELS_MAX`.
    pub superseded_by: Vec<LinkedMemory>,
    /// What it contradicts or is contradicted by, whichever of the two said so; as many.
    pub contradicts: Vec<LinkedMemory>,
}

/// A memory that a hit points at. Those that may not be seen are never named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedMemory {
    pub id: MemoryId,
    /// `None` when it was erased.
    pub title: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchOutcome {
    pub hits: Vec<Hit>,
    /// Memories that at least one arm looked at.
    pub candidates: usize,
    /// Those of them whose meaning the query's model judged.
    pub by_model: usize,
    /// Whether anything here answers the question.
    pub answerable: AnswerEstimate,
    /// The question asks for a whole history, of which hits are single moments.
    pub asks_history: bool,
    /// The features of a typical candidate, to compare those of a hit with.
    pub typical: FeatureRow,
}

/// Answers a question against one state.
pub fn search(
    reading: &Reading,
    gate: Option<&dyn Gate>,
    query: &SearchQuery,
    now: Millis,
) -> Result<SearchOutcome> {
    check(query)?;
    let view = reading.view();
    let analyzer = &language::analyzer(&view)?;
    let history = asking::topic_of_history(&query.text);
    let question = &analyzer.question(history.as_deref().unwrap_or(&query.text));
    let cache = &*reading.shared::<IndexCache>().unwrap_or_default();
    let mut context = SearchContext { view: &view, cache, gate, query, analyzer, question, now };
    let corrected = spelling::corrected(&context)?;
    context.question = corrected.as_ref().unwrap_or(question);
    let mut outcome = answer(&context)?;
    // Memories with the phrase that a question quotes stand first. If there are few, the question is asked again with
    // the phrase as single words: an answer may be told without the name.
    if outcome.hits.len() < context.limit()
        && let Some(loose) = context.question.without_phrases()
    {
        let rest = answer(&SearchContext { question: &loose, ..context })?;
        outcome.continue_with(rest, context.limit());
    }
    outcome.asks_history = history.is_some();
    Ok(outcome)
}

/// Answers a question as it stands.
fn answer(context: &SearchContext<'_>) -> Result<SearchOutcome> {
    let limit = context.limit();
    let mut filter = MemoryFilter::new(context)?;
    let mut gathered = retrievers::gather(context, &filter)?;
    let by = (context.query.weights, context.query.order);
    let mut order = CandidateOrder::new(by, &gathered);
    let mut found = best(&filter, &order, limit)?;
    if found.len() < limit.min(gathered.candidates.len()) && gathered.candidates.len() >= CANDIDATES
    {
        // Expired and superseded memories filled the candidate list, so fewer than `limit` current ones are left.
        // Retrieval runs again, with the visibility check applied to every candidate instead of only to the winners.
        filter.check_visibility();
        gathered = retrievers::gather(context, &filter)?;
        order = CandidateOrder::new(by, &gathered);
        found = best(&filter, &order, limit)?;
    }
    let mut previews = Previews::new(context.analyzer, context.question, &context.cache.words);
    let mut hits = Vec::new();
    for (CandidatePlace { candidate, score, relevance, signals }, row) in found {
        let (arms, by_model) = (order.arms(candidate), candidate.by_model);
        let ranked = RankedRow { row, score, relevance, arms, by_model, signals };
        hits.push(hit(&filter, &mut previews, ranked)?);
    }
    let candidates = &gathered.candidates;
    let by_model = candidates.iter().filter(|candidate| candidate.by_model).count();
    let (answerable, typical) = (order.answerable, order.typical);
    let candidates = candidates.len();
    Ok(SearchOutcome { hits, candidates, by_model, answerable, typical, asks_history: false })
}

impl SearchOutcome {
    /// Adds what another answer has besides, and no more hits than `limit`. What comes later scores no higher.
    fn continue_with(&mut self, other: SearchOutcome, limit: usize) {
        let known: BTreeSet<MemoryId> = self.hits.iter().map(|hit| hit.id).collect();
        let most = self.hits.last().map_or(u64::MAX, |hit| hit.score);
        let rest = other.hits.into_iter().filter(|hit| !known.contains(&hit.id));
        let rest = rest.map(|hit| Hit { score: hit.score.min(most), ..hit });
        self.hits.extend(rest.take(limit - known.len()));
        self.candidates = self.candidates.max(other.candidates);
        if other.answerable.margin > self.answerable.margin || known.is_empty() {
            (self.answerable, self.typical) = (other.answerable, other.typical);
        }
        self.by_model = self.by_model.max(other.by_model);
    }
}

fn check(query: &SearchQuery) -> Result<()> {
    let (size, max) = (query.text.len(), QUESTION_BYTES_MAX);
    if size > max { Err(Error::TooLarge { field: "question", size, max }) } else { Ok(()) }
}

/// A memory with its place in the answer.
struct RankedRow {
    row: MemoryRow,
    score: u64,
    relevance: u16,
    arms: Vec<ArmScore>,
    by_model: bool,
    signals: Option<FeatureRow>,
}

/// A ranked memory as it is answered.
fn hit(filter: &MemoryFilter<'_>, previews: &mut Previews<'_>, ranked: RankedRow) -> Result<Hit> {
    let RankedRow { row, score, relevance, arms, by_model, signals } = ranked;
    let text = row.body.as_ref().map(crate::document::spoken).unwrap_or_default();
    let full = kernel::render::render(&row.head, &row.version, row.body.as_ref(), Form::Full);
    Ok(Hit {
        id: row.head.id,
        preview: previews.of(&text),
        tokens: kernel::render::tokens(&full),
        superseded_by: filter.linked(&row.superseded_by)?,
        contradicts: filter.contradicts(&row)?,
        head: row.head,
        version: row.version,
        usage: row.usage,
        body: row.body,
        standing: row.standing,
        score,
        relevance,
        arms,
        by_model,
        signals,
    })
}

/// The best that are shown now. What was replaced answers only if nothing better does: it counts half.
///
/// Whether a memory is shown and whether it was replaced needs its version and its usage, which are read from the best
/// downwards and only until there are enough.
fn best<'c>(
    filter: &MemoryFilter<'_>,
    order: &CandidateOrder<'c>,
    limit: usize,
) -> Result<Vec<(CandidatePlace<'c>, MemoryRow)>> {
    let mut waiting: BinaryHeap<(u64, Reverse<MemoryId>, usize)> = BinaryHeap::new();
    let mut halved: Vec<(CandidatePlace<'_>, MemoryRow)> = Vec::new();
    let mut found = Vec::new();
    let mut ranked = order.placed.iter().copied().peekable();
    while found.len() < limit {
        let next = ranked.peek().map(|placed| (placed.score, Reverse(placed.candidate.id)));
        let replaced = waiting.peek().map(|(score, id, _)| (*score, Reverse(id.0.get())));
        if replaced.is_some() && replaced >= next {
            let Some((score, _, at)) = waiting.pop() else { break };
            let (placed, row) = &halved[at];
            found.push((CandidatePlace { score, ..*placed }, row.clone()));
            continue;
        }
        let Some(placed) = ranked.next() else { break };
        let Some(row) = filter.row(placed.candidate.id)? else { continue };
        if row.standing == Standing::Superseded {
            waiting.push((placed.score / 2, Reverse(row.head.id), halved.len()));
            halved.push((placed, row));
        } else {
            found.push((placed, row));
        }
    }
    Ok(found)
}
