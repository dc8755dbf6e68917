//! What people said, for the patterns: prompts of the journal that were not looked at yet.
//!
//! A session counts as a channel of its own: who says the same in two of them said it twice.

use kernel::journal::EntryKind;
use kernel::store::View;
use mind::patterns::{Observation, What};

use crate::ops::error::Result;

/// Prompts one look takes in; what is older is not looked at.
const LOOK_MAX: u64 = 20_000;

/// Observations from the entries after `seen`, and the last entry that was looked at.
pub(super) fn since(view: &View<'_>, seen: u64) -> Result<(Vec<Observation>, u64)> {
    let size = view.counters()?.size;
    // A journal that is shorter than before is another one.
    let seen = if seen > size { 0 } else { seen };
    let mut observations = Vec::new();
    for seq in seen.max(size.saturating_sub(LOOK_MAX)) + 1..=size {
        let Some(entry) = view.entry(seq)?.filter(|entry| entry.kind == EntryKind::Prompt) else {
            continue;
        };
        // An erased prompt says nothing.
        let (Some(prompt), Some(sealed)) = (view.prompt(seq)?, view.sealed(seq)?) else { continue };
        observations.push(Observation {
            at: entry.at,
            channel: prompt.session.or(prompt.project),
            // What is typed to an agent on this machine is read by its owner alone.
            private: true,
            what: What::Said(sealed.open_note()?.text),
            memory: None,
        });
    }
    Ok((observations, size))
}
