//! The retrievers: by words, by meaning and by names, each puts candidates forward. An *arm* of the search, the word of its
//! JSON, is what scores all of them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::rc::Rc;

use kernel::store::View;
use rustc_hash::FxHashMap;

use super::SearchQuery;
use super::by_model::ByModel;
use super::dates::DateWords;
use super::filter::{Judge, MemoryFilter};
use super::former::FormerVersions;
use super::fusion::{Arm, ONE};
use super::meaning::Meaning;
use super::sessions::{Sessions, smooth};
use crate::analyze::{Analyzer, ParsedQuestion};
use crate::columns::{Columns, IndexCache};
use crate::doc_meta::{DocMeta, DocMetaView};
use crate::embedding::{DIMS, Embedder, Embedding, MaxSim, StaticEmbedder};
use crate::entities;
use crate::error::Result;
use crate::model_codes::ModelCodes;
use crate::passages::Passages;
use crate::segments;
use crate::text::TextSearch;

/// Candidates each arm puts forward. 200 found a thousandth more and took half as long again.
pub(super) const CANDIDATES: usize = 120;
/// The best of them bring their neighbours in the session along.
const WITH_NEIGHBOURS: usize = 30;
/// Memories that count as naming one thing; of a name in more of them the newest. What so many name tells little apart.
const NAMING_MAX: usize = 800;
/// Terms that one prefix may stand for.
const PREFIX_TERMS: usize = 64;
/// Words of a question that look for their match one by one, the rarest. Each costs a similarity to every token of the model:
/// a question of a hundred kilobytes would take gigabytes.
const INTERACTION_TOKENS: usize = 128;
/// Scores each arm takes: enough for candidates and for what their sessions say.
pub(super) const TAKEN: usize = 400;
/// And where sessions do not count: enough for candidates and their neighbours.
const TAKEN_ALONE: usize = 2 * CANDIDATES;

/// A memory that may answer, with what each arm says of it. All scores are as the arm measures them.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) id: u64,
    pub(super) words: u64,
    pub(super) meaning: u64,
    /// Whether an optional model said so, and not the built-in one.
    pub(super) by_model: bool,
    pub(super) interaction: u64,
    pub(super) session: u64,
    /// Thousandths.
    pub(super) speaker: u64,
    pub(super) date: u64,
    /// Parts per million.
    pub(super) prior: u64,
    /// How many of the things that the question names it names too.
    pub(super) entities: u64,
}

