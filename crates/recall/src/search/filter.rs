//! Which memories a question is about: filters and gates apply before anything is ranked.

use std::cell::RefCell;
use std::rc::Rc;

use kernel::find::{self, Standing};
use kernel::keys::{self, Index};
use kernel::memory::{Body, Head, MemoryId, Usage, Version};
use rustc_hash::FxHashMap;

use super::context::SearchContext;
use super::{LinkedMemory, phrases};
use crate::error::Result;
use crate::ids::Ids;

/// A memory with all that ranking looks at.
#[derive(Clone, Debug)]
pub(super) struct MemoryRow {
    pub(super) head: Head,
    pub(super) version: Version,
    pub(super) usage: Usage,
    pub(super) body: Option<Body>,
    pub(super) standing: Standing,
    pub(super) superseded_by: Vec<MemoryId>,
}

/// The filters of a query, the gate of whoever asks, and the phrases of the question.
pub(super) struct MemoryFilter<'a> {
    context: &'a SearchContext<'a>,
    /// How the kernel sees a memory: the version that counts, where it stands, what replaced it.
    seen: find::MemoryReader<'a>,
    /// Ids that pass every filter that has an index; `None`: no such filter.
    allowed: Option<Ids>,
    /// Whether a memory is shown now is asked of every memory, and not only of the best.
    checks_visibility: bool,
    /// Heads are looked at once per question.
    judged: RefCell<FxHashMap<u64, Option<Rc<Head>>>>,
}

impl<'a> MemoryFilter<'a> {
    pub(super) fn new(context: &'a SearchContext<'a>) -> Result<MemoryFilter<'a>> {
        let SearchContext { view, gate, query, now, .. } = *context;
        let mut sets: Vec<Vec<Index>> = Vec::new();
        sets.extend(query.project.as_deref().map(|p| vec![keys::by_project(p)]));
        sets.extend(query.session.as_deref().map(|s| vec![keys::by_session(s)]));
        sets.extend(query.tags.iter().map(|tag| vec![keys::by_tag(tag)]));
        if !query.types.is_empty() {
            sets.push(query.types.iter().map(|t| keys::by_type(*t)).collect());
        }
        let mut allowed: Option<Ids> = None;
        for indexes in sets {
            let listed = Ids::listed(view, &indexes)?;
            match &mut allowed {
                Some(allowed) => allowed.retain_in(&listed),
                None => allowed = Some(listed),
            }
        }
        let seen = find::MemoryReader::new(view, gate, query.as_of, now)?;
        let judged = RefCell::default();
        Ok(MemoryFilter { context, seen, allowed, checks_visibility: false, judged })
    }

    /// From now on admits only what is shown now. This costs reading a version for each memory.
    pub(super) fn check_visibility(&mut self) {
        self.checks_visibility = true;
        self.judged.borrow_mut().clear();
    }

    /// Whether indexes and metadata answer every filter of the query, so that no head need be read.
    pub(super) fn is_decided_by_doc_meta(&self) -> bool {
        let SearchContext { gate, query, question, .. } = *self.context;
        !self.checks_visibility
            && gate.is_none()
            && !phrases::are_in(question)
            && query.scope.is_none()
            && query.kinds.is_empty()
            && query.created_from.is_none()
            && query.created_until.is_none()
            && query.as_of.is_none()
    }

    /// Passes the filters that have an index.
    pub(super) fn is_indexed(&self, id: u64) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.contains(id))
    }

    /// The head of a memory that may be in the answer.
    pub(super) fn head(&self, id: u64) -> Result<Option<Rc<Head>>> {
        if !self.is_indexed(id) {
            return Ok(None);
        }
        if let Some(judged) = self.judged.borrow().get(&id) {
            return Ok(judged.clone());
        }
        let SearchContext { view, analyzer, question, .. } = *self.context;
        let head = MemoryId::new(id).map(|id| view.head(id)).transpose()?.flatten();
        let mut judged = head.filter(|head| self.admits_head(head)).map(Rc::new);
        if let Some(head) = &judged
            && !self.is_of_the_time(head)?
        {
            judged = None;
        }
        let asks_phrases = phrases::are_in(question);
        if (asks_phrases || self.checks_visibility)
            && let Some(head) = &judged
            && !self
                .read_row(head)?
                .is_some_and(|row| !asks_phrases || phrases::fits(analyzer, question, &row))
        {
            judged = None;
        }
        self.judged.borrow_mut().insert(id, judged.clone());
        Ok(judged)
    }

    fn admits_head(&self, head: &Head) -> bool {
        let SearchContext { gate, query, .. } = *self.context;
        let seen = gate.is_none_or(|gate| gate.sees(head));
        let forgotten = match (&head.tombstone, query.as_of) {
            (Some(tombstone), Some(moment)) => tombstone.at <= moment,
            (tombstone, _) => tombstone.is_some(),
        };
        seen && !head.erased
            && (query.include_forgotten || !forgotten)
            && (query.include_archived || !head.archived)
            && query.scope.is_none_or(|scope| head.scope == scope)
            && query.admits_kind(&head.kind)
            && query.as_of.is_none_or(|moment| head.created <= moment)
    }

    /// Whether a memory is of the time that is asked about: since when it is true counts, if that is before it was
    /// recorded.
    fn is_of_the_time(&self, head: &Head) -> Result<bool> {
        let SearchContext { view, query, .. } = *self.context;
        if query.created_from.is_none() && query.created_until.is_none() {
            return Ok(true);
        }
        let valid_from = view.required_version(head.id, head.version)?.valid_from;
        let at = valid_from.filter(|at| *at < head.created).unwrap_or(head.created);
        Ok(query.created_from.is_none_or(|from| at >= from)
            && query.created_until.is_none_or(|until| at < until))
    }

    /// The memory in full, if it is shown now.
    pub(super) fn row(&self, id: u64) -> Result<Option<MemoryRow>> {
        self.head(id)?.map_or(Ok(None), |head| self.read_row(&head))
    }

    fn read_row(&self, head: &Head) -> Result<Option<MemoryRow>> {
        let Some(row) = self.seen.row_of(head.clone())? else { return Ok(None) };
        let query = self.context.query;
        if !row.standing.is_shown_to(query.include_forgotten, query.include_archived) {
            return Ok(None);
        }
        let body = self.seen.body(&row)?;
        let find::MemoryRow { head, version, usage, standing, superseded_by } = row;
        Ok(Some(MemoryRow { head, version, usage, body, standing, superseded_by }))
    }

    /// Memories that contradict this one or that it contradicts.
    pub(super) fn contradicts(&self, row: &MemoryRow) -> Result<Vec<LinkedMemory>> {
        self.linked(&self.seen.contradicted_by(row.head.id)?)
    }

    /// Memories with the titles they had at the moment asked about.
    pub(super) fn linked(&self, ids: &[MemoryId]) -> Result<Vec<LinkedMemory>> {
        let mut linked = Vec::with_capacity(ids.len());
        for id in ids {
            if let Some(row) = self.seen.row(*id)? {
                let title = self.seen.body(&row)?.map(|body| body.title);
                linked.push(LinkedMemory { id: *id, title });
            }
        }
        Ok(linked)
    }
}
