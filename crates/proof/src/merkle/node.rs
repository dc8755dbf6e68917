//! How tree nodes are hashed.
//!
//! An empty subtree is a constant, a subtree with one leaf is that leaf's hash wherever it sits,
//! and anything else is the hash of its two halves. What must stay true: leaves and inner nodes are
//! hashed behind different tags and a leaf binds its whole key, so that no node passes for another
//! kind of node and a leaf that sits high in the tree still says which key it is.

use minicbor::{Decode, Encode};

use super::bits::{TreeKey, bit};
use crate::digest::Digest;

/// Stands for a subtree without leaves; no input is known that hashes to it.
pub const EMPTY: Digest = Digest(*b"SPARSE_MERKLE_PLACEHOLDER_HASH__");

const LEAF_TAG: &str = "JMT::LeafNode";
const INNER_TAG: &str = "JMT::IntrnalNode";

pub fn leaf_hash(key: &TreeKey, value_hash: &Digest) -> Digest {
    Digest::of(LEAF_TAG, &[key, &value_hash.0])
}

pub fn inner_hash(left: &Digest, right: &Digest) -> Digest {
    Digest::of(INNER_TAG, &[&left.0, &right.0])
}

/// A leaf as proofs carry it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Leaf {
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    pub key: TreeKey,
    #[n(1)]
    pub value_hash: Digest,
}

impl Leaf {
    pub fn hash(&self) -> Digest {
        leaf_hash(&self.key, &self.value_hash)
    }
}

/// A node that stands for its whole subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// The only leaf of the subtree.
    Leaf(Leaf),
    /// Two or more leaves, told only by their hash. `path` has zero bits behind the node's depth.
    Inner { path: TreeKey, hash: Digest },
}

impl Node {
    pub(super) fn path(&self) -> &TreeKey {
        match self {
            Node::Leaf(leaf) => &leaf.key,
            Node::Inner { path, .. } => path,
        }
    }

    pub(super) fn hash(&self) -> Digest {
        match self {
            Node::Leaf(leaf) => leaf.hash(),
            Node::Inner { hash, .. } => *hash,
        }
    }
}

/// The leaf, when `nodes` is one leaf and nothing else.
pub(super) fn lone_leaf(nodes: &[Node]) -> Option<&Leaf> {
    match nodes {
        [Node::Leaf(leaf)] => Some(leaf),
        _ => None,
    }
}

/// Splits nodes that agree up to `depth` by the bit that follows.
pub(super) fn split(nodes: &[Node], depth: usize) -> (&[Node], &[Node]) {
    nodes.split_at(nodes.partition_point(|node| !bit(node.path(), depth)))
}

/// The hash of the subtree at `depth` that holds `nodes`, which are sorted by path, agree up to
/// `depth`, and differ before `end`, the depth at which inner nodes sit.
pub(super) fn subtree_hash(nodes: &[Node], depth: usize, end: usize) -> Digest {
    match nodes {
        [] => EMPTY,
        [Node::Leaf(leaf)] => leaf.hash(),
        [inner] if depth == end => inner.hash(),
        _ => {
            debug_assert!(depth < end, "nodes of one subtree differ before its end");
            let (left, right) = split(nodes, depth);
            inner_hash(&subtree_hash(left, depth + 1, end), &subtree_hash(right, depth + 1, end))
        }
    }
}
