//! The levels of vectors: those that are held for themselves, and groups of them that are read when a question comes
//! near.
//!
//! Sketches choose a hundredth of all vectors; only the levels of those are looked at. So memory holds the levels that
//! were asked for, and the first question of a large store does not wait until all are read. A group is read whole,
//! because memories that came together are asked for together. Once a quarter of all groups is asked for, the rest is
//! read too: reading all in one pass costs a fraction of reading each for itself. What must stay true: reading a group
//! changes what is held and never a score, and of what was erased nothing is held.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// The vectors of a group have numbers that follow one another. With 256 levels each they fill a page of the store.
pub(crate) const VECTORS_IN_GROUP: usize = 15;

/// Where the levels of a vector are: its number in `LevelStore::own`, or with this bit the number that says where it is
/// in the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LevelAddress(u32);

const GROUPED: u32 = 1 << 31;

impl LevelAddress {
    /// `None` if there are more vectors than addresses.
    pub(super) fn grouped(number: u64) -> Option<LevelAddress> {
        let number = u32::try_from(number).ok().filter(|number| *number < GROUPED);
        number.map(|number| LevelAddress(number | GROUPED))
    }

    /// The group that the vector is in, and its place there.
    fn in_group(self) -> Option<(usize, usize)> {
        let number = usize::try_from(self.0 & !GROUPED).unwrap_or(usize::MAX);
        let is_grouped = self.0 & GROUPED != 0;
        is_grouped.then_some((number / VECTORS_IN_GROUP, number % VECTORS_IN_GROUP))
    }

    /// The number of the group that the vector is in.
    pub(super) fn group(self) -> Option<u64> {
        self.in_group().and_then(|(group, _)| u64::try_from(group).ok())
    }
}

#[derive(Debug, Default)]
struct Group {
    /// Which of its vectors are there, a bit each: a memory may have been erased, or have changed, since it was made.
    present: u16,
    levels: OnceLock<Box<[i8]>>,
}

const _: () = assert!(VECTORS_IN_GROUP <= 16, "each vector of a group has a bit");

#[derive(Debug)]
pub(super) struct LevelStore {
    dims: usize,
    own: Vec<i8>,
    /// Numbers in `own` that are free again.
    free: Vec<u32>,
    groups: Vec<Group>,
    /// How many of them are held, about.
    held: AtomicUsize,
}

impl LevelStore {
    pub(super) fn new(dims: usize) -> LevelStore {
        let held = AtomicUsize::new(0);
        LevelStore { dims, own: Vec::new(), free: Vec::new(), groups: Vec::new(), held }
    }

