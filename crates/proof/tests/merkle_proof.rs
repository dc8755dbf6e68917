//! Tree proofs: honest ones pass, tampered ones do not, and slices are complete.

#![allow(clippy::unwrap_used)]

mod merkle_support;

use merkle_support::Memory;
use minicbor::{Decode, Encode};
use proof::merkle::tree::root;
use proof::merkle::{
    EDGES, HEADS, Leaf, LeafChange, MultiProof, PageChanges, SliceProof, Tree, TreeKey, TreePrefix,
    TreeProof, edge_key, edges_of_source, head_key, heads_of_type, multi_prove, prove, slice_prove,
    update, verify, verify_multi, verify_slice,
};
use proof::{Digest, codec};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn value(key: &TreeKey) -> Digest {
    Digest::of("value", &[key])
}

fn store(tree: Tree, keys: impl IntoIterator<Item = TreeKey>) -> (Memory, Digest) {
    let changes: BTreeMap<TreeKey, LeafChange> =
        keys.into_iter().map(|key| (key, (Some(value(&key)), 1))).collect();
    let (mut store, mut out) = (Memory::default(), PageChanges::new());
    let root = update(&store, tree, &changes, None, &mut out).unwrap();
    store.commit(out);
    (store, root)
}

fn heads() -> Vec<TreeKey> {
    (1..400_u64).map(|id| head_key(u8::try_from(1 + id * id % 9).unwrap(), id)).collect()
}

/// Calls `passes` with every proof that one flipped bit, one byte cut or one byte more makes of
/// `good` and that still decodes.
fn no_tampering_passes<T>(good: &T, passes: impl Fn(&T) -> bool)
where
    T: Encode<()> + for<'b> Decode<'b, ()> + PartialEq,
{
    let bytes = codec::encode(good);
    assert!(
        codec::decode::<T>("proof", &bytes).is_ok_and(|proof| proof == *good && passes(&proof))
    );
    let mut tampered: Vec<Vec<u8>> = (0..bytes.len() * 8)
        .map(|bit| {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            bad
        })
        .collect();
    tampered.extend((0..bytes.len()).map(|cut| [&bytes[..cut], &bytes[cut + 1..]].concat()));
    tampered.extend((0..=bytes.len()).map(|at| [&bytes[..at], &[0], &bytes[at..]].concat()));
    for bad in tampered {
        if let Ok(proof) = codec::decode::<T>("proof", &bad) {
            assert!(proof == *good || !passes(&proof), "a tampered proof passed");
        }
    }
}

// kernel 55
#[test]
fn no_tampered_tree_proof_passes() {
    let (store, root) = store(HEADS, heads());
    let present = heads()[200];
    let proof = prove(&store, HEADS, &present, None).unwrap();
    no_tampering_passes(&proof, |proof: &TreeProof| {
        verify(&root, &present, Some(&value(&present)), proof).is_ok()
    });
    assert!(verify(&root, &present, None, &proof).is_err());
    assert!(verify(&root, &present, Some(&Digest::ZERO), &proof).is_err());
    assert!(verify(&Digest::ZERO, &present, Some(&value(&present)), &proof).is_err());

    // Absent beside another leaf, and absent in an empty subtree.
    let mut near = present;
    near[31] = 1;
    for absent in [near, head_key(200, 1), head_key(1, 70_000)] {
        let proof = prove(&store, HEADS, &absent, None).unwrap();
        no_tampering_passes(&proof, |proof: &TreeProof| {
            verify(&root, &absent, None, proof).is_ok()
        });
        assert!(verify(&root, &absent, Some(&value(&absent)), &proof).is_err());
        assert!(verify(&root, &present, None, &proof).is_err());
    }
}

// kernel 55
#[test]
fn no_tampered_multi_proof_passes() {
    let (store, root) = store(HEADS, heads());
    let mut near = heads()[7];
    near[20] = 3;
    let claims: Vec<(TreeKey, Option<Digest>)> = [heads()[3], heads()[4], heads()[300]]
        .iter()
        .map(|key| (*key, Some(value(key))))
        .chain([(near, None), (head_key(77, 5), None)])
        .collect();
    let keys: Vec<TreeKey> = claims.iter().map(|claim| claim.0).collect();
    let proof = multi_prove(&store, HEADS, &keys, None).unwrap();
    no_tampering_passes(&proof, |proof: &MultiProof| verify_multi(&root, &claims, proof).is_ok());
    for wrong in 0..claims.len() {
        let mut claims = claims.clone();
        claims[wrong].1 = claims[wrong].1.is_none().then_some(Digest::ZERO);
        assert!(verify_multi(&root, &claims, &proof).is_err(), "claim {wrong}");
        claims[wrong].1 = Some(Digest([3; 32]));
        assert!(verify_multi(&root, &claims, &proof).is_err(), "claim {wrong}");
        // What shows that a subtree is empty shows it with or without a claim there.
        let (key, _) = claims.remove(wrong);
        let needed = key != head_key(77, 5);
        assert_eq!(verify_multi(&root, &claims, &proof).is_err(), needed, "without claim {wrong}");
    }
}

