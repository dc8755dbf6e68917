//! The commitments as a journal hook: one leaf per entry in the journal tree, one leaf per head and edge in the state
//! trees.
//!
//! Leaves are gathered per batch and written once, before the commit: thirty-two writes in one commit rehash their
//! common path once. A snapshot must see the trees as of the entry before it, so it flushes first. Page bytes do not
//! depend on how entries were grouped into batches.

use std::collections::BTreeMap;

use proof::Digest;
use proof::actor::ActorName;
use proof::journal::{Manifest, Payload};
use proof::merkle::{
    self, EDGES, HEADS, LeafChange, PageChanges, Pages, Roots, SnapshotMark, TreeKey,
};

use crate::error::{Error, Result};
use crate::hook::{HookRows, JournalHook, RecordedEntry};
use crate::store::{KeyRange, View};

#[derive(Debug)]
pub(crate) struct Commitments {
    actor: ActorName,
    /// Leaves in the journal tree as written.
    size: u64,
    /// The snapshot whose pages must be kept when they change.
    snapshot: Option<SnapshotMark>,
    pending: Pending,
    /// State as of the last commit, to return to when a batch is aborted.
    committed: (u64, Option<SnapshotMark>),
}

#[derive(Debug, Default)]
struct Pending {
    leaves: Vec<Digest>,
    heads: BTreeMap<TreeKey, LeafChange>,
    edges: BTreeMap<TreeKey, LeafChange>,
}

impl Commitments {
    pub(crate) fn new(actor: ActorName) -> Commitments {
        Commitments {
            actor,
            size: 0,
            snapshot: None,
            pending: Pending::default(),
            committed: (0, None),
        }
    }

    /// Writes all gathered leaves, so that `view` with `staged` shows the trees as of the last entry.
    pub(crate) fn flush(&mut self, view: &View<'_>, staged: &mut HookRows<'_>) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        let mut pages = PageChanges::new();
        self.size = merkle::log::append(view, self.size, &pending.leaves, &mut pages)?;
        for (tree, leaves) in [(HEADS, &pending.heads), (EDGES, &pending.edges)] {
            if !leaves.is_empty() {
                merkle::update(view, tree, leaves, self.snapshot, &mut pages)?;
            }
        }
        for (key, page) in pages {
            staged.set(key, page);
        }
        Ok(())
    }

    /// On rebuild a snapshot entry carries the roots of its time: they must be the ones found again.
    fn check_manifest(&self, view: &View<'_>, manifest: &Manifest) -> Result<()> {
        let found = roots_at(view, self.size)?.overall(self.actor.as_str());
        if found == manifest.root {
            Ok(())
        } else {
            Err(Error::RootMismatch { expected: manifest.root, found })
        }
    }
}

/// The roots that `view` shows. `size` is the number of journal entries it holds.
pub(crate) fn roots_at(view: &View<'_>, size: u64) -> Result<Roots> {
    Ok(Roots {
        size,
        journal: merkle::log::root(view, size)?,
        heads: merkle::tree::root(view, HEADS, None)?,
        edges: merkle::tree::root(view, EDGES, None)?,
    })
}

impl Pages for View<'_> {
    type Error = Error;

    fn page(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.get(key)
    }

    fn page_at_or_after(&self, key: &[u8], prefix_len: usize) -> Result<Option<Vec<u8>>> {
        let mut range = KeyRange::prefix(&key[..prefix_len]);
        range.from = key.to_vec();
        Ok(self.first(&range)?.map(|(_, page)| page))
    }
}

impl JournalHook for Commitments {
    fn name(&self) -> &'static str {
        "commitments"
    }

    fn open(&mut self, view: &View<'_>) -> Result<()> {
        let counters = view.counters()?;
        self.pending = Pending::default();
        self.size = counters.size;
        self.snapshot =
            counters.snapshot.map(|last| SnapshotMark { snapshot: last.number, seq: last.seq });
        self.committed = (self.size, self.snapshot);
        Ok(())
    }

    fn entry(
        &mut self,
        view: &View<'_>,
        recorded: RecordedEntry<'_>,
        _: &mut HookRows<'_>,
    ) -> Result<()> {
        let seq = recorded.entry.seq;
        if let Payload::Snapshot(manifest) = recorded.payload {
            // `flush` has run: the trees are as of the entry before, which is what the manifest covers.
            self.check_manifest(view, manifest)?;
            self.snapshot = Some(SnapshotMark { snapshot: manifest.number, seq });
        }
        self.pending.leaves.push(merkle::log::leaf_hash(recorded.entry_bytes));
        for head in &recorded.changes.heads {
            let key = merkle::head_key(head.memory_type.code(), head.id.get());
            self.pending.heads.insert(key, (Some(head.leaf), seq));
        }
        for edge in &recorded.changes.edges {
            let key = merkle::edge_key(edge.src.get(), edge.relation.code(), edge.dst.get());
            self.pending.edges.insert(key, (edge.leaf, seq));
        }
        Ok(())
    }

    fn seal(&mut self, view: &View<'_>, staged: &mut HookRows<'_>) -> Result<()> {
        self.flush(view, staged)
    }

    fn committed(&mut self) {
        self.committed = (self.size, self.snapshot);
    }

    fn aborted(&mut self) {
        (self.size, self.snapshot) = self.committed;
        self.pending = Pending::default();
    }
}