pub(super) fn gather(
    view: &View<'_>,
    cache: &IndexCache,
    lens: &MemoryFilter<'_>,
    query: &SearchQuery,
    (analyzer, question): (&Analyzer, &ParsedQuestion),
) -> Result<Vec<Candidate>> {
    with_columns((view, cache), query, |columns, stale, model| {
        let judge = Judge::new(lens, DocMetaView::new(view, &columns.doc_meta, stale)?);
        // An arm that does not count does no work.
        let counts = |arm: Arm| query.weights.of(arm) > 0;
        let taken = if counts(Arm::Session) { TAKEN } else { TAKEN_ALONE };
        let (past, search, words) =
            by_words((view, cache), (lens, &judge), (analyzer, question), taken)?;
        let said = PassageReader::new(view, &past);
        let mut dense = DenseQuestion::nothing();
        if counts(Arm::Meaning) || counts(Arm::Interaction) {
            dense = DenseQuestion::new(analyzer, &search, question, &said.names(&words)?)?;
        }
        if !counts(Arm::Meaning) {
            dense.vector = Embedding::zero(DIMS);
        }
        let (codes, past) = (&columns.codes, &past);
        let mut meaning = Meaning::new((view, codes, stale), past, &dense.vector);
        let near = if counts(Arm::Meaning) {
            let model = ByModel::new(model, query.model.as_ref(), (&judge, past));
            meaning.nearest_by(&judge, model)?
        } else {
            Ranking::default()
        };
        let mut ids: BTreeSet<u64> = words.order.iter().take(CANDIDATES).copied().collect();
        ids.extend(near.order.iter().take(CANDIDATES));
        let naming = if counts(Arm::Entities) {
            naming(view, (&judge, past), &query.text)?
        } else {
            Ranking::default()
        };
        ids.extend(naming.order.iter().take(CANDIDATES));
        let mut sessions = Sessions::new(&judge);
        // What a session is about shows in more memories than those that are candidates.
        let mut looked_at: Vec<u64> = if counts(Arm::Session) {
            let naming = naming.order.iter().take(CANDIDATES);
            words.order.iter().chain(&near.order).chain(naming).copied().collect()
        } else {
            ids.iter().copied().collect()
        };
        looked_at.sort_unstable();
        looked_at.dedup();
        meaning.learn(looked_at.iter().copied())?;
        for id in looked_at {
            sessions.add(id);
            if counts(Arm::Session) {
                let near = near.share(meaning.score(id)?);
                sessions.turn(id, words.share(words.of(id)).saturating_add(near));
            }
        }
        let leaders = [&words.order, &near.order]
            .into_iter()
            .flat_map(|order| order.iter().take(WITH_NEIGHBOURS).copied());
        sessions.bring_neighbours(&leaders.collect::<Vec<_>>(), &mut ids);
        let dates = DateWords::of(&query.text);
        let mut interaction = dense.interaction();
        let is_read = [Arm::Interaction, Arm::Speaker, Arm::Date].into_iter().any(counts);
        let rows = said.rows(&judge, ids, is_read)?;
        if counts(Arm::Interaction) {
            let said = rows.iter().flat_map(|(_, _, said)| said.passages().flatten());
            interaction.learn(said.copied().map(u32::from));
        }
        let nearby: Vec<[Option<u64>; 2]> =
            rows.iter().map(|(id, _, _)| sessions.neighbours(*id)).collect();
        meaning.learn(rows.iter().map(|(id, _, _)| *id))?;
        meaning.learn(nearby.iter().flatten().flatten().copied())?;
        let mut candidates = Vec::with_capacity(rows.len());
        for ((id, meta, said), neighbours) in rows.into_iter().zip(nearby) {
            let [before, after] = neighbours.map(|id| id.map(|id| meaning.score(id)).transpose());
            let named = said.speakers.iter().any(|name| question.surface.contains(name));
            let favoured = query.favoured.as_ref().map_or(0, |other| other.of(&said.speakers));
            candidates.push(Candidate {
                id,
                words: smooth(words.of(id), neighbours.map(|id| id.map(|id| words.of(id)))),
                meaning: smooth(meaning.score(id)?, [before?, after?]),
                by_model: meaning.by_model(id).is_some(),
                interaction: if counts(Arm::Interaction) {
                    interact(&interaction, &said, sessions.coverage(id))
                } else {
                    0
                },
                session: 0,
                speaker: (u64::from(named) * 1_000).max(favoured),
                date: dates.matches(said.happened.unwrap_or(meta.created)),
                prior: u64::from(meta.importance),
                entities: naming.of(id),
            });
        }
        sessions.weigh(&interaction);
        for candidate in &mut candidates {
            candidate.session = sessions.score(candidate.id);
        }
        Ok(candidates)
    })
}

/// Hands over columns, which are those of the view but for the stale ones, and the codes of the query's model.
fn with_columns<T>(
    (view, cache): (&View<'_>, &IndexCache),
    query: &SearchQuery,
    look: impl FnOnce(&Columns, &BTreeSet<u64>, Option<&ModelCodes>) -> Result<T>,
) -> Result<T> {
    let Some(asked) = &query.model else {
        return cache.with_columns(view, |columns, stale| look(columns, stale, None));
    };
    cache.models.read(&asked.model, |model| {
        cache.with_columns(view, |columns, stale| look(columns, stale, model))
    })
}

/// What the words of a question find, in the index with the memories that were other than they are.
fn by_words<'v>(
    (view, cache): (&'v View<'v>, &IndexCache),
    (lens, judge): (&MemoryFilter<'_>, &Judge<'_>),
    (analyzer, question): (&Analyzer, &ParsedQuestion),
    taken: usize,
) -> Result<(FormerVersions, TextSearch<'v>, Ranking)> {
    let past = FormerVersions::new(lens, judge, analyzer)?;
    let mut search = TextSearch::new(view, &cache.memtable)?;
    search.add(past.documents())?;
    let words = word_scores(&search, (judge, &past), question, taken)?;
    Ok((past, search, words))
}