// kernel 58
#[test]
fn no_tampered_slice_proof_passes() {
    let (store, root) = store(HEADS, heads().into_iter().take(36));
    for code in [1, 2, 5, 12, 255] {
        let prefix = heads_of_type(code);
        let proof = slice_prove(&store, HEADS, &prefix, None).unwrap();
        no_tampering_passes(&proof, |proof: &SliceProof| {
            verify_slice(&root, &prefix, proof).is_ok()
        });
        // Types without memories may lie in the same empty subtree; those with some may not.
        let other = if code == 1 { 2 } else { 1 };
        assert!(verify_slice(&root, &heads_of_type(other), &proof).is_err());
        assert!(verify_slice(&Digest::ZERO, &prefix, &proof).is_err());
    }
}

/// The proof's fields, to rebuild it with other leaves.
#[derive(Clone, Encode, Decode)]
#[cbor(map)]
struct Open {
    #[n(0)]
    siblings: proof::merkle::Siblings,
    #[n(1)]
    leaves: Vec<Leaf>,
    #[n(2)]
    other: Option<Leaf>,
}

// kernel 58
#[test]
fn a_slice_with_a_leaf_dropped_added_or_moved_is_refused() {
    let (store, root) = store(HEADS, heads());
    let prefix = heads_of_type(1);
    let proof = slice_prove(&store, HEADS, &prefix, None).unwrap();
    let leaves = verify_slice(&root, &prefix, &proof).unwrap();
    let expected: Vec<_> = heads()
        .into_iter()
        .filter(|key| key[0] == 1)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    assert_eq!(leaves.iter().map(|leaf| leaf.0).collect::<Vec<_>>(), expected);
    let open: Open = codec::decode("open", &codec::encode(&proof)).unwrap();
    let passes = |open: &Open| {
        let proof: SliceProof = codec::decode("proof", &codec::encode(open)).unwrap();
        verify_slice(&root, &prefix, &proof).is_ok()
    };
    assert!(passes(&open));
    for at in 0..leaves.len() {
        let mut bad = open.clone();
        let gone = bad.leaves.remove(at);
        assert!(!passes(&bad), "dropped {at}");
        bad.leaves.push(gone);
        assert!(at + 1 == leaves.len() || !passes(&bad), "moved {at}");
        let mut bad = open.clone();
        bad.leaves.insert(at, gone);
        assert!(!passes(&bad), "doubled {at}");
        bad.leaves[at].key[31] = 0;
        bad.leaves[at + 1].key[31] = 1;
        assert!(!passes(&bad), "added {at}");
    }
    let mut bad = open.clone();
    bad.other = Some(open.leaves[0]);
    assert!(!passes(&bad));
    bad.leaves.clear();
    assert!(!passes(&bad));
}

// kernel 58
#[test]
fn slices_of_nothing_and_of_one_leaf_are_shown_too() {
    // One leaf in the whole tree sits at the root, above any prefix.
    let only = head_key(3, 9);
    let (single, root_of_one) = store(HEADS, [only]);
    for (code, expected) in [(3, vec![(only, value(&only))]), (4, vec![])] {
        let proof = slice_prove(&single, HEADS, &heads_of_type(code), None).unwrap();
        assert_eq!(verify_slice(&root_of_one, &heads_of_type(code), &proof).unwrap(), expected);
        no_tampering_passes(&proof, |proof: &SliceProof| {
            verify_slice(&root_of_one, &heads_of_type(code), proof).is_ok()
        });
    }
    let empty = Memory::default();
    let proof = slice_prove(&empty, HEADS, &heads_of_type(3), None).unwrap();
    let none = root(&empty, HEADS, None).unwrap();
    assert_eq!(verify_slice(&none, &heads_of_type(3), &proof).unwrap(), []);
    assert!(verify_slice(&root_of_one, &heads_of_type(3), &proof).is_err());
    // A single leaf cannot be hidden by a proof of absence.
    let hidden = slice_prove(&single, HEADS, &heads_of_type(4), None).unwrap();
    assert!(verify_slice(&root_of_one, &heads_of_type(3), &hidden).is_err());
}

