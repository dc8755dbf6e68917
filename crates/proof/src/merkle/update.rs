//! Changing a tree: many keys in one pass, each page decoded, hashed and written once.
//!
//! What must stay true: the rows written depend on the sequence of changes and snapshots, not on how
//! changes were grouped into calls. That holds because pages are a function of the leaves, a page's
//! `seq` is that of the last change under its path (also of one that changed nothing), and a page is
//! kept for a snapshot by the first change after it, which is the same change however it is grouped.

use std::collections::BTreeMap;

use super::bits::{KEY_BITS, TreeKey, shares};
use super::node::{Leaf, Node};
use super::page::Page;
use super::tree::{Tree, kept_key, missing};
use super::{PageChanges, Pages, read_through};
use crate::digest::Digest;
use crate::error::{Error, Result};

/// What a key's value hash becomes (`None`: the key goes), and the journal entry that says so.
pub type LeafChange = (Option<Digest>, u64);

/// The latest snapshot, for which pages are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotMark {
    /// Numbers of snapshots ascend.
    pub snapshot: u64,
    /// The last journal entry the snapshot includes.
    pub seq: u64,
}

/// Applies changes to a tree, adds the rows to write to `out`, and returns the new root.
///
/// Rows already in `out` count as written. With `kept`, all changes must be newer than that
/// snapshot: pages it includes are copied before they change or go.
pub fn update<P: Pages + ?Sized>(
    pages: &P,
    tree: Tree,
    changes: &BTreeMap<TreeKey, LeafChange>,
    kept: Option<SnapshotMark>,
    out: &mut PageChanges,
) -> Result<Digest, P::Error> {
    let late = |kept: SnapshotMark| changes.values().any(|&(_, seq)| seq <= kept.seq);
    if kept.is_some_and(late) {
        return Err(Error::invalid("seq", "a change is older than the latest snapshot").into());
    }
    let steps: Vec<Step> =
        changes.iter().map(|(key, &(value, seq))| Step { key: *key, value, seq }).collect();
    let mut writer = Writer { pages, tree, kept, out };
    let root = writer.load(0, &[0; 32])?.unwrap_or_else(|| Page::empty(tree, 0, &[0; 32]));
    if steps.is_empty() {
        return Ok(root.hash());
    }
    let root = writer.apply(root, true, &steps)?;
    writer.out.insert(root.key(), Some(root.encode()));
    Ok(root.hash())
}

#[derive(Clone, Copy)]
struct Step {
    key: TreeKey,
    value: Option<Digest>,
    seq: u64,
}

impl Step {
    fn leaf(&self) -> Option<Node> {
        self.value.map(|value_hash| Node::Leaf(Leaf { key: self.key, value_hash }))
    }
}

struct Writer<'a, P: ?Sized> {
    pages: &'a P,
    tree: Tree,
    kept: Option<SnapshotMark>,
    out: &'a mut PageChanges,
}

