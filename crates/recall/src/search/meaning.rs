//! Meaning: how near the vectors of memories are to that of the question.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::by_model::{self, ByModel};
use super::corpus::Corpus;
use super::ranking::Ranking;
use super::retrievers::TAKEN;
use crate::embedding::Embedding;
use crate::error::Result;
use crate::segments::{self, StoredGroups};
use crate::vectors::Codes;

/// How near memories are to the question, as of one state.
pub(super) struct Meaning<'a> {
    corpus: &'a Corpus<'a>,
    question: &'a Embedding,
    /// The query's model, which decides where it has a vector.
    model: Option<ByModel<'a>>,
    /// Scores that were asked for: sessions, candidates and their neighbours ask for the same ones.
    asked: RefCell<FxHashMap<u64, u64>>,
}

impl<'a> Meaning<'a> {
    pub(super) fn new(corpus: &'a Corpus<'a>, question: &'a Embedding) -> Meaning<'a> {
        Meaning { corpus, question, model: None, asked: RefCell::default() }
    }

    /// How near a memory is; 0 for one that points away from the question, or has no vector.
    pub(super) fn score(&self, id: u64) -> Result<u64> {
        if let Some(score) = self.asked.borrow().get(&id) {
            return Ok(*score);
        }
        let score = self.known(id)?.unwrap_or(0);
        self.asked.borrow_mut().insert(id, score);
        Ok(score)
    }

    /// Finds the scores of many memories at once, which costs less than one after the other.
    pub(super) fn learn(&self, ids: impl Iterator<Item = u64>) -> Result<()> {
        let mut asked = self.asked.borrow_mut();
        if self.model.is_some() || self.question.is_zero() {
            return Ok(());
        }
        let mut fresh: Vec<u64> =
            ids.filter(|id| !asked.contains_key(id) && self.is_in_columns(*id)).collect();
        fresh.sort_unstable();
        fresh.dedup();
        let scores = self.scores(&fresh)?;
        let known = |score: Option<i64>| u64::try_from(score.unwrap_or(0)).unwrap_or(0);
        asked.extend(fresh.into_iter().zip(scores.into_iter().map(known)));
        Ok(())
    }

    /// Whether the columns hold the text of a memory that counts: it neither changed since, nor was another one then.
    fn is_in_columns(&self, id: u64) -> bool {
        !self.corpus.stale.contains(&id) && self.corpus.former.get(id).is_none()
    }

    fn groups(&self) -> StoredGroups<'a> {
        StoredGroups(self.corpus.context.view)
    }

    /// How near memories are whose vectors are in the columns.
    fn scores(&self, ids: &[u64]) -> Result<Vec<Option<i64>>> {
        self.corpus.codes.scores_with(self.question, ids, &self.groups())
    }

    /// `None` if the question or the memory has no vector.
    fn known(&self, id: u64) -> Result<Option<u64>> {
        let by_model = self.by_model(id);
        if by_model.is_some() { Ok(by_model) } else { self.built_in(id) }
    }

    pub(super) fn by_model(&self, id: u64) -> Option<u64> {
        self.model.as_ref().and_then(|model| model.score(id))
    }

    fn built_in(&self, id: u64) -> Result<Option<u64>> {
        if self.question.is_zero() {
            return Ok(None);
        }
        let score = if let Some(former) = self.corpus.former.get(id) {
            former.codes.score(self.question, id)
        } else if self.corpus.stale.contains(&id) {
            let mut fresh = Codes::new(self.corpus.codes.dims());
            fresh.set(id, &segments::read_codes(self.corpus.context.view, id)?);
            fresh.score(self.question, id)
        } else {
            self.scores(&[id])?.into_iter().next().flatten()
        };
        Ok(score.map(|score| u64::try_from(score).unwrap_or(0)))
    }

    /// How near the whole texts of some memories are, by the built-in model; 0 as in `score`. The ids come ascending.
    pub(super) fn whole(&self, ids: &[u64]) -> Result<Vec<u64>> {
        if self.question.is_zero() {
            return Ok(vec![0; ids.len()]);
        }
        let fresh: Vec<u64> = ids.iter().copied().filter(|id| self.is_in_columns(*id)).collect();
        let scores = self.corpus.codes.first_scores_with(self.question, &fresh, &self.groups())?;
        let mut scores = scores.into_iter();
        let mut whole = Vec::with_capacity(ids.len());
        for id in ids {
            let score = if self.is_in_columns(*id) {
                scores.next().flatten()
            } else if let Some(former) = self.corpus.former.get(*id) {
                former.codes.first_score(self.question, *id)
            } else {
                let mut fresh = Codes::new(self.corpus.codes.dims());
                fresh.set(*id, &segments::read_codes(self.corpus.context.view, *id)?);
                fresh.first_score(self.question, *id)
            };
            whole.push(u64::try_from(score.unwrap_or(0)).unwrap_or(0));
        }
        Ok(whole)
    }

    /// The nearest by either model. From here on the query's model decides where it has a vector.
    pub(super) fn nearest_by_models(&mut self) -> Result<Ranking> {
        let near = self.nearest()?;
        let Some(mut model) = ByModel::new(self.corpus) else {
            self.asked.borrow_mut().clone_from(&near.scores);
            return Ok(near);
        };
        let nearest = model.nearest();
        model.fit(near.order.iter().chain(&nearest).copied(), |id| self.built_in(id))?;
        self.model = Some(model);
        by_model::merged(near, nearest, |id| self.score(id))
    }

    /// The nearest memories that may be shown, best first.
    pub(super) fn nearest(&self) -> Result<Ranking> {
        let Corpus { codes, stale, former, .. } = self.corpus;
        let current = |doc| self.is_in_columns(doc) && self.corpus.admits(doc);
        let hits = codes.top_k_with(self.question, TAKEN, &current, &self.groups())?;
        let mut found: Vec<(u64, u64)> =
            hits.iter().map(|hit| (hit.doc, u64::try_from(hit.score).unwrap_or(0))).collect();
        let others: BTreeSet<u64> =
            stale.iter().copied().chain(former.iter().map(|(id, _)| id)).collect();
        for id in others.into_iter().filter(|id| self.corpus.admits(*id)) {
            found.extend(self.known(id)?.map(|score| (id, score)));
        }
        found.sort_unstable_by_key(|(doc, score)| (Reverse(*score), *doc));
        found.truncate(TAKEN);
        Ok(Ranking::new(found))
    }
}
