//! The auditor's kit: the journal as it is, which state a root was of, what changed between two, signed checkpoints.
//!
//! All of it is the owner's. What must stay true: nothing here changes the store.

pub mod checkpoint;
mod past_roots;

use std::path::Path;
use std::sync::PoisonError;

use api::auditor::{
    DIFFERENCES_MAX, DiffAnswer, DiffRequest, DifferenceKind, EdgeDifference, MemoryDifference,
    RAW_PAGE_MAX, RawEntry, RawJournalAnswer, RawJournalRequest, RootedState, SinceRootAnswer,
    SinceRootRequest,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kernel::Digest;

use crate::Service;
use crate::access::only_owner;
use crate::caller::Caller;
use crate::error::{Error, Result};
use past_roots::{PastStates, RootFinder};

impl Service {
    /// Entries as they are hashed: whoever has all of them can compute the journal's root.
    pub fn raw_journal(
        &self,
        caller: &Caller,
        request: RawJournalRequest,
    ) -> Result<RawJournalAnswer> {
        only_owner(caller, "read the journal")?;
        let reading = self.opened(caller)?.read()?;
        let view = reading.view();
        let size = view.counters()?.size;
        let first = request.from.max(1);
        let most = request.limit.unwrap_or(RAW_PAGE_MAX).min(RAW_PAGE_MAX);
        let end = size.min(first.saturating_add(u64::from(most)).saturating_sub(1));
        let mut entries = Vec::new();
        for seq in first..=end {
            let entry = view.entry(seq)?.ok_or_else(|| {
                Error::from(kernel::Error::corrupt(format!("entry {seq}"), "is missing"))
            })?;
            // A record has one byte string, so these are the bytes that were read.
            entries.push(RawEntry { seq, bytes: STANDARD.encode(entry.to_bytes()) });
        }
        Ok(RawJournalAnswer { entries, next: (end < size).then_some(end + 1), size })
    }

    /// The state that a root was of: whatever is remembered now grew out of it, and nothing of it was rewritten.
    pub fn since_root(
        &self,
        caller: &Caller,
        request: SinceRootRequest,
    ) -> Result<SinceRootAnswer> {
        only_owner(caller, "verify the store")?;
        let root = parse_root(&request.root)?;
        let found = self.past_states(caller, vec![root])?;
        let (_, roots) = found.states.first().ok_or_else(|| never_had(&root))?;
        let reading = self.opened(caller)?.read()?;
        let now = reading.roots()?;
        Ok(SinceRootAnswer {
            root: root.to_string(),
            size: roots.size,
            current_root: now.overall(caller.actor.as_str()).to_string(),
            current_size: now.size,
        })
    }

    /// Which memories and edges differ between two states that the actor had.
    pub fn diff(&self, caller: &Caller, request: DiffRequest) -> Result<DiffAnswer> {
        only_owner(caller, "compare states")?;
        let wanted = [parse_root(&request.roots[0])?, parse_root(&request.roots[1])?];
        if wanted[0] == wanted[1] {
            return Err(Error::invalid("roots", "are the same; name two"));
        }
        let found = self.past_states(caller, wanted.to_vec())?;
        if let Some(missing) =
            wanted.iter().find(|root| found.states.iter().all(|(r, _)| r != *root))
        {
            return Err(never_had(missing));
        }
        Ok(compared(&found))
    }

    /// Replays the journal and looks for these roots.
    fn past_states(&self, caller: &Caller, wanted: Vec<Digest>) -> Result<PastStates> {
        let cortex = self.opened(caller)?;
        let scratch = self.scratch(&cortex, "audit");
        clear(&scratch)?;
        let (finder, found) = RootFinder::new(caller.actor.as_str(), wanted);
        let mut told = |done, total| caller.tell("replayed", done, total);
        cortex.replay(&scratch, Box::new(finder), &mut told)?;
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::take(&mut found))
    }
}

/// What a replay that was killed left behind; the actor's lock says that nobody uses it.
fn clear(scratch: &Path) -> Result<()> {
    match std::fs::remove_dir_all(scratch) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io(scratch.display(), &error))
        }
        _ => Ok(()),
    }
}

fn parse_root(text: &str) -> Result<Digest> {
    text.trim().parse().map_err(|_| Error::invalid("root", "expected 64 hexadecimal digits"))
}

fn never_had(root: &Digest) -> Error {
    let message = format!("this actor never had the root {root}");
    Error::new(api::ErrorCode::RootMismatch, api::Fault::Conflict, message).with_hint(
        "if you trust that root, this journal was rewritten since, or is another actor's",
    )
}

fn kind(before: Option<&Digest>, after: Option<&Digest>) -> Option<DifferenceKind> {
    match (before, after) {
        (None, Some(_)) => Some(DifferenceKind::Added),
        (Some(_), None) => Some(DifferenceKind::Removed),
        (Some(before), Some(after)) if before != after => Some(DifferenceKind::Changed),
        _ => None,
    }
}

fn compared(found: &PastStates) -> DiffAnswer {
    let state = |place: usize| {
        let (root, roots) = &found.states[place];
        RootedState { root: root.to_string(), size: roots.size }
    };
    let memories = found.heads.iter().filter_map(|(id, before)| {
        let difference = kind(before.as_ref(), found.head_leaves.get(id))?;
        Some(MemoryDifference { id: *id, difference })
    });
    let edges = found.edges.iter().filter_map(|(name, before)| {
        let difference = kind(before.as_ref(), found.edge_leaves.get(name))?;
        let (src, relation, dst) = *name;
        Some(EdgeDifference { src, relation: relation.name().to_owned(), dst, difference })
    });
    let (mut memories, mut edges): (Vec<_>, Vec<_>) = (memories.collect(), edges.collect());
    let capped = memories.len() > DIFFERENCES_MAX || edges.len() > DIFFERENCES_MAX;
    memories.truncate(DIFFERENCES_MAX);
    edges.truncate(DIFFERENCES_MAX);
    DiffAnswer { from: state(0), to: state(1), memories, edges, capped }
}
