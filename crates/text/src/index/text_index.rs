//! Changes to the index: a document comes, is replaced, or is erased.

use std::sync::Arc;

use kernel::hook::HookRows;
use kernel::store::{KeyRange, View};
use kernel::{Error, Result};

use super::memtable::{Memtable, MemtableHandle};
use super::merge;
use super::meta::{IndexSettings, Meta};
use super::pending::PendingRows;
use super::rows::{self, ForwardRecord, PAGE_DOCS, damaged};
use super::score::FIELDS;
use super::term_ids::TermIdCache;
use super::words::TermCounts;

/// The writer's side of the index. Follows the life of a hook: changes, then `committed` or `aborted`.
#[derive(Debug)]
pub struct TextIndex {
    settings: IndexSettings,
    meta: Meta,
    memtable: Arc<Memtable>,
    pending: PendingRows,
    /// The entry being applied.
    entry: u64,
    /// The generation of the rows that it goes on with.
    generation: u64,
    /// Ids of terms, committed or not.
    term_ids: TermIdCache,
    published: MemtableHandle,
    /// State as of the last commit, to return to when a batch is aborted.
    committed: (Meta, Arc<Memtable>),
}

impl TextIndex {
    /// Starts from the state that `view` shows and publishes its memtable through `published`.
    pub fn open_with(
        view: &View<'_>,
        settings: IndexSettings,
        published: MemtableHandle,
    ) -> Result<TextIndex> {
        let meta = Meta::read(view)?.unwrap_or_else(|| Meta::new(settings));
        if meta.settings != settings {
            let reason = "another analyzer, or other weights";
            return Err(Error::outdated("the index", reason));
        }
        let memtable = Arc::new(Memtable::read(view, &meta)?);
        published.publish(Arc::clone(&memtable));
        Ok(TextIndex {
            settings,
            committed: (meta.clone(), Arc::clone(&memtable)),
            meta,
            memtable,
            pending: PendingRows::default(),
            entry: 0,
            generation: view.generation(),
            term_ids: TermIdCache::default(),
            published,
        })
    }

    /// Publishes the memtable in another place from now on.
    pub fn publish_in(&mut self, published: MemtableHandle) {
        if !self.published.is(&published) {
            published.publish(Arc::clone(&self.committed.1));
            self.published = published;
        }
    }

    /// Where searches get the memtable from.
    pub fn handle(&self) -> MemtableHandle {
        self.published.clone()
    }

    /// Indexes a document, in place of the version that is there. It is given in parts; a term may be in several.
    pub fn put(
        &mut self,
        view: &View<'_>,
        doc: u64,
        parts: &[&TermCounts],
        staged: &mut HookRows<'_>,
    ) -> Result<()> {
        self.put_pending(view, doc, parts)?;
        self.hand_over(|key, value| staged.set(key, value));
        Ok(())
    }

    /// Indexes a document that was never there, as the only change of its entry.
    pub fn add(
        &mut self,
        view: &View<'_>,
        doc: u64,
        parts: &[&TermCounts],
        staged: &mut HookRows<'_>,
    ) -> Result<()> {
        self.add_pending(view, doc, parts)?;
        self.pending.give_away(|key, value| staged.set(key, value));
        Ok(())
    }

    /// Takes a document out, all its versions. To be called whenever content is erased, whether the document is still
    /// indexed or not.
    ///
    /// Nothing finds it from now on. Its words may still lie in the dictionary and its postings in runs: that is why
    /// the hook says that it mixes texts, and everything is made again without it, in the background. An index that
    /// never read the document, as in a rebuild after the erasure, is left as it is.
    pub fn erase(&mut self, view: &View<'_>, doc: u64, staged: &mut HookRows<'_>) -> Result<()> {
        self.erase_pending(view, doc)?;
        self.hand_over(|key, value| staged.set(key, value));
        Ok(())
    }

    /// Takes all documents out, as if there had never been one. Returns them, ascending.
    pub fn clear(&mut self, view: &View<'_>, staged: &mut HookRows<'_>) -> Result<Vec<u64>> {
        self.begin(view)?;
        let records = self.pending.rows(view, &rows::forwards())?;
        self.wipe(view)?;
        self.stamp();
        self.hand_over(|key, value| staged.set(key, value));
        records.iter().map(|(key, _)| rows::trailing_doc(key)).collect()
    }

    /// The batch is durable: searches see its changes from now on.
    pub fn committed(&mut self) {
        self.pending.clear();
        if !Arc::ptr_eq(&self.committed.1, &self.memtable) {
            self.committed = (self.meta.clone(), Arc::clone(&self.memtable));
            self.published.publish(Arc::clone(&self.memtable));
        }
    }

    /// The batch was aborted: returns to the state of the last commit.
    pub fn aborted(&mut self) {
        self.pending.clear();
        self.term_ids.clear();
        (self.meta, self.memtable) = self.committed.clone();
    }

    pub(super) fn hand_over(&mut self, set: impl FnMut(Vec<u8>, Option<Vec<u8>>)) {
        self.pending.hand_over(set);
    }

    /// Starts a change. Rows of earlier entries are in the view by now and need not be kept.
    fn begin(&mut self, view: &View<'_>) -> Result<()> {
        let entry = view.counters()?.size;
        if entry != self.entry {
            self.pending.clear();
            self.entry = entry;
        }
        Ok(())
    }

