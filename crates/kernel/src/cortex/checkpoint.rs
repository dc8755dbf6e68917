//! A checkpoint: everything a node keeps of an actor, as of a moment whose root the journal holds.
//!
//! What must stay true: the entry behind a checkpoint is a snapshot with the root of exactly this state. Whoever starts
//! from a checkpoint applies that entry next, which compares the roots: a state that is not the one that was journaled
//! is refused like any damaged copy.

use std::path::Path;

use super::{Cortex, SCRUB_PATIENCE};
use crate::command::Stamp;
use crate::error::Result;
use crate::store::{DiskMedium, Storage as _, StoreFile, unscrubbed};

/// How often a state is taken until nobody wrote between it and its snapshot.
const TRIES: usize = 16;
/// Why a checkpoint's snapshot is taken, as the journal says it.
const REASON: &str = "checkpoint";

/// What a checkpoint holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointState {
    /// Journal entries.
    pub size: u64,
    /// Memories whose content was erased until then. More of them: the checkpoint holds what it must not.
    pub erased: u64,
}

impl Cortex {
    /// Copies the derived rows and the local copy of the ledger into a folder that is empty, while others read and
    /// write. `None`: others wrote all the time, or an erasure could not be scrubbed.
    pub fn checkpoint(
        &self,
        stamp: &dyn Fn() -> Stamp,
        folder: &Path,
    ) -> Result<Option<CheckpointState>> {
        let files = self.files()?;
        for _ in 0..TRIES {
            let reading = self.read()?;
            let rows = self.storage.rows()?;
            if unscrubbed(&*rows)?.is_some() {
                // Rows that may hold words of an erased memory stay here.
                drop(rows);
                if self.scrubber.wait(SCRUB_PATIENCE) {
                    continue;
                }
                break;
            }
            let counters = reading.view().counters()?;
            let manifest = self.snapshot(stamp(), REASON)?;
            if manifest.size != counters.size {
                continue;
            }
            // Rows may be of a moment later than the reading; then somebody wrote, and the sizes above differ.
            let copy = files.begin_copy()?;
            copy.fill(&*rows, false)?;
            copy.settle()?;
            drop(rows);
            files.ledger().copy_to(folder, &[], &[])?;
            copy.take_out(&DiskMedium::new(folder).path(StoreFile::Derived))?;
            return Ok(Some(CheckpointState { size: counters.size, erased: counters.erased }));
        }
        Ok(None)
    }
}
