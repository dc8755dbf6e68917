//! Puts the journal of a home's actor into the ledger, entry by entry, and goes on where it stopped.
//!
//! What must stay true: what is there already must be the same past, to the last byte of its last entry; nothing is
//! overwritten. Entries whose body was erased go without it.

use std::ops::ControlFlow;
use std::sync::Arc;

use kernel::Cortex;
use kernel::ledger::{Frame, FrameEntry, LastEntry, LedgerPart, SharedJournal, SharedLedgers as _};
use proof::actor::ActorName;

use crate::error::{Error, Result};
use crate::ledger::{LedgerHandle, PostgresLedger};

/// Entries and bytes of one append.
const ENTRIES_PER_APPEND: usize = 1_024;
const BYTES_PER_APPEND: usize = 4 << 20;

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushReport {
    /// Entries that were there before.
    pub found: u64,
    pub pushed: u64,
}

/// Pushes an actor. `told` hears how many entries are there, of how many.
pub fn push(
    ledger: &Arc<PostgresLedger>,
    actor: &ActorName,
    cortex: &Cortex,
    told: &mut dyn FnMut(u64, u64),
) -> Result<PushReport> {
    let journal = LedgerHandle(Arc::clone(ledger)).journal(actor);
    let total = cortex.read()?.view().counters()?.size;
    let sizes = ledger.wait(ledger.sizes(&[actor.as_str().to_owned()]))?;
    let found = sizes.first().and_then(|size| u64::try_from(*size).ok()).unwrap_or_default();
    let other = |reason: String| Error::OtherPast { actor: actor.to_string(), reason };
    if found > total {
        let reason = format!("the ledger has {found} entries, this home {total}");
        return Err(other(reason));
    }
    let mut draft = PushDraft { journal, last: (found, Vec::new()), parts: Vec::new(), bytes: 0 };
    if found > 0 {
        let theirs = draft.journal.read(found)?.into_iter().next().map(|entry| entry.entry);
        let mut ours = None;
        cortex.visit_ledger(found, &mut |entry| {
            if let LedgerPart::Whole(bytes) = entry.entry {
                ours = Some(bytes);
            }
            Ok(ControlFlow::Break(()))
        })?;
        if ours.is_none() || ours != theirs {
            return Err(other(format!("entry {found} is not the same")));
        }
        draft.last.1 = ours.unwrap_or_default();
    }
    told(found, total);
    cortex.visit_ledger(found + 1, &mut |entry| {
        let LedgerPart::Whole(bytes) = entry.entry else {
            let place = format!("entry {}", entry.seq);
            return Err(kernel::Error::Corrupt { place, reason: "it does not read".to_owned() });
        };
        let body = match entry.body {
            LedgerPart::Whole(body) => Some(body),
            LedgerPart::Absent | LedgerPart::Erased => None,
            LedgerPart::Damaged => {
                let place = format!("body {}", entry.seq);
                return Err(kernel::Error::Corrupt {
                    place,
                    reason: "it does not read".to_owned(),
                });
            }
        };
        if draft.push(bytes, body)? {
            told(draft.last.0, total);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    draft.flush()?;
    told(draft.last.0, total);
    Ok(PushReport { found, pushed: draft.last.0 - found })
}

/// Entries on their way into one append.
struct PushDraft {
    journal: Arc<dyn SharedJournal>,
    /// The last entry in the ledger.
    last: (u64, Vec<u8>),
    parts: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    bytes: usize,
}

impl PushDraft {
    /// True if an append was made.
    fn push(&mut self, entry: Vec<u8>, body: Option<Vec<u8>>) -> kernel::Result<bool> {
        self.bytes += entry.len() + body.as_ref().map_or(0, Vec::len);
        self.parts.push((entry, body));
        if self.parts.len() < ENTRIES_PER_APPEND && self.bytes < BYTES_PER_APPEND {
            return Ok(false);
        }
        self.flush()?;
        Ok(true)
    }

    fn flush(&mut self) -> kernel::Result<()> {
        let parts = std::mem::take(&mut self.parts);
        self.bytes = 0;
        let Some((last, _)) = parts.last() else { return Ok(()) };
        let entries =
            parts.iter().map(|(entry, body)| FrameEntry { entry, body: body.as_deref() }).collect();
        let after = LastEntry { seq: self.last.0, entry: &self.last.1 };
        self.journal.append(after, &Frame { entries, ..Frame::default() })?;
        self.last = (self.last.0 + parts.len() as u64, last.clone());
        Ok(())
    }
}
