//! The retrievers: by words, by meaning and by names, each puts candidates forward.
//!
//! An *arm* of a search, as its JSON calls it, is one score of a candidate; all arms score all candidates, whichever
//! retriever put them forward (`scoring`).

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

use rustc_hash::FxHashMap;

use super::asked_words::AskedWords;
use super::context::SearchContext;
use super::corpus::{Corpus, with_corpus};
use super::dense_question::DenseQuestion;
use super::filter::MemoryFilter;
use super::fusion::Arm;
use super::meaning::Meaning;
use super::passage_reader::PassageReader;
use super::ranking::{CANDIDATES, Ranking, Rankings};
use super::scoring::{Candidate, Scorer};
use super::sessions::Sessions;
use super::surroundings::WordSurroundings;
use crate::entity_rows;
use crate::error::Result;
use text::index::{TextSearch, idf};

/// Memories that count as naming one thing; of a name in more of them the newest. What so many name tells little apart.
const NAMING_MAX: usize = 800;
/// Terms that one prefix may stand for.
const PREFIX_TERMS: usize = 64;
/// The weight of a term of the question, in sixteenths.
pub(super) const TERM_WEIGHT: u32 = 16;
/// Scores each retriever takes: enough for candidates and for what their sessions say.
pub(super) const TAKEN: usize = 400;
/// Scores each retriever takes where sessions do not count: enough for candidates and their neighbours.
const TAKEN_ALONE: usize = 2 * CANDIDATES;

/// The candidates of a question, with what each arm says of them.
pub(super) fn gather(
    context: &SearchContext<'_>,
    filter: &MemoryFilter<'_>,
) -> Result<CandidateSet> {
    with_corpus(context, filter, |corpus| {
        let search = corpus.text_search()?;
        let taken = if context.counts(Arm::Session) { TAKEN } else { TAKEN_ALONE };
        let words = by_words(corpus, &search, taken)?;
        let asked = AskedWords::of(context, &search)?;
        let passages = PassageReader::new(corpus);
        let dense = DenseQuestion::new(context, &search, || passages.speakers(&words))?;
        let mut meaning = Meaning::new(corpus, &dense.vector);
        let nearest = by_meaning(context, &mut meaning)?;
        let rankings = Rankings {
            words,
            meaning: nearest,
            entities: by_entities(corpus, search.documents())?,
        };
        let mut candidates = rankings.candidates();
        let mut sessions = sessions_of(corpus, &rankings, &candidates, &meaning)?;
        sessions.bring_neighbours(&rankings.leaders(), &mut candidates);
        let rows = passages.rows(candidates)?;
        let found = WordSurroundings::read(corpus, &search, &rows, &sessions, &rankings.words)?;
        let scorer = Scorer::new(corpus, &rankings, &meaning, &dense, sessions);
        Ok(CandidateSet { candidates: scorer.score(&rows, &found)?, asked })
    })
}

/// What the retrievers put forward, and what they know of the question itself.
pub(super) struct CandidateSet {
    pub(super) candidates: Vec<Candidate>,
    pub(super) asked: AskedWords,
}

/// Who speaks in the memories that the words of a question find.
pub(super) fn speakers_found(
    context: &SearchContext<'_>,
    filter: &MemoryFilter<'_>,
) -> Result<BTreeSet<String>> {
    with_corpus(context, filter, |corpus| {
        let words = by_words(corpus, &corpus.text_search()?, CANDIDATES)?;
        PassageReader::new(corpus).speakers(&words)
    })
}

/// The memories that the words of the question find, former versions among them.
fn by_words(corpus: &Corpus<'_>, search: &TextSearch<'_>, taken: usize) -> Result<Ranking> {
    let question = corpus.context.question;
    let mut terms: Vec<String> = question.terms.clone();
    for prefix in &question.prefixes {
        terms.extend(search.prefix_terms(prefix, PREFIX_TERMS)?);
    }
    let terms: Vec<(String, u32)> = terms.into_iter().map(|term| (term, TERM_WEIGHT)).collect();
    let former = &corpus.former;
    let admits = |doc| former.memory(doc).is_some_and(|id| corpus.admits(id));
    let mut found = search.top_k(&terms, taken, &admits, &question.excluded)?;
    for (doc, _) in &mut found {
        *doc = former.memory(*doc).unwrap_or(*doc);
    }
    Ok(Ranking::new(found))
}

/// The memories nearest to the question, by the built-in model and the query's own.
fn by_meaning(context: &SearchContext<'_>, meaning: &mut Meaning<'_>) -> Result<Ranking> {
    if context.counts(Arm::Meaning) { meaning.nearest_by_models() } else { Ok(Ranking::default()) }
}

/// Memories that name what the question names, by how much of it and how rare that is; among equals the newest first.
fn by_entities(corpus: &Corpus<'_>, documents: u64) -> Result<Ranking> {
    let context = corpus.context;
    if !context.counts(Arm::Entities) {
        return Ok(Ranking::default());
    }
    let mut scores: FxHashMap<u64, u64> = FxHashMap::default();
    for entity in entity_rows::asked(&context.query.text) {
        let mut naming = Vec::new();
        entity_rows::naming(context.view, &entity, &mut |id| {
            if corpus.former.get(id).is_none() && corpus.admits(id) {
                naming.push(id);
            }
            let full = naming.len() == NAMING_MAX;
            if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let former = corpus.former.iter().filter(|(_, former)| former.names(&entity));
        naming.extend(former.map(|(id, _)| id));
        // What few memories name tells them apart; what half of them name says nothing.
        let rarity = idf(documents, naming.len() as u64);
        for id in naming {
            *scores.entry(id).or_default() += rarity;
        }
    }
    let mut found: Vec<(u64, u64)> = scores.into_iter().collect();
    found.sort_unstable_by_key(|(id, named)| Reverse((*named, *id)));
    Ok(Ranking::new(found))
}

/// The sessions of the candidates and, if the session arm counts, how much each of their turns is about the question.
fn sessions_of<'a>(
    corpus: &'a Corpus<'a>,
    rankings: &Rankings,
    candidates: &BTreeSet<u64>,
    meaning: &Meaning<'_>,
) -> Result<Sessions<'a>> {
    let mut sessions = Sessions::new(corpus);
    let counts = corpus.context.counts(Arm::Session);
    let turns = if counts { rankings.found() } else { candidates.iter().copied().collect() };
    meaning.learn(turns.iter().copied())?;
    for id in turns {
        sessions.add(id);
        if counts {
            let Rankings { words, meaning: nearest, .. } = rankings;
            let near = nearest.share(meaning.score(id)?);
            sessions.turn(id, words.share(words.of(id)).saturating_add(near));
        }
    }
    Ok(sessions)
}
