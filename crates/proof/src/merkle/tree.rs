//! The compact sparse trees and how they are read.
//!
//! A tree is cut into pages of several levels; `page` says what one holds, `update` how they
//! change. What must stay true: the pages of a tree are a function of its leaves (the number of the
//! entry that last touched each aside), and a page kept for a snapshot is what the tree held then,
//! so that reading as of a snapshot is the same walk over other rows.

use super::bits::{KEY_BITS, TreeKey};
use super::node::{Node, split, subtree_hash};
use super::page::Page;
use super::{KEPT_PAGES, Pages, TREE_PAGES};
use crate::digest::{Digest, encode_hex};
use crate::error::{Error, Result};

/// Follows the nibbles of a path in a page's key. Greater than any nibble, so that a page sorts
/// behind the pages below it.
const PATH_END: u8 = 0x10;

/// One of the trees of an actor: its name in keys, and how it is cut into pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    tag: u8,
    wide: u8,
}

/// Memory heads. Type and id length are a page each, because few of their values are in use.
pub const HEADS: Tree = Tree::new(1, 2);
/// Edges. The length of the source's id is a page.
pub const EDGES: Tree = Tree::new(2, 1);

impl Tree {
    /// A tree whose first `wide` pages on any path cover eight levels each, all others four.
    pub const fn new(tag: u8, wide: u8) -> Tree {
        assert!(wide <= 31, "the last pages cover four levels");
        Tree { tag, wide }
    }

    /// How many levels the pages at this depth cover.
    pub(super) fn stride(self, depth: usize) -> usize {
        if depth < usize::from(self.wide) * 8 { 8 } else { 4 }
    }

    /// The key of the page at `depth` on the way to `path`.
    ///
    /// One byte per nibble, then an end mark that sorts last: a page comes right behind the pages
    /// below it. Ids grow, so the newest leaf's pages are the last ones of their type, side by side
    /// from the leaf up, and one write dirties one spot of the store instead of one per level.
    pub(super) fn page_key(self, depth: usize, path: &TreeKey) -> Vec<u8> {
        let mut key = Vec::with_capacity(depth / 4 + 3);
        key.extend([TREE_PAGES, self.tag]);
        let nibbles = path.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        key.extend(nibbles.take(depth / 4));
        key.push(PATH_END);
        key
    }
}

/// The key under which the page at `page_key` is kept for a snapshot. Page keys are no prefix of one
/// another, so the rows of one page are neighbours with nothing between.
pub(super) fn kept_key(page_key: &[u8], snapshot: u64) -> Vec<u8> {
    let mut key = page_key.to_vec();
    key[0] = KEPT_PAGES;
    key.extend(snapshot.to_be_bytes());
    key
}

/// A tree as it is now or as it was at a kept snapshot.
#[derive(Debug)]
pub(super) struct TreeView<'a, P: ?Sized> {
    pub(super) pages: &'a P,
    pub(super) tree: Tree,
    pub(super) as_of: Option<u64>,
}

impl<P: Pages + ?Sized> TreeView<'_, P> {
    /// The root page; a tree that was never written has an empty one.
    pub(super) fn root_page(&self) -> Result<Page, P::Error> {
        let path = [0; 32];
        Ok(self.page(0, &path)?.unwrap_or_else(|| Page::empty(self.tree, 0, &path)))
    }

    /// The page below an inner node that sits at `depth`.
    pub(super) fn child(&self, depth: usize, path: &TreeKey) -> Result<Page, P::Error> {
        self.page(depth, path)?.ok_or_else(|| missing(&self.tree.page_key(depth, path)).into())
    }

    fn page(&self, depth: usize, path: &TreeKey) -> Result<Option<Page>, P::Error> {
        let key = self.tree.page_key(depth, path);
        let kept = match self.as_of {
            Some(snapshot) => self.pages.page_at_or_after(&kept_key(&key, snapshot), key.len())?,
            None => None,
        };
        let row = if kept.is_some() { kept } else { self.pages.page(&key)? };
        Ok(row.map(|bytes| Page::decode(self.tree, depth, path, &bytes)).transpose()?)
    }

    /// Calls `each` for every leaf at or below `nodes`, in the order of their keys; the nodes are
    /// those of a page that ends at depth `end`.
    pub(super) fn leaves(
        &self,
        nodes: &[Node],
        end: usize,
        each: &mut impl FnMut(&super::Leaf),
    ) -> Result<(), P::Error> {
        for node in nodes {
            match node {
                Node::Leaf(leaf) => each(leaf),
                Node::Inner { path, .. } => {
                    let page = self.child(end, path)?;
                    self.leaves(&page.nodes, page.end(), each)?;
                }
            }
        }
        Ok(())
    }
}

pub(super) fn missing(page_key: &[u8]) -> Error {
    Error::corrupt(encode_hex(page_key), "the tree page is missing")
}

/// Where a walk towards a key ended.
pub(super) struct Descent {
    /// From the root down; `None` for an empty subtree.
    pub(super) siblings: Vec<Option<Digest>>,
    /// What is at the depth reached: nothing, one leaf, or, at the depth asked for, anything.
    pub(super) nodes: Vec<Node>,
    /// The depth at which inner nodes among `nodes` sit.
    pub(super) end: usize,
}

/// Walks towards `key` until at most one leaf is left, or to depth `stop`.
pub(super) fn descend<P: Pages + ?Sized>(
    view: &TreeView<'_, P>,
    key: &TreeKey,
    stop: usize,
) -> Result<Descent, P::Error> {
    let mut siblings = Vec::new();
    let mut page = view.root_page()?;
    let mut nodes = std::mem::take(&mut page.nodes);
    loop {
        let depth = siblings.len();
        let lone = matches!(nodes[..], [] | [Node::Leaf(_)]);
        if depth == stop || lone {
            return Ok(Descent { siblings, nodes, end: page.end() });
        }
        if depth == page.end() {
            page = view.child(depth, nodes[0].path())?;
            nodes = std::mem::take(&mut page.nodes);
            continue;
        }
        let (left, right) = split(&nodes, depth);
        let (mine, other) =
            if super::bits::bit(key, depth) { (right, left) } else { (left, right) };
        let sibling = (!other.is_empty()).then(|| subtree_hash(other, depth + 1, page.end()));
        siblings.push(sibling);
        nodes = mine.to_vec();
    }
}

/// The root of a tree, now or as of a kept snapshot.
pub fn root<P: Pages + ?Sized>(
    pages: &P,
    tree: Tree,
    as_of: Option<u64>,
) -> Result<Digest, P::Error> {
    Ok(TreeView { pages, tree, as_of }.root_page()?.hash())
}

/// The value hash at a key.
pub fn get<P: Pages + ?Sized>(
    pages: &P,
    tree: Tree,
    key: &TreeKey,
    as_of: Option<u64>,
) -> Result<Option<Digest>, P::Error> {
    let view = TreeView { pages, tree, as_of };
    let mut page = view.root_page()?;
    while page.depth < KEY_BITS {
        match page.find(page.slot(key)).ok().map(|at| page.nodes[at]) {
            None => break,
            Some(Node::Leaf(leaf)) => return Ok((leaf.key == *key).then_some(leaf.value_hash)),
            Some(Node::Inner { path, .. }) => page = view.child(page.end(), &path)?,
        }
    }
    Ok(None)
}
