//! What the commitments cost at a hundred thousand memories.

#![allow(clippy::unwrap_used)]

mod merkle_support;

use merkle_support::Memory;
use proof::merkle::log::{append, leaf_hash};
use proof::merkle::log_proof::inclusion;
use proof::merkle::tree::root;
use proof::merkle::{
    EDGES, HEADS, LeafChange, PageChanges, TreeKey, edge_key, head_key, multi_prove, prove, update,
    verify,
};
use proof::{Digest, codec};
use std::collections::BTreeMap;

const MEMORIES: u64 = 100_000;

/// Types as they come: mixed, not in turns.
fn type_of(id: u64) -> u8 {
    1 + Digest::of("type", &[&id.to_be_bytes()]).0[0] % 9
}

fn change(seq: u64) -> LeafChange {
    (Some(Digest::of("value", &[&seq.to_be_bytes()])), seq)
}

fn bytes(store: &Memory, namespace: u8) -> usize {
    store.0.iter().filter(|row| row.0[0] == namespace).map(|(k, v)| k.len() + v.len()).sum()
}

// kernel 55 (section 14, item 5)
#[test]
fn a_hundred_thousand_memories_cost_little() {
    let key = |id: u64| head_key(type_of(id), id);
    let changes: BTreeMap<TreeKey, LeafChange> =
        (1..=MEMORIES).map(|id| (key(id), change(id))).collect();
    let leaves: Vec<Digest> = (1..=MEMORIES).map(|id| leaf_hash(&id.to_be_bytes())).collect();
    let (mut store, mut out) = (Memory::default(), PageChanges::new());
    update(&store, HEADS, &changes, None, &mut out).unwrap();
    append(&store, 0, &leaves, &mut out).unwrap();
    store.commit(out);
    let (log, tree) = (bytes(&store, b'l'), bytes(&store, b't'));
    let per_memory = (log + tree) / 100_000;
    let rows = store.0.len();
    let now = root(&store, HEADS, None).unwrap();

    let mut largest = 0;
    let mut sum = 0;
    for id in (1..=MEMORIES).step_by(97).chain([MEMORIES]) {
        let proof = prove(&store, HEADS, &key(id), None).unwrap();
        verify(&now, &key(id), changes[&key(id)].0.as_ref(), &proof).unwrap();
        let size = codec::encode(&proof).len();
        largest = largest.max(size);
        sum += size;
    }
    let mean = sum / 1_032;
    let journal = codec::encode(&inclusion(&store, 70_000, MEMORIES).unwrap()).len();
    let twenty: Vec<TreeKey> = (MEMORIES - 19..=MEMORIES).map(key).collect();
    let multi = codec::encode(&multi_prove(&store, HEADS, &twenty, None).unwrap()).len();

    let mut most = 0;
    for id in MEMORIES + 1..MEMORIES + 201 {
        let mut out = PageChanges::new();
        let changes = BTreeMap::from([(key(id), change(id))]);
        update(&store, HEADS, &changes, None, &mut out).unwrap();
        most = most.max(out.len());
        store.commit(out);
    }
    println!(
        "bytes per memory {per_memory} (log {}, tree {}), rows {rows}, proof mean {mean} max {largest}, \
         journal proof {journal}, 20 newest keys {multi}, pages per write {most}",
        log / 100_000,
        tree / 100_000,
    );
    assert!(per_memory < 120, "{per_memory} bytes per memory");
    assert!(largest < 1_024, "a proof of {largest} bytes");
    assert!(journal < 1_024, "a journal proof of {journal} bytes");
    assert!(most <= 6, "{most} pages for one write");
}

// kernel 55 (section 14, item 5)
#[test]
fn edges_of_many_sources_cost_little() {
    const SOURCES: u64 = 20_000;
    let key = |src: u64, n: u64| edge_key(src, 1, src * 31 % 997 + n + 1);
    let all = (1..=SOURCES).flat_map(|src| (0..src % 3).map(move |n| (src, n)));
    let changes: BTreeMap<TreeKey, LeafChange> =
        all.map(|(src, n)| (key(src, n), change(src))).collect();
    let (mut store, mut out) = (Memory::default(), PageChanges::new());
    update(&store, EDGES, &changes, None, &mut out).unwrap();
    store.commit(out);
    let per_edge = bytes(&store, b't') / changes.len();
    let largest = changes
        .keys()
        .step_by(41)
        .map(|key| codec::encode(&prove(&store, EDGES, key, None).unwrap()).len())
        .max()
        .unwrap();
    let mut most = 0;
    for src in SOURCES + 1..SOURCES + 101 {
        let mut out = PageChanges::new();
        let changes = BTreeMap::from([(key(src, 0), change(src))]);
        update(&store, EDGES, &changes, None, &mut out).unwrap();
        most = most.max(out.len());
        store.commit(out);
    }
    println!("bytes per edge {per_edge}, largest proof {largest}, pages per write {most}");
    assert!(per_edge < 120 && largest < 1_024 && most <= 6, "{per_edge} {largest} {most}");
}
