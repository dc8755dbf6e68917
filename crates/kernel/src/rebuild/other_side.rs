//! Building the other side from the journal, in slices, and switching to it.

use std::collections::BTreeSet;

use proof::Digest;
use proof::actor::ActorName;

use super::{StoredEntry, is_damage, is_marker, marker, stored};
use crate::batch::{Batch, Hooks, ProgressFn};
use crate::birth::{LIVE_KEY, live_side, side_name};
use crate::commitments::roots_at;
use crate::error::{Error, Result};
use crate::limits::{GROUP_BYTES_MAX, REBUILD_ENTRIES_PER_COMMIT};
use crate::store::{DamageNote, Side, Space, Storage, StoreReader, View, WriteSet};

/// Says that the other side holds a rebuild that has not finished.
const REBUILD_KEY: &[u8] = b"rebuild";

/// Rebuilds everything derived and makes it live. Returns the new side and the number of entries.
pub(crate) fn rebuild(
    storage: &dyn Storage,
    live: Side,
    hooks: &mut Hooks,
    progress: &mut ProgressFn<'_>,
) -> Result<(Side, u64)> {
    let total = fill(storage, live, hooks, progress, None)?;
    switch(storage, live)?;
    progress(total, total);
    Ok((live.other(), total))
}

/// Derives what the live side lacks: entries that were safe in the ledger when their derived rows were not.
pub(crate) fn replay(
    storage: &dyn Storage,
    live: Side,
    hooks: &mut Hooks,
    progress: &mut ProgressFn<'_>,
) -> Result<()> {
    let reader = storage.reader()?;
    let view = View::new(&*reader, live);
    let (mut done, total) = (view.counters()?.size, view.last_seq()?);
    drop(reader);
    while done < total {
        progress(done, total);
        done = slice(storage, live, hooks, done, total)?;
    }
    progress(total, total);
    Ok(())
}

/// The same for rows that another version of the program made. Nobody is there to judge what comes out, so it becomes
/// live only if it has the root of what is there: a journal that no longer gives its own state is damaged, and stays as
/// it is.
pub(crate) fn renew(
    storage: &dyn Storage,
    live: Side,
    actor: &ActorName,
    hooks: &mut Hooks,
    progress: &mut ProgressFn<'_>,
) -> Result<Side> {
    let root = |side| -> Result<(u64, Digest)> {
        let reader = storage.reader()?;
        let view = View::new(&*reader, side);
        let size = view.counters()?.size;
        Ok((size, roots_at(&view, size)?.overall(actor.as_str())))
    };
    let (size, expected) = root(live)?;
    // After a crash the journal is ahead of what was derived from it: compared is what both have.
    fill(storage, live, hooks, progress, Some(size))?;
    let (_, found) = root(live.other())?;
    if found != expected {
        let reason = format!("gives the root {found}, the state has {expected}");
        return Err(Error::corrupt("journal", reason));
    }
    let total = fill(storage, live, hooks, progress, None)?;
    switch(storage, live)?;
    progress(total, total);
    Ok(live.other())
}

/// Derives entries up to `upto`, or all, on the side that is not live. Returns the number of entries.
fn fill(
    storage: &dyn Storage,
    live: Side,
    hooks: &mut Hooks,
    progress: &mut ProgressFn<'_>,
    upto: Option<u64>,
) -> Result<u64> {
    let fresh = live.other();
    let reader = storage.reader()?;
    debug_assert_eq!(live_side(&*reader)?, live);
    let last = View::new(&*reader, live).last_seq()?;
    let total = upto.map_or(last, |upto| upto.min(last));
    let begun = reader.get(Space::Engine, REBUILD_KEY)?.is_some();
    drop(reader);
    if !begun {
        begin(storage, fresh)?;
    }
    let mut done = match resume(storage, fresh, hooks) {
        // Another version of the program began this rebuild, so it starts again.
        Err(Error::Outdated { .. }) if begun => {
            begin(storage, fresh)?;
            resume(storage, fresh, hooks)?
        }
        resumed => resumed?,
    };
    while done < total {
        progress(done, total);
        done = slice(storage, fresh, hooks, done, total)?;
    }
    Ok(total)
}

