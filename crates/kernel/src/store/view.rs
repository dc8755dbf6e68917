//! A read view: a snapshot of the store with uncommitted changes laid over it.
//!
//! `admit`, `apply` and the hooks read through a view that includes everything staged so far; queries read through one
//! without changes. All of them see the live side only.

use std::iter::Peekable;
use std::ops::ControlFlow;

use super::{DamageNote, KeyRange, Side, Space, StoreReader, Visit, WriteSet};
use crate::error::Result;

pub struct View<'a> {
    reader: &'a dyn StoreReader,
    side: Side,
    staged: Option<&'a WriteSet>,
}

impl std::fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View").field("side", &self.side).finish_non_exhaustive()
    }
}

impl<'a> View<'a> {
    pub fn new(reader: &'a dyn StoreReader, side: Side) -> View<'a> {
        View { reader, side, staged: None }
    }

    pub fn staged(reader: &'a dyn StoreReader, side: Side, staged: &'a WriteSet) -> View<'a> {
        View { reader, side, staged: Some(staged) }
    }

    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.get_in(Space::Derived(self.side), key)
    }

    pub fn get_truth(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.get_in(Space::Truth, key)
    }

    pub fn scan(&self, range: &KeyRange, visit: &mut Visit<'_>) -> Result<()> {
        self.scan_in(Space::Derived(self.side), range, visit)
    }

    pub fn scan_truth(&self, range: &KeyRange, visit: &mut Visit<'_>) -> Result<()> {
        self.scan_in(Space::Truth, range, visit)
    }

    /// See `StoreReader::generation`.
    pub fn generation(&self) -> u64 {
        self.reader.generation()
    }

    /// Notes damage that the caller goes around.
    pub(crate) fn note_damage(&self, note: DamageNote) {
        self.reader.note_damage(note);
    }

    /// Says that a derived row does not decode.
    pub(crate) fn distrust(&self, note: DamageNote) {
        self.reader.distrust(note);
    }

    /// The first row of a range.
    pub fn first(&self, range: &KeyRange) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let mut found = None;
        self.scan(range, &mut |key, value| {
            found = Some((key.to_vec(), value.to_vec()));
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
    }

    fn get_in(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if let Some(staged) = self.staged.and_then(|staged| staged.get(space, key)) {
            return Ok(staged.map(<[u8]>::to_vec));
        }
        self.reader.get(space, key)
    }

    fn scan_in(&self, space: Space, range: &KeyRange, visit: &mut Visit<'_>) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let Some(staged) = self.staged else { return self.reader.scan(space, range, visit) };
        let mut over = staged.range(space, range).into_iter().peekable();
        let mut stopped = false;
        if !staged.is_cleared(space) {
            self.reader.scan(space, range, &mut |key, value| {
                if visit_before(&mut over, Some((key, range.reverse)), visit)?.is_break() {
                    stopped = true;
                    return Ok(ControlFlow::Break(()));
                }
                // A staged row with the same key replaces or hides the stored one.
                let flow = match over.next_if(|(staged_key, _)| *staged_key == key) {
                    Some((_, Some(staged_value))) => visit(key, staged_value)?,
                    Some((_, None)) => ControlFlow::Continue(()),
                    None => visit(key, value)?,
                };
                stopped = flow.is_break();
                Ok(flow)
            })?;
        }
        if !stopped {
            // Nothing follows the last staged rows, so it does not matter whether the visitor stopped.
            let _ = visit_before(&mut over, None, visit)?;
        }
        Ok(())
    }
}

/// Visits staged rows that come before `key` in scan order, or all that are left.
fn visit_before<'s>(
    over: &mut Peekable<impl Iterator<Item = (&'s [u8], Option<&'s [u8]>)>>,
    key: Option<(&[u8], bool)>,
    visit: &mut Visit<'_>,
) -> Result<ControlFlow<()>> {
    while let Some((staged_key, value)) = over.next_if(|(staged_key, _)| match key {
        None => true,
        Some((key, false)) => *staged_key < key,
        Some((key, true)) => *staged_key > key,
    }) {
        if let Some(value) = value
            && visit(staged_key, value)?.is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Default)]
    struct Rows(BTreeMap<Vec<u8>, Vec<u8>>);

    impl StoreReader for Rows {
        fn get(&self, _: Space, key: &[u8]) -> Result<Option<Vec<u8>>> {
            Ok(self.0.get(key).cloned())
        }

        fn scan(&self, _: Space, range: &KeyRange, visit: &mut Visit<'_>) -> Result<()> {
            let inside =
                |key: &Vec<u8>| *key >= range.from && range.to.as_ref().is_none_or(|to| key < to);
            let mut rows: Vec<_> = self.0.iter().filter(|(key, _)| inside(key)).collect();
            if range.reverse {
                rows.reverse();
            }
            for (key, value) in rows {
                if visit(key, value)?.is_break() {
                    break;
                }
            }
            Ok(())
        }
    }

    fn key() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(0u8..4, 1..4)
    }

    proptest! {
        // A view must equal what a reader would see after the commit, for every range, direction and stopping point.
        #[test]
        fn staged_rows_read_as_if_committed(
            stored in prop::collection::btree_map(key(), any::<[u8; 1]>(), 0..20),
            staged in prop::collection::vec((key(), prop::option::of(any::<[u8; 1]>())), 0..20),
            from in key(), to in prop::option::of(key()), reverse: bool, stop_after in 0usize..12,
        ) {
            let stored = Rows(stored.into_iter().map(|(k, v)| (k, v.to_vec())).collect());
            let mut after = Rows(stored.0.clone());
            let mut set = WriteSet::new();
            for (key, value) in staged {
                match &value {
                    Some(value) => { after.0.insert(key.clone(), value.to_vec()); }
                    None => { after.0.remove(&key); }
                }
                set.set(Space::Derived(Side::A), key, value.map(|v| v.to_vec()));
            }
            let range = KeyRange { from: from.clone(), to, reverse };
            let collect = |view: View<'_>| {
                let mut rows = Vec::new();
                view.scan(&range, &mut |k, v| {
                    rows.push((k.to_vec(), v.to_vec()));
                    Ok(if rows.len() > stop_after { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
                }).unwrap();
                rows
            };
            prop_assert_eq!(
                collect(View::staged(&stored, Side::A, &set)),
                collect(View::new(&after, Side::A))
            );
            let view = View::staged(&stored, Side::A, &set);
            prop_assert_eq!(view.get(&from).unwrap(), after.get(Space::Truth, &from).unwrap());
        }
    }
}
