//! The journal's tree against two independent implementations of RFC 6962.

#![allow(clippy::unwrap_used)]

mod merkle_support;

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use merkle_support::Memory;
use proof::merkle::log::{append, empty_root, leaf_hash, root};
use proof::merkle::log_proof::{consistency, inclusion};
use proof::merkle::{
    ConsistencyProof, InclusionProof, PageChanges, verify_consistency, verify_inclusion,
};
use proof::{Digest, codec};
use proptest::prelude::*;
use sha2::Sha256;
use tlog_tiles::tlog;

fn entry(index: u64) -> Vec<u8> {
    index.to_be_bytes().repeat(1 + usize::try_from(index % 3).unwrap())
}

fn log(size: u64) -> Memory {
    let leaves: Vec<Digest> = (0..size).map(|index| leaf_hash(&entry(index))).collect();
    let (mut store, mut out) = (Memory::default(), PageChanges::new());
    append(&store, 0, &leaves, &mut out).unwrap();
    store.commit(out);
    store
}

fn bytes(path: &[Digest]) -> Vec<u8> {
    path.iter().flat_map(|hash| hash.0).collect()
}

/// Stored hashes in the order the tile library numbers them.
struct Stored(Vec<tlog::Hash>);

impl tlog::HashReader for Stored {
    fn read_hashes(&self, indexes: &[u64]) -> Result<Vec<tlog::Hash>, tlog::Error> {
        Ok(indexes.iter().map(|&index| self.0[usize::try_from(index).unwrap()]).collect())
    }
}

impl Stored {
    fn new(size: u64) -> Stored {
        let mut stored = Stored(Vec::new());
        for index in 0..size {
            let more = tlog::stored_hashes(index, &entry(index), &stored).unwrap();
            stored.0.extend(more);
        }
        stored
    }
}

fn hashes(path: &[tlog::Hash]) -> Vec<u8> {
    path.iter().flat_map(|hash| hash.0).collect()
}

// kernel 54
#[test]
fn roots_and_proofs_equal_two_other_implementations_at_every_size() {
    const MOST: u64 = 600;
    let store = log(MOST);
    let stored = Stored::new(MOST);
    let mut tree = MemoryBackedTree::<Sha256, Vec<u8>>::new();
    assert_eq!(root(&store, 0).unwrap().0, tlog::EMPTY_HASH.0);
    for size in 1..=MOST {
        tree.push(entry(size - 1));
        let now = root(&store, size).unwrap();
        assert_eq!(now.0[..], tree.root().as_bytes()[..], "root at {size}");
        assert_eq!(now.0, tlog::tree_hash(size, &stored).unwrap().0, "root at {size}");
        for index in [0, size / 3, size / 2, size.saturating_sub(2), size - 1] {
            let proof = inclusion(&store, index, size).unwrap();
            let other = tree.prove_inclusion(usize::try_from(index).unwrap());
            assert_eq!(bytes(&proof.path), other.as_bytes(), "leaf {index} of {size}");
            let other = tlog::prove_record(size, index, &stored).unwrap();
            assert_eq!(bytes(&proof.path), hashes(&other), "leaf {index} of {size}");
            verify_inclusion(&leaf_hash(&entry(index)), index, size, &proof, &now).unwrap();
        }
        for old in [1, size / 3, size / 2, size - 1, size].into_iter().filter(|old| *old > 0) {
            let proof = consistency(&store, old, size).unwrap();
            let other = tree.prove_consistency(usize::try_from(size - old).unwrap());
            assert_eq!(bytes(&proof.path), other.as_bytes(), "{old} to {size}");
            let other = tlog::prove_tree(size, old, &stored).unwrap();
            assert_eq!(bytes(&proof.path), hashes(&other), "{old} to {size}");
        }
    }
}

