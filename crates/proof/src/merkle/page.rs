//! One stored piece of a tree: the nodes of a few levels under one path.
//!
//! Row = format byte 1, then `seq` as a varint, then the nodes in ascending order of their slot:
//! slot byte, kind byte, body. Kind 255 is an inner node, its body the 32-byte hash of a page below;
//! kind n <= 32 is a leaf, its body n key bytes and the 32-byte value hash. The key bytes are those
//! from the page's end on (at a half byte, with the half before it zero), without trailing zero
//! bytes. What must stay true: a page has one encoding, anything else is damage; a subtree with one
//! leaf is a leaf in the page above and never a page, the root page aside.

use super::bits::{KEY_BITS, TreeKey};
use super::node::{Leaf, Node, lone_leaf, subtree_hash};
use super::tree::Tree;
use crate::digest::{Digest, encode_hex};
use crate::error::{Error, Result};

const FORMAT: u8 = 1;
const INNER: u8 = 0xff;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page {
    tree: Tree,
    pub(super) depth: usize,
    path: TreeKey,
    /// The highest journal entry that touched a key at or under this page.
    pub(super) seq: u64,
    /// Ascending, at most one per slot.
    pub(super) nodes: Vec<Node>,
}

impl Page {
    pub(super) fn empty(tree: Tree, depth: usize, path: &TreeKey) -> Page {
        Page { tree, depth, path: *path, seq: 0, nodes: Vec::new() }
    }

    /// The depth at which the pages below start.
    pub(super) fn end(&self) -> usize {
        self.depth + self.tree.stride(self.depth)
    }

    pub(super) fn key(&self) -> Vec<u8> {
        self.tree.page_key(self.depth, &self.path)
    }

    /// Which slot of this page a key under it belongs to.
    pub(super) fn slot(&self, key: &TreeKey) -> u8 {
        let byte = key[self.depth / 8];
        match (self.end() - self.depth, self.depth % 8) {
            (8, _) => byte,
            (_, 0) => byte >> 4,
            _ => byte & 15,
        }
    }

    /// Where a slot's node is, or would be.
    pub(super) fn find(&self, slot: u8) -> std::result::Result<usize, usize> {
        self.nodes.binary_search_by_key(&slot, |node| self.slot(node.path()))
    }

    /// Puts a node, or nothing, into a slot.
    pub(super) fn set(&mut self, slot: u8, node: Option<Node>) {
        match (self.find(slot), node) {
            (Ok(at), Some(node)) => self.nodes[at] = node,
            (Ok(at), None) => drop(self.nodes.remove(at)),
            (Err(at), Some(node)) => self.nodes.insert(at, node),
            (Err(_), None) => {}
        }
    }

    /// The hash of the subtree this page is the top of.
    pub(super) fn hash(&self) -> Digest {
        subtree_hash(&self.nodes, self.depth, self.end())
    }

    /// What the page above holds for this one; an inner node means that this page is stored.
    pub(super) fn summary(&self) -> Option<Node> {
        match lone_leaf(&self.nodes) {
            _ if self.nodes.is_empty() => None,
            Some(leaf) => Some(Node::Leaf(*leaf)),
            None => Some(Node::Inner { path: self.path, hash: self.hash() }),
        }
    }

    /// The path of a slot, zero bits behind it.
    pub(super) fn slot_path(&self, slot: u8) -> TreeKey {
        let mut path = self.path;
        let wide_or_low = self.end() - self.depth == 8 || !self.depth.is_multiple_of(8);
        path[self.depth / 8] |= if wide_or_low { slot } else { slot << 4 };
        path
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(10 + self.nodes.len() * 36);
        bytes.push(FORMAT);
        put_varint(self.seq, &mut bytes);
        for node in &self.nodes {
            bytes.push(self.slot(node.path()));
            match node {
                Node::Inner { hash, .. } => {
                    bytes.push(INNER);
                    bytes.extend(hash.0);
                }
                Node::Leaf(leaf) => {
                    let rest = key_rest(&leaf.key, self.end());
                    bytes.push(u8::try_from(rest.len()).expect("a key has 32 bytes"));
                    bytes.extend(rest);
                    bytes.extend(leaf.value_hash.0);
                }
            }
        }
        bytes
    }

