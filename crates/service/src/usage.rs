//! How memories are used: opened by who asked for them, or shown in a list. Cited is what a run says it was.
//!
//! What must stay true: what stands in a list is shown and not opened, so that no search lifts a score; noting is cheap
//! and never fails a read. Notes are journaled together, later; if that cannot be done now, as on a full disk, they
//! stay.

use std::collections::BTreeMap;

use kernel::actor::ActorName;
use kernel::command::{Command, Stamp, Touches};
use kernel::journal::Access;
use kernel::limits::TOUCHES_MAX;
use kernel::memory::{MemoryId, Millis};

use crate::caller::Caller;
use crate::error::{Error, Result};
use crate::{Service, lock};

/// Memories whose use waits to be journaled, before it is.
const PENDING_MAX: usize = 512;

/// What was noted and is not journaled yet.
#[derive(Debug, Default)]
pub(super) struct PendingUses {
    opened: BTreeMap<MemoryId, Access>,
    shown: BTreeMap<MemoryId, Access>,
}

impl PendingUses {
    fn len(&self) -> usize {
        self.opened.len().max(self.shown.len())
    }
}

fn note(pending: &mut BTreeMap<MemoryId, Access>, accesses: impl Iterator<Item = Access>) {
    for access in accesses {
        let noted = pending.entry(access.id).or_insert(Access { count: 0, ..access });
        noted.count = noted.count.saturating_add(access.count);
        noted.at = noted.at.max(access.at);
    }
}

/// How a memory was used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Opened,
    Shown,
}

impl Service {
    /// Notes that memories were opened: somebody asked for just them.
    pub fn note_opened(&self, caller: &Caller, ids: &[MemoryId]) -> Result<()> {
        self.note(caller, Use::Opened, ids)
    }

    /// Notes that memories stood in a list.
    pub fn note_shown(&self, caller: &Caller, ids: &[MemoryId]) -> Result<()> {
        self.note(caller, Use::Shown, ids)
    }

    fn note(&self, caller: &Caller, used: Use, ids: &[MemoryId]) -> Result<()> {
        let now = caller.now()?;
        let state = self.state(&caller.actor);
        let full = {
            let mut pending = lock(&state.pending);
            let before = pending.len() / PENDING_MAX;
            let noted = if used == Use::Opened { &mut pending.opened } else { &mut pending.shown };
            note(noted, ids.iter().map(|id| Access { id: *id, count: 1, at: now }));
            pending.len() / PENDING_MAX > before
        };
        if full {
            // They stay noted, and the background tries again.
            let _ = self.flush_actor(&caller.actor, now);
        }
        Ok(())
    }

    /// Journals the uses of an actor's memories that were noted so far.
    pub fn flush_actor(&self, actor: &ActorName, now: Millis) -> Result<()> {
        let state = self.state(actor);
        let noted = std::mem::take(&mut *lock(&state.pending));
        let opened: Vec<Access> = noted.opened.into_values().collect();
        let shown: Vec<Access> = noted.shown.into_values().collect();
        let mut left = (opened.as_slice(), shown.as_slice());
        let mut journal = || -> Result<()> {
            while !left.0.is_empty() || !left.1.is_empty() {
                let cortex = self.home.actor(actor, now)?;
                let (opened, rest_opened) = left.0.split_at(left.0.len().min(TOUCHES_MAX));
                let (shown, rest_shown) = left.1.split_at(left.1.len().min(TOUCHES_MAX));
                let touches = Touches {
                    accesses: opened.to_vec(),
                    shown: shown.to_vec(),
                    ..Touches::default()
                };
                self.submit(&cortex, Stamp::new(now, "recall"), Command::Touch(touches))?;
                left = (rest_opened, rest_shown);
            }
            Ok(())
        };
        let outcome = journal();
        if outcome.as_ref().is_err_and(Error::is_retryable) {
            let mut pending = lock(&state.pending);
            note(&mut pending.opened, left.0.iter().copied());
            note(&mut pending.shown, left.1.iter().copied());
        }
        outcome
    }
}
