//! Taking over what other nodes wrote to a shared ledger.
//!
//! What must stay true: their entries go through the same `apply` and the same hooks as one's own, in one commit with
//! everything that follows from them, so that a reader sees an entry exactly when it sees its effects. An entry that
//! this build does not read, a body that does not belong to its entry and a snapshot whose root is not the one found
//! here are refused, and with them everything behind.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::available_parallelism;

use proof::journal::{Entry, Payload};
use proof::memory::SealedBody;

use super::WriterThread;
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::hook::{Prepare, PreparedBody};
use crate::limits::GROUP_BYTES_MAX;
use crate::rebuild::prepared;
use crate::store::{SCRUB_KEY, SharedEntry, Space, View, WriteSet};

/// Threads that decode, at most.
const THREADS_MAX: usize = 8;
/// Fewer entries are decoded by the writer alone.
const ALONE_ENTRIES_MAX: usize = 64;

impl WriterThread {
    /// Takes over entries until there are no more. Returns the size of the journal then.
    pub(super) fn catch_up(&mut self) -> Result<u64> {
        if self.is_poisoned() {
            return Err(Error::Poisoned);
        }
        loop {
            let reader = self.storage.reader()?;
            let size = View::new(&*reader, self.side).counters()?.size;
            drop(reader);
            let foreign = match self.storage.foreign(size) {
                Ok(foreign) if foreign.is_empty() => return Ok(size),
                Ok(foreign) => foreign,
                Err(error) => {
                    // A copy that was given up is made again when the actor is opened.
                    self.poisoned.fetch_or(self.storage.has_failed(), Ordering::AcqRel);
                    return Err(error);
                }
            };
            let rows = self.stage_foreign(&foreign).inspect_err(|_| self.hooks.aborted())?;
            let is_erasure = rows.get(Space::Engine, SCRUB_KEY).is_some();
            self.commit(&rows)?;
            self.taken_over_at = foreign.last().map_or(size, |last| last.seq);
            if is_erasure {
                self.scrubber.request();
            }
            if self.is_poisoned() {
                return Err(Error::Poisoned);
            }
        }
    }

    /// As many of them as fit into one commit.
    fn stage_foreign(&mut self, foreign: &[SharedEntry]) -> Result<WriteSet> {
        let decoded = decode_all(foreign, &self.hooks.preparers());
        let reader = self.storage.reader()?;
        let mut batch = Batch::new(&*reader, self.side, &mut self.hooks);
        for found in decoded {
            let ForeignEntry { entry, payload, sealed, prepared } = found?;
            batch.record(&entry, &payload, sealed.as_ref(), &prepared)?;
            if batch.bytes() >= GROUP_BYTES_MAX {
                break;
            }
        }
        let mut rows = batch.seal()?;
        rows.mark_foreign();
        Ok(rows)
    }
}

/// An entry as its bytes say, with the body that belongs to it and what the hooks make of that beforehand.
struct ForeignEntry {
    entry: Entry,
    payload: Payload,
    sealed: Option<SealedBody>,
    prepared: Vec<PreparedBody>,
}

/// Decodes and prepares entries, which is most of the work and depends on no entry before: many by several threads.
fn decode_all(
    foreign: &[SharedEntry],
    preparers: &[Arc<dyn Prepare>],
) -> Vec<Result<ForeignEntry>> {
    let threads = available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    if threads < 2 || foreign.len() < ALONE_ENTRIES_MAX {
        return foreign.iter().map(|found| decode(found, preparers)).collect();
    }
    let part = foreign.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let decode_part = |part: &'_ [SharedEntry]| -> Vec<Result<ForeignEntry>> {
            part.iter().map(|found| decode(found, preparers)).collect()
        };
        let (own, others) = foreign.split_at(part);
        let others: Vec<_> = others
            .chunks(part)
            .map(|part| (part, scope.spawn(move || decode_part(part))))
            .collect();
        let mut all = decode_part(own);
        for (part, thread) in others {
            // What a thread could not do, this one does.
            all.extend(thread.join().unwrap_or_else(|_| decode_part(part)));
        }
        all
    })
}

fn decode(found: &SharedEntry, preparers: &[Arc<dyn Prepare>]) -> Result<ForeignEntry> {
    let place = || format!("entry {} of the shared journal", found.seq);
    let entry = Entry::from_bytes(&found.entry)?;
    if entry.seq != found.seq {
        return Err(Error::corrupt(place(), format!("holds entry {}", entry.seq)));
    }
    let payload = entry.payload()?;
    let sealed = found.body.as_deref().map(SealedBody::from_bytes).transpose()?;
    let expected = match &payload {
        Payload::Write(write) => Some(write.body_hash),
        Payload::Update(update) => Some(update.body_hash),
        Payload::Prompt(prompt) => Some(prompt.body_hash),
        Payload::FindLate(find) => Some(find.query_hash),
        Payload::SessionEnd(end) => end.summary_hash,
        _ => None,
    };
    if sealed.as_ref().is_some_and(|sealed| Some(sealed.hash()) != expected) {
        return Err(Error::corrupt(place(), "has a body that is not its own"));
    }
    let prepared = prepared(&payload, sealed.as_ref(), preparers);
    Ok(ForeignEntry { entry, payload, sealed, prepared })
}
