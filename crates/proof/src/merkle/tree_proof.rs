//! Proof that a key has a value, or that it has none.
//!
//! The walk towards a key ends at the first subtree with at most one leaf. When that leaf is the
//! key, the key is present; when there is none, or another one, the key is absent. What must stay
//! true: the verifier itself checks that the other leaf lies under the path of the proof and is not
//! the key asked for, because a leaf that really is in the tree proves nothing by being there.

use minicbor::{Decode, Encode};

use super::bits::{KEY_BITS, TreeKey, bit, shares};
use super::node::{EMPTY, Leaf, inner_hash, leaf_hash, lone_leaf};
use super::tree::{Tree, TreeView, descend};
use super::{Pages, refused};
use crate::digest::Digest;
use crate::error::{Error, Result};

/// The siblings on a path from the root down. Those of empty subtrees are only marked.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Siblings {
    /// How many levels the path has.
    #[n(0)]
    depth: u16,
    /// One bit per level from the root down, high bits first; set when the sibling is not empty.
    #[n(1)]
    #[cbor(with = "minicbor::bytes")]
    present: Vec<u8>,
    /// The siblings that are not empty, from the root down.
    #[n(2)]
    hashes: Vec<Digest>,
}

impl Siblings {
    pub(super) fn new(siblings: &[Option<Digest>]) -> Siblings {
        let mut present = vec![0; siblings.len().div_ceil(8)];
        for (level, _) in siblings.iter().enumerate().filter(|(_, sibling)| sibling.is_some()) {
            present[level / 8] |= 0x80 >> (level % 8);
        }
        let depth = u16::try_from(siblings.len()).expect("a path has at most 256 levels");
        Siblings { depth, present, hashes: siblings.iter().flatten().copied().collect() }
    }

    pub(super) fn depth(&self) -> usize {
        usize::from(self.depth)
    }

    /// The root above `node`, which sits at the end of the path towards `key`.
    pub(super) fn root_above(&self, key: &TreeKey, node: Digest) -> Result<Digest> {
        let depth = self.depth();
        if depth > KEY_BITS || self.present.len() != depth.div_ceil(8) {
            return Err(refused(format!("a path of {depth} levels with other marks")));
        }
        let is_present = |level: usize| self.present[level / 8] << (level % 8) & 0x80 != 0;
        let marked = (0..self.present.len() * 8).filter(|&level| is_present(level));
        if marked.clone().any(|level| level >= depth) || marked.count() != self.hashes.len() {
            return Err(refused("marks and siblings do not match"));
        }
        // An empty sibling has one form: not marked.
        if self.hashes.contains(&EMPTY) {
            return Err(refused("an empty sibling is spelled out"));
        }
        let mut hashes = self.hashes.iter().rev();
        let mut hash = node;
        for level in (0..depth).rev() {
            let given = if is_present(level) { hashes.next() } else { None };
            let sibling = given.unwrap_or(&EMPTY);
            let (left, right) = if bit(key, level) { (sibling, &hash) } else { (&hash, sibling) };
            hash = inner_hash(left, right);
        }
        Ok(hash)
    }
}

/// Shows what a tree holds at one key.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct TreeProof {
    #[n(0)]
    pub(super) siblings: Siblings,
    /// The leaf found in place of an absent key.
    #[n(1)]
    pub(super) other: Option<Leaf>,
}

/// Proves the presence or absence of a key, now or as of a kept snapshot.
pub fn prove<P: Pages + ?Sized>(
    pages: &P,
    tree: Tree,
    key: &TreeKey,
    as_of: Option<u64>,
) -> Result<TreeProof, P::Error> {
    let found = descend(&TreeView { pages, tree, as_of }, key, KEY_BITS)?;
    let other = lone_leaf(&found.nodes).filter(|leaf| leaf.key != *key).copied();
    Ok(TreeProof { siblings: Siblings::new(&found.siblings), other })
}

