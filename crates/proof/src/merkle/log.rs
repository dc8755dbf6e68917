//! The append-only tree over the journal, kept as tiles.
//!
//! Leaf = SHA-256(0x00 | entry), node = SHA-256(0x01 | left | right), a tree of n leaves splits at
//! the largest power of two below n (RFC 9162). A tile of level k holds up to sixteen neighbouring
//! nodes of tree level 4k, and only nodes whose subtree is complete. What must stay true: a stored
//! hash never changes once written, so the root of every earlier size can still be computed, and
//! appending a leaf rewrites one tile, plus one more for each tile that became full.

use std::collections::BTreeMap;

use super::{LOG_TILES, PageChanges, Pages, read_through};
use crate::digest::{Digest, encode_hex};
use crate::error::{Error, Result};

/// Tree levels per tile.
const HEIGHT: u32 = 4;
/// Hashes in a full tile.
const WIDTH: u64 = 1 << HEIGHT;

/// The leaf of a journal entry.
pub fn leaf_hash(entry: &[u8]) -> Digest {
    Digest::of("", &[&[0], entry])
}

pub(super) fn node_hash(left: &Digest, right: &Digest) -> Digest {
    Digest::of("", &[&[1], &left.0, &right.0])
}

/// The root of the tree without leaves.
pub fn empty_root() -> Digest {
    Digest::of("", &[])
}

/// Appends leaves to a log of `size` leaves and returns its new size.
///
/// Tiles already in `out` count as written, so that one commit may append several times.
pub fn append<P: Pages + ?Sized>(
    pages: &P,
    size: u64,
    leaves: &[Digest],
    out: &mut PageChanges,
) -> Result<u64, P::Error> {
    let added = u64::try_from(leaves.len()).ok();
    let new_size = added
        .and_then(|added| size.checked_add(added))
        .ok_or_else(|| Error::invalid("leaves", "the log cannot have more than 2^64 - 1 leaves"))?;
    let mut level = 0;
    // `count` is how many nodes the level has already, `nodes` are those that follow.
    let mut count = size;
    let mut nodes = leaves.to_vec();
    while !nodes.is_empty() {
        let mut index = count / WIDTH;
        let mut tile = match count % WIDTH {
            0 => Vec::new(),
            held => {
                let key = tile_key(level, index);
                let row = read_through(pages, out, &key)?;
                let tile = decode_tile(&key, row)?;
                if tile.len() as u64 != held {
                    let reason = format!("holds {} hashes instead of {held}", tile.len());
                    return Err(Error::corrupt(encode_hex(&key), reason).into());
                }
                tile
            }
        };
        let mut above = Vec::new();
        for node in nodes {
            tile.push(node);
            if tile.len() as u64 == WIDTH {
                above.push(complete_root(&tile));
                out.insert(tile_key(level, index), Some(encode_tile(&tile)));
                tile.clear();
                index += 1;
            }
        }
        if !tile.is_empty() {
            out.insert(tile_key(level, index), Some(encode_tile(&tile)));
        }
        nodes = above;
        count /= WIDTH;
        level += 1;
    }
    Ok(new_size)
}

/// The root of the first `size` leaves, for any size up to the log's own.
pub fn root<P: Pages + ?Sized>(pages: &P, size: u64) -> Result<Digest, P::Error> {
    match size {
        0 => Ok(empty_root()),
        _ => TileReader::new(pages).range(0, size),
    }
}

/// Reads nodes, each tile once.
pub(super) struct TileReader<'a, P: ?Sized> {
    pages: &'a P,
    tiles: BTreeMap<(u8, u64), Vec<Digest>>,
}

impl<'a, P: Pages + ?Sized> TileReader<'a, P> {
    pub(super) fn new(pages: &'a P) -> Self {
        TileReader { pages, tiles: BTreeMap::new() }
    }

    /// The root of the leaves `from..to`, not empty, where `from` is a multiple of the largest power
    /// of two below the length, as everywhere in the recursion that defines the tree.
    pub(super) fn range(&mut self, from: u64, to: u64) -> Result<Digest, P::Error> {
        let length = to - from;
        if length.is_power_of_two() {
            return self.node(length.ilog2(), from >> length.ilog2());
        }
        let middle = from + split_point(length);
        let left = self.range(from, middle)?;
        Ok(node_hash(&left, &self.range(middle, to)?))
    }

    /// A node with a complete subtree.
    fn node(&mut self, tree_level: u32, index: u64) -> Result<Digest, P::Error> {
        let level = u8::try_from(tree_level / HEIGHT).expect("a tree of 2^64 leaves has 64 levels");
        let width = 1 << (tree_level % HEIGHT);
        let first = index * width;
        let tile = match self.tiles.entry((level, first / WIDTH)) {
            std::collections::btree_map::Entry::Occupied(tile) => tile.into_mut(),
            std::collections::btree_map::Entry::Vacant(slot) => {
                let key = tile_key(level, first / WIDTH);
                slot.insert(decode_tile(&key, self.pages.page(&key)?)?)
            }
        };
        let from = usize::try_from(first % WIDTH).expect("a tile has sixteen hashes");
        let nodes = from..from + usize::try_from(width).expect("a tile has sixteen hashes");
        tile.get(nodes).map(complete_root).ok_or_else(|| {
            let place = encode_hex(&tile_key(level, first / WIDTH));
            Error::corrupt(place, format!("holds only {} hashes", tile.len())).into()
        })
    }
}

