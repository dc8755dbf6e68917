//! Walks: bounds, cycles, direction, gates.

use std::collections::BTreeMap;

use proof::memory::{MemoryType, Visibility};
use proptest::prelude::*;

use super::*;
use crate::find::fixture::{DAY, Fixture, NotPrivate, T0, id, now};

fn store(n: u64, links: &[(u64, Relation, u64)]) -> Fixture {
    let mut store = Fixture::default();
    for _ in 0..n {
        store.add(MemoryType::Fact, "f", |_| {});
    }
    for (src, relation, dst) in links {
        store.link(id(*src), *relation, id(*dst));
    }
    store
}

fn go(store: &Fixture, request: &Walk) -> Result<WalkAnswer> {
    walk(&store.view(), None, request, now())
}

fn hops(walked: &WalkAnswer) -> Vec<(u64, u32)> {
    walked.nodes.iter().map(|node| (node.id.get(), node.hop)).collect()
}

const REF: Relation = Relation::References;
const PART: Relation = Relation::PartOf;

// kernel 3
#[test]
fn directions_relations_and_depth() {
    let store = store(6, &[(1, REF, 2), (2, REF, 3), (3, PART, 4), (5, REF, 1), (6, PART, 1)]);
    let from = |direction, depth| Walk::new(id(1), direction, depth);
    let reached = |walk: &Walk| hops(&go(&store, walk).unwrap());
    assert_eq!(reached(&from(Direction::Out, 1)), [(2, 1)]);
    assert_eq!(reached(&from(Direction::Out, 6)), [(2, 1), (3, 2), (4, 3)]);
    assert_eq!(reached(&from(Direction::In, 6)), [(5, 1), (6, 1)]);
    assert_eq!(reached(&from(Direction::Both, 2)), [(2, 1), (5, 1), (6, 1), (3, 2)]);
    let only = |relations: &[Relation], direction| {
        let walk = Walk { relations: relations.to_vec(), ..from(direction, 6) };
        reached(&walk)
    };
    assert_eq!(only(&[REF], Direction::Out), [(2, 1), (3, 2)]);
    assert_eq!(only(&[PART], Direction::In), [(6, 1)]);
    assert_eq!(only(&[PART, REF, PART], Direction::Out), [(2, 1), (3, 2), (4, 3)]);
    assert_eq!(only(&[Relation::Updates], Direction::Both), []);
    let walked = go(&store, &from(Direction::Both, 1)).unwrap();
    let edges: Vec<_> = walked.edges.iter().map(|e| (e.src.get(), e.dst.get())).collect();
    assert_eq!((edges, walked.capped), (vec![(1, 2), (5, 1), (6, 1)], false));
}

#[test]
fn cycles_end_and_hops_are_shortest() {
    let store =
        store(4, &[(1, REF, 2), (2, REF, 3), (3, REF, 1), (1, PART, 3), (3, REF, 4), (1, PART, 2)]);
    let walked = go(&store, &Walk::new(id(1), Direction::Out, 6)).unwrap();
    assert_eq!(hops(&walked), [(2, 1), (3, 1), (4, 2)]);
    assert_eq!(walked.edges.len(), 6);
}

#[test]
fn bounds_are_refused_or_reported() {
    let links: Vec<_> = (2..=50).map(|n| (1, REF, n)).collect();
    let store = store(50, &links);
    let walk = Walk::new(id(1), Direction::Out, 2);
    for bad in [
        Walk { depth: 0, ..walk.clone() },
        Walk { depth: 11, ..walk.clone() },
        Walk { nodes_max: Some(WALK_NODES_MAX + 1), ..walk.clone() },
        Walk { edges_max: Some(WALK_EDGES_MAX + 1), ..walk.clone() },
    ] {
        assert_eq!(go(&store, &bad).unwrap_err().code(), "invalid");
    }
    assert!(!go(&store, &walk).unwrap().capped);
    let few = go(&store, &Walk { nodes_max: Some(10), ..walk.clone() }).unwrap();
    assert_eq!((few.nodes.len(), few.edges.len(), few.capped), (10, 10, true));
    let few = go(&store, &Walk { edges_max: Some(7), ..walk.clone() }).unwrap();
    assert_eq!((few.nodes.len(), few.edges.len(), few.capped), (7, 7, true));
    let exact =
        go(&store, &Walk { nodes_max: Some(49), edges_max: Some(49), ..walk.clone() }).unwrap();
    assert_eq!((exact.nodes.len(), exact.capped), (49, false));
    assert_eq!(go(&store, &Walk { from: id(99), ..walk }).unwrap_err().code(), "not_found");
}