// kernel 54
#[test]
fn every_small_log_is_consistent_with_every_smaller_one_and_with_nothing_else() {
    const MOST: u64 = 40;
    let store = log(MOST);
    let roots: Vec<Digest> = (0..=MOST).map(|size| root(&store, size).unwrap()).collect();
    let at = |size: u64| &roots[usize::try_from(size).unwrap()];
    for new in 0..=MOST {
        for old in 0..=new {
            let proof = consistency(&store, old, new).unwrap();
            verify_consistency(old, at(old), new, at(new), &proof).unwrap();
            for wrong in [old + 1, old.wrapping_sub(1)].into_iter().filter(|w| *w <= MOST) {
                assert!(verify_consistency(old, at(wrong), new, at(new), &proof).is_err());
                assert!(verify_consistency(wrong, at(old), new, at(new), &proof).is_err());
            }
            if old > 0 {
                let other = at((new + 1) % (MOST + 1));
                assert!(verify_consistency(old, at(old), new, other, &proof).is_err());
            }
            let mut longer = proof.clone();
            longer.path.push(empty_root());
            assert!(verify_consistency(old, at(old), new, at(new), &longer).is_err());
            let mut shorter = proof;
            if shorter.path.pop().is_some() {
                assert!(verify_consistency(old, at(old), new, at(new), &shorter).is_err());
            }
        }
        for index in 0..new {
            let leaf = leaf_hash(&entry(index));
            let proof = inclusion(&store, index, new).unwrap();
            for claimed in 0..new {
                let checked = verify_inclusion(&leaf, claimed, new, &proof, at(new));
                assert_eq!(checked.is_ok(), claimed == index, "{claimed} for {index} of {new}");
            }
            assert!(verify_inclusion(&leaf, new, new, &proof, at(new)).is_err());
        }
        assert!(inclusion(&store, new, new).is_err());
    }
    assert!(consistency(&store, 2, 1).is_err());
    let none = ConsistencyProof { path: vec![] };
    assert!(verify_consistency(2, at(2), 1, at(1), &none).is_err());
    assert!(verify_consistency(0, at(1), 0, at(1), &none).is_err());
    assert!(verify_consistency(0, at(0), 0, at(1), &none).is_err());
}

// kernel 54
#[test]
fn no_flipped_byte_of_a_log_proof_passes() {
    let store = log(77);
    let (old, new) = (root(&store, 45).unwrap(), root(&store, 77).unwrap());
    let leaf = leaf_hash(&entry(30));
    let good = codec::encode(&inclusion(&store, 30, 77).unwrap());
    let flips = |good: &[u8]| {
        (0..good.len() * 8)
            .map(|bit| {
                let mut bad = good.to_vec();
                bad[bit / 8] ^= 1 << (bit % 8);
                bad
            })
            .collect::<Vec<_>>()
    };
    for bad in flips(&good) {
        if let Ok(proof) = codec::decode::<InclusionProof>("proof", &bad) {
            assert!(verify_inclusion(&leaf, 30, 77, &proof, &new).is_err());
        }
    }
    for bad in flips(&codec::encode(&consistency(&store, 45, 77).unwrap())) {
        if let Ok(proof) = codec::decode::<ConsistencyProof>("proof", &bad) {
            assert!(verify_consistency(45, &old, 77, &new, &proof).is_err());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    // kernel 54
    #[test]
    fn larger_logs_equal_the_tile_library(size in 1_u64..5_000, a in any::<u64>(), b in any::<u64>()) {
        let (store, stored) = (log(size), Stored::new(size));
        let now = root(&store, size).unwrap();
        prop_assert_eq!(now.0, tlog::tree_hash(size, &stored).unwrap().0);
        let (index, old) = (a % size, 1 + b % size);
        let proof = inclusion(&store, index, size).unwrap();
        prop_assert_eq!(bytes(&proof.path), hashes(&tlog::prove_record(size, index, &stored).unwrap()));
        verify_inclusion(&leaf_hash(&entry(index)), index, size, &proof, &now).unwrap();
        let proof = consistency(&store, old, size).unwrap();
        prop_assert_eq!(bytes(&proof.path), hashes(&tlog::prove_tree(size, old, &stored).unwrap()));
        verify_consistency(old, &root(&store, old).unwrap(), size, &now, &proof).unwrap();
    }

    // kernel 54
    #[test]
    fn any_path_is_answered_without_panic(
        path in proptest::collection::vec(any::<[u8; 32]>().prop_map(Digest), 0..70),
        index in any::<u64>(), size in any::<u64>(), hash in any::<[u8; 32]>().prop_map(Digest),
    ) {
        let proof = InclusionProof { path: path.clone() };
        prop_assert!(verify_inclusion(&hash, index, size, &proof, &empty_root()).is_err());
        let proof = ConsistencyProof { path };
        prop_assert!(verify_consistency(index, &hash, size, &empty_root(), &proof).is_err());
    }
}
