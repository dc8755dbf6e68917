//! The levels of vectors: those that are held for themselves, and groups of them that are read when a question comes
//! near.
//!
//! Sketches choose a hundredth of all vectors; only the levels of those are looked at. So memory holds the levels that
//! were asked for, and the first question of a large store does not wait until all are read. A group is read whole,
//! because memories that came together are asked for together. Once a quarter of all groups is asked for, the rest is
//! read too: reading all in one pass costs a fraction of reading each for itself. What must stay true: reading a group
//! changes what is held and never a score.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// Where the levels of a vector are: a number in `LevelStore::own`, or in the group of its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LevelAddress(u32);

impl LevelAddress {
    pub(super) const GROUP: LevelAddress = LevelAddress(u32::MAX);
}

/// The levels of documents whose numbers follow one another. Its row: for each of the 15 documents the length of its
/// levels in bytes, u16 little-endian, then all levels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LevelGroup {
    /// Where the levels of each end.
    ends: [usize; GROUP_DOCS],
    levels: Vec<u8>,
}

/// The documents of a group: with a vector of 256 bytes each they fill a page of the store.
const GROUP_DOCS: usize = 15;

impl LevelGroup {
    /// Documents of a group.
    pub(crate) const DOCS: u64 = GROUP_DOCS as u64;

    /// The group of a document.
    pub(crate) fn of(doc: u64) -> u64 {
        doc / LevelGroup::DOCS
    }

    pub(crate) fn set(&mut self, doc: u64, levels: Vec<u8>) {
        let (old, new) = (self.range(place(doc)), levels.len());
        for end in &mut self.ends[place(doc)..] {
            *end = *end - old.len() + new;
        }
        self.levels.splice(old, levels);
    }

    pub(crate) fn get(&self, doc: u64) -> &[u8] {
        &self.levels[self.range(place(doc))]
    }

    fn range(&self, place: usize) -> Range<usize> {
        range(&self.ends, place)
    }

    /// `None` when it holds nothing.
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        // A memory has at most 65 vectors of 256 levels.
        let length = |place| u16::try_from(self.range(place).len()).unwrap_or(u16::MAX);
        let lengths = (0..GROUP_DOCS).flat_map(|place| length(place).to_le_bytes());
        (!self.levels.is_empty()).then(|| lengths.chain(self.levels.iter().copied()).collect())
    }

    /// Reads what `encode` wrote; no bytes are an empty group.
    pub(crate) fn decode(bytes: &[u8]) -> Option<LevelGroup> {
        let mut group = LevelGroup::default();
        if bytes.is_empty() {
            return Some(group);
        }
        let (lengths, levels) = bytes.split_at_checked(2 * GROUP_DOCS)?;
        let mut sum = 0;
        for (end, length) in group.ends.iter_mut().zip(lengths.as_chunks::<2>().0) {
            sum += usize::from(u16::from_le_bytes(*length));
            *end = sum;
        }
        group.levels = levels.to_vec();
        (sum == levels.len()).then_some(group)
    }
}

/// The place of a document in its group.
fn place(doc: u64) -> usize {
    usize::try_from(doc % LevelGroup::DOCS).unwrap_or(0)
}

fn range<N: Copy + Default>(ends: &[N; GROUP_DOCS], place: usize) -> Range<N> {
    place.checked_sub(1).map_or_else(N::default, |before| ends[before])..ends[place]
}

/// A group in memory.
#[derive(Debug)]
struct LoadedGroup {
    /// Where the vectors of each document end, counted in vectors.
    ends: [u16; GROUP_DOCS],
    levels: Box<[i8]>,
}

#[derive(Debug)]
pub(super) struct LevelStore {
    dims: usize,
    own: Vec<i8>,
    /// Numbers in `own` that are free again.
    free: Vec<u32>,
    groups: Vec<OnceLock<LoadedGroup>>,
    /// How many of them are held, about.
    held: AtomicUsize,
}

