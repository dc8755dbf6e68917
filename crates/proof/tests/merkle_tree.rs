//! The sparse trees against an independent implementation, and their history.

#![allow(clippy::unwrap_used)]

mod merkle_support;

use jmt::storage::{LeafNode, Node, NodeKey, TreeReader};
use jmt::{JellyfishMerkleIterator, KeyHash, OwnedValue, Sha256Jmt};
use merkle_support::Memory;
use proof::Digest;
use proof::merkle::node::EMPTY;
use proof::merkle::tree::{get, root};
use proof::merkle::{
    EDGES, HEADS, LeafChange, PageChanges, SnapshotMark, Tree, TreeKey, TreePrefix, edge_key,
    head_key, multi_prove, prove, slice_prove, update, verify, verify_multi, verify_slice,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Values as the other implementation takes them: it hashes them itself.
fn value_hash(value: u8) -> Digest {
    Digest::of("", &[&[value]])
}

/// The other implementation with its storage.
#[derive(Default)]
struct Oracle {
    nodes: BTreeMap<NodeKey, Node>,
    version: u64,
}

trait Failing {
    type Failure;
}

impl<T, E> Failing for Result<T, E> {
    type Failure = E;
}

/// The error type of the trait, which is not exported by name.
type Failure = <<JellyfishMerkleIterator<Oracle> as Iterator>::Item as Failing>::Failure;

impl TreeReader for Oracle {
    fn get_node_option(&self, key: &NodeKey) -> Result<Option<Node>, Failure> {
        Ok(self.nodes.get(key).cloned())
    }

    fn get_value_option(&self, _: u64, _: KeyHash) -> Result<Option<OwnedValue>, Failure> {
        Ok(None)
    }

    fn get_rightmost_leaf(&self) -> Result<Option<(NodeKey, LeafNode)>, Failure> {
        Ok(None)
    }
}

impl Oracle {
    fn put(&mut self, changes: impl Iterator<Item = (TreeKey, Option<u8>)>) -> Digest {
        let changes: Vec<_> = changes.map(|(k, v)| (KeyHash(k), v.map(|v| vec![v]))).collect();
        let (root, batch) = Sha256Jmt::new(&*self).put_value_set(changes, self.version).unwrap();
        self.nodes.extend(batch.node_batch.nodes().clone());
        self.version += 1;
        Digest(root.0)
    }
}

/// One change after another; numbered from 1 by their place.
type Script = Vec<(TreeKey, Option<u8>)>;

/// Applies the changes of one group and checks that the store had what an update relied on.
fn apply(
    store: &mut Memory,
    tree: Tree,
    group: &[(TreeKey, Option<u8>)],
    first_seq: u64,
    kept: Option<SnapshotMark>,
) -> Digest {
    let changes: BTreeMap<TreeKey, LeafChange> = group
        .iter()
        .zip(first_seq..)
        .map(|(&(key, value), seq)| (key, (value.map(value_hash), seq)))
        .collect();
    let mut out = PageChanges::new();
    let root = update(store, tree, &changes, kept, &mut out).unwrap();
    store.commit(out);
    root
}

fn state(script: &[(TreeKey, Option<u8>)]) -> BTreeMap<TreeKey, Digest> {
    let mut state = BTreeMap::new();
    for &(key, value) in script {
        match value {
            Some(value) => state.insert(key, value_hash(value)),
            None => state.remove(&key),
        };
    }
    state
}

/// Keys of every kind: near neighbours, real ones, and random ones.
fn key() -> impl Strategy<Value = TreeKey> {
    prop_oneof![
        4 => (1..=3_u8, 1..40_u64).prop_map(|(t, id)| head_key(t, id)),
        2 => (1..=9_u8, 1..3_000_u64).prop_map(|(t, id)| head_key(t, id)),
        2 => (1..6_u64, 0..3_u8, 1..9_u64).prop_map(|(s, r, d)| edge_key(s, r, d)),
        1 => any::<TreeKey>(),
        // Neighbours that part at the very end.
        2 => (0..4_u8, 0..8_u8).prop_map(|(a, b)| { let mut k = [a; 32]; k[31] = b; k }),
    ]
}

fn script(most: usize) -> impl Strategy<Value = Script> {
    let value = prop_oneof![3 => (0..5_u8).prop_map(Some), 2 => Just(None)];
    proptest::collection::vec((key(), value), 0..most)
}

fn tree() -> impl Strategy<Value = Tree> {
    prop_oneof![Just(HEADS), Just(EDGES), Just(Tree::new(9, 0))]
}

/// Cuts `0..len` into groups of the given lengths, again and again.
fn groups(len: usize, lengths: &[usize]) -> Vec<std::ops::Range<usize>> {
    let mut cuts = Vec::new();
    let mut from = 0;
    for length in lengths.iter().cycle() {
        if from >= len {
            break;
        }
        let to = (from + length).min(len);
        cuts.push(from..to);
        from = to;
    }
    cuts
}

fn seq(index: usize) -> u64 {
    u64::try_from(index).unwrap() + 1
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    // kernel 55
    #[test]
    fn roots_equal_another_implementation_after_every_group(
        tree in tree(), script in script(120), lengths in proptest::collection::vec(1..30_usize, 1..5),
    ) {
        let (mut store, mut oracle) = (Memory::default(), Oracle::default());
        for group in groups(script.len(), &lengths) {
            let ours = apply(&mut store, tree, &script[group.clone()], seq(group.start), None);
            let last: BTreeMap<_, _> = script[group.clone()].iter().copied().collect();
            prop_assert_eq!(ours, oracle.put(last.into_iter()));
            prop_assert_eq!(ours, root(&store, tree, None).unwrap());
            let now = state(&script[..group.end]);
            for (key, _) in &script[group] {
                prop_assert_eq!(get(&store, tree, key, None).unwrap(), now.get(key).copied());
            }
        }
    }

    // kernel 55
    #[test]
    fn the_root_depends_on_the_leaves_alone(tree in tree(), script in script(60), order in any::<u64>()) {
        let (mut store, mut again) = (Memory::default(), Memory::default());
        let mut now = EMPTY;
        for (index, change) in script.iter().enumerate() {
            now = apply(&mut store, tree, &[*change], seq(index), None);
        }
        let mut leaves: Vec<(TreeKey, Option<u8>)> =
            script.iter().copied().collect::<BTreeMap<_, _>>().into_iter().filter(|l| l.1.is_some()).collect();
        leaves.sort_by_key(|(key, _)| Digest::of("", &[&order.to_be_bytes(), key]));
        let mut other = EMPTY;
        for (index, leaf) in leaves.iter().enumerate() {
            other = apply(&mut again, tree, &[*leaf], seq(index), None);
        }
        prop_assert_eq!(now, other);
        // The same pages too, but for the numbers in them.
        if !script.is_empty() && !leaves.is_empty() {
            prop_assert_eq!(store.0.keys().collect::<Vec<_>>(), again.0.keys().collect::<Vec<_>>());
        }
    }

    // kernel 55; every row, kept ones included
    #[test]
    fn rows_do_not_depend_on_how_changes_were_grouped(
        tree in tree(), script in script(80), lengths in proptest::collection::vec(1..20_usize, 1..4),
        snapshots in proptest::collection::btree_set(0..80_usize, 0..5),
    ) {
        let mut stores = [Memory::default(), Memory::default(), Memory::default()];
        let mut kept = None;
        let mut from = 0;
        let ends: Vec<usize> = snapshots.into_iter().filter(|at| *at < script.len()).chain([script.len()]).collect();
        for (number, end) in (1..).zip(ends) {
            let part = &script[from..end];
            for (store, lengths) in stores.iter_mut().zip([&[1][..], &lengths, &[1_000]]) {
                for group in groups(part.len(), lengths) {
                    apply(store, tree, &part[group.clone()], seq(from + group.start), kept);
                }
            }
            prop_assert_eq!(&stores[0], &stores[1]);
            prop_assert_eq!(&stores[0], &stores[2]);
            kept = Some(SnapshotMark { snapshot: number, seq: u64::try_from(end).unwrap() });
            from = end;
        }
    }

    // kernel 55, 57
    #[test]
    fn kept_snapshots_read_and_prove_as_they_were(
        tree in tree(), script in script(80), lengths in proptest::collection::vec(1..20_usize, 1..4),
        snapshots in proptest::collection::btree_set(0..80_usize, 1..5), asked in proptest::collection::vec(key(), 6),
    ) {
        let mut store = Memory::default();
        let (mut kept, mut from, mut taken) = (None, 0, Vec::new());
        let ends: Vec<usize> = snapshots.into_iter().filter(|at| *at < script.len()).chain([script.len()]).collect();
        // Numbers need not follow one another.
        for (number, end) in (1..).map(|n| n * 7).zip(ends) {
            for group in groups(end - from, &lengths) {
                let changes = &script[from + group.start..from + group.end];
                apply(&mut store, tree, changes, seq(from + group.start), kept);
            }
            taken.push((number, end, root(&store, tree, None).unwrap()));
            kept = Some(SnapshotMark { snapshot: number, seq: u64::try_from(end).unwrap() });
            from = end;
        }
        for (number, end, then) in taken {
            let as_of = Some(number);
            prop_assert_eq!(root(&store, tree, as_of).unwrap(), then, "root at snapshot {}", number);
            let state = state(&script[..end]);
            let keys: Vec<TreeKey> = asked.iter().copied().chain(script.iter().take(10).map(|c| c.0)).collect();
            for key in &keys {
                let value = state.get(key);
                prop_assert_eq!(get(&store, tree, key, as_of).unwrap(), value.copied());
                verify(&then, key, value, &prove(&store, tree, key, as_of).unwrap()).unwrap();
            }
            let claims: BTreeMap<TreeKey, Option<Digest>> = keys.iter().map(|k| (*k, state.get(k).copied())).collect();
            let claims: Vec<_> = claims.into_iter().collect();
            verify_multi(&then, &claims, &multi_prove(&store, tree, &keys, as_of).unwrap()).unwrap();
            let slice = slice_prove(&store, tree, &TreePrefix::ALL, as_of).unwrap();
            let all = verify_slice(&then, &TreePrefix::ALL, &slice);
            prop_assert_eq!(all.unwrap(), state.into_iter().collect::<Vec<_>>());
        }
    }
}

// kernel 55
#[test]
fn several_updates_may_share_one_set_of_rows() {
    let changes = |ids: std::ops::Range<u64>, value: Option<u8>| -> BTreeMap<TreeKey, LeafChange> {
        ids.map(|id| (head_key(1, id), (value.map(value_hash), id))).collect()
    };
    let (mut store, mut apart, mut out) =
        (Memory::default(), Memory::default(), PageChanges::new());
    let steps = [
        changes(1..40, Some(1)),
        changes(10..60, Some(2)),
        changes(5..59, None),
        changes(30..33, Some(3)),
    ];
    for step in &steps {
        let together = update(&store, HEADS, step, None, &mut out).unwrap();
        let mut single = PageChanges::new();
        assert_eq!(update(&apart, HEADS, step, None, &mut single).unwrap(), together);
        apart.commit(single);
    }
    store.commit(out);
    assert_eq!(store, apart);
}
