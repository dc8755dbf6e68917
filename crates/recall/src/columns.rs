//! What recall keeps in memory for searches while an actor is open: the newest part of the text index, the sketches of
//! all vectors with those of their levels that were asked for, and the metadata of every memory.
//!
//! The hook writes this cache and searches read it. The two may be a commit apart, so what must stay true is: a search
//! sees exactly the state its view shows. The text index's part carries the number of the entry it belongs to. For
//! columns, the hook announces every change before its commit; a search uses the columns as they are, and reads the few
//! documents that changed between its own state and theirs from its view.
//!
//! The first search loads the columns, not the open: a process that only writes never pays for them.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kernel::store::View;

use crate::doc_meta::{DocMeta, DocMetaColumn};
use crate::embedding::DIMS;
use crate::error::Result;
use crate::model_codes::ModelColumn;
use crate::passages;
use crate::segments;
use crate::vectors::{Code, Codes};
use crate::word_terms::SharedWordTerms;
use text::index::MemtableHandle;

/// Committed changes that are remembered for searches that began before them. A search that is older loads for itself.
const REMEMBERED: usize = 4_096;

#[derive(Debug, Default)]
pub(crate) struct IndexCache {
    pub(crate) memtable: MemtableHandle,
    /// The codes of an optional model.
    pub(crate) models: ModelColumn,
    /// Terms of words in texts that earlier answers showed.
    pub(crate) words: SharedWordTerms,
    state: RwLock<ColumnState>,
}

/// How an entry changed a memory.
#[derive(Clone, Debug)]
pub(crate) struct DocChange {
    pub(crate) seq: u64,
    pub(crate) doc: u64,
    /// `None`: they stay as they are.
    pub(crate) codes: Option<Vec<Code>>,
    /// `None` when it was erased.
    pub(crate) meta: Option<DocMeta>,
}

/// Codes and metadata of all memories in one state.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) codes: Codes,
    pub(crate) doc_meta: DocMetaColumn,
}

impl Columns {
    pub(crate) fn load(view: &View<'_>) -> Result<Columns> {
        let mut columns = Columns { codes: Codes::new(DIMS), doc_meta: DocMetaColumn::default() };
        let counters = view.counters()?;
        let memories = counters.live_by_type.iter().sum::<u64>() + counters.tombstoned;
        columns.codes.reserve(usize::try_from(memories).unwrap_or(0));
        columns.doc_meta.reserve(usize::try_from(counters.size).unwrap_or(0));
        segments::all(view, &mut |doc, meta, codes| {
            if let Some(codes) = codes {
                passages::append_codes(&mut columns.codes, doc, codes)?;
            }
            if !meta.is_empty() {
                columns.doc_meta.read(doc, meta)?;
            }
            Ok(())
        })?;
        Ok(columns)
    }

    fn set(&mut self, change: &DocChange) {
        if let Some(codes) = &change.codes {
            self.codes.set(change.doc, codes);
        }
        self.doc_meta.set(change.doc, change.meta.clone());
    }
}

#[derive(Debug, Default)]
struct ColumnState {
    /// The generation of the rows that all of this is about. Others are not told apart by the numbers of entries.
    generation: u64,
    /// The columns as of entry `at`; `None` until a search needs them.
    columns: Option<Columns>,
    at: u64,
    /// The entry as of which the columns were read from the store. A search of an older state cannot use them: they
    /// fetch groups of levels from the view later, and the older view may not have those groups yet.
    since: u64,
    /// The last committed entry.
    head: u64,
    /// Changes up to this entry were announced. For a state beyond it the columns cannot tell what differs.
    announced: u64,
    /// Changes up to this entry were dropped from `recent`.
    forgotten: u64,
    /// Announced changes in the order of their entries, including those that wait for their commit.
    recent: VecDeque<DocChange>,
}

impl ColumnState {
    /// Documents that differ between the loaded state and the one at `size`; `None` if that is not known any more.
    fn stale(&self, size: u64) -> Option<BTreeSet<u64>> {
        let common = size.min(self.at);
        let newer = self.recent.iter().rev().take_while(|change| change.seq > common);
        let known = self.forgotten <= common && size <= self.announced;
        known.then(|| newer.map(|change| change.doc).collect())
    }

