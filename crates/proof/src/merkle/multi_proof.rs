//! One proof for many keys, in which shared siblings appear once.
//!
//! The proof is the part of the tree the keys touch, written from the root down, left before right,
//! two bits a node: empty, opaque, leaf or fork. What must stay true: a fork is only followed where a
//! claimed key leads and an opaque node only stands where none does, so the shape has one form and
//! the work is bounded by the claims; nothing of the proof is left over.

use minicbor::{Decode, Encode};

use super::bits::{KEY_BITS, TreeKey, bit, shares};
use super::node::{EMPTY, Leaf, Node, inner_hash, leaf_hash, lone_leaf, split, subtree_hash};
use super::page::Page;
use super::tree::{Tree, TreeView};
use super::tree_proof::same_root;
use super::{Pages, refused};
use crate::digest::Digest;
use crate::error::Result;

/// No leaf in the subtree.
const VACANT: u8 = 0;
/// A subtree no claim leads to; its hash is the next of `hashes`.
const OPAQUE: u8 = 1;
/// One leaf: the one claimed present here, else the next of `others`.
const LEAF: u8 = 2;
/// Both halves follow.
const FORK: u8 = 3;

/// Shows what a tree holds at several keys.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct MultiProof {
    /// Two bits per node, high bits first, zero bits at the end.
    #[n(0)]
    #[cbor(with = "minicbor::bytes")]
    shape: Vec<u8>,
    #[n(1)]
    hashes: Vec<Digest>,
    /// Leaves found in place of absent keys.
    #[n(2)]
    others: Vec<Leaf>,
}

/// Proves the presence or absence of each key, now or as of a kept snapshot.
pub fn multi_prove<P: Pages + ?Sized>(
    pages: &P,
    tree: Tree,
    keys: &[TreeKey],
    as_of: Option<u64>,
) -> Result<MultiProof, P::Error> {
    let mut keys = keys.to_vec();
    keys.sort_unstable();
    keys.dedup();
    let view = TreeView { pages, tree, as_of };
    let page = view.root_page()?;
    let mut prover = Prover { view, kinds: Vec::new(), hashes: Vec::new(), others: Vec::new() };
    prover.visit(&page, &page.nodes, 0, &keys)?;
    let pack =
        |kinds: &[u8]| (0..).zip(kinds).fold(0, |byte, (at, kind)| byte | kind << (6 - 2 * at));
    let shape = prover.kinds.chunks(4).map(pack).collect();
    Ok(MultiProof { shape, hashes: prover.hashes, others: prover.others })
}

struct Prover<'a, P: ?Sized> {
    view: TreeView<'a, P>,
    kinds: Vec<u8>,
    hashes: Vec<Digest>,
    others: Vec<Leaf>,
}

impl<P: Pages + ?Sized> Prover<'_, P> {
    /// Writes down the subtree at `depth` that holds `nodes`, a part of `page`, for the keys in it.
    fn visit(
        &mut self,
        page: &Page,
        nodes: &[Node],
        depth: usize,
        keys: &[TreeKey],
    ) -> Result<(), P::Error> {
        if nodes.is_empty() {
            self.kinds.push(VACANT);
        } else if keys.is_empty() {
            self.kinds.push(OPAQUE);
            self.hashes.push(subtree_hash(nodes, depth, page.end()));
        } else if let Some(leaf) = lone_leaf(nodes) {
            self.kinds.push(LEAF);
            if !keys.contains(&leaf.key) {
                self.others.push(*leaf);
            }
        } else if depth == page.end() {
            let page = self.view.child(depth, nodes[0].path())?;
            self.visit(&page, &page.nodes, depth, keys)?;
        } else {
            self.kinds.push(FORK);
            let (left, right) = split(nodes, depth);
            let (left_keys, right_keys) =
                keys.split_at(keys.partition_point(|key| !bit(key, depth)));
            self.visit(page, left, depth + 1, left_keys)?;
            self.visit(page, right, depth + 1, right_keys)?;
        }
        Ok(())
    }
}

/// Checks that the tree with this root holds exactly the claimed value hash, or nothing, at each
/// claimed key. A key may be claimed once.
pub fn verify_multi(
    root: &Digest,
    claims: &[(TreeKey, Option<Digest>)],
    proof: &MultiProof,
) -> Result<()> {
    // Each claim visits at most 256 forks and twice as many nodes; the root is one more.
    let most = claims.len().saturating_mul(2 * KEY_BITS).saturating_add(1);
    if proof.shape.len() > most.div_ceil(4)
        || proof.hashes.len() > most
        || proof.others.len() > claims.len()
    {
        return Err(refused("the proof is larger than its claims allow"));
    }
    let mut claims = claims.to_vec();
    claims.sort_unstable();
    if claims.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err(refused("a key is claimed twice"));
    }
    let mut checker = Checker { proof, kinds: 0, hashes: 0, others: 0 };
    let computed = checker.node(0, &claims)?;
    checker.finish()?;
    same_root(&computed, root)
}

/// Reads a proof front to back; each number says how much of a list was used.
struct Checker<'a> {
    proof: &'a MultiProof,
    kinds: usize,
    hashes: usize,
    others: usize,
}

