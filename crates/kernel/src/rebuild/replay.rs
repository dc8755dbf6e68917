//! Deriving entries that are in the journal already, in slices that each become one commit.

use std::collections::BTreeSet;

use super::read_ahead::{AheadEntry, read_ahead};
use super::{StoredEntry, is_damage, is_marker, marker, stored};
use crate::batch::{Batch, Hooks, ProgressFn};
use crate::error::{Error, Result};
use crate::store::{DamageNote, SCRUB_KEY, Side, Space, Storage, StoreReader, View, WriteSet};

/// Derives what the live side lacks: entries that were safe in the ledger when their derived rows were not. `is_new`:
/// the file it lies in was made a moment ago.
pub(crate) fn replay(
    storage: &dyn Storage,
    (live, is_new): (Side, bool),
    hooks: &mut Hooks,
    progress: &mut ProgressFn<'_>,
) -> Result<()> {
    let reader = storage.reader()?;
    let view = View::new(&*reader, live);
    let (mut done, total) = (view.counters()?.size, view.last_seq()?);
    // Rows that were there before may hold what an entry below erases, also where its body is gone already: the crash
    // took the derived rows of the erasure, and the row that asked for a rewrite with them. So may pages that nobody
    // reads, of rows that were never durable: only a new file holds nothing.
    let may_hold_more = !is_new;
    drop(reader);
    let preparers = hooks.preparers();
    read_ahead(storage, &preparers, (done + 1, total), |entries| {
        while done < total {
            progress(done, total);
            let slice = entries.slice()?;
            let reader = storage.reader()?;
            let mut staged = derived(&*reader, live, hooks, &slice)?;
            drop(reader);
            if may_hold_more && !staged.erased.is_empty() {
                let erased_by = (done + slice.len() as u64).to_be_bytes().to_vec();
                staged.rows.put(Space::Engine, SCRUB_KEY.to_vec(), erased_by);
            }
            storage.commit(&staged.rows)?;
            hooks.committed();
            done += slice.len() as u64;
        }
        Ok(())
    })?;
    progress(total, total);
    Ok(())
}

/// A slice on its way into a store.
pub(super) struct StagedSlice {
    pub(super) rows: WriteSet,
    /// Entries whose bodies it erases.
    pub(super) erased: Vec<u64>,
    /// True if a marker stands for an entry.
    pub(super) has_loss: bool,
}

/// What follows from some entries. One that does not fit what is left gets a marker; in a journal that lost nothing
/// every entry fits, and the error is another matter.
pub(super) fn derived(
    reader: &dyn StoreReader,
    side: Side,
    hooks: &mut Hooks,
    entries: &[AheadEntry],
) -> Result<StagedSlice> {
    let mut unfit = BTreeSet::new();
    loop {
        match stage(reader, side, hooks, entries, &unfit) {
            Ok(staged) => return Ok(staged),
            // The state it was made for is not the one that is left: the slice is staged again without it.
            Err((Some(seq), error))
                if is_damage(&error) && has_loss(reader, seq)? && unfit.insert(seq) =>
            {
                hooks.aborted();
                reader.note_damage(DamageNote::new(format!("entry {seq}"), error.to_string()));
            }
            Err((_, error)) => {
                hooks.aborted();
                return Err(error);
            }
        }
    }
}

/// True if an entry before `seq` is lost: it cannot be read, or a marker stands for it.
fn has_loss(reader: &dyn StoreReader, seq: u64) -> Result<bool> {
    for before in 1..seq {
        match stored(reader, before) {
            Ok(Some(found)) if !is_marker(&found.entry) => {}
            Ok(_) | Err(Error::Corrupt { .. }) => return Ok(true),
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// Stages entries; those in `unfit` as markers. An error names the entry that it came from, if it is one's.
fn stage(
    reader: &dyn StoreReader,
    side: Side,
    hooks: &mut Hooks,
    entries: &[AheadEntry],
    unfit: &BTreeSet<u64>,
) -> Result<StagedSlice, (Option<u64>, Error)> {
    let mut batch = Batch::new(reader, side, hooks);
    let mut has_loss = false;
    for ahead in entries {
        let lost = replaced(reader, &batch, ahead, unfit).map_err(|error| (None, error))?;
        has_loss |= lost.is_some();
        let found = match (&lost, &ahead.found) {
            (Some(marker), _) => marker,
            (None, Ok(Some(found))) => found,
            (None, _) => unreachable!("what is not there was replaced"),
        };
        batch
            .derive(
                &found.entry,
                &found.bytes,
                &found.payload,
                (found.sealed.as_ref(), &ahead.prepared),
            )
            .map_err(|error| (Some(ahead.seq), error))?;
    }
    let erased = batch.erased().to_vec();
    let rows = batch.seal().map_err(|error| (None, error))?;
    Ok(StagedSlice { rows, erased, has_loss })
}

/// The marker that stands for an entry, if one has to.
fn replaced(
    reader: &dyn StoreReader,
    batch: &Batch<'_>,
    ahead: &AheadEntry,
    unfit: &BTreeSet<u64>,
) -> Result<Option<StoredEntry>> {
    let seq = ahead.seq;
    let found = match &ahead.found {
        Ok(Some(found)) => found,
        Ok(None) => {
            reader.note_damage(DamageNote::new(format!("entry {seq}"), "is missing"));
            return Ok(Some(marker(seq, batch.view().counters()?.at)));
        }
        Err(Error::Corrupt { place, reason }) => {
            reader.note_damage(DamageNote::new(place, reason));
            return Ok(Some(marker(seq, batch.view().counters()?.at)));
        }
        Err(error) => return Err(error.clone()),
    };
    if unfit.contains(&seq) {
        // Its bytes are there, so the journal tree still has the right leaf.
        let marker = marker(seq, batch.view().counters()?.at);
        return Ok(Some(StoredEntry { bytes: found.bytes.clone(), ..marker }));
    }
    if let Some(note) = &found.body_damage {
        reader.note_damage(note.clone());
    }
    Ok(None)
}
