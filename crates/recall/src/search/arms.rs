//! The arms: each puts candidates forward and scores all of them.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::rc::Rc;

use kernel::store::View;

use super::Query;
use super::dates::DateWords;
use super::filter::Lens;
use super::fuse::{Arm, ONE};
use super::sessions::{Sessions, smooth};
use crate::analyze::{Analyzer, Question};
use crate::embed::{Embedder, Embedding, MaxSim, StaticEmbedder};
use crate::entities;
use crate::error::Result;
use crate::passages::{self, Passages, Said};
use crate::resident::Resident;
use crate::text::Search;
use crate::vectors::Codes;

/// Candidates each arm puts forward.
pub(super) const CANDIDATES: usize = 200;
/// The best of them bring their neighbours in the session along.
const WITH_NEIGHBOURS: usize = 60;
/// Memories that count as naming one thing; of a name in more of them the newest. What so many name tells little apart.
const NAMING_MAX: usize = 4 * CANDIDATES;
/// Terms that one prefix may stand for.
const PREFIX_TERMS: usize = 64;
/// Words of a question that look for their match one by one, the rarest. Each costs a similarity to every token of the model:
/// a question of a hundred kilobytes would take gigabytes.
const INTERACTION_TOKENS: usize = 128;
/// Scores each arm takes before it is known which memories may be shown: enough for candidates and their sessions.
const TAKEN: usize = 4 * CANDIDATES;