/// Checks that the tree with this root holds `value_hash` at `key`, or nothing.
pub fn verify(
    root: &Digest,
    key: &TreeKey,
    value_hash: Option<&Digest>,
    proof: &TreeProof,
) -> Result<()> {
    let depth = proof.siblings.depth();
    let node = match (value_hash, &proof.other) {
        (Some(_), Some(_)) => return Err(refused("the proof shows that the key is absent")),
        (Some(value_hash), None) => leaf_hash(key, value_hash),
        (None, None) => EMPTY,
        (None, Some(other)) => {
            if other.key == *key {
                return Err(refused("the leaf shown for absence is the key itself"));
            }
            if depth > KEY_BITS || !shares(&other.key, key, depth) {
                return Err(refused("the leaf shown for absence is not on the key's path"));
            }
            other.hash()
        }
    };
    same_root(&proof.siblings.root_above(key, node)?, root)
}

pub(super) fn same_root(computed: &Digest, root: &Digest) -> Result<(), Error> {
    if computed != root {
        return Err(refused(format!("the proof leads to {computed}, not to {root}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn siblings(depth: u16, present: &[u8], hashes: &[Digest]) -> Siblings {
        Siblings { depth, present: present.to_vec(), hashes: hashes.to_vec() }
    }

    // kernel 55
    #[test]
    fn absurd_paths_are_refused() {
        let (key, one) = ([0; 32], Digest([1; 32]));
        for bad in [
            siblings(257, &[0; 33], &[]),
            siblings(u16::MAX, &[], &[]),
            siblings(8, &[], &[]),
            siblings(8, &[0, 0], &[]),
            siblings(8, &[1], &[]),
            siblings(8, &[1], &[one, one]),
            siblings(4, &[1], &[one]),
            siblings(4, &[0x10], &[EMPTY]),
            siblings(0, &[], &[one]),
        ] {
            assert!(bad.root_above(&key, one).is_err(), "{bad:?}");
            let absent =
                TreeProof { siblings: bad, other: Some(Leaf { key: [1; 32], value_hash: one }) };
            assert!(verify(&one, &key, None, &absent).is_err());
        }
        assert!(siblings(4, &[0x10], &[one]).root_above(&key, one).is_ok());
        assert_eq!(siblings(0, &[], &[]).root_above(&key, one).unwrap(), one);
    }

    // kernel 55
    #[test]
    fn a_present_key_cannot_be_shown_absent_with_a_leaf_from_elsewhere() {
        let (low, high) = ([0; 32], [0xff; 32]);
        let value = Digest([5; 32]);
        let (a, b) = (leaf_hash(&low, &value), leaf_hash(&high, &value));
        let root = inner_hash(&a, &b);
        let honest = TreeProof { siblings: Siblings::new(&[Some(b)]), other: None };
        verify(&root, &low, Some(&value), &honest).unwrap();
        // The key's own leaf, and a leaf that is in the tree but on another path.
        for key in [low, high] {
            let other = Some(Leaf { key, value_hash: value });
            let forged = TreeProof { siblings: honest.siblings.clone(), other };
            assert!(verify(&root, &low, None, &forged).is_err());
            let turned = TreeProof { siblings: Siblings::new(&[Some(a)]), other };
            assert!(verify(&root, &low, None, &turned).is_err());
        }
    }

    // kernel 55
    #[test]
    fn a_leaf_on_a_path_that_is_not_its_own_shows_nothing() {
        // A root nobody honest makes: a leaf under the wrong half.
        let (low, high, value) = ([0; 32], [0xff; 32], Digest([5; 32]));
        let (misplaced, beside) = (leaf_hash(&high, &value), Digest([6; 32]));
        let root = inner_hash(&misplaced, &beside);
        let other = Some(Leaf { key: high, value_hash: value });
        let forged = TreeProof { siblings: Siblings::new(&[Some(beside)]), other };
        let error = verify(&root, &low, None, &forged).unwrap_err();
        assert!(error.to_string().contains("not on the key's path"), "{error}");
    }
}
