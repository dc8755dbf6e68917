//! Entries of the journal, read and prepared by several threads ahead of the one that applies them.
//!
//! Entries are applied one after the other, since each may depend on the one before. Reading one, checking its bytes
//! and preparing its body (words, vectors) does not, and is most of the work. What must stay true: entries come in
//! order, whoever read them; what waits is bounded, in entries; a thread that cannot read says so in its place. No
//! thread holds a state of the store for longer than a part, so that writers can use the pages they free.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::available_parallelism;

use proof::journal::Payload;
use proof::memory::SealedBody;

use super::{StoredEntry, stored};
use crate::error::{Error, Result};
use crate::hook::{Prepare, PreparedBody};
use crate::limits::{GROUP_BYTES_MAX, REBUILD_ENTRIES_PER_COMMIT};
use crate::store::{Storage, StoreReader};

/// Entries that a thread reads at a time.
const PART_ENTRIES: u64 = 32;
/// Parts that wait for each thread.
const PARTS_WAITING: usize = 2;
/// Threads that read ahead, at most.
const THREADS_MAX: usize = 8;
/// Fewer entries are read by whoever applies them.
const ALONE_ENTRIES_MAX: u64 = 256;

/// An entry as it was found, with what the hooks made of its body beforehand.
pub(super) struct AheadEntry {
    pub(super) seq: u64,
    pub(super) found: Result<Option<StoredEntry>>,
    pub(super) prepared: Vec<PreparedBody>,
}

impl AheadEntry {
    fn read(reader: &dyn StoreReader, seq: u64, preparers: &[Arc<dyn Prepare>]) -> AheadEntry {
        let found = stored(reader, seq);
        let prepared = match &found {
            Ok(Some(entry)) => prepared(&entry.payload, entry.sealed.as_ref(), preparers),
            _ => Vec::new(),
        };
        AheadEntry { seq, found, prepared }
    }

    fn bytes(&self) -> usize {
        match &self.found {
            Ok(Some(entry)) => {
                entry.bytes.len() + entry.sealed.as_ref().map_or(0, |sealed| sealed.bytes.len())
            }
            _ => 0,
        }
    }
}

/// What the hooks make of the body beside an entry.
pub(crate) fn prepared(
    payload: &Payload,
    sealed: Option<&SealedBody>,
    preparers: &[Arc<dyn Prepare>],
) -> Vec<PreparedBody> {
    let hash = match payload {
        Payload::Write(write) => write.body_hash,
        Payload::Update(update) => update.body_hash,
        _ => return Vec::new(),
    };
    let Some(sealed) = sealed.filter(|_| !preparers.is_empty()) else { return Vec::new() };
    // Whoever applies the entry finds the same fault, and knows what to do about it.
    let Ok(body) = sealed.open_checked("body", hash) else { return Vec::new() };
    preparers.iter().map(|preparer| preparer.prepare(&body)).collect()
}

/// Entries in order.
pub(super) struct Entries<'a> {
    storage: &'a dyn Storage,
    preparers: &'a [Arc<dyn Prepare>],
    next: u64,
    last: u64,
    /// Where the parts come from, in turn. Empty: they are read here.
    threads: Vec<Receiver<Vec<AheadEntry>>>,
    turn: usize,
    /// What is left of the last part, in reverse.
    part: Vec<AheadEntry>,
}

impl Entries<'_> {
    /// The entries of the next commit; none at the end.
    pub(super) fn slice(&mut self) -> Result<Vec<AheadEntry>> {
        let (mut slice, mut bytes) = (Vec::new(), 0);
        while slice.len() < REBUILD_ENTRIES_PER_COMMIT && bytes < GROUP_BYTES_MAX / 2 {
            let Some(entry) = self.entry()? else { break };
            bytes += entry.bytes();
            slice.push(entry);
        }
        Ok(slice)
    }

    fn entry(&mut self) -> Result<Option<AheadEntry>> {
        if self.part.is_empty() {
            if self.next > self.last {
                return Ok(None);
            }
            self.part = match self.threads.get(self.turn) {
                // A thread that is gone has panicked.
                Some(parts) => parts.recv().map_err(|_| Error::Poisoned)?,
                None => read_part(self.storage, self.preparers, (self.next, self.last)),
            };
            self.part.reverse();
            self.next = self.next.saturating_add(PART_ENTRIES);
            self.turn = (self.turn + 1) % self.threads.len().max(1);
        }
        Ok(self.part.pop())
    }
}

/// The entries from `from` on, as many as make a part.
fn read_part(
    storage: &dyn Storage,
    preparers: &[Arc<dyn Prepare>],
    (from, last): (u64, u64),
) -> Vec<AheadEntry> {
    let upto = last.min(from.saturating_add(PART_ENTRIES - 1));
    match storage.reader() {
        Ok(reader) => (from..=upto).map(|seq| AheadEntry::read(&*reader, seq, preparers)).collect(),
        Err(error) => {
            let failed = |seq| AheadEntry { seq, found: Err(error.clone()), prepared: Vec::new() };
            (from..=upto).map(failed).collect()
        }
    }
}

/// Does something with the entries from `first` to `last`, which other threads read meanwhile.
pub(super) fn read_ahead<T>(
    storage: &dyn Storage,
    preparers: &[Arc<dyn Prepare>],
    (first, last): (u64, u64),
    work: impl FnOnce(&mut Entries<'_>) -> Result<T>,
) -> Result<T> {
    let is_alone = last.saturating_sub(first) < ALONE_ENTRIES_MAX;
    let many = if is_alone { 0 } else { available_parallelism().map_or(1, usize::from) };
    let many = many.min(THREADS_MAX);
    std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(many);
        for nth in 0..many as u64 {
            let (parts, waiting): (SyncSender<Vec<AheadEntry>>, _) = sync_channel(PARTS_WAITING);
            threads.push(waiting);
            scope.spawn(move || {
                let mut from = first + nth * PART_ENTRIES;
                // Nobody waits any more if it cannot be sent.
                while from <= last
                    && parts.send(read_part(storage, preparers, (from, last))).is_ok()
                {
                    from += many as u64 * PART_ENTRIES;
                }
            });
        }
        let (next, turn, part) = (first, 0, Vec::new());
        let mut entries = Entries { storage, preparers, next, last, threads, turn, part };
        work(&mut entries)
    })
}
