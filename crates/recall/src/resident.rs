//! What recall keeps in memory while an actor is open: the tail of the text index, and the codes of all vectors.
//!
//! The hook writes it, searches read it. Both may be a commit apart, so what must stay true is: a search sees exactly the
//! state its view shows. The tail carries the number of the entry it belongs to. For the codes, every change is announced
//! before its commit; a search takes the codes for what they are and reads the few vectors that changed between its own
//! state and theirs from its view.
//!
//! Codes are loaded by the first search, not by the open: whoever only writes never pays for them.

use std::collections::{BTreeSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kernel::keys;
use kernel::store::{KeyRange, View};

use crate::embed::DIMS;
use crate::error::Result;
use crate::models::Shelf;
use crate::passages::{self, Passages};
use crate::text::TailHandle;
use crate::vectors::{Code, Codes};

/// Committed changes that are remembered for searches that began before them. A search that is older loads for itself.
const REMEMBERED: usize = 4_096;

#[derive(Debug, Default)]
pub(crate) struct Resident {
    pub(crate) tail: TailHandle,
    /// Codes of an optional model.
    pub(crate) models: Shelf,
    vectors: RwLock<Vectors>,
}

/// The vectors of a memory from an entry on; none when it was erased.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) seq: u64,
    pub(crate) doc: u64,
    pub(crate) codes: Vec<Code>,
}

#[derive(Debug, Default)]
struct Vectors {
    /// As of entry `at`; `None` until somebody asks.
    codes: Option<Codes>,
    at: u64,
    /// The last committed entry.
    head: u64,
    /// Changes up to this entry were announced; of a state beyond it nothing is known.
    announced: u64,
    /// Changes up to here are no longer among the recent ones.
    forgotten: u64,
    /// In order of entries, those that wait for their commit included.
    recent: VecDeque<Change>,
}

impl Vectors {
    /// Documents whose codes differ between the loaded state and the one at `size`; `None` if that is not known any more.
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
            new.filter(|change| change.codes.is_empty()).map(|change| change.doc).collect();
        if !gone.is_empty() {
            for change in self.recent.iter_mut().filter(|change| gone.contains(&change.doc)) {
                change.codes = Vec::new();
            }
        }
        gone
    }

    /// Brings the codes to the last committed entry.
    fn catch_up(&mut self) {
        if let Some(codes) = &mut self.codes {
            let (at, head) = (self.at, self.head);
            for change in self.recent.iter().filter(|c| c.seq > at && c.seq <= head) {
                codes.set(change.doc, &change.codes);
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
    fn read(&self) -> RwLockReadGuard<'_, Vectors> {
        self.vectors.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vectors> {
        self.vectors.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts over from the state at entry `head`, in a journal of `size` entries. They differ while the index is made again:
    /// what is announced then happened long ago, and readers have a past of their own, with texts that were erased since.
    pub(crate) fn restart(&self, head: u64, size: u64) {
        *self.write() = Vectors { head, announced: head, forgotten: size, ..Vectors::default() };
        self.models.clear();
    }

    /// Tells of changes up to entry `seq` before they are committed: from the commit on, a view may show them.
    pub(crate) fn announce(&self, seq: u64, changes: impl IntoIterator<Item = Change>) {
        let mut vectors = self.write();
        vectors.announced = seq;
        vectors.recent.extend(changes);
    }

    pub(crate) fn committed(&self, head: u64) {
        let mut vectors = self.write();
        let before = vectors.head;
        vectors.head = vectors.head.max(head);
        let erased = vectors.drop_erased(before);
        vectors.catch_up();
        // A search takes the locks in the other order.
        drop(vectors);
        if !erased.is_empty() {
            self.models.erase(erased);
        }
    }

    /// What was announced since the last commit will not come.
    pub(crate) fn aborted(&self) {
        let mut vectors = self.write();
        let head = vectors.head;
        vectors.announced = head;
        vectors.recent.retain(|change| change.seq <= head);
    }

    /// Hands over codes of the state that `view` shows. Those of the documents in the set are out of date; their vectors
    /// must be read from the view.
    pub(crate) fn with_codes<T>(
        &self,
        view: &View<'_>,
        look: impl FnOnce(&Codes, &BTreeSet<u64>) -> Result<T>,
    ) -> Result<T> {
        let size = view.counters()?.size;
        if let Some((codes, stale)) = usable(&self.read(), size) {
            return look(codes, &stale);
        }
        let loaded = load(view)?;
        let mut vectors = self.write();
        // Not while the index is being made again beside the one that the view shows.
        if size <= vectors.head && vectors.forgotten <= size && vectors.at <= size {
            (vectors.codes, vectors.at) = (Some(loaded), size);
            vectors.catch_up();
            drop(vectors);
            let vectors = self.read();
            if let Some((codes, stale)) = usable(&vectors, size) {
                return look(codes, &stale);
            }
            drop(vectors);
            return look(&load(view)?, &BTreeSet::new());
        }
        drop(vectors);
        look(&loaded, &BTreeSet::new())
    }
}

fn usable(vectors: &Vectors, size: u64) -> Option<(&Codes, BTreeSet<u64>)> {
    Some((vectors.codes.as_ref()?, vectors.stale(size)?))
}

/// All codes, from their rows.
pub(crate) fn load(view: &View<'_>) -> Result<Codes> {
    let mut codes = Codes::new(DIMS);
    view.scan(&KeyRange::prefix(&passages::key(0)[..1]), &mut |key, value| {
        if let Some(doc) = keys::trailing_u64(key) {
            codes.set(doc, &Passages::codes(doc, value)?);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(codes)
}
