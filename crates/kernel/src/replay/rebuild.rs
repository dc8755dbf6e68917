//! Building the other side from the journal, in slices, and switching to it.

use super::{LIVE_KEY, live_side, side_name, stored};
use crate::error::{Error, Result};
use crate::limits::{GROUP_BYTES_MAX, REBUILD_ENTRIES_PER_COMMIT};
use crate::pen::{Batch, Hooks, Progress};
use crate::store::{Side, Space, Storage, View, WriteSet};

/// Says that the other side holds a rebuild that has not finished.
const REBUILD_KEY: &[u8] = b"rebuild";

/// Rebuilds everything derived and makes it live. Returns the new side and the number of entries.
pub(crate) fn rebuild(
    storage: &dyn Storage,
    live: Side,
    hooks: &mut Hooks,
    progress: &mut Progress<'_>,
) -> Result<(Side, u64)> {
    let fresh = live.other();
    let reader = storage.reader()?;
    debug_assert_eq!(live_side(&*reader)?, live);
    let total = View::new(&*reader, live).last_seq()?;
    if reader.get(Space::Engine, REBUILD_KEY)?.is_none() {
        let mut start = WriteSet::new();
        start.clear(Space::Derived(fresh));
        start.put(Space::Engine, REBUILD_KEY.to_vec(), side_name(fresh).to_vec());
        storage.commit(&start)?;
    }

    let reader = storage.reader()?;
    let mut done = View::new(&*reader, fresh).counters()?.size;
    let view = View::new(&*reader, fresh);
    hooks.each(|hook| hook.open(&view))?;
    drop(reader);
    while done < total {
        progress(done, total);
        done = slice(storage, fresh, hooks, done, total)?;
    }
    progress(total, total);

    let mut switch = WriteSet::new();
    switch.put(Space::Engine, LIVE_KEY.to_vec(), side_name(fresh).to_vec());
    switch.delete(Space::Engine, REBUILD_KEY.to_vec());
    switch.clear(Space::Derived(live));
    storage.commit(&switch)?;
    Ok((fresh, total))
}

/// Applies the next entries in one commit. The counters of the fresh side say how far it is, so nothing else marks progress.
fn slice(
    storage: &dyn Storage,
    fresh: Side,
    hooks: &mut Hooks,
    done: u64,
    total: u64,
) -> Result<u64> {
    let reader = storage.reader()?;
    let mut batch = Batch::new(&*reader, fresh, hooks);
    let mut next = done;
    while next < total
        && batch.entries() < REBUILD_ENTRIES_PER_COMMIT
        && batch.bytes() < GROUP_BYTES_MAX
    {
        next += 1;
        let found = stored(&*reader, next)?
            .ok_or_else(|| Error::corrupt(format!("entry {next}"), "is missing"))?;
        batch.derive(&found.entry, &found.bytes, &found.payload, (found.sealed.as_ref(), &[]))?;
    }
    let rows = batch.seal()?;
    drop(reader);
    storage.commit(&rows)?;
    hooks.committed();
    Ok(next)
}