/// Empties a side to build on.
fn begin(storage: &dyn Storage, fresh: Side) -> Result<()> {
    let mut start = WriteSet::new();
    start.clear(Space::Derived(fresh));
    start.put(Space::Engine, REBUILD_KEY.to_vec(), side_name(fresh).to_vec());
    storage.commit(&start)
}

/// Lets the hooks start from what is built so far. Returns how many entries that is.
fn resume(storage: &dyn Storage, fresh: Side, hooks: &mut Hooks) -> Result<u64> {
    let reader = storage.reader()?;
    let view = View::new(&*reader, fresh);
    hooks.each(|hook| hook.open(&view))?;
    Ok(view.counters()?.size)
}

fn switch(storage: &dyn Storage, live: Side) -> Result<()> {
    let mut switch = WriteSet::new();
    switch.put(Space::Engine, LIVE_KEY.to_vec(), side_name(live.other()).to_vec());
    switch.delete(Space::Engine, REBUILD_KEY.to_vec());
    switch.clear(Space::Derived(live));
    storage.commit(&switch)
}

/// Applies the next entries in one commit. The counters of the side say how far it is, so nothing else marks progress.
fn slice(
    storage: &dyn Storage,
    fresh: Side,
    hooks: &mut Hooks,
    done: u64,
    total: u64,
) -> Result<u64> {
    let mut unfit = BTreeSet::new();
    loop {
        let reader = storage.reader()?;
        match stage(&*reader, fresh, hooks, (done, total), &unfit) {
            Ok((next, rows)) => {
                drop(reader);
                storage.commit(&rows)?;
                hooks.committed();
                return Ok(next);
            }
            // The state it was made for is not the one that is left: the slice is staged again without it. In a journal
            // that lost nothing every entry fits, and the error is another matter.
            Err((Some(seq), error))
                if is_damage(&error) && has_loss(&*reader, seq)? && unfit.insert(seq) =>
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

/// Stages the next entries; those in `unfit` as markers. An error names the entry that it came from, if it is one's.
fn stage(
    reader: &dyn StoreReader,
    side: Side,
    hooks: &mut Hooks,
    (done, total): (u64, u64),
    unfit: &BTreeSet<u64>,
) -> Result<(u64, WriteSet), (Option<u64>, Error)> {
    let mut batch = Batch::new(reader, side, hooks);
    let mut next = done;
    while next < total
        && batch.entries() < REBUILD_ENTRIES_PER_COMMIT
        && batch.bytes() < GROUP_BYTES_MAX
    {
        next += 1;
        let found = readable(reader, &batch, next, unfit).map_err(|error| (None, error))?;
        let parts = (found.sealed.as_ref(), &[][..]);
        batch
            .derive(&found.entry, &found.bytes, &found.payload, parts)
            .map_err(|error| (Some(next), error))?;
    }
    let rows = batch.seal().map_err(|error| (None, error))?;
    Ok((next, rows))
}

/// Entry `seq`, or a marker in its place.
fn readable(
    reader: &dyn StoreReader,
    batch: &Batch<'_>,
    seq: u64,
    unfit: &BTreeSet<u64>,
) -> Result<StoredEntry> {
    let found = match stored(reader, seq) {
        Ok(Some(found)) => found,
        Ok(None) => {
            reader.note_damage(DamageNote::new(format!("entry {seq}"), "is missing"));
            return Ok(marker(seq, batch.view().counters()?.at));
        }
        Err(Error::Corrupt { place, reason }) => {
            reader.note_damage(DamageNote { place, reason });
            return Ok(marker(seq, batch.view().counters()?.at));
        }
        Err(error) => return Err(error),
    };
    if unfit.contains(&seq) {
        // Its bytes are there, so the journal tree still has the right leaf.
        return Ok(StoredEntry { bytes: found.bytes, ..marker(seq, batch.view().counters()?.at) });
    }
    if let Some(note) = &found.body_damage {
        reader.note_damage(note.clone());
    }
    Ok(found)
}