    pub(super) fn decode(tree: Tree, depth: usize, path: &TreeKey, bytes: &[u8]) -> Result<Page> {
        let mut page = Page::empty(tree, depth, path);
        match page.fill(bytes) {
            Ok(()) => Ok(page),
            Err(reason) => Err(Error::corrupt(encode_hex(&page.key()), reason)),
        }
    }

    fn fill(&mut self, bytes: &[u8]) -> std::result::Result<(), &'static str> {
        let mut rest = bytes;
        if take(&mut rest, 1)? != [FORMAT] {
            return Err("unknown page format");
        }
        self.seq = take_varint(&mut rest)?;
        let mut last = None;
        while !rest.is_empty() {
            let head = take(&mut rest, 2)?;
            let (slot, kind) = (head[0], head[1]);
            if last >= Some(slot) || usize::from(slot) >> (self.end() - self.depth) != 0 {
                return Err("slots out of order or range");
            }
            last = Some(slot);
            let node = if kind == INNER {
                if self.end() == KEY_BITS {
                    return Err("an inner node below the last level");
                }
                Node::Inner { path: self.slot_path(slot), hash: take_digest(&mut rest)? }
            } else {
                let key = self.leaf_key(slot, take(&mut rest, usize::from(kind))?)?;
                Node::Leaf(Leaf { key, value_hash: take_digest(&mut rest)? })
            };
            self.nodes.push(node);
        }
        let few = self.nodes.is_empty() || lone_leaf(&self.nodes).is_some();
        if self.depth > 0 && few {
            return Err("a page with less than two leaves below it");
        }
        Ok(())
    }

    /// Undoes `key_rest`, strictly.
    fn leaf_key(&self, slot: u8, rest: &[u8]) -> std::result::Result<TreeKey, &'static str> {
        let mut key = self.slot_path(slot);
        let start = self.end() / 8;
        let half = !self.end().is_multiple_of(8);
        if rest.len() > 32 - start || rest.last() == Some(&0) {
            return Err("a leaf's key is not in its shortest form");
        }
        if half && rest.first().is_some_and(|byte| byte >> 4 != 0) {
            return Err("a leaf's key does not belong to its slot");
        }
        key[start..].iter_mut().zip(rest).for_each(|(byte, more)| *byte |= more);
        Ok(key)
    }
}

/// The bytes of a key from bit `end` on, without trailing zero bytes.
fn key_rest(key: &TreeKey, end: usize) -> Vec<u8> {
    let mut rest = key[end / 8..].to_vec();
    if !end.is_multiple_of(8) {
        rest[0] &= 15;
    }
    rest.truncate(rest.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1));
    rest
}

fn put_varint(mut value: u64, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value.to_be_bytes()[7] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_be_bytes()[7]);
}

/// Seven bits a byte, low bits first, the shortest form only.
fn take_varint(rest: &mut &[u8]) -> std::result::Result<u64, &'static str> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(rest, 1)?[0];
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits || (byte == 0 && shift > 0) {
            return Err("a number is not in its shortest form");
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err("a number is too long")
}

fn take<'b>(rest: &mut &'b [u8], count: usize) -> std::result::Result<&'b [u8], &'static str> {
    let (taken, left) = rest.split_at_checked(count).ok_or("the page ends too early")?;
    *rest = left;
    Ok(taken)
}