/// Who speaks in the memories that the words of a question find.
pub(super) fn names_in(
    view: &View<'_>,
    cache: &IndexCache,
    lens: &MemoryFilter<'_>,
    (analyzer, question): (&Analyzer, &ParsedQuestion),
) -> Result<BTreeSet<String>> {
    cache.with_columns(view, |columns, stale| {
        let judge = Judge::new(lens, DocMetaView::new(view, &columns.doc_meta, stale)?);
        let (past, _, words) =
            by_words((view, cache), (lens, &judge), (analyzer, question), CANDIDATES)?;
        PassageReader::new(view, &past).names(&words)
    })
}

/// How well the best passage answers word for word: a long text has a match for every word, but not in one place. What each
/// word of the question found is added to what its session covers.
fn interact(interaction: &MaxSim<'_>, said: &Passages, mut covered: Option<&mut Vec<i32>>) -> u64 {
    let mut closest = 0;
    for tokens in said.passages() {
        let found = interaction.matches(tokens.iter().copied().map(u32::from));
        closest = closest.max(interaction.mean(&found));
        if let Some(covered) = covered.as_deref_mut() {
            covered.resize(found.len(), 0);
            for (covered, found) in covered.iter_mut().zip(found) {
                *covered = found.max(*covered);
            }
        }
    }
    u64::try_from(closest).unwrap_or(0)
}

/// Rows of what was said, read once per question.
struct PassageReader<'a> {
    view: &'a View<'a>,
    past: &'a FormerVersions,
    read: RefCell<FxHashMap<u64, Rc<Passages>>>,
}

impl<'a> PassageReader<'a> {
    fn new(view: &'a View<'a>, past: &'a FormerVersions) -> PassageReader<'a> {
        PassageReader { view, past, read: RefCell::default() }
    }

    fn of(&self, id: u64) -> Result<Rc<Passages>> {
        if let Some(said) = self.read.borrow().get(&id) {
            return Ok(Rc::clone(said));
        }
        let said = match self.past.get(id) {
            Some(former) => former.passages.clone(),
            None => segments::read_passages(self.view, id)?,
        };
        let said = Rc::new(said);
        self.read.borrow_mut().insert(id, Rc::clone(&said));
        Ok(said)
    }

    /// Those of these memories that stand somewhere, with what they say, if that is to be read.
    fn rows<'p>(
        &self,
        judge: &'p Judge<'_>,
        ids: BTreeSet<u64>,
        is_read: bool,
    ) -> Result<Vec<(u64, &'p DocMeta, Rc<Passages>)>> {
        let docs = ids.into_iter().filter_map(|id| Some((id, judge.docs.get(id)?)));
        let said = |id| if is_read { self.of(id) } else { Ok(Rc::default()) };
        docs.map(|(id, meta)| Ok((id, meta, said(id)?))).collect()
    }

    /// Who speaks in the best of these memories.
    fn names(&self, words: &Ranking) -> Result<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        for id in words.order.iter().take(CANDIDATES) {
            names.extend(self.of(*id)?.speakers.iter().cloned());
        }
        Ok(names)
    }
}

/// Scores of an arm, and the documents best first.
#[derive(Default)]
pub(super) struct Ranking {
    pub(super) scores: FxHashMap<u64, u64>,
    pub(super) order: Vec<u64>,
}

impl Ranking {
    /// Best first.
    pub(super) fn new(found: Vec<(u64, u64)>) -> Ranking {
        let order = found.iter().map(|(doc, _)| *doc).collect();
        Ranking { scores: found.into_iter().collect(), order }
    }