#[test]
fn forgotten_memories_are_not_walked_through_unless_asked() {
    let mut store = store(3, &[(1, REF, 2), (2, REF, 3)]);
    store.forget(id(2), Millis(T0 + DAY));
    let walk = Walk::new(id(1), Direction::Out, 3);
    let plain = go(&store, &walk).unwrap();
    assert!(plain.nodes.is_empty() && plain.edges.is_empty());
    let all = Walk { include_forgotten: true, ..walk };
    assert_eq!(hops(&go(&store, &all).unwrap()), [(2, 1), (3, 2)]);
    let from = Walk::new(id(2), Direction::Out, 1);
    assert_eq!(go(&store, &from).unwrap_err().code(), "not_found");
    assert!(go(&store, &Walk { include_forgotten: true, ..from }).is_ok());
}

// agent-memory 173
#[test]
fn archived_memories_are_not_walked_through_unless_asked() {
    let mut store = store(3, &[(1, REF, 2), (2, REF, 3)]);
    store.archive(id(2));
    let walk = Walk::new(id(1), Direction::Out, 3);
    assert!(go(&store, &walk).unwrap().nodes.is_empty());
    let all = Walk { include_forgotten: true, ..walk };
    assert_eq!(hops(&go(&store, &all).unwrap()), [(2, 1), (3, 2)]);
    assert_eq!(go(&store, &Walk::new(id(2), Direction::Out, 1)).unwrap_err().code(), "not_found");
}

#[test]
fn a_delegate_walks_around_what_it_does_not_see() {
    let mut store = Fixture::default();
    for n in 1..=4 {
        store.add(MemoryType::Fact, "f", |draft| {
            if n == 2 {
                draft.head.visibility = Visibility::Private;
            }
        });
    }
    for (src, dst) in [(1, 2), (2, 3), (1, 4)] {
        store.link(id(src), REF, id(dst));
    }
    let walk_as = |from| {
        walk(&store.view(), Some(&NotPrivate), &Walk::new(id(from), Direction::Both, 6), now())
    };
    let walked = walk_as(1).unwrap();
    assert_eq!(hops(&walked), [(4, 1)]);
    assert_eq!(walked.edges.len(), 1);
    assert!(walk_as(3).unwrap().nodes.is_empty());
    assert_eq!(walk_as(2).unwrap_err(), Error::not_found("memory", 2));
}

proptest! {
    // Against a plain relaxation over all edges.
    #[test]
    fn hops_are_the_shortest_distances(
        links in prop::collection::vec((1u64..12, 1u64..12), 0..40), depth in 1u32..=6, both: bool,
    ) {
        let links: Vec<_> = links.into_iter().filter(|(a, b)| a != b).collect();
        let edges: Vec<_> = links.iter().map(|(a, b)| (*a, REF, *b)).collect();
        let store = store(12, &edges);
        let mut distance = BTreeMap::from([(1_u64, 0_u32)]);
        for hop in 1..=depth {
            let known = distance.clone();
            for (a, b) in &links {
                for (from, to) in [(a, b), (b, a)].into_iter().take(if both { 2 } else { 1 }) {
                    if known.contains_key(from) && !known.contains_key(to) {
                        distance.insert(*to, hop);
                    }
                }
            }
        }
        distance.remove(&1);
        let direction = if both { Direction::Both } else { Direction::Out };
        let walked = go(&store, &Walk::new(id(1), direction, depth)).unwrap();
        prop_assert_eq!(hops(&walked).into_iter().collect::<BTreeMap<_, _>>(), distance);
        prop_assert!(walked.nodes.is_sorted_by_key(|node| (node.hop, node.id)));
    }
}
