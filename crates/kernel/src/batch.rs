//! A batch: entries recorded together, with everything derived from them.
//!
//! What must stay true: `record` is the only way to fill a batch, so there is no write without a journal entry. The
//! writer records new entries; a rebuild records the old ones again.

use std::sync::Arc;

use proof::codec;
use proof::journal::{Entry, Payload};
use proof::memory::SealedBody;
use proof::merkle::Roots;

use crate::apply::apply;
use crate::commitments::{Commitments, roots_at};
use crate::error::{Error, Result};
use crate::hook::{
    HookRows, JournalHook, Prepare, PreparedBody, RecordedEntry, SharedState, StagedRows,
};
use crate::keys;
use crate::store::{SCRUB_KEY, Side, Space, StoreReader, View, WriteSet};

/// What is called with the entries applied so far and the entries in all.
pub type ProgressFn<'p> = dyn FnMut(u64, u64) + Send + 'p;

/// The layers that derive state from each entry: the kernel's own commitments, then what the upper crates added.
#[derive(Debug)]
pub(crate) struct Hooks {
    commitments: Commitments,
    others: Vec<Box<dyn JournalHook>>,
}

impl Hooks {
    pub(crate) fn new(commitments: Commitments, others: Vec<Box<dyn JournalHook>>) -> Hooks {
        Hooks { commitments, others }
    }

    pub(crate) fn each(
        &mut self,
        mut call: impl FnMut(&mut dyn JournalHook) -> Result<()>,
    ) -> Result<()> {
        call(&mut self.commitments)?;
        self.others.iter_mut().try_for_each(|hook| call(&mut **hook))
    }

    /// What they keep in memory for readers.
    pub(crate) fn shared(&self) -> Vec<SharedState> {
        self.others.iter().filter_map(|hook| hook.shared()).collect()
    }

    /// What callers prepare with.
    pub(crate) fn preparers(&self) -> Vec<Arc<dyn Prepare>> {
        self.others.iter().filter_map(|hook| hook.preparer()).collect()
    }

    /// True if an erasure is over only when everything was derived again.
    pub(crate) fn mix_texts(&self) -> bool {
        self.others.iter().any(|hook| hook.mixes_texts())
    }

    pub(crate) fn committed(&mut self) {
        self.commitments.committed();
        self.others.iter_mut().for_each(|hook| hook.committed());
    }

    pub(crate) fn aborted(&mut self) {
        self.commitments.aborted();
        self.others.iter_mut().for_each(|hook| hook.aborted());
    }
}

/// Recorded entries that are not durable yet. The only way to fill one is `record`.
pub(crate) struct Batch<'a> {
    reader: &'a dyn StoreReader,
    side: Side,
    rows: WriteSet,
    hooks: &'a mut Hooks,
    entries: usize,
    /// Entries whose bodies those of this batch erase.
    erased: Vec<u64>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(reader: &'a dyn StoreReader, side: Side, hooks: &'a mut Hooks) -> Batch<'a> {
        let (rows, entries, erased) = (WriteSet::new(), 0, Vec::new());
        Batch { reader, side, rows, hooks, entries, erased }
    }

    pub(crate) fn view(&self) -> View<'_> {
        View::staged(self.reader, self.side, &self.rows)
    }

    /// Adds a new entry to the journal together with everything that follows from it.
    pub(crate) fn record(
        &mut self,
        entry: &Entry,
        payload: &Payload,
        sealed: Option<&SealedBody>,
        prepared: &[PreparedBody],
    ) -> Result<()> {
        let bytes = entry.to_bytes();
        self.rows.put(Space::Truth, keys::entry(entry.seq), bytes.clone());
        if let Some(sealed) = sealed {
            self.rows.put(Space::Truth, keys::body(entry.seq), codec::encode(sealed));
        }
        self.derive(entry, &bytes, payload, (sealed, prepared))
    }

    /// Derives the state of an entry that is in the journal already.
    pub(crate) fn derive(
        &mut self,
        entry: &Entry,
        entry_bytes: &[u8],
        payload: &Payload,
        (sealed, prepared): (Option<&SealedBody>, &[PreparedBody]),
    ) -> Result<()> {
        if matches!(payload, Payload::Snapshot(_)) {
            self.flush()?;
        }
        let mut changes = apply(&self.view(), entry, payload)?;
        let space = Space::Derived(self.side);
        // The kernel's own rows are staged first: hooks read them through the view.
        for (key, value) in std::mem::take(&mut changes.rows) {
            self.rows.set(space, key, value);
        }
        self.erased.extend(&changes.erased_bodies);
        for seq in &changes.erased_bodies {
            // On rebuild the bodies are gone already, and so are their bytes. One that does not read may be half
            // overwritten, by an erasure that a crash interrupted.
            let is_there = match self.view().get_truth(&keys::body(*seq)) {
                Err(Error::Corrupt { .. }) => true,
                found => found?.is_some(),
            };
            if is_there {
                self.rows.delete(Space::Truth, keys::body(*seq));
                let erased_by = entry.seq.to_be_bytes().to_vec();
                self.rows.put(Space::Engine, SCRUB_KEY.to_vec(), erased_by);
            }
        }
        let recorded =
            RecordedEntry { entry, entry_bytes, payload, sealed, changes: &changes, prepared };
        let (reader, side, rows) = (self.reader, self.side, &mut self.rows);
        self.hooks.each(|hook| {
            // A hook reads what is staged and stages more, so its own rows are merged after it returns.
            let mut own = StagedRows::new();
            let view = View::staged(reader, side, rows);
            hook.entry(&view, recorded, &mut HookRows::new(&mut own))
                .map_err(|error| hook_error(hook.name(), error))?;
            set_all(rows, space, own);
            Ok(())
        })?;
        self.entries += 1;
        Ok(())
    }

    /// Brings the trees up to the last recorded entry.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let mut own = StagedRows::new();
        let view = View::staged(self.reader, self.side, &self.rows);
        self.hooks.commitments.flush(&view, &mut HookRows::new(&mut own))?;
        set_all(&mut self.rows, Space::Derived(self.side), own);
        Ok(())
    }

    /// The roots as of the last recorded entry.
    pub(crate) fn roots(&mut self) -> Result<Roots> {
        self.flush()?;
        let view = self.view();
        roots_at(&view, view.counters()?.size)
    }

    pub(crate) fn erased(&self) -> &[u64] {
        &self.erased
    }

    pub(crate) fn entries(&self) -> usize {
        self.entries
    }

    pub(crate) fn bytes(&self) -> usize {
        self.rows.bytes()
    }

    /// Closes the batch for writing: the hooks stage their last rows.
    pub(crate) fn seal(mut self) -> Result<WriteSet> {
        let (reader, side, rows) = (self.reader, self.side, &mut self.rows);
        self.hooks.each(|hook| {
            let mut own = StagedRows::new();
            let view = View::staged(reader, side, rows);
            hook.seal(&view, &mut HookRows::new(&mut own))
                .map_err(|error| hook_error(hook.name(), error))?;
            set_all(rows, Space::Derived(side), own);
            Ok(())
        })?;
        Ok(std::mem::take(&mut self.rows))
    }
}

fn set_all(rows: &mut WriteSet, space: Space, staged: StagedRows) {
    for (key, value) in staged {
        rows.set(space, key, value);
    }
}

fn hook_error(name: &str, error: Error) -> Error {
    match error {
        Error::Corrupt { place, reason } => {
            Error::Corrupt { place: format!("{place} ({name})"), reason }
        }
        other => other,
    }
}