    /// Drops the vectors of texts that were erased after entry `since`, also from older changes of the same memories.
    /// Returns the erased memories.
    fn drop_erased(&mut self, since: u64) -> BTreeSet<u64> {
        let new = self.recent.iter().rev().take_while(|change| change.seq > since);
        let gone: BTreeSet<u64> =
            new.filter(|change| change.meta.is_none()).map(|change| change.doc).collect();
        if !gone.is_empty() {
            for change in self.recent.iter_mut().filter(|change| gone.contains(&change.doc)) {
                change.codes = change.codes.take().map(|_| Vec::new());
            }
        }
        gone
    }

    /// Brings the columns to the last committed entry.
    fn catch_up(&mut self) {
        if let Some(columns) = &mut self.columns {
            let (at, head) = (self.at, self.head);
            for change in self.recent.iter().filter(|c| c.seq > at && c.seq <= head) {
                columns.set(change);
            }
            self.at = head;
        }
        while self.recent.len() > REMEMBERED
            && self.recent.front().is_some_and(|change| change.seq <= self.head)
            && let Some(change) = self.recent.pop_front()
        {
            self.forgotten = self.forgotten.max(change.seq);
        }
    }
}

impl IndexCache {
    fn read(&self) -> RwLockReadGuard<'_, ColumnState> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, ColumnState> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts over from the state at entry `head` of a generation, in a journal of `size` entries. The two differ while
    /// the index is rebuilt: the changes that are announced then happened long ago, and the views of searches still
    /// show the index before it, with texts that were erased since.
    pub(crate) fn restart(&self, generation: u64, (head, size): (u64, u64)) {
        let (announced, forgotten) = (head, size);
        *self.write() =
            ColumnState { generation, head, announced, forgotten, ..ColumnState::default() };
        self.models.clear();
        self.words.clear();
    }

    /// Notes the changes up to entry `seq` before they are committed: from the commit on, a view may show them.
    pub(crate) fn announce(&self, seq: u64, changes: impl IntoIterator<Item = DocChange>) {
        let mut state = self.write();
        state.announced = seq;
        state.recent.extend(changes);
    }

    pub(crate) fn committed(&self, head: u64) {
        let mut state = self.write();
        let before = state.head;
        state.head = state.head.max(head);
        let erased = state.drop_erased(before);
        state.catch_up();
        // A search locks the model's codes before the columns, so this lock is given back before the other is taken.
        drop(state);
        if !erased.is_empty() {
            self.models.erase(erased);
            self.words.clear();
        }
    }

    /// The batch was aborted: the changes announced since the last commit will not come.
    pub(crate) fn aborted(&self) {
        let mut state = self.write();
        let head = state.head;
        state.announced = head;
        state.recent.retain(|change| change.seq <= head);
    }

    /// Hands over columns of the state that `view` shows. Those of the documents in the set are out of date; what they
    /// say must be read from the view.
    pub(crate) fn with_columns<T>(
        &self,
        view: &View<'_>,
        look: impl FnOnce(&Columns, &BTreeSet<u64>) -> Result<T>,
    ) -> Result<T> {
        let shown = (view.generation(), view.counters()?.size);
        if let Some((columns, stale)) = usable(&self.read(), shown) {
            return look(columns, &stale);
        }
        let loaded = Columns::load(view)?;
        let mut state = self.write();
        // While the index is being rebuilt beside the one that the view shows, what this search read is not cached.
        let (generation, size) = shown;
        let is_of_now = generation == state.generation;
        if is_of_now && size <= state.head && state.forgotten <= size && state.at <= size {
            (state.columns, state.at, state.since) = (Some(loaded), size, size);
            state.catch_up();
            drop(state);
            let state = self.read();
            if let Some((columns, stale)) = usable(&state, shown) {
                return look(columns, &stale);
            }
            drop(state);
            return look(&Columns::load(view)?, &BTreeSet::new());
        }
        drop(state);
        look(&loaded, &BTreeSet::new())
    }
}

fn usable(
    state: &ColumnState,
    (generation, size): (u64, u64),
) -> Option<(&Columns, BTreeSet<u64>)> {
    let is_of_it = state.generation == generation && state.since <= size;
    let columns = state.columns.as_ref().filter(|_| is_of_it)?;
    Some((columns, state.stale(size)?))
}
