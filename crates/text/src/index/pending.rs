//! Rows that are written and not in the view yet, laid over it.
//!
//! A hook's view does not show what the hook staged during the same entry, but a flush must see the put that caused it
//! and a merge the flush. So everything written since the entry began is read from here first.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use kernel::Result;
use kernel::store::{KeyRange, View};

#[derive(Debug, Default)]
pub(super) struct PendingRows {
    rows: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// Keys written since they were last handed over, some more than once.
    fresh: Vec<Vec<u8>>,
}

impl PendingRows {
    pub(super) fn set(&mut self, key: Vec<u8>, value: Option<Vec<u8>>) {
        self.fresh.push(key.clone());
        self.rows.insert(key, value);
    }

    pub(super) fn get(&self, view: &View<'_>, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.rows.get(key) {
            Some(value) => Ok(value.clone()),
            None => view.get(key),
        }
    }

    /// The rows of a range in key order, whatever its direction says.
    pub(super) fn rows(
        &self,
        view: &View<'_>,
        range: &KeyRange,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut found = Vec::new();
        view.scan(range, &mut |key, value| {
            if !self.rows.contains_key(key) {
                found.push((key.to_vec(), value.to_vec()));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let to = range.to.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let stored = found.len();
        if !range.is_empty() {
            let own = self.rows.range::<[u8], _>((Bound::Included(range.from.as_slice()), to));
            found.extend(own.filter_map(|(key, value)| Some((key.clone(), value.clone()?))));
        }
        if found.len() > stored {
            found.sort_unstable();
        }
        Ok(found)
    }

    /// The last row of a range.
    pub(super) fn last(
        &self,
        view: &View<'_>,
        range: KeyRange,
    ) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        if range.is_empty() {
            return Ok(None);
        }
        let to = range.to.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let own = self.rows.range::<[u8], _>((Bound::Included(range.from.as_slice()), to));
        let mut last = own.rev().find_map(|(key, value)| Some((key.clone(), value.clone()?)));
        view.scan(&range.reversed(), &mut |key, value| {
            if self.rows.contains_key(key) {
                return Ok(ControlFlow::Continue(()));
            }
            if last.as_ref().is_none_or(|(other, _)| other.as_slice() < key) {
                last = Some((key.to_vec(), value.to_vec()));
            }
            Ok(ControlFlow::Break(()))
        })?;
        Ok(last)
    }

    /// Passes on what was written since the last call, in key order.
    pub(super) fn hand_over(&mut self, mut set: impl FnMut(Vec<u8>, Option<Vec<u8>>)) {
        let mut fresh = std::mem::take(&mut self.fresh);
        fresh.sort_unstable();
        fresh.dedup();
        for key in fresh {
            let value = self.rows.get(&key).cloned().flatten();
            set(key, value);
        }
    }

    /// Passes on all there is, in key order, and keeps nothing: what follows must not read it before the view shows it.
    pub(super) fn give_away(&mut self, mut set: impl FnMut(Vec<u8>, Option<Vec<u8>>)) {
        self.fresh.clear();
        for (key, value) in std::mem::take(&mut self.rows) {
            set(key, value);
        }
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.fresh.clear();
    }
}