    pub(super) fn put_pending(
        &mut self,
        view: &View<'_>,
        doc: u64,
        parts: &[&TermCounts],
    ) -> Result<()> {
        self.begin(view)?;
        self.take_out(view, doc)?;
        self.add_pending(view, doc, parts)
    }

    fn add_pending(&mut self, view: &View<'_>, doc: u64, parts: &[&TermCounts]) -> Result<()> {
        if doc == 0 {
            return Err(Error::invalid("doc", "0 names no document"));
        }
        self.begin(view)?;
        let mut lengths = [0; FIELDS];
        let mut terms = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
        for part in parts {
            add_up(&mut lengths, &part.lengths);
            for (term, tfs) in part.iter() {
                let id = match self.term_ids.id(term) {
                    Some(id) => id,
                    None => self.term_id(view, term)?,
                };
                terms.push((id, *tfs));
            }
        }
        self.insert(doc, lengths, terms);
        self.changed(view)
    }

    pub(super) fn erase_pending(&mut self, view: &View<'_>, doc: u64) -> Result<()> {
        self.begin(view)?;
        self.take_out(view, doc)?;
        self.stamp();
        Ok(())
    }

    /// Removes every row.
    fn wipe(&mut self, view: &View<'_>) -> Result<()> {
        let all = KeyRange {
            from: vec![rows::FIRST_PREFIX],
            to: Some(vec![rows::END_PREFIX]),
            reverse: false,
        };
        for (key, _) in self.pending.rows(view, &all)? {
            self.pending.set(key, None);
        }
        self.meta = Meta::new(self.settings);
        self.memtable = Arc::default();
        self.term_ids.clear();
        Ok(())
    }

    /// Adds a document that is not there. A term that is listed more than once counts as often as all of them say.
    fn insert(&mut self, doc: u64, lengths: [u32; FIELDS], mut terms: Vec<(u32, [u32; FIELDS])>) {
        terms.sort_unstable_by_key(|(term, _)| *term);
        terms.dedup_by(|(term, tfs), (kept, sum)| {
            let again = term == kept;
            if again {
                add_up(sum, tfs);
            }
            again
        });
        let forward = ForwardRecord { epoch: self.meta.epoch, lengths, terms };
        self.pending.set(rows::forward(doc), Some(forward.encode()));
        if doc <= self.meta.flushed {
            self.pending.set(rows::in_memtable(doc), Some(Vec::new()));
        }
        Arc::make_mut(&mut self.memtable).put(doc, &forward, &self.settings.weights);
        self.meta.documents += 1;
    }

    /// Removes the current version of a document, if there is one.
    fn take_out(&mut self, view: &View<'_>, doc: u64) -> Result<()> {
        let Some(bytes) = self.pending.get(view, &rows::forward(doc))? else { return Ok(()) };
        let forward = ForwardRecord::decode(&bytes)?;
        self.pending.set(rows::forward(doc), None);
        self.meta.documents = self.meta.documents.saturating_sub(1);
        let memtable = Arc::make_mut(&mut self.memtable);
        if forward.epoch == self.meta.epoch {
            if doc <= self.meta.flushed {
                self.pending.set(rows::in_memtable(doc), None);
            }
            memtable.remove(doc);
            return Ok(());
        }
        // Its postings stay where they are until a merge; the page of the dead hides them, the burial corrects the df.
        let run = self.meta.run_of(forward.epoch)?;
        run.dead += 1;
        let key = rows::dead(run.id, doc / PAGE_DOCS);
        let page = rows::mark_dead(self.pending.get(view, &key)?, doc)?;
        self.pending.set(key, Some(page));
        merge::bury(view, &mut self.pending, &mut self.meta, forward.epoch, doc)?;
        let terms: Arc<[u32]> = forward.terms.iter().map(|(term, _)| *term).collect();
        let row = rows::encode_terms(terms.iter().copied());
        self.pending.set(rows::buried(doc), Some(row));
        memtable.bury(doc, terms);
        Ok(())
    }

    /// The id of a term; a new one gets the next.
    fn term_id(&mut self, view: &View<'_>, term: &str) -> Result<u32> {
        let key = rows::term_key(term);
        let id = if let Some(value) = self.pending.get(view, &key)? {
            rows::parse_term_id(&value)?
        } else {
            let id = self.meta.next_term;
            let next = id.checked_add(1).ok_or_else(|| damaged("dictionary", "is full"))?;
            self.meta.next_term = next;
            self.pending.set(key, Some(id.to_be_bytes().to_vec()));
            id
        };
        self.term_ids.learn(term, id);
        Ok(id)
    }

    /// Counts a change and does the work that falls due with it. The count is all that decides, so that it falls due at
    /// the same document in every rebuild.
    fn changed(&mut self, view: &View<'_>) -> Result<()> {
        self.meta.changes += 1;
        if self.meta.changes >= self.settings.flush_docs.max(1) {
            let memtable = std::mem::take(&mut self.memtable);
            merge::flush_and_begin(view, &mut self.pending, &mut self.meta, &memtable)?;
        } else {
            merge::advance(view, &mut self.pending, &mut self.meta)?;
        }
        self.stamp();
        Ok(())
    }

    /// Writes the meta row, under the number of the entry that is being applied.
    fn stamp(&mut self) {
        self.meta.seq = self.entry;
        let memtable = Arc::make_mut(&mut self.memtable);
        (memtable.seq, memtable.generation) = (self.entry, self.generation);
        self.pending.set(rows::meta(), Some(self.meta.encode()));
    }
}

fn add_up(sums: &mut [u32; FIELDS], more: &[u32; FIELDS]) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
}