    pub(super) fn of(&self, id: u64) -> u64 {
        self.scores.get(&id).copied().unwrap_or(0)
    }

    /// A score as parts per million of the best; nothing where the arm found nothing.
    fn share(&self, score: u64) -> u64 {
        let best = self.order.first().map_or(0, |best| self.of(*best));
        let share = (u128::from(score) * u128::from(ONE)).checked_div(u128::from(best));
        share.map_or(0, |share| u64::try_from(share).unwrap_or(u64::MAX))
    }
}

fn word_scores(
    search: &TextSearch<'_>,
    (judge, past): (&Judge<'_>, &FormerVersions),
    question: &ParsedQuestion,
    taken: usize,
) -> Result<Ranking> {
    let mut terms: Vec<(String, u32)> = question.terms.iter().map(|t| (t.clone(), 16)).collect();
    for prefix in &question.prefixes {
        terms.extend(search.prefix_terms(prefix, PREFIX_TERMS)?.into_iter().map(|t| (t, 16)));
    }
    let admits = |doc| past.memory(doc).is_some_and(|id| judge.admits(id));
    let mut found = search.top_k(&terms, taken, &admits, &question.excluded)?;
    for (doc, _) in &mut found {
        *doc = past.memory(*doc).unwrap_or(*doc);
    }
    Ok(Ranking::new(found))
}

/// Memories that name what the question names, by how much of it; among equals the newest first.
fn naming(
    view: &View<'_>,
    (judge, past): (&Judge<'_>, &FormerVersions),
    text: &str,
) -> Result<Ranking> {
    let mut scores: FxHashMap<u64, u64> = FxHashMap::default();
    for entity in entities::rows::asked(text) {
        let mut seen = 0;
        entities::rows::naming(view, &entity, &mut |id| {
            if past.get(id).is_none() && judge.admits(id) {
                *scores.entry(id).or_default() += 1;
                seen += 1;
            }
            if seen == NAMING_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        for (id, _) in past.iter().filter(|(_, former)| former.names(&entity)) {
            *scores.entry(id).or_default() += 1;
        }
    }
    let mut found: Vec<(u64, u64)> = scores.into_iter().collect();
    found.sort_unstable_by_key(|(id, named)| std::cmp::Reverse((*named, *id)));
    Ok(Ranking::new(found))
}

/// The question as the vectors see it: without the names of who speaks, which every turn of theirs resembles.
struct DenseQuestion {
    vector: Embedding,
    tokens: Vec<(u32, u32)>,
}

impl DenseQuestion {
    fn new(
        analyzer: &Analyzer,
        search: &TextSearch<'_>,
        question: &ParsedQuestion,
        names: &BTreeSet<String>,
    ) -> Result<DenseQuestion> {
        let kept: Vec<&str> = question
            .surface
            .iter()
            .map(String::as_str)
            .filter(|word| !names.contains(*word))
            .collect();
        let text = kept.join(" ");
        let embedder = StaticEmbedder::shared();
        let documents = search.documents().max(1);
        let mut tokens = Vec::new();
        for word in kept {
            let mut rarest = documents;
            let mut stems = Vec::new();
            analyzer.terms(word, &mut |term, _| stems.push(term.to_owned()));
            for stem in stems {
                rarest = rarest.min(search.df(&stem)?.max(1));
            }
            let weight = crate::text::idf(documents, rarest);
            let weight = u32::try_from(weight).unwrap_or(u32::MAX).max(1);
            tokens.extend(embedder.table().token_ids(word).into_iter().map(|id| (id, weight)));
        }
        tokens.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
        tokens.truncate(INTERACTION_TOKENS);
        Ok(DenseQuestion { vector: embedder.embed(&text), tokens })
    }

    /// For those who do not ask what it means.
    fn nothing() -> DenseQuestion {
        DenseQuestion { vector: Embedding::zero(DIMS), tokens: Vec::new() }
    }

    fn interaction(&self) -> MaxSim<'static> {
        MaxSim::new(StaticEmbedder::shared().table(), &self.tokens)
    }
}
