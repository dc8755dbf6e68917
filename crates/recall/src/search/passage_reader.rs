//! Passages of memories, read once per question.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::corpus::Corpus;
use super::fusion::Arm;
use super::ranking::Ranking;
use crate::doc_meta::DocMeta;
use crate::error::Result;
use crate::passages::Passages;
use crate::segments;

/// A candidate with what scoring looks at.
pub(super) struct CandidateRow<'a> {
    pub(super) id: u64,
    pub(super) meta: &'a DocMeta,
    /// Empty if no arm that counts looks at them.
    pub(super) passages: Rc<Passages>,
}

pub(super) struct PassageReader<'a> {
    corpus: &'a Corpus<'a>,
    read: RefCell<FxHashMap<u64, Rc<Passages>>>,
}

impl<'a> PassageReader<'a> {
    pub(super) fn new(corpus: &'a Corpus<'a>) -> PassageReader<'a> {
        PassageReader { corpus, read: RefCell::default() }
    }

    fn of(&self, id: u64) -> Result<Rc<Passages>> {
        if let Some(passages) = self.read.borrow().get(&id) {
            return Ok(Rc::clone(passages));
        }
        let passages = match self.corpus.former.get(id) {
            Some(former) => former.passages.clone(),
            None => segments::read_passages(self.corpus.context.view, id)?,
        };
        let passages = Rc::new(passages);
        self.read.borrow_mut().insert(id, Rc::clone(&passages));
        Ok(passages)
    }

    /// The rows of those memories that have metadata.
    pub(super) fn rows(&self, ids: BTreeSet<u64>) -> Result<Vec<CandidateRow<'a>>> {
        let arms = [Arm::Interaction, Arm::Speaker, Arm::Date];
        let is_read = arms.into_iter().any(|arm| self.corpus.context.counts(arm));
        let known = ids.into_iter().filter_map(|id| Some((id, self.corpus.docs.get(id)?)));
        let passages = |id| if is_read { self.of(id) } else { Ok(Rc::default()) };
        known.map(|(id, meta)| Ok(CandidateRow { id, meta, passages: passages(id)? })).collect()
    }

    /// Who speaks in the best memories of a ranking.
    pub(super) fn speakers(&self, ranking: &Ranking) -> Result<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        for id in ranking.best() {
            names.extend(self.of(id)?.speakers.iter().cloned());
        }
        Ok(names)
    }
}