impl LevelStore {
    pub(super) fn new(dims: usize) -> LevelStore {
        let held = AtomicUsize::new(0);
        LevelStore { dims, own: Vec::new(), free: Vec::new(), groups: Vec::new(), held }
    }

    /// Makes room for groups up to that of a document.
    pub(super) fn reserve(&mut self, last: u64) {
        let groups = usize::try_from(LevelGroup::of(last)).unwrap_or(0) + 1;
        if groups > self.groups.len() {
            self.groups.resize_with(groups, OnceLock::new);
        }
    }

    /// Holds the levels of one vector.
    pub(super) fn hold(&mut self, levels: impl Iterator<Item = i8>) -> LevelAddress {
        if let Some(free) = self.free.pop() {
            let slot = self.slot(free);
            self.own[slot].iter_mut().zip(levels).for_each(|(to, from)| *to = from);
            return LevelAddress(free);
        }
        let next = u32::try_from(self.own.len() / self.dims.max(1)).unwrap_or(u32::MAX);
        self.own.extend(levels);
        LevelAddress(next)
    }

    /// Gives up what a row of a document held. Nothing of it stays in memory.
    pub(super) fn release(&mut self, doc: u64, at: LevelAddress) {
        if at != LevelAddress::GROUP {
            let slot = self.slot(at.0);
            self.own[slot].fill(0);
            self.free.push(at.0);
        } else if self.group_mut(doc).and_then(OnceLock::take).is_some() {
            self.held.fetch_sub(1, Relaxed);
        }
    }

    fn slot(&self, number: u32) -> Range<usize> {
        let start = usize::try_from(number).unwrap_or(usize::MAX).saturating_mul(self.dims);
        start..start.saturating_add(self.dims)
    }

    fn group(&self, doc: u64) -> Option<&OnceLock<LoadedGroup>> {
        self.groups.get(usize::try_from(LevelGroup::of(doc)).ok()?)
    }

    fn group_mut(&mut self, doc: u64) -> Option<&mut OnceLock<LoadedGroup>> {
        self.groups.get_mut(usize::try_from(LevelGroup::of(doc)).ok()?)
    }

    /// Whether the group of a document is to be read.
    pub(super) fn wants(&self, doc: u64, at: LevelAddress) -> bool {
        at == LevelAddress::GROUP && self.group(doc).is_some_and(|group| group.get().is_none())
    }

    /// Whether so many more groups are reason to read all. A few never are: they are read again when a memory changed.
    pub(super) fn wants_all(&self, more: usize) -> bool {
        let asked = self.held.load(Relaxed) + more;
        more * 64 > self.groups.len() && asked * 4 > self.groups.len()
    }

    /// Holds a group, of it the documents that `is_here` says: another may have been erased since.
    pub(super) fn hold_group(
        &self,
        number: u64,
        group: &LevelGroup,
        is_here: impl Fn(u64) -> bool,
    ) {
        let Some(place) = self.group(number * LevelGroup::DOCS) else { return };
        if place.get().is_some() {
            return;
        }
        let (mut ends, mut levels) = ([0; GROUP_DOCS], Vec::with_capacity(group.levels.len()));
        for (doc, end) in (number * LevelGroup::DOCS..).zip(&mut ends) {
            if is_here(doc) {
                levels.extend(group.get(doc).iter().map(|level| level.cast_signed()));
            }
            *end = u16::try_from(levels.len() / self.dims.max(1)).unwrap_or(u16::MAX);
        }
        // Another search may have read the group meanwhile. It read the same bytes, so either copy will do.
        let held = LoadedGroup { ends, levels: levels.into_boxed_slice() };
        if place.set(held).is_ok() {
            self.held.fetch_add(1, Relaxed);
        }
    }

