//! Changes on their way to one commit. Later changes to a key replace earlier ones; reads can be served from here.

use std::collections::{BTreeMap, BTreeSet};

use super::{KeyRange, Space};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteSet {
    spaces: BTreeMap<Space, BTreeMap<Vec<u8>, Option<Vec<u8>>>>,
    cleared: BTreeSet<Space>,
    bytes: usize,
    is_foreign: bool,
}

impl WriteSet {
    pub fn new() -> WriteSet {
        WriteSet::default()
    }

    /// From now on these are entries that another node wrote, with what follows from them.
    pub(crate) fn mark_foreign(&mut self) {
        self.is_foreign = true;
    }

    pub(crate) fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    pub fn put(&mut self, space: Space, key: Vec<u8>, value: Vec<u8>) {
        self.set(space, key, Some(value));
    }

    pub fn delete(&mut self, space: Space, key: Vec<u8>) {
        self.set(space, key, None);
    }

    pub fn set(&mut self, space: Space, key: Vec<u8>, value: Option<Vec<u8>>) {
        self.bytes += key.len() + value.as_ref().map_or(0, Vec::len);
        self.spaces.entry(space).or_default().insert(key, value);
    }

    /// Drops everything a space held before this set; puts of the same set survive.
    pub fn clear(&mut self, space: Space) {
        self.cleared.insert(space);
        self.spaces.remove(&space);
    }

    /// Takes over all changes of `later`, which replace those here.
    pub fn merge(&mut self, later: WriteSet) {
        for space in later.cleared {
            self.clear(space);
        }
        for (space, rows) in later.spaces {
            for (key, value) in rows {
                self.set(space, key, value);
            }
        }
    }

    /// `None`: unknown here. `Some(None)`: deleted here.
    pub fn get(&self, space: Space, key: &[u8]) -> Option<Option<&[u8]>> {
        match self.spaces.get(&space).and_then(|keys| keys.get(key)) {
            Some(value) => Some(value.as_deref()),
            None if self.cleared.contains(&space) => Some(None),
            None => None,
        }
    }

    pub(super) fn range(&self, space: Space, range: &KeyRange) -> Vec<(&[u8], Option<&[u8]>)> {
        let Some(keys) = self.spaces.get(&space) else { return Vec::new() };
        if range.is_empty() {
            return Vec::new();
        }
        let from = std::ops::Bound::Included(range.from.clone());
        let to = match &range.to {
            Some(to) => std::ops::Bound::Excluded(to.clone()),
            None => std::ops::Bound::Unbounded,
        };
        let mut rows: Vec<_> =
            keys.range((from, to)).map(|(k, v)| (k.as_slice(), v.as_deref())).collect();
        if range.reverse {
            rows.reverse();
        }
        rows
    }

    pub fn is_cleared(&self, space: Space) -> bool {
        self.cleared.contains(&space)
    }

    pub fn cleared(&self) -> impl Iterator<Item = Space> + '_ {
        self.cleared.iter().copied()
    }

    /// Rows by space, in key order.
    pub fn iter(&self) -> impl Iterator<Item = (Space, &BTreeMap<Vec<u8>, Option<Vec<u8>>>)> + '_ {
        self.spaces.iter().map(|(space, keys)| (*space, keys))
    }

    pub fn is_empty(&self) -> bool {
        self.spaces.is_empty() && self.cleared.is_empty()
    }

    /// Roughly what the set holds; replaced values count again.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