impl<P: Pages + ?Sized> Writer<'_, P> {
    fn load(&self, depth: usize, path: &TreeKey) -> Result<Option<Page>, P::Error> {
        let row = read_through(self.pages, self.out, &self.tree.page_key(depth, path))?;
        Ok(row.map(|bytes| Page::decode(self.tree, depth, path, &bytes)).transpose()?)
    }

    /// Applies steps, ascending and all under this page, to it and to the pages below. `existed` is
    /// false for a page made just now; a root that was never written counts as an empty one.
    fn apply(&mut self, mut page: Page, existed: bool, steps: &[Step]) -> Result<Page, P::Error> {
        if let Some(kept) = self.kept
            && existed
            && page.seq <= kept.seq
        {
            self.out.insert(kept_key(&page.key(), kept.snapshot), Some(page.encode()));
        }
        let end = page.end();
        for group in steps.chunk_by(|a, b| shares(&a.key, &b.key, end)) {
            let slot = page.slot(&group[0].key);
            let path = page.slot_path(slot);
            let node = match page.find(slot).ok().map(|at| page.nodes[at]) {
                Some(Node::Inner { .. }) => {
                    let below = self.load(end, &path)?;
                    let below = below.ok_or_else(|| missing(&self.tree.page_key(end, &path)))?;
                    let below = self.apply(below, true, group)?;
                    self.settle(&below, true)
                }
                Some(Node::Leaf(leaf)) => self.grow(end, &path, Some(leaf), group)?,
                None => self.grow(end, &path, None, group)?,
            };
            page.set(slot, node);
        }
        let newest = steps.iter().map(|step| step.seq).max();
        page.seq = page.seq.max(newest.unwrap_or(0));
        Ok(page)
    }

    /// Applies steps to a slot that has at most one leaf, and so no page below it.
    fn grow(
        &mut self,
        depth: usize,
        path: &TreeKey,
        leaf: Option<Leaf>,
        steps: &[Step],
    ) -> Result<Option<Node>, P::Error> {
        let mut steps = steps.to_vec();
        if let Some(leaf) = leaf
            && let Err(at) = steps.binary_search_by_key(&leaf.key, |step| step.key)
        {
            // The leaf that was here moves along. It did not change, so it counts for no `seq`.
            steps.insert(at, Step { key: leaf.key, value: Some(leaf.value_hash), seq: 0 });
        }
        let mut live = steps.iter().filter_map(Step::leaf);
        if let (only, None) = (live.next(), live.next()) {
            return Ok(only);
        }
        debug_assert!(depth < KEY_BITS, "a slot of the last level is one key");
        let page = self.apply(Page::empty(self.tree, depth, path), false, &steps)?;
        Ok(self.settle(&page, false))
    }

    /// Writes a page below the root, or removes it when one leaf or none is left in it, and returns
    /// what the page above holds for it.
    fn settle(&mut self, page: &Page, existed: bool) -> Option<Node> {
        let node = page.summary();
        match node {
            Some(Node::Inner { .. }) => {
                self.out.insert(page.key(), Some(page.encode()));
            }
            _ if existed => {
                self.out.insert(page.key(), None);
            }
            _ => {}
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merkle::testing::Memory;
    use crate::merkle::tree::{HEADS, get, root};
    use crate::merkle::{TREE_PAGES, head_key, node};

    fn value(n: u8) -> Digest {
        Digest([n; 32])
    }

    fn put(
        store: &mut Memory,
        kept: Option<SnapshotMark>,
        changes: &[(TreeKey, Option<Digest>, u64)],
    ) -> Digest {
        let changes = changes.iter().map(|&(key, value, seq)| (key, (value, seq))).collect();
        let mut out = PageChanges::new();
        let root = update(store, HEADS, &changes, kept, &mut out).unwrap();
        store.commit(out);
        root
    }

    fn pages(store: &Memory) -> usize {
        store.0.keys().filter(|key| key[0] == TREE_PAGES).count()
    }

    #[test]
    fn a_lone_leaf_is_the_root_and_needs_one_page() {
        let mut store = Memory::default();
        assert_eq!(root(&store, HEADS, None).unwrap(), node::EMPTY);
        let key = head_key(1, 1_000);
        let now = put(&mut store, None, &[(key, Some(value(1)), 1)]);
        assert_eq!(now, node::leaf_hash(&key, &Digest([1; 32])));
        assert_eq!(pages(&store), 1);
    }

    // kernel 55
    #[test]
    fn deleting_folds_pages_back_to_where_they_were() {
        let mut store = Memory::default();
        let (a, b, c) = (head_key(1, 1_000), head_key(1, 1_001), head_key(2, 1));
        put(&mut store, None, &[(a, Some(value(1)), 1), (c, Some(value(3)), 2)]);
        let before = (root(&store, HEADS, None).unwrap(), pages(&store));
        put(&mut store, None, &[(b, Some(value(2)), 3)]);
        assert!(pages(&store) > before.1);
        let after = put(&mut store, None, &[(b, None, 4)]);
        assert_eq!((after, pages(&store)), before);
        assert_eq!(get(&store, HEADS, &a, None).unwrap(), Some(value(1)));
        assert_eq!(get(&store, HEADS, &b, None).unwrap(), None);
        assert_eq!(put(&mut store, None, &[(a, None, 5), (c, None, 6)]), node::EMPTY);
        assert_eq!(pages(&store), 1, "the root page stays, for its seq");
    }

    #[test]
    fn a_snapshot_of_a_tree_never_written_reads_as_empty() {
        let mut store = Memory::default();
        let kept = Some(SnapshotMark { snapshot: 1, seq: 4 });
        put(&mut store, kept, &[(head_key(1, 1), Some(value(1)), 5)]);
        assert_eq!(root(&store, HEADS, Some(1)).unwrap(), node::EMPTY);
        assert_eq!(get(&store, HEADS, &head_key(1, 1), Some(1)).unwrap(), None);
        assert_eq!(get(&store, HEADS, &head_key(1, 1), Some(2)).unwrap(), Some(value(1)));
    }

    #[test]
    fn changes_older_than_the_snapshot_are_refused_and_nothing_is_written() {
        let changes = BTreeMap::from([(head_key(1, 1), (Some(value(1)), 4))]);
        let mut out = PageChanges::new();
        let kept = Some(SnapshotMark { snapshot: 1, seq: 4 });
        let error = update(&Memory::default(), HEADS, &changes, kept, &mut out).unwrap_err();
        assert_eq!((error.code(), out.len()), ("invalid", 0));
    }

    #[test]
    fn a_missing_page_is_named() {
        let mut store = Memory::default();
        put(
            &mut store,
            None,
            &[(head_key(1, 2), Some(value(1)), 1), (head_key(1, 3), Some(value(2)), 2)],
        );
        store.0.remove(&HEADS.page_key(8, &head_key(1, 2)));
        let error = get(&store, HEADS, &head_key(1, 2), None).unwrap_err();
        assert_eq!(error.code(), "corrupt");
        let changes = BTreeMap::from([(head_key(1, 2), (None, 3))]);
        let error = update(&store, HEADS, &changes, None, &mut PageChanges::new()).unwrap_err();
        assert_eq!(error.code(), "corrupt");
    }
}
