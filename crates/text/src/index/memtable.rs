//! The memtable: the documents put since the last flush, and the versions that died since. There are at most as many as
//! changes between two flushes, so a search may look at each.
//!
//! A memtable never changes once it is published. The writer copies the list of documents (pointers) once per commit;
//! the documents themselves are shared.

use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError, RwLock};

use kernel::Result;
use kernel::store::{KeyRange, View};

use super::block::Posting;
use super::by_term::ByTerm;
use super::meta::Meta;
use super::rows::{self, ForwardRecord, damaged};
use super::score::{FieldWeights, impact};

/// A document's terms, ascending, with their impacts.
type Impacts = Arc<[(u32, u8)]>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Memtable {
    /// The journal entry of the last change, and the generation of the rows: say which commits this memtable fits.
    pub(super) seq: u64,
    pub(super) generation: u64,
    /// By document.
    pub(super) docs: Vec<(u64, Impacts)>,
    /// By document: the terms of a version that has postings in a run but died since the last flush.
    pub(super) buried: Vec<(u64, Arc<[u32]>)>,
    /// Of `docs`; starts anew with every change of them.
    by_term: ByTerm,
}

impl Memtable {
    /// Reads the memtable from its rows.
    pub(super) fn read(view: &View<'_>, meta: &Meta) -> Result<Memtable> {
        let (seq, generation) = (meta.seq, view.generation());
        let mut memtable = Memtable { seq, generation, ..Memtable::default() };
        let mut again = Vec::new();
        view.scan(&KeyRange::prefix(&rows::all_in_memtable()), &mut |key, _| {
            again.push(rows::trailing_doc(key)?);
            Ok(ControlFlow::Continue(()))
        })?;
        for doc in again {
            let bytes = view.get(&rows::forward(doc))?;
            let bytes = bytes.ok_or_else(|| damaged("tail", "a document has no record"))?;
            let forward = ForwardRecord::decode(&bytes)?;
            memtable.docs.push((doc, impacts(&forward, &meta.settings.weights)));
        }
        view.scan(&rows::forwards_after(meta.flushed), &mut |key, value| {
            let forward = ForwardRecord::decode(value)?;
            let doc = rows::trailing_doc(key)?;
            memtable.docs.push((doc, impacts(&forward, &meta.settings.weights)));
            Ok(ControlFlow::Continue(()))
        })?;
        view.scan(&KeyRange::prefix(&rows::all_buried()), &mut |key, value| {
            memtable.buried.push((rows::trailing_doc(key)?, rows::decode_terms(value)?.into()));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(memtable)
    }

    pub(super) fn put(&mut self, doc: u64, forward: &ForwardRecord, weights: &FieldWeights) {
        let entry = (doc, impacts(forward, weights));
        self.by_term = ByTerm::default();
        match self.docs.binary_search_by_key(&doc, |(doc, _)| *doc) {
            Ok(at) => self.docs[at] = entry,
            Err(at) => self.docs.insert(at, entry),
        }
    }

    pub(super) fn remove(&mut self, doc: u64) {
        self.by_term = ByTerm::default();
        if let Ok(at) = self.docs.binary_search_by_key(&doc, |(doc, _)| *doc) {
            self.docs.remove(at);
        }
    }

    pub(super) fn bury(&mut self, doc: u64, terms: Arc<[u32]>) {
        let at = self.buried.partition_point(|(other, _)| *other < doc);
        self.buried.insert(at, (doc, terms));
    }

    /// The term's documents, ascending.
    pub(super) fn postings(&self, term: u32) -> Vec<Posting> {
        let documents = self.docs.iter().map(|(_, terms)| &**terms);
        if let Some(found) = self.by_term.postings(term, documents) {
            return found.map(|(place, impact)| (self.docs[place].0, impact)).collect();
        }
        let find = |(doc, terms): &(u64, Impacts)| {
            let at = terms.binary_search_by_key(&term, |(term, _)| *term).ok()?;
            Some((*doc, terms[at].1))
        };
        self.docs.iter().filter_map(find).collect()
    }

    /// How many buried versions had the term.
    pub(super) fn buried_with(&self, term: u32) -> u64 {
        let with = |(_, terms): &&(u64, Arc<[u32]>)| terms.binary_search(&term).is_ok();
        self.buried.iter().filter(with).map(|_| 1).sum()
    }
}

fn impacts(forward: &ForwardRecord, weights: &FieldWeights) -> Impacts {
    let each = |(term, tfs): &(u32, _)| (*term, impact(weights, &forward.lengths, tfs));
    forward.terms.iter().map(each).collect()
}

/// Where searches find the memtable of the last commit. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct MemtableHandle(Arc<RwLock<Arc<Memtable>>>);

impl MemtableHandle {
    /// Held only for the copy of a pointer, by readers and by the writer alike.
    pub(super) fn current(&self) -> Arc<Memtable> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// True for a clone of this handle, whatever memtable is in it.
    pub(super) fn is(&self, other: &MemtableHandle) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn publish(&self, memtable: Arc<Memtable>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = memtable;
    }
}