/// A memory that may answer, with what each arm says of it. All scores are as the arm measures them.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) id: u64,
    pub(super) words: u64,
    pub(super) meaning: u64,
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
    resident: &Resident,
    lens: &Lens<'_>,
    query: &Query,
    (analyzer, question): (&Analyzer, &Question),
) -> Result<Vec<Candidate>> {
    let search = Search::new(view, &resident.tail)?;
    let words = word_scores(&search, lens, question)?;
    let said = SaidRows::new(view);
    let names = said.names(&words.order[..words.order.len().min(CANDIDATES)])?;
    let dense = DenseQuestion::new(analyzer, &search, question, &names)?;
    resident.with_codes(view, |codes, stale| {
        let meaning = Meaning { view, codes, stale, question: &dense.vector };
        // An arm that does not count does no work.
        let counts = |arm: Arm| query.weights.of(arm) > 0;
        let near = if counts(Arm::Meaning) { meaning.nearest(lens)? } else { Scores::default() };
        let mut ids: BTreeSet<u64> = words.order.iter().take(CANDIDATES).copied().collect();
        ids.extend(near.order.iter().take(CANDIDATES));
        let naming = if counts(Arm::Entities) {
            naming(view, lens, &query.text)?
        } else {
            Scores::default()
        };
        ids.extend(naming.order.iter().take(CANDIDATES));
        let mut sessions = Sessions::new(view, lens);
        let looked_at: BTreeSet<&u64> = words
            .scores
            .keys()
            .chain(near.scores.keys())
            .chain(naming.order.iter().take(CANDIDATES))
            .collect();
        for id in looked_at {
            sessions.add(*id)?;
            let near = if counts(Arm::Meaning) { near.share(meaning.score(*id)?) } else { 0 };
            let about = words.share(words.of(*id)).saturating_add(near);
            sessions.turn(*id, about);
        }
        let leaders = [&words.order, &near.order]
            .into_iter()
            .flat_map(|order| order.iter().take(WITH_NEIGHBOURS).copied());
        sessions.bring_neighbours(&leaders.collect::<Vec<_>>(), &mut ids)?;
        let dates = DateWords::of(&query.text);
        let mut interaction = dense.interaction();
        let mut candidates = Vec::with_capacity(ids.len());
        for id in ids {
            let Some(head) = lens.head(id)? else { continue };
            let said = said.of(id)?;
            let neighbours = sessions.neighbours(id);
            let [before, after] = neighbours.map(|id| id.map(|id| meaning.score(id)).transpose());
            let named = said.speakers.iter().any(|name| question.surface.contains(name));
            candidates.push(Candidate {
                id,
                words: smooth(words.of(id), neighbours.map(|id| id.map(|id| words.of(id)))),
                meaning: smooth(meaning.score(id)?, [before?, after?]),
                interaction: if counts(Arm::Interaction) {
                    interact(&mut interaction, &said.tokens, sessions.coverage(id))
                } else {
                    0
                },
                session: 0,
                speaker: u64::from(named) * 1_000,
                date: dates.matches(said.happened.unwrap_or(head.created)),
                prior: u64::from(head.importance),
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

/// How well the best passage answers word for word: a long text has a match for every word, but not in one place. What each
/// word of the question found is added to what its session covers.
fn interact(
    interaction: &mut MaxSim<'_>,
    passages: &[Vec<u32>],
    mut covered: Option<&mut Vec<i32>>,
) -> u64 {
    let mut closest = 0;
    for tokens in passages {
        let found = interaction.matches(tokens);
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
struct SaidRows<'a> {
    view: &'a View<'a>,
    read: RefCell<HashMap<u64, Rc<Said>>>,
}

impl<'a> SaidRows<'a> {
    fn new(view: &'a View<'a>) -> SaidRows<'a> {
        SaidRows { view, read: RefCell::default() }
    }

    fn of(&self, id: u64) -> Result<Rc<Said>> {
        if let Some(said) = self.read.borrow().get(&id) {
            return Ok(Rc::clone(said));
        }
        let bytes = self.view.get(&passages::key(id))?;
        let said = bytes.map(|bytes| Passages::said(id, &bytes)).transpose()?.unwrap_or_default();
        let said = Rc::new(said);
        self.read.borrow_mut().insert(id, Rc::clone(&said));
        Ok(said)
    }

    /// Who speaks in these memories.
    fn names(&self, ids: &[u64]) -> Result<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        for id in ids {
            names.extend(self.of(*id)?.speakers.iter().cloned());
        }
        Ok(names)
    }
}

/// Scores of an arm, and the documents best first.
#[derive(Default)]
pub(super) struct Scores {
    scores: HashMap<u64, u64>,
    pub(super) order: Vec<u64>,
}

impl Scores {
    /// Best first.
    fn new(found: Vec<(u64, u64)>) -> Scores {
        let order = found.iter().map(|(doc, _)| *doc).collect();
        Scores { scores: found.into_iter().collect(), order }
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

fn word_scores(search: &Search<'_>, lens: &Lens<'_>, question: &Question) -> Result<Scores> {
    let mut terms: Vec<(String, u32)> = question.terms.iter().map(|t| (t.clone(), 16)).collect();
    for prefix in &question.prefixes {
        terms.extend(search.prefix_terms(prefix, PREFIX_TERMS)?.into_iter().map(|t| (t, 16)));
    }
    let ask =
        |admits: &dyn Fn(u64) -> bool| search.top_k(&terms, TAKEN, admits, &question.excluded);
    let found = judged_late(lens, |(doc, _)| *doc, ask)?;
    Ok(Scores::new(found))
}

/// Memories that name what the question names, by how much of it; among equals the newest first.
fn naming(view: &View<'_>, lens: &Lens<'_>, text: &str) -> Result<Scores> {
    let mut scores: HashMap<u64, u64> = HashMap::new();
    for entity in entities::rows::asked(text) {
        let mut seen = 0;
        entities::rows::naming(view, &entity, &mut |id| {
            if lens.admits(id) {
                *scores.entry(id).or_default() += 1;
                seen += 1;
            }
            if seen == NAMING_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
    }
    let mut found: Vec<(u64, u64)> = scores.into_iter().collect();
    found.sort_unstable_by_key(|(id, named)| std::cmp::Reverse((*named, *id)));
    Ok(Scores::new(found))
}

/// Takes the best by what indexes say, then drops what may not be shown. Reading a head costs more than a score, and most
/// memories may be shown: only where that leaves too few is every one judged before it is ranked.
fn judged_late<T>(
    lens: &Lens<'_>,
    doc: impl Fn(&T) -> u64,
    ask: impl Fn(&dyn Fn(u64) -> bool) -> Result<Vec<T>>,
) -> Result<Vec<T>> {
    if lens.decided_by_indexes() {
        let mut found = ask(&|doc| lens.indexed(doc))?;
        let all = found.len() < TAKEN;
        found.retain(|item| lens.admits(doc(item)));
        if all || found.len() >= CANDIDATES {
            return Ok(found);
        }
    }
    ask(&|doc| lens.admits(doc))
}

/// How near memories are to the question, as of one state.
pub(super) struct Meaning<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) codes: &'a Codes,
    /// Documents whose codes belong to another state.
    pub(super) stale: &'a BTreeSet<u64>,
    pub(super) question: &'a Embedding,
}

impl Meaning<'_> {
    /// What is less than alike says no more than nothing.
    fn score(&self, id: u64) -> Result<u64> {
        Ok(self.known(id)?.unwrap_or(0))
    }

    /// `None` if the question or the memory has no vector.
    fn known(&self, id: u64) -> Result<Option<u64>> {
        if self.question.is_zero() {
            return Ok(None);
        }
        let score = if self.stale.contains(&id) {
            let mut fresh = Codes::new(self.codes.dims());
            let bytes = self.view.get(&passages::key(id))?;
            let codes = bytes.map(|bytes| Passages::codes(id, &bytes)).transpose()?;
            fresh.set(id, &codes.unwrap_or_default());
            fresh.score(self.question, id)
        } else {
            self.codes.score(self.question, id)
        };
        Ok(score.map(|score| u64::try_from(score).unwrap_or(0)))
    }

    /// The nearest memories that may be shown, best first.
    pub(super) fn nearest(&self, lens: &Lens<'_>) -> Result<Scores> {
        let mut stale = Vec::new();
        for id in self.stale {
            stale.extend(self.known(*id)?.map(|score| (*id, score)));
        }
        let ask = |admits: &dyn Fn(u64) -> bool| -> Result<Vec<(u64, u64)>> {
            let current = |doc| !self.stale.contains(&doc) && admits(doc);
            let hits = self.codes.top_k(self.question, TAKEN, &current);
            let mut found: Vec<(u64, u64)> =
                hits.iter().map(|hit| (hit.doc, u64::try_from(hit.score).unwrap_or(0))).collect();
            found.extend(stale.iter().filter(|(doc, _)| admits(*doc)));
            found.sort_unstable_by_key(|(doc, score)| (std::cmp::Reverse(*score), *doc));
            found.truncate(TAKEN);
            Ok(found)
        };
        Ok(Scores::new(judged_late(lens, |(doc, _)| *doc, ask)?))
    }
}

/// The question as the vectors see it: without the names of who speaks, which every turn of theirs resembles.
struct DenseQuestion {
    vector: Embedding,
    tokens: Vec<(u32, u32)>,
}

impl DenseQuestion {
    fn new(
        analyzer: &Analyzer,
        search: &Search<'_>,
        question: &Question,
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

    fn interaction(&self) -> MaxSim<'static> {
        MaxSim::new(StaticEmbedder::shared().table(), &self.tokens)
    }
}