    /// The levels of the `nth` vector of a document; nothing if its group was not read.
    pub(super) fn get(&self, doc: u64, nth: usize, at: LevelAddress) -> &[i8] {
        if at != LevelAddress::GROUP {
            return self.own.get(self.slot(at.0)).unwrap_or_default();
        }
        let Some(held) = self.group(doc).and_then(OnceLock::get) else { return &[] };
        let own = range(&held.ends, place(doc));
        let at = usize::from(own.start) + nth;
        let is_own = at < usize::from(own.end);
        let levels = is_own.then(|| held.levels.get(at * self.dims..(at + 1) * self.dims));
        levels.flatten().unwrap_or_default()
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        let held = self.groups.iter().filter_map(OnceLock::get);
        self.own.len() + held.map(|held| held.levels.len()).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn groups_come_back_and_damage_is_noticed(
            all in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), GROUP_DOCS),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut group = LevelGroup::default();
            for (doc, levels) in (30..).zip(&all) {
                group.set(doc, levels.clone());
            }
            let bytes = group.encode().unwrap_or_default();
            prop_assert_eq!(LevelGroup::decode(&bytes), Some(group.clone()));
            if !bytes.is_empty() {
                prop_assert_ne!(LevelGroup::decode(&bytes[..cut.index(bytes.len())]), Some(group));
            }
        }

        #[test]
        fn what_is_held_is_what_was_given(
            rows in prop::collection::vec((0u64..60, prop::array::uniform4(any::<i8>())), 1..30),
        ) {
            let mut levels = LevelStore::new(4);
            let held: Vec<LevelAddress> = rows.iter().map(|(_, own)| levels.hold(own.iter().copied())).collect();
            levels.release(rows[0].0, held[0]);
            prop_assert!(levels.get(rows[0].0, 0, held[0]).iter().all(|level| *level == 0));
            let again = levels.hold([1, 2, 3, 4].into_iter());
            prop_assert_eq!(levels.get(7, 0, again), &[1, 2, 3, 4]);
            for ((doc, own), at) in rows.iter().zip(&held).skip(1) {
                prop_assert_eq!(levels.get(*doc, 0, *at), own);
            }
        }
    }

    #[test]
    fn a_group_is_held_without_what_is_not_there_any_more() {
        let mut levels = LevelStore::new(2);
        levels.reserve(44);
        let mut group = LevelGroup::default();
        for doc in [30, 31, 33] {
            group.set(doc, vec![1, 2, 3, u8::try_from(doc).unwrap()]);
        }
        assert!(
            levels.wants(31, LevelAddress::GROUP)
                && levels.get(31, 0, LevelAddress::GROUP).is_empty()
        );
        levels.hold_group(2, &group, |doc| doc != 31);
        assert!(!levels.wants(31, LevelAddress::GROUP));
        assert_eq!(levels.get(30, 1, LevelAddress::GROUP), [3, 30]);
        assert_eq!(levels.get(33, 0, LevelAddress::GROUP), [1, 2]);
        assert_eq!(levels.get(33, 1, LevelAddress::GROUP), [3, 33]);
        for (doc, nth) in [(31, 0), (32, 0), (33, 2), (44, 0), (45, 0)] {
            assert!(levels.get(doc, nth, LevelAddress::GROUP).is_empty(), "{doc} {nth}");
        }
        levels.release(30, LevelAddress::GROUP);
        assert!(levels.wants(33, LevelAddress::GROUP));
    }

    #[test]
    fn a_quarter_is_reason_to_read_all_but_a_few_never_are() {
        let mut levels = LevelStore::new(2);
        levels.reserve(999 * LevelGroup::DOCS);
        assert!(!levels.wants_all(0) && !levels.wants_all(250) && levels.wants_all(251));
        for number in 0..300 {
            levels.hold_group(number, &LevelGroup::default(), |_| true);
            levels.hold_group(number, &LevelGroup::default(), |_| true);
        }
        assert!(levels.wants_all(16) && !levels.wants_all(15));
        for number in 0..100 {
            levels.release(number * LevelGroup::DOCS, LevelAddress::GROUP);
            levels.release(number * LevelGroup::DOCS, LevelAddress::GROUP);
        }
        assert!(levels.wants_all(51) && !levels.wants_all(50));
    }
}
