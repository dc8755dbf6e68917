//! Proofs over the journal's tree: an entry is in it, and one log is a prefix of another.
//!
//! The paths and the checks are those of RFC 9162, sections 2.1.3 and 2.1.4. What must stay true: a
//! verifier uses every hash of a proof and needs no more than it has, so a proof has one form only.

use minicbor::{Decode, Encode};

use super::log::{TileReader, empty_root, node_hash, split_point};
use super::{Pages, refused};
use crate::digest::Digest;
use crate::error::{Error, Result};

/// A tree of at most 2^64 leaves has no longer path; a consistency proof has one more.
const MAX_PATH: usize = 65;

/// The siblings from a leaf up to the root.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct InclusionProof {
    #[n(0)]
    pub path: Vec<Digest>,
}

/// The nodes from which both roots can be computed, in the order of RFC 9162.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ConsistencyProof {
    #[n(0)]
    pub path: Vec<Digest>,
}

/// Proves that leaf `index` is in the tree of the first `size` leaves.
pub fn inclusion<P: Pages + ?Sized>(
    pages: &P,
    index: u64,
    size: u64,
) -> Result<InclusionProof, P::Error> {
    if index >= size {
        return Err(Error::invalid("index", format!("leaf {index} of a log of {size}")).into());
    }
    let mut reader = TileReader::new(pages);
    let (mut from, mut to) = (0, size);
    let mut path = Vec::new();
    while to - from > 1 {
        let middle = from + split_point(to - from);
        if index < middle {
            path.push(reader.range(middle, to)?);
            to = middle;
        } else {
            path.push(reader.range(from, middle)?);
            from = middle;
        }
    }
    path.reverse();
    Ok(InclusionProof { path })
}

/// Proves that the first `old` of `new` leaves are the whole log as it was at size `old`.
pub fn consistency<P: Pages + ?Sized>(
    pages: &P,
    old: u64,
    new: u64,
) -> Result<ConsistencyProof, P::Error> {
    if old > new {
        return Err(
            Error::invalid("old", format!("{old} leaves cannot be a prefix of {new}")).into()
        );
    }
    let mut path = Vec::new();
    if old == 0 || old == new {
        return Ok(ConsistencyProof { path });
    }
    let mut reader = TileReader::new(pages);
    let (mut from, mut to) = (0, new);
    while to != old {
        let middle = from + split_point(to - from);
        if old <= middle {
            path.push(reader.range(middle, to)?);
            to = middle;
        } else {
            path.push(reader.range(from, middle)?);
            from = middle;
        }
    }
    // The old root itself need not be sent when it is the node the walk ended at.
    if from != 0 {
        path.push(reader.range(from, to)?);
    }
    path.reverse();
    Ok(ConsistencyProof { path })
}

/// Checks that `leaf_hash` is leaf `index` of the tree with `size` leaves and this root.
pub fn verify_inclusion(
    leaf_hash: &Digest,
    index: u64,
    size: u64,
    proof: &InclusionProof,
    root: &Digest,
) -> Result<()> {
    if index >= size {
        return Err(refused(format!("there is no leaf {index} in a log of {size}")));
    }
    check_length(&proof.path)?;
    let (mut node, mut last) = (index, size - 1);
    let mut hash = *leaf_hash;
    for sibling in &proof.path {
        if last == 0 {
            return Err(refused("the path is longer than the tree is high"));
        }
        if node & 1 == 1 || node == last {
            hash = node_hash(sibling, &hash);
            // A node at the right edge without a sibling moves up until it has one.
            let lone = if node & 1 == 0 { node.trailing_zeros().min(63) } else { 0 };
            node >>= lone;
            last >>= lone;
        } else {
            hash = node_hash(&hash, sibling);
        }
        node >>= 1;
        last >>= 1;
    }
    if last != 0 {
        return Err(refused("the path ends below the root"));
    }
    same(&hash, root)
}

/// Checks that the log with `old_root` is a prefix of the log with `new_root`.
pub fn verify_consistency(
    old_size: u64,
    old_root: &Digest,
    new_size: u64,
    new_root: &Digest,
    proof: &ConsistencyProof,
) -> Result<()> {
    check_length(&proof.path)?;
    if old_size > new_size {
        return Err(refused(format!("{old_size} leaves cannot be a prefix of {new_size}")));
    }
    if old_size == 0 || old_size == new_size {
        if !proof.path.is_empty() {
            return Err(refused("equal or empty logs need no path"));
        }
        // Every log starts with the empty one; the new root is then taken as it is given.
        let known = if old_size == 0 { empty_root() } else { *old_root };
        same(&known, old_root)?;
        return if old_size == new_size { same(&known, new_root) } else { Ok(()) };
    }
    let lone = (old_size - 1).trailing_ones();
    let (mut node, mut last) = ((old_size - 1) >> lone, (new_size - 1) >> lone);
    let mut path = proof.path.iter();
    let first = if old_size.is_power_of_two() { Some(old_root) } else { path.next() };
    let first = first.ok_or_else(|| refused("the path is empty"))?;
    let (mut old_hash, mut new_hash) = (*first, *first);
    for sibling in path {
        if last == 0 {
            return Err(refused("the path is longer than the tree is high"));
        }
        if node & 1 == 1 || node == last {
            old_hash = node_hash(sibling, &old_hash);
            new_hash = node_hash(sibling, &new_hash);
            let lone = if node & 1 == 0 { node.trailing_zeros().min(63) } else { 0 };
            node >>= lone;
            last >>= lone;
        } else {
            new_hash = node_hash(&new_hash, sibling);
        }
        node >>= 1;
        last >>= 1;
    }
    if last != 0 {
        return Err(refused("the path ends below the root"));
    }
    same(&old_hash, old_root)?;
    same(&new_hash, new_root)
}

fn check_length(path: &[Digest]) -> Result<()> {
    if path.len() > MAX_PATH {
        return Err(refused(format!("a path of {} hashes", path.len())));
    }
    Ok(())
}

fn same(computed: &Digest, root: &Digest) -> Result<()> {
    if computed != root {
        return Err(refused(format!("the proof leads to {computed}, not to {root}")));
    }
    Ok(())
}