/// The root of a log whose leaves come one after the other, for whoever keeps nothing of it but this.
#[derive(Clone, Debug, Default)]
pub struct RunningRoot {
    size: u64,
    /// The roots of its complete trees, the largest first.
    peaks: Vec<Digest>,
}

impl RunningRoot {
    pub fn push(&mut self, leaf: Digest) {
        let (mut node, mut size) = (leaf, self.size);
        while size % 2 == 1 {
            // A tree of this height stands before it, or the bit would not be set.
            node = self.peaks.pop().map_or(node, |left| node_hash(&left, &node));
            size /= 2;
        }
        self.peaks.push(node);
        self.size += 1;
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn root(&self) -> Digest {
        let joined =
            self.peaks.iter().rev().copied().reduce(|right, left| node_hash(&left, &right));
        joined.unwrap_or_else(empty_root)
    }
}

/// The largest power of two below `length`, which is at least two.
pub(super) fn split_point(length: u64) -> u64 {
    1 << (length - 1).ilog2()
}

/// The root over neighbours whose number is a power of two.
fn complete_root(nodes: &[Digest]) -> Digest {
    if let [node] = nodes {
        *node
    } else {
        let (left, right) = nodes.split_at(nodes.len() / 2);
        node_hash(&complete_root(left), &complete_root(right))
    }
}

fn tile_key(level: u8, index: u64) -> Vec<u8> {
    let mut key = vec![LOG_TILES, level];
    key.extend(index.to_be_bytes());
    key
}

fn encode_tile(tile: &[Digest]) -> Vec<u8> {
    tile.iter().flat_map(|node| node.0).collect()
}

fn decode_tile(key: &[u8], row: Option<Vec<u8>>) -> Result<Vec<Digest>> {
    let corrupt = |reason: &str| Error::corrupt(encode_hex(key), reason);
    let row = row.ok_or_else(|| corrupt("the log tile is missing"))?;
    let (nodes, rest) = row.as_chunks::<32>();
    if nodes.is_empty() || nodes.len() as u64 > WIDTH || !rest.is_empty() {
        return Err(corrupt("not one to sixteen hashes"));
    }
    Ok(nodes.iter().map(|node| Digest(*node)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merkle::testing::Memory;

    fn leaves(count: u64) -> Vec<Digest> {
        (0..count).map(|n| leaf_hash(&n.to_be_bytes())).collect()
    }

    // kernel 54
    #[test]
    fn every_entry_changes_the_root_and_no_earlier_root_changes() {
        let mut store = Memory::default();
        let mut roots = vec![root(&store, 0).unwrap()];
        let mut running = RunningRoot::default();
        assert_eq!(running.root(), roots[0]);
        for (size, leaf) in (0..).zip(leaves(300)) {
            let mut out = PageChanges::new();
            assert_eq!(append(&store, size, &[leaf], &mut out).unwrap(), size + 1);
            let full = 1 + u64::from((size + 1) % 16 == 0) + u64::from((size + 1) % 256 == 0);
            assert_eq!(out.len() as u64, full, "rows written for leaf {size}");
            store.commit(out);
            let now = root(&store, size + 1).unwrap();
            assert!(!roots.contains(&now));
            running.push(leaf);
            assert_eq!(running.root(), now);
            roots.push(now);
        }
        for (size, old) in (0..).zip(&roots) {
            assert_eq!(root(&store, size).unwrap(), *old);
        }
    }

    #[test]
    fn tiles_do_not_depend_on_how_leaves_were_grouped() {
        let all = leaves(1_000);
        let mut whole = PageChanges::new();
        append(&Memory::default(), 0, &all, &mut whole).unwrap();
        for group in [1, 7, 16, 250, 999] {
            let (mut out, mut size) = (PageChanges::new(), 0);
            for part in all.chunks(group) {
                size = append(&Memory::default(), size, part, &mut out).unwrap();
            }
            assert_eq!(out, whole, "groups of {group}");
        }
    }

    #[test]
    fn damaged_tiles_are_named() {
        let mut store = Memory::default();
        let mut out = PageChanges::new();
        append(&store, 0, &leaves(20), &mut out).unwrap();
        store.commit(out);
        let wrong_size = append(&store, 19, &leaves(1), &mut PageChanges::new());
        assert_eq!(wrong_size.unwrap_err().code(), "corrupt");
        assert_eq!(root(&store, 21).unwrap_err().code(), "corrupt");
        let key = tile_key(0, 1);
        for bad in [vec![], vec![0; 31], vec![0; 33], vec![0; 17 * 32]] {
            store.0.insert(key.clone(), bad);
            let error = root(&store, 20).unwrap_err();
            assert!(error.to_string().contains(&encode_hex(&key)), "{error}");
        }
        store.0.remove(&key);
        assert_eq!(root(&store, 20).unwrap_err().code(), "corrupt");
        assert!(append(&store, u64::MAX, &leaves(1), &mut PageChanges::new()).is_err());
    }
}
