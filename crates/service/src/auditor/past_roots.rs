//! Which state a root was of: the roots after every entry, found by a replay of the journal.
//!
//! A root covers the journal and the state that follows from it, so it cannot be looked up by a size alone. The replay
//! shows each entry and the leaves it changes; the trees over them are kept in memory. What must stay true: nothing of
//! the store is written, and a root that the actor never had is never found.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use kernel::hook::{HookRows, JournalHook, RecordedEntry};
use kernel::memory::Relation;
use kernel::store::View;
use kernel::{Digest, Result};
use proof::merkle::{
    EDGES, HEADS, LeafChange, PageChanges, Pages, Roots, TreeKey, edge_key, head_key, log, tree,
    update,
};

/// An edge: source, relation, target.
pub(super) type EdgeName = (u64, Relation, u64);

/// What the replay found.
#[derive(Debug, Default)]
pub(super) struct PastStates {
    /// The states of the roots that were looked for, as they came.
    pub(super) states: Vec<(Digest, Roots)>,
    /// Leaves before they changed for the first time between the first state found and the second.
    pub(super) heads: BTreeMap<u64, Option<Digest>>,
    pub(super) edges: BTreeMap<EdgeName, Option<Digest>>,
    /// Leaves as they are.
    pub(super) head_leaves: BTreeMap<u64, Digest>,
    pub(super) edge_leaves: BTreeMap<EdgeName, Digest>,
}

/// Computes the root after each entry and notes those that are looked for.
pub(super) struct RootFinder {
    actor: String,
    wanted: Vec<Digest>,
    size: u64,
    pages: MemoryPages,
    found: Arc<Mutex<PastStates>>,
}

impl std::fmt::Debug for RootFinder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RootFinder").field("wanted", &self.wanted).finish_non_exhaustive()
    }
}

/// Pages of the trees, in memory.
#[derive(Default)]
struct MemoryPages(BTreeMap<Vec<u8>, Vec<u8>>);

impl Pages for MemoryPages {
    type Error = kernel::Error;

    fn page(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.0.get(key).cloned())
    }

    fn page_at_or_after(&self, key: &[u8], prefix_len: usize) -> Result<Option<Vec<u8>>> {
        let next = self.0.range(key.to_vec()..).next();
        Ok(next
            .filter(|(found, _)| found.starts_with(&key[..prefix_len]))
            .map(|(_, page)| page.clone()))
    }
}

impl RootFinder {
    /// Looks for these roots; what it finds is in the second part when the replay is done.
    pub(super) fn new(actor: &str, wanted: Vec<Digest>) -> (RootFinder, Arc<Mutex<PastStates>>) {
        let found = Arc::new(Mutex::new(PastStates::default()));
        let finder = RootFinder {
            actor: actor.to_owned(),
            wanted,
            size: 0,
            pages: MemoryPages::default(),
            found: Arc::clone(&found),
        };
        (finder, found)
    }

    fn keep(&mut self, changes: PageChanges) {
        for (key, page) in changes {
            match page {
                Some(page) => self.pages.0.insert(key, page),
                None => self.pages.0.remove(&key),
            };
        }
    }

    /// The state after the entries so far, if its root is looked for.
    fn look(&self) -> Result<Option<(Digest, Roots)>> {
        let roots = Roots {
            size: self.size,
            journal: log::root(&self.pages, self.size)?,
            heads: tree::root(&self.pages, HEADS, None)?,
            edges: tree::root(&self.pages, EDGES, None)?,
        };
        let root = roots.overall(&self.actor);
        Ok(self.wanted.contains(&root).then_some((root, roots)))
    }

    fn add(&mut self, recorded: &RecordedEntry<'_>) -> Result<()> {
        let seq = recorded.entry.seq;
        let mut changes = PageChanges::new();
        let leaf = log::leaf_hash(recorded.entry_bytes);
        self.size = log::append(&self.pages, self.size, &[leaf], &mut changes)?;
        let mut heads: BTreeMap<TreeKey, LeafChange> = BTreeMap::new();
        for head in &recorded.changes.heads {
            heads.insert(head_key(head.memory_type.code(), head.id.get()), (Some(head.leaf), seq));
        }
        let mut edges: BTreeMap<TreeKey, LeafChange> = BTreeMap::new();
        for edge in &recorded.changes.edges {
            let key = edge_key(edge.src.get(), edge.relation.code(), edge.dst.get());
            edges.insert(key, (edge.leaf, seq));
        }
        for (tree, leaves) in [(HEADS, &heads), (EDGES, &edges)] {
            if !leaves.is_empty() {
                update(&self.pages, tree, leaves, None, &mut changes)?;
            }
        }
        self.keep(changes);
        Ok(())
    }
}

impl PastStates {
    /// Notes what an entry changes, and how it was before if the comparison has begun and not ended.
    fn note(&mut self, recorded: &RecordedEntry<'_>) {
        let compares = self.states.len() == 1;
        for head in &recorded.changes.heads {
            let before = self.head_leaves.insert(head.id.get(), head.leaf);
            if compares {
                self.heads.entry(head.id.get()).or_insert(before);
            }
        }
        for edge in &recorded.changes.edges {
            let name = (edge.src.get(), edge.relation, edge.dst.get());
            let before = match edge.leaf {
                Some(leaf) => self.edge_leaves.insert(name, leaf),
                None => self.edge_leaves.remove(&name),
            };
            if compares {
                self.edges.entry(name).or_insert(before);
            }
        }
    }
}

impl JournalHook for RootFinder {
    fn name(&self) -> &'static str {
        "past roots"
    }

    fn open(&mut self, _: &View<'_>) -> Result<()> {
        let empty = self.look()?;
        self.found.lock().unwrap_or_else(PoisonError::into_inner).states.extend(empty);
        Ok(())
    }

    fn entry(
        &mut self,
        _: &View<'_>,
        recorded: RecordedEntry<'_>,
        _: &mut HookRows<'_>,
    ) -> Result<()> {
        let shared = Arc::clone(&self.found);
        let mut found = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if found.states.len() < self.wanted.len() {
            self.add(&recorded)?;
            found.note(&recorded);
            found.states.extend(self.look()?);
        }
        Ok(())
    }

    fn seal(&mut self, _: &View<'_>, _: &mut HookRows<'_>) -> Result<()> {
        Ok(())
    }

    fn committed(&mut self) {}

    fn aborted(&mut self) {}
}
