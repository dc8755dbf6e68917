//! A set of memories, as a bit for each id: what an index lists, intersected and united in one pass.

use std::ops::ControlFlow;

use kernel::keys::Index;
use kernel::store::View;

use crate::error::Result;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ids(Vec<u64>);

impl Ids {
    /// All memories that at least one of the indexes lists.
    pub(crate) fn listed(view: &View<'_>, indexes: &[Index]) -> Result<Ids> {
        let mut ids = Ids::default();
        for index in indexes {
            view.scan_index(index, None, false, &mut |id| {
                ids.insert(id.get());
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(ids)
    }

    fn insert(&mut self, id: u64) {
        self.set(id, true);
    }

    pub(crate) fn set(&mut self, id: u64, is_in: bool) {
        let (word, bit) = place(id);
        if word >= self.0.len() {
            if !is_in {
                return;
            }
            self.0.resize(word + 1, 0);
        }
        if is_in {
            self.0[word] |= bit;
        } else {
            self.0[word] &= !bit;
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.0.iter().map(|bits| u64::from(bits.count_ones())).sum()
    }

    pub(crate) fn contains(&self, id: u64) -> bool {
        let (word, bit) = place(id);
        self.0.get(word).is_some_and(|bits| bits & bit != 0)
    }

    pub(crate) fn retain_in(&mut self, other: &Ids) {
        self.0.truncate(other.0.len());
        for (bits, other) in self.0.iter_mut().zip(&other.0) {
            *bits &= other;
        }
    }
}

fn place(id: u64) -> (usize, u64) {
    // An id is a number of the journal: a store cannot hold more of them than a usize counts.
    (usize::try_from(id / 64).unwrap_or(usize::MAX), 1 << (id % 64))
}