impl Checker<'_> {
    /// The hash of the next node, at `depth`, given all the claims under it.
    fn node(&mut self, depth: usize, claims: &[(TreeKey, Option<Digest>)]) -> Result<Digest> {
        let byte = self.proof.shape.get(self.kinds / 4);
        let byte = byte.ok_or_else(|| refused("the proof ends too early"))?;
        let kind = byte >> (6 - 2 * (self.kinds % 4)) & 3;
        self.kinds += 1;
        match (kind, claims.first()) {
            (VACANT, _) if claims.iter().all(|claim| claim.1.is_none()) => Ok(EMPTY),
            (OPAQUE, None) => {
                let hash = self.proof.hashes.get(self.hashes).filter(|hash| **hash != EMPTY);
                self.hashes += 1;
                hash.copied().ok_or_else(|| refused("a sibling is missing or empty"))
            }
            (LEAF, Some((path, _))) => self.leaf(depth, path, claims),
            (FORK, Some(_)) if depth < KEY_BITS => {
                let middle = claims.partition_point(|(key, _)| !bit(key, depth));
                let left = self.node(depth + 1, &claims[..middle])?;
                Ok(inner_hash(&left, &self.node(depth + 1, &claims[middle..])?))
            }
            _ => Err(refused("the proof contradicts a claim or is not in its only form")),
        }
    }

    fn leaf(
        &mut self,
        depth: usize,
        path: &TreeKey,
        claims: &[(TreeKey, Option<Digest>)],
    ) -> Result<Digest> {
        let mut present = claims.iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        match (present.next(), present.next()) {
            (Some((key, value_hash)), None) => Ok(leaf_hash(key, value_hash)),
            (Some(_), Some(_)) => Err(refused("two keys are claimed where there is one leaf")),
            (None, _) => {
                let other = self.proof.others.get(self.others);
                let other = other.ok_or_else(|| refused("a leaf is missing"))?;
                self.others += 1;
                if !shares(&other.key, path, depth) {
                    return Err(refused("the leaf shown for absence is not on the key's path"));
                }
                if claims.iter().any(|(key, _)| *key == other.key) {
                    return Err(refused("the leaf shown for absence is the key itself"));
                }
                Ok(other.hash())
            }
        }
    }

    fn finish(&self) -> Result<()> {
        let used = self.kinds % 4;
        let padding = if used == 0 { 0 } else { 0xff >> (2 * used) };
        let padded = self.proof.shape.last().is_some_and(|byte| byte & padding != 0);
        if self.kinds.div_ceil(4) != self.proof.shape.len()
            || padded
            || self.hashes != self.proof.hashes.len()
            || self.others != self.proof.others.len()
        {
            return Err(refused("something of the proof is left over"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof(shape: &[u8], hashes: &[Digest], others: &[Leaf]) -> MultiProof {
        MultiProof { shape: shape.to_vec(), hashes: hashes.to_vec(), others: others.to_vec() }
    }

    // kernel 55
    #[test]
    fn shapes_that_make_no_sense_are_refused() {
        let (key, value) = ([0; 32], Digest([1; 32]));
        let root = leaf_hash(&key, &value);
        let claim = [(key, Some(value))];
        verify_multi(&root, &claim, &proof(&[LEAF << 6], &[], &[])).unwrap();
        verify_multi(&root, &[], &proof(&[OPAQUE << 6], &[root], &[])).unwrap();
        let leaf = Leaf { key, value_hash: value };
        for (claims, bad) in [
            (&claim[..], proof(&[], &[], &[])),
            (&claim, proof(&[LEAF << 6 | 1], &[], &[])),
            (&claim, proof(&[LEAF << 6, 0], &[], &[])),
            (&claim, proof(&[LEAF << 6], &[root], &[])),
            (&claim, proof(&[LEAF << 6], &[], &[leaf])),
            (&claim, proof(&[OPAQUE << 6], &[root], &[])),
            (&claim, proof(&[VACANT << 6], &[], &[])),
            (&claim, proof(&[0xff; 200], &[], &[])),
            (&claim, proof(&[0xff; 129], &[], &[])),
            (&[(key, None)], proof(&[LEAF << 6], &[], &[leaf])),
            (&[(key, None)], proof(&[LEAF << 6], &[], &[])),
            (&[], proof(&[FORK << 6], &[root], &[])),
            (&[claim[0], (key, None)], proof(&[LEAF << 6], &[], &[])),
            (&[claim[0], ([1; 32], Some(value))], proof(&[LEAF << 6], &[], &[])),
        ] {
            assert!(verify_multi(&root, claims, &bad).is_err(), "{claims:?} {bad:?}");
        }
    }

    // kernel 55
    #[test]
    fn a_leaf_on_a_path_that_is_not_its_own_shows_nothing() {
        let (low, high, value) = ([0; 32], [0xff; 32], Digest([5; 32]));
        let beside = Digest([6; 32]);
        let root = inner_hash(&leaf_hash(&high, &value), &beside);
        let other = Leaf { key: high, value_hash: value };
        let forged = proof(&[FORK << 6 | LEAF << 4 | OPAQUE << 2], &[beside], &[other]);
        let error = verify_multi(&root, &[(low, None)], &forged).unwrap_err();
        assert!(error.to_string().contains("not on the key's path"), "{error}");
    }
}
