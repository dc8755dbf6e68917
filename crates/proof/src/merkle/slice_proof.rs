//! Proof that a list is all the leaves under a prefix.
//!
//! The verifier rebuilds the subtree from the list and then follows the path to the root: a leaf
//! left out, added or changed gives another root. What must stay true: a subtree that has no leaves,
//! or that is one leaf sitting above the prefix's depth, is shown like an absent key, with the same
//! checks on where the leaf lies.

use minicbor::{Decode, Encode};

use super::bits::{KEY_BITS, TreeKey, TreePrefix, shares};
use super::node::{Leaf, Node, lone_leaf, subtree_hash};
use super::tree::{Tree, TreeView, descend};
use super::tree_proof::{Siblings, same_root};
use super::{Pages, refused};
use crate::digest::Digest;
use crate::error::Result;

/// All the leaves under a prefix, and the path from there to the root.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct SliceProof {
    #[n(0)]
    siblings: Siblings,
    /// In the order of their keys.
    #[n(1)]
    leaves: Vec<Leaf>,
    /// The leaf found in place of an empty slice.
    #[n(2)]
    other: Option<Leaf>,
}

/// Proves what is under a prefix, now or as of a kept snapshot.
pub fn slice_prove<P: Pages + ?Sized>(
    pages: &P,
    tree: Tree,
    prefix: &TreePrefix,
    as_of: Option<u64>,
) -> Result<SliceProof, P::Error> {
    let view = TreeView { pages, tree, as_of };
    let found = descend(&view, prefix.key(), prefix.bit_len())?;
    let siblings = Siblings::new(&found.siblings);
    let mut leaves = Vec::new();
    let other = lone_leaf(&found.nodes).filter(|leaf| !prefix.covers(&leaf.key)).copied();
    if other.is_none() {
        view.leaves(&found.nodes, found.end, &mut |leaf| leaves.push(*leaf))?;
    }
    Ok(SliceProof { siblings, leaves, other })
}

/// Checks that the proof's leaves are all the tree with this root holds under the prefix, and
/// returns them.
pub fn verify_slice(
    root: &Digest,
    prefix: &TreePrefix,
    proof: &SliceProof,
) -> Result<Vec<(TreeKey, Digest)>> {
    let depth = proof.siblings.depth();
    if depth > prefix.bit_len() {
        return Err(refused("the path goes on below the prefix"));
    }
    if proof.leaves.iter().any(|leaf| !prefix.covers(&leaf.key)) {
        return Err(refused("a leaf is outside the prefix"));
    }
    if proof.leaves.windows(2).any(|pair| pair[0].key >= pair[1].key) {
        return Err(refused("the leaves are not in order"));
    }
    if depth < prefix.bit_len() && proof.leaves.len() > 1 {
        return Err(refused("the path ends above the prefix"));
    }
    let node = match (&proof.other, &proof.leaves[..]) {
        (Some(other), []) => {
            if prefix.covers(&other.key) || !shares(&other.key, prefix.key(), depth) {
                return Err(refused("the leaf shown for absence is not on the prefix's path"));
            }
            other.hash()
        }
        (Some(_), _) => return Err(refused("leaves and a leaf in their place")),
        (None, leaves) => {
            let nodes: Vec<Node> = leaves.iter().copied().map(Node::Leaf).collect();
            subtree_hash(&nodes, depth, KEY_BITS)
        }
    };
    same_root(&proof.siblings.root_above(prefix.key(), node)?, root)?;
    Ok(proof.leaves.iter().map(|leaf| (leaf.key, leaf.value_hash)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merkle::node::inner_hash;

    fn leaf(byte: u8) -> Leaf {
        Leaf { key: [byte; 32], value_hash: Digest([5; 32]) }
    }

    // kernel 58
    #[test]
    fn a_leaf_on_a_path_that_is_not_its_own_shows_nothing() {
        let beside = Digest([6; 32]);
        let root = inner_hash(&leaf(0xff).hash(), &beside);
        let siblings = Siblings::new(&[Some(beside)]);
        let forged = SliceProof { siblings, leaves: vec![], other: Some(leaf(0xff)) };
        let error = verify_slice(&root, &TreePrefix::of_byte(0), &forged).unwrap_err();
        assert!(error.to_string().contains("not on the prefix's path"), "{error}");
    }

    // kernel 58
    #[test]
    fn proofs_that_make_no_sense_are_refused() {
        let prefix = TreePrefix::of_byte(1);
        let (inside, outside) = (leaf(1), leaf(2));
        let none = || Siblings::new(&[]);
        let build = |siblings, leaves: &[Leaf], other| {
            let proof = SliceProof { siblings, leaves: leaves.to_vec(), other };
            verify_slice(&inside.hash(), &prefix, &proof)
        };
        assert_eq!(build(none(), &[inside], None).unwrap(), [(inside.key, inside.value_hash)]);
        assert!(build(Siblings::new(&[None; 9]), &[inside], None).is_err(), "too deep");
        assert!(build(none(), &[inside, inside], None).is_err(), "twice");
        assert!(build(none(), &[outside], None).is_err(), "outside");
        assert!(build(none(), &[], Some(inside)).is_err(), "hidden");
        assert!(build(none(), &[inside], Some(outside)).is_err(), "both");
        assert!(build(none(), &[], None).is_err(), "empty");
    }
}
