//! Meaning: how near the vectors of memories are to that of the question.

use std::cell::RefCell;
use std::collections::BTreeSet;

use kernel::store::View;
use rustc_hash::FxHashMap;

use super::by_model::{self, ByModel};
use super::filter::Judge;
use super::former::FormerVersions;
use super::retrievers::{Ranking, TAKEN};
use crate::embedding::Embedding;
use crate::error::Result;
use crate::segments::{self, StoredGroups};
use crate::vectors::Codes;

/// How near memories are to the question, as of one state.
pub(super) struct Meaning<'a> {
    view: &'a View<'a>,
    codes: &'a Codes,
    /// Documents whose codes belong to another state.
    stale: &'a BTreeSet<u64>,
    past: &'a FormerVersions,
    question: &'a Embedding,
    /// Decides where it has a vector.
    model: Option<ByModel<'a>>,
    /// Scores that were asked for: sessions, candidates and their neighbours ask for the same ones.
    asked: RefCell<FxHashMap<u64, u64>>,
}

impl<'a> Meaning<'a> {
    pub(super) fn new(
        (view, codes, stale): (&'a View<'a>, &'a Codes, &'a BTreeSet<u64>),
        past: &'a FormerVersions,
        question: &'a Embedding,
    ) -> Meaning<'a> {
        Meaning { view, codes, stale, past, question, model: None, asked: RefCell::default() }
    }

    /// What is less than alike says no more than nothing.
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
        let other = |id: &u64| self.stale.contains(id) || self.past.get(*id).is_some();
        if self.model.is_some() || self.question.is_zero() {
            return Ok(());
        }
        let mut fresh: Vec<u64> = ids.filter(|id| !asked.contains_key(id) && !other(id)).collect();
        fresh.sort_unstable();
        fresh.dedup();
        let scores = self.scores(&fresh)?;
        let known = |score: Option<i64>| u64::try_from(score.unwrap_or(0)).unwrap_or(0);
        asked.extend(fresh.into_iter().zip(scores.into_iter().map(known)));
        Ok(())
    }

    /// How near memories are that are not stale.
    fn scores(&self, ids: &[u64]) -> Result<Vec<Option<i64>>> {
        self.codes.scores_with(self.question, ids, &StoredGroups(self.view))
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
        let score = if let Some(former) = self.past.get(id) {
            former.codes.score(self.question, id)
        } else if self.stale.contains(&id) {
            let mut fresh = Codes::new(self.codes.dims());
            fresh.set(id, &segments::read_codes(self.view, id)?);
            fresh.score(self.question, id)
        } else {
            self.scores(&[id])?.into_iter().next().flatten()
        };
        Ok(score.map(|score| u64::try_from(score).unwrap_or(0)))
    }

    /// The nearest by either model; from here on the optional one decides where it has a vector.
    pub(super) fn nearest_by(
        &mut self,
        judge: &Judge<'_>,
        model: Option<ByModel<'a>>,
    ) -> Result<Ranking> {
        let near = self.nearest(judge)?;
        let Some(mut model) = model else {
            self.asked.borrow_mut().clone_from(&near.scores);
            return Ok(near);
        };
        let nearest = model.nearest();
        model.fit(near.order.iter().chain(&nearest).copied(), |id| self.built_in(id))?;
        self.model = Some(model);
        by_model::merged(near, nearest, |id| self.score(id))
    }

    /// The nearest memories that may be shown, best first.
    pub(super) fn nearest(&self, judge: &Judge<'_>) -> Result<Ranking> {
        let other = |doc| self.stale.contains(&doc) || self.past.get(doc).is_some();
        let current = |doc| !other(doc) && judge.admits(doc);
        let hits =
            self.codes.top_k_with(self.question, TAKEN, &current, &StoredGroups(self.view))?;
        let mut found: Vec<(u64, u64)> =
            hits.iter().map(|hit| (hit.doc, u64::try_from(hit.score).unwrap_or(0))).collect();
        let others: BTreeSet<u64> =
            self.stale.iter().copied().chain(self.past.iter().map(|(id, _)| id)).collect();
        for id in others.into_iter().filter(|id| judge.admits(*id)) {
            found.extend(self.known(id)?.map(|score| (id, score)));
        }
        found.sort_unstable_by_key(|(doc, score)| (std::cmp::Reverse(*score), *doc));
        found.truncate(TAKEN);
        Ok(Ranking::new(found))
    }
}