    /// Notes that a vector is in a group.
    pub(super) fn add_grouped(&mut self, at: LevelAddress) {
        let Some((group, place)) = at.in_group() else { return };
        if group >= self.groups.len() {
            self.groups.resize_with(group + 1, Group::default);
        }
        self.groups[group].present |= 1 << place;
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

    /// Gives up what a vector held. Nothing of it stays in memory.
    pub(super) fn release(&mut self, at: LevelAddress) {
        let Some((group, place)) = at.in_group() else {
            let slot = self.slot(at.0);
            self.own[slot].fill(0);
            self.free.push(at.0);
            return;
        };
        let Some(group) = self.groups.get_mut(group) else { return };
        group.present &= !(1 << place);
        if group.levels.take().is_some() {
            self.held.fetch_sub(1, Relaxed);
        }
    }

    fn slot(&self, number: u32) -> Range<usize> {
        let start = usize::try_from(number).unwrap_or(usize::MAX).saturating_mul(self.dims);
        start..start.saturating_add(self.dims)
    }

    /// Whether the group of a vector is to be read.
    pub(super) fn wants(&self, at: LevelAddress) -> bool {
        let group = at.in_group().and_then(|(group, _)| self.groups.get(group));
        group.is_some_and(|group| group.levels.get().is_none())
    }

    /// Whether so many more groups are reason to read all. A few never are: they are read again when a memory changed.
    pub(super) fn wants_all(&self, more: usize) -> bool {
        let asked = self.held.load(Relaxed) + more;
        more * 64 > self.groups.len() && asked * 4 > self.groups.len()
    }

    /// Holds a group, given the levels of all its vectors; of those that are not there nothing is kept.
    pub(super) fn hold_group(&self, number: u64, levels: &[u8]) {
        let group = usize::try_from(number).ok().and_then(|number| self.groups.get(number));
        let Some(group) = group.filter(|group| group.levels.get().is_none()) else { return };
        let mut held: Box<[i8]> = levels.iter().map(|level| level.cast_signed()).collect();
        for (place, vector) in held.chunks_mut(self.dims.max(1)).enumerate() {
            if group.present >> place & 1 == 0 {
                vector.fill(0);
            }
        }
        // Another search may have read the group meanwhile. It read the same bytes, so either copy will do.
        if group.levels.set(held).is_ok() {
            self.held.fetch_add(1, Relaxed);
        }
    }

    /// The levels of a vector; nothing if its group was not read, or has fewer.
    pub(super) fn get(&self, at: LevelAddress) -> &[i8] {
        let Some((group, place)) = at.in_group() else {
            return self.own.get(self.slot(at.0)).unwrap_or_default();
        };
        let held = self.groups.get(group).and_then(|group| group.levels.get());
        let vector = held.and_then(|held| held.get(place * self.dims..(place + 1) * self.dims));
        vector.unwrap_or_default()
    }

    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        let held = self.groups.iter().filter_map(|group| group.levels.get());
        self.own.len() + held.map(|held| held.len()).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_held_is_what_was_given(
            rows in prop::collection::vec(prop::array::uniform4(any::<i8>()), 1..30),
        ) {
            let mut levels = LevelStore::new(4);
            let held: Vec<LevelAddress> = rows.iter().map(|own| levels.hold(own.iter().copied())).collect();
            levels.release(held[0]);
            prop_assert!(levels.get(held[0]).iter().all(|level| *level == 0));
            let again = levels.hold([1, 2, 3, 4].into_iter());
            prop_assert_eq!(levels.get(again), &[1, 2, 3, 4]);
            for (own, at) in rows.iter().zip(&held).skip(1) {
                prop_assert_eq!(levels.get(*at), own);
            }
        }
    }

    fn grouped(number: u64) -> LevelAddress {
        LevelAddress::grouped(number).unwrap()
    }

    #[test]
    fn a_group_is_held_without_what_is_not_there_any_more() {
        let mut levels = LevelStore::new(2);
        for number in [30, 31, 33] {
            levels.add_grouped(grouped(number));
        }
        assert!(levels.wants(grouped(31)) && levels.get(grouped(31)).is_empty());
        levels.release(grouped(31));
        let group: Vec<u8> = (0..10).collect();
        levels.hold_group(2, &group);
        assert!(!levels.wants(grouped(30)));
        assert_eq!(levels.get(grouped(30)), [0, 1]);
        assert_eq!(levels.get(grouped(33)), [6, 7]);
        for number in [31, 32, 34] {
            assert_eq!(levels.get(grouped(number)), [0, 0], "{number}");
        }
        for number in [35, 44, 45] {
            assert!(levels.get(grouped(number)).is_empty(), "{number}");
        }
        levels.release(grouped(30));
        assert!(levels.wants(grouped(33)));
        levels.hold_group(2, &group);
        assert_eq!([levels.get(grouped(30)), levels.get(grouped(33))], [[0, 0], [6, 7]]);
        assert_eq!(LevelAddress::grouped(1 << 31), None);
    }

    #[test]
    fn a_quarter_is_reason_to_read_all_but_a_few_never_are() {
        let mut levels = LevelStore::new(2);
        let first_of = |group: u64| grouped(group * 15);
        levels.add_grouped(first_of(999));
        assert!(!levels.wants_all(0) && !levels.wants_all(250) && levels.wants_all(251));
        for number in 0..300 {
            levels.hold_group(number, &[]);
            levels.hold_group(number, &[]);
        }
        assert!(levels.wants_all(16) && !levels.wants_all(15));
        for number in 0..100 {
            levels.release(first_of(number));
            levels.release(first_of(number));
        }
        assert!(levels.wants_all(51) && !levels.wants_all(50));
    }
}
