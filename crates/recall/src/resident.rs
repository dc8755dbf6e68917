//! What recall keeps in memory while an actor is open: the tail of the text index, the sketches of all vectors with the levels
//! of those that were asked for, and where every memory stands.
//!
//! The hook writes it, searches read it. Both may be a commit apart, so what must stay true is: a search sees exactly the
//! state its view shows. The tail carries the number of the entry it belongs to. For codes and places, every change is
//! announced before its commit; a search takes them for what they are and reads the few that changed between its own
//! state and theirs from its view.
//!
//! They are loaded by the first search, not by the open: whoever only writes never pays for them.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kernel::store::View;

use crate::blocks;
use crate::embedding::DIMS;
use crate::error::Result;
use crate::known_words;
use crate::models::Shelf;
use crate::passages;
use crate::places::{Place, Places};
use crate::text::TailHandle;
use crate::vectors::{Code, Codes};

/// Committed changes that are remembered for searches that began before them. A search that is older loads for itself.
const REMEMBERED: usize = 4_096;

#[derive(Debug, Default)]
pub(crate) struct Resident {
    pub(crate) tail: TailHandle,
    /// Codes of an optional model.
    pub(crate) models: Shelf,
    /// Words of the texts that answers showed.
    pub(crate) words: known_words::Shared,
    kept: RwLock<Kept>,
}

/// A memory from an entry on.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) seq: u64,
    pub(crate) doc: u64,
    /// `None`: they stay as they are.
    pub(crate) codes: Option<Vec<Code>>,
    /// `None` when it was erased.
    pub(crate) place: Option<Place>,
}

/// Codes and places of all memories in one state.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) codes: Codes,
    pub(crate) places: Places,
}

impl Columns {
    pub(crate) fn load(view: &View<'_>) -> Result<Columns> {
        let mut columns = Columns { codes: Codes::new(DIMS), places: Places::default() };
        let counters = view.counters()?;
        let memories = counters.live_by_type.iter().sum::<u64>() + counters.tombstoned;
        columns.codes.reserve(usize::try_from(memories).unwrap_or(0));
        columns.places.reserve(usize::try_from(counters.size).unwrap_or(0));
        blocks::all(view, &mut |doc, place, codes| {
            if let Some(codes) = codes {
                passages::append_codes(&mut columns.codes, doc, codes)?;
            }
            if !place.is_empty() {
                columns.places.read(doc, place)?;
            }
            Ok(())
        })?;
        Ok(columns)
    }

    fn set(&mut self, change: &Change) {
        if let Some(codes) = &change.codes {
            self.codes.set(change.doc, codes);
        }
        self.places.set(change.doc, change.place.clone());
    }
}

#[derive(Debug, Default)]
struct Kept {
    /// As of entry `at`; `None` until somebody asks.
    columns: Option<Columns>,
    at: u64,
    /// As of which entry they were read. What is read later, the groups of levels, an older state may not have.
    since: u64,
    /// The last committed entry.
    head: u64,
    /// Changes up to this entry were announced; of a state beyond it nothing is known.
    announced: u64,
    /// Changes up to here are no longer among the recent ones.
    forgotten: u64,
    /// In order of entries, those that wait for their commit included.
    recent: VecDeque<Change>,
}

impl Kept {
    /// Documents that differ between the loaded state and the one at `size`; `None` if that is not known any more.
    fn stale(&self, size: u64) -> Option<BTreeSet<u64>> {
        let common = size.min(self.at);
        let newer = self.recent.iter().rev().take_while(|change| change.seq > common);
        let known = self.forgotten <= common && size <= self.announced;
        known.then(|| newer.map(|change| change.doc).collect())
    }

    /// Vectors of texts that were erased after entry `since` are not kept, not even as a change that is over.
    /// Returns those.
    fn drop_erased(&mut self, since: u64) -> BTreeSet<u64> {
        let new = self.recent.iter().rev().take_while(|change| change.seq > since);
        let gone: BTreeSet<u64> =
            new.filter(|change| change.place.is_none()).map(|change| change.doc).collect();
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

impl Resident {
    fn read(&self) -> RwLockReadGuard<'_, Kept> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Kept> {
        self.kept.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts over from the state at entry `head`, in a journal of `size` entries. They differ while the index is made again:
    /// what is announced then happened long ago, and readers have a past of their own, with texts that were erased since.
    pub(crate) fn restart(&self, head: u64, size: u64) {
        *self.write() = Kept { head, announced: head, forgotten: size, ..Kept::default() };
        self.models.clear();
        self.words.clear();
    }

    /// Tells of changes up to entry `seq` before they are committed: from the commit on, a view may show them.
    pub(crate) fn announce(&self, seq: u64, changes: impl IntoIterator<Item = Change>) {
        let mut kept = self.write();
        kept.announced = seq;
        kept.recent.extend(changes);
    }

    pub(crate) fn committed(&self, head: u64) {
        let mut kept = self.write();
        let before = kept.head;
        kept.head = kept.head.max(head);
        let erased = kept.drop_erased(before);
        kept.catch_up();
        // A search takes the locks in the other order.
        drop(kept);
        if !erased.is_empty() {
            self.models.erase(erased);
            self.words.clear();
        }
    }

    /// What was announced since the last commit will not come.
    pub(crate) fn aborted(&self) {
        let mut kept = self.write();
        let head = kept.head;
        kept.announced = head;
        kept.recent.retain(|change| change.seq <= head);
    }

    /// Hands over columns of the state that `view` shows. Those of the documents in the set are out of date; what they say
    /// must be read from the view.
    pub(crate) fn with_columns<T>(
        &self,
        view: &View<'_>,
        look: impl FnOnce(&Columns, &BTreeSet<u64>) -> Result<T>,
    ) -> Result<T> {
        let size = view.counters()?.size;
        if let Some((columns, stale)) = usable(&self.read(), size) {
            return look(columns, &stale);
        }
        let loaded = Columns::load(view)?;
        let mut kept = self.write();
        // Not while the index is being made again beside the one that the view shows.
        if size <= kept.head && kept.forgotten <= size && kept.at <= size {
            (kept.columns, kept.at, kept.since) = (Some(loaded), size, size);
            kept.catch_up();
            drop(kept);
            let kept = self.read();
            if let Some((columns, stale)) = usable(&kept, size) {
                return look(columns, &stale);
            }
            drop(kept);
            return look(&Columns::load(view)?, &BTreeSet::new());
        }
        drop(kept);
        look(&loaded, &BTreeSet::new())
    }
}

fn usable(kept: &Kept, size: u64) -> Option<(&Columns, BTreeSet<u64>)> {
    let columns = kept.columns.as_ref().filter(|_| kept.since <= size)?;
    Some((columns, kept.stale(size)?))
}