// kernel 58
#[test]
fn one_sources_edges_are_a_slice() {
    let edges =
        (1..60_u64).flat_map(|src| (0..src % 5).map(move |n| edge_key(src, 1, src + n + 1)));
    let (store, root) = store(EDGES, edges);
    for src in 1..70 {
        let prefix = edges_of_source(src);
        let proof = slice_prove(&store, EDGES, &prefix, None).unwrap();
        let found: BTreeSet<TreeKey> =
            verify_slice(&root, &prefix, &proof).unwrap().into_iter().map(|leaf| leaf.0).collect();
        let count = if src < 60 { src % 5 } else { 0 };
        assert_eq!(
            found,
            (0..count).map(|n| edge_key(src, 1, src + n + 1)).collect(),
            "source {src}"
        );
    }
}

fn any_key() -> impl Strategy<Value = TreeKey> {
    prop_oneof![
        any::<TreeKey>(),
        (1..=9_u8, 1..500_u64).prop_map(|(t, id)| head_key(t, id)),
        (0..3_u8, 0..6_u8).prop_map(|(a, b)| {
            let mut key = [a; 32];
            key[31] = b;
            key
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    // kernel 55, 58
    #[test]
    fn honest_proofs_of_any_tree_pass_and_only_for_the_truth(
        keys in proptest::collection::btree_set(any_key(), 0..60),
        asked in proptest::collection::btree_set(any_key(), 0..12),
        len in 0..=256_usize,
    ) {
        let (store, root) = store(EDGES, keys.iter().copied());
        let asked: BTreeSet<TreeKey> = asked.into_iter().chain(keys.iter().copied().step_by(7)).collect();
        let truth = |key: &TreeKey| keys.contains(key).then(|| value(key));
        for key in &asked {
            let proof = prove(&store, EDGES, key, None).unwrap();
            verify(&root, key, truth(key).as_ref(), &proof).unwrap();
            let lie = truth(key).is_none().then(|| value(key));
            prop_assert!(verify(&root, key, lie.as_ref(), &proof).is_err());
            let mut prefix = TreePrefix::new(key, len).unwrap();
            for _ in 0..2 {
                let proof = slice_prove(&store, EDGES, &prefix, None).unwrap();
                let expected: Vec<_> =
                    keys.iter().filter(|k| prefix.covers(k)).map(|k| (*k, value(k))).collect();
                prop_assert_eq!(verify_slice(&root, &prefix, &proof).unwrap(), expected);
                prefix = TreePrefix::new(key, len % 24).unwrap();
            }
        }
        let claims: Vec<_> = asked.iter().rev().map(|key| (*key, truth(key))).collect();
        let asked: Vec<TreeKey> = asked.into_iter().collect();
        let proof = multi_prove(&store, EDGES, &asked, None).unwrap();
        verify_multi(&root, &claims, &proof).unwrap();
        for wrong in 0..claims.len() {
            let mut claims = claims.clone();
            claims[wrong].1 = if claims[wrong].1.is_some() { None } else { Some(value(&claims[wrong].0)) };
            prop_assert!(verify_multi(&root, &claims, &proof).is_err());
        }
    }

    // kernel 55
    #[test]
    fn any_bytes_are_answered_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        // A plausible opening, so that some of it decodes.
        for head in [
            &[][..],
            &[0xa1, 0, 0xa3, 0, 8, 1, 0x41],
            &[0xa3, 0, 0x48],
            &[0xa2, 0, 0xa3, 0, 8, 1, 0x41, 0, 2, 0x80, 1, 0x80],
        ] {
            let bytes = [head, &bytes].concat();
            let claims = [([1; 32], None), ([2; 32], Some(Digest::ZERO))];
            if let Ok(proof) = minicbor::decode::<TreeProof>(&bytes) {
                prop_assert!(verify(&Digest::ZERO, &[1; 32], None, &proof).is_err());
            }
            if let Ok(proof) = minicbor::decode::<MultiProof>(&bytes) {
                prop_assert!(verify_multi(&Digest::ZERO, &claims, &proof).is_err());
            }
            if let Ok(proof) = minicbor::decode::<SliceProof>(&bytes) {
                prop_assert!(verify_slice(&Digest::ZERO, &TreePrefix::of_byte(1), &proof).is_err());
            }
        }
    }
}