fn take_digest(rest: &mut &[u8]) -> std::result::Result<Digest, &'static str> {
    let bytes = take(rest, 32)?.try_into().map_err(|_| "the page ends too early")?;
    Ok(Digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merkle::tree::{EDGES, HEADS};
    use proptest::prelude::*;

    fn leaf(key: TreeKey) -> Node {
        Node::Leaf(Leaf { key, value_hash: Digest([7; 32]) })
    }

    /// A page at `depth` with a few nodes of both kinds.
    fn page(tree: Tree, depth: usize, path: &TreeKey, tail: u8) -> Page {
        let mut page = Page::empty(tree, depth, path);
        page.seq = 300;
        for slot in [0, 3, 15] {
            let mut key = page.slot_path(slot);
            if page.end() < KEY_BITS {
                key[31] |= tail & 15;
            }
            page.set(slot, Some(leaf(key)));
        }
        if page.end() < KEY_BITS {
            let inner = Node::Inner { path: page.slot_path(9), hash: Digest([9; 32]) };
            page.set(9, Some(inner));
        }
        page
    }

    fn path_to(depth: usize) -> TreeKey {
        *crate::merkle::TreePrefix::new(&[0xc3; 32], depth).unwrap().key()
    }

    #[test]
    fn pages_of_every_depth_survive_their_encoding() {
        for (tree, wide) in [(HEADS, 16), (EDGES, 8)] {
            for depth in (0..KEY_BITS).step_by(4).filter(|d| *d >= wide || d % 8 == 0) {
                for tail in [0, 1] {
                    let page = page(tree, depth, &path_to(depth), tail);
                    let bytes = page.encode();
                    let back = Page::decode(tree, depth, &path_to(depth), &bytes).unwrap();
                    assert_eq!(back, page);
                }
            }
        }
    }

    #[test]
    fn damage_is_named_by_key() {
        let path = path_to(20);
        let bytes = page(HEADS, 20, &path, 1).encode();
        let place = encode_hex(&HEADS.page_key(20, &path));
        for cut in 0..bytes.len() {
            // A cut between nodes is a page with fewer of them; less than two leaves never pass.
            if let Err(error) = Page::decode(HEADS, 20, &path, &bytes[..cut]) {
                assert!(matches!(&error, Error::Corrupt { place: at, .. } if *at == place));
            } else {
                assert!(cut > 70);
            }
        }
        let lone = [&[FORMAT, 1, 0, 0][..], &[7; 32]].concat();
        assert!(Page::decode(HEADS, 20, &path, &lone).is_err());
        assert!(Page::decode(HEADS, 0, &[0; 32], &lone).is_ok());
        let long_seq = [&[FORMAT, 0x81, 0, 0, 0][..], &[7; 32]].concat();
        assert!(Page::decode(HEADS, 0, &[0; 32], &long_seq).is_err());
    }

    #[test]
    fn varints_have_one_form() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(value, &mut bytes);
            assert_eq!(take_varint(&mut &bytes[..]), Ok(value));
        }
        for bad in [&[][..], &[0x80], &[0x80, 0], &[0xff; 10], &[0xff; 11]] {
            assert!(take_varint(&mut &bad[..]).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_decodes_is_what_we_would_have_written(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            depth in prop::sample::select(vec![0_usize, 8, 16, 20, 252]),
        ) {
            let bytes = [&[FORMAT, 5][..], &bytes].concat();
            if let Ok(page) = Page::decode(HEADS, depth, &path_to(depth), &bytes) {
                prop_assert_eq!(page.encode(), bytes);
            }
        }

        #[test]
        fn a_flipped_bit_is_refused_or_is_another_page(bit in 0_usize..(4 * 34 * 8)) {
            let path = path_to(24);
            let page = page(HEADS, 24, &path, 3);
            let mut bytes = page.encode();
            prop_assume!(bit < bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            if let Ok(other) = Page::decode(HEADS, 24, &path, &bytes) {
                prop_assert_ne!(&other, &page);
                prop_assert_eq!(other.encode(), bytes);
            }
        }
    }
}
