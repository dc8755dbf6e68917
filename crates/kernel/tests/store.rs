//! The store against a model: whatever is committed, the engine holds exactly what an ordered map would hold.
//!
//! Method: random write sets (puts, deletes, cleared spaces) go to the store and to a map. Readers taken before a
//! commit keep their state; after reopening and after rewriting the file every row is compared, forwards and backwards.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use kernel::store::{
    EngineOptions, KeyRange, RedbStorage, Side, Space, Storage, StoreReader, WriteSet, value_bytes,
};
use proptest::prelude::*;
use testkit::Disk;

const SPACES: [Space; 4] =
    [Space::Truth, Space::Derived(Side::A), Space::Derived(Side::B), Space::Engine];

type Model = BTreeMap<(usize, Vec<u8>), Vec<u8>>;

#[derive(Clone, Debug)]
enum Change {
    Put(usize, Vec<u8>, Vec<u8>),
    Delete(usize, Vec<u8>),
    Clear(usize),
}

fn change() -> impl Strategy<Value = Change> {
    let key = || prop::collection::vec(0u8..6, 1..5);
    prop_oneof![
        6 => (0usize..4, key(), prop::collection::vec(any::<u8>(), 0..600)).prop_map(|(s, k, v)| Change::Put(s, k, v)),
        3 => (0usize..4, key()).prop_map(|(s, k)| Change::Delete(s, k)),
        1 => (0usize..4).prop_map(Change::Clear),
    ]
}

fn open(disk: &Disk) -> RedbStorage {
    RedbStorage::open(disk.medium(), EngineOptions::default(), WriteSet::new).unwrap()
}

type MemoryRow = ((usize, Vec<u8>), Vec<u8>);

fn rows(reader: &dyn StoreReader, reverse: bool) -> Vec<MemoryRow> {
    let mut rows = Vec::new();
    for (slot, space) in SPACES.into_iter().enumerate() {
        let range = if reverse { KeyRange::all().reversed() } else { KeyRange::all() };
        reader
            .scan(space, &range, &mut |key, value| {
                if (space, key) == (Space::Engine, b"packed") {
                    // The store's own note, after a rewrite, of how far its rows lie densely.
                    return Ok(ControlFlow::Continue(()));
                }
                rows.push(((slot, key.to_vec()), value.to_vec()));
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
    }
    rows
}

fn assert_holds(reader: &dyn StoreReader, model: &Model) {
    let mut backwards = rows(reader, true);
    backwards.sort();
    assert_eq!(rows(reader, false).into_iter().collect::<Model>(), *model);
    assert_eq!(backwards.into_iter().collect::<Model>(), *model);
    for ((slot, key), value) in model {
        assert_eq!(reader.get(SPACES[*slot], key).unwrap().as_ref(), Some(value));
    }
}

fn apply(model: &mut Model, set: &mut WriteSet, change: &Change) {
    match change {
        Change::Put(slot, key, value) => {
            set.put(SPACES[*slot], key.clone(), value.clone());
            model.insert((*slot, key.clone()), value.clone());
        }
        Change::Delete(slot, key) => {
            set.delete(SPACES[*slot], key.clone());
            model.remove(&(*slot, key.clone()));
        }
        Change::Clear(slot) => {
            set.clear(SPACES[*slot]);
            model.retain(|(held, _), _| held != slot);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    // kernel 4, kernel 5, kernel 25
    #[test]
    fn the_store_holds_what_a_map_would(
        commits in prop::collection::vec(prop::collection::vec(change(), 1..12), 1..8),
    ) {
        let disk = Disk::new();
        let store = open(&disk);
        let mut model = Model::new();
        for commit in &commits {
            let before = (store.reader().unwrap(), model.clone());
            let mut set = WriteSet::new();
            for change in commit {
                apply(&mut model, &mut set, change);
            }
            store.commit(&set).unwrap();
            assert_holds(&*store.reader().unwrap(), &model);
            assert_holds(&*before.0, &before.1);
        }
        store.rewrite().unwrap();
        assert_holds(&*store.reader().unwrap(), &model);
        store.check().unwrap();
        store.close().unwrap();
        drop(store);
        assert_holds(&*open(&disk).reader().unwrap(), &model);
    }
}

#[test]
fn a_closed_store_says_so() {
    let store = open(&Disk::new());
    store.close().unwrap();
    assert_eq!(store.commit(&WriteSet::new()).unwrap_err().code(), "closed");
    assert!(store.reader().is_err());
}

// L19: what layers above rely on when they cut their rows.
#[test]
fn a_row_that_fills_its_pages_takes_half_of_what_a_longer_one_takes() {
    let taken = |length: usize| {
        let disk = Disk::new();
        let store = open(&disk);
        let mut rows = WriteSet::new();
        for n in 0..1_000u64 {
            let key = [&[7][..], &n.to_be_bytes()].concat();
            rows.put(Space::Derived(Side::A), key, vec![1; length]);
        }
        store.commit(&rows).unwrap();
        store.rewrite().unwrap();
        store.close().unwrap();
        store.size_bytes().unwrap()
    };
    for pages in [1, 2, 4] {
        let (full, longer) = (taken(value_bytes(pages, 9)), taken(value_bytes(pages, 9) + 1));
        let least = 1_000 * 4_096 * pages as u64;
        assert!(full > least && full < least * 5 / 4, "{pages} pages: {full}");
        assert!(longer > 2 * least, "{pages} pages and a byte: {longer}");
    }
}
