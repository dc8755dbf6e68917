//! Taking over what other nodes wrote to a shared ledger.
//!
//! What must stay true: their entries go through the same `apply` and the same hooks as one's own, in one commit with
//! everything that follows from them, so that a reader sees an entry exactly when it sees its effects. An entry that
//! this build does not read, a body that does not belong to its entry and a snapshot whose root is not the one found
//! here are refused, and with them everything behind.

use std::sync::atomic::Ordering;

use proof::journal::{Entry, Payload};
use proof::memory::SealedBody;

use super::WriterThread;
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::limits::GROUP_BYTES_MAX;
use crate::store::{SCRUB_KEY, SharedEntry, Space, View, WriteSet};

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
        let reader = self.storage.reader()?;
        let mut batch = Batch::new(&*reader, self.side, &mut self.hooks);
        for found in foreign {
            let (entry, payload, sealed) = decode(found)?;
            batch.record(&entry, &payload, sealed.as_ref(), &[])?;
            if batch.bytes() >= GROUP_BYTES_MAX {
                break;
            }
        }
        let mut rows = batch.seal()?;
        rows.mark_foreign();
        Ok(rows)
    }
}

/// An entry as its bytes say, with the body that belongs to it.
fn decode(found: &SharedEntry) -> Result<(Entry, Payload, Option<SealedBody>)> {
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
    Ok((entry, payload, sealed))
}
