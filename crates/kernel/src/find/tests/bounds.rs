//! What a find refuses, and how far it looks.

use super::*;
use crate::error::Error;
use crate::find::fixture::filtered;
use crate::limits::{
    BUDGET_TOKENS_MAX, FIND_LIMIT_MAX, NEAR_MAX, PATTERN_BYTES_MAX, PREDICATE_DEPTH_MAX,
    PREDICATE_NODES_MAX, ROWS_EXAMINED_MAX,
};

fn error(query: &Query) -> Error {
    run(&Fixture::default(), query).unwrap_err()
}

fn passes(query: &Query) -> bool {
    run(&Fixture::default(), query).is_ok()
}

// kernel 41, kernel 42
#[test]
fn a_find_needs_a_limit_or_a_budget() {
    let types = vec![MemoryType::Fact];
    let open = Query { types, ..Query::default() };
    assert_eq!(error(&open), Error::Unbounded);
    assert_eq!(
        error(&Query { limit: Some(0), budget_tokens: Some(0), ..open.clone() }),
        Error::Unbounded
    );
    assert!(passes(&Query { limit: Some(1), ..open.clone() }));
    assert!(passes(&Query { budget_tokens: Some(1), ..open.clone() }));
    // It is the first guard.
    assert_eq!(error(&Query::default()), Error::Unbounded);
}

// kernel 43
#[test]
fn a_find_needs_a_type_or_a_tag_on_every_result() {
    let with = |text: &str| filtered(filter(text), 5);
    for broad in [
        "pinned=true",
        "tag:a OR tag:b",
        "NOT tag:a",
        "pinned=true (tag:a OR type:fact)",
        "NOT NOT tag:a",
        "ANY(tag:a)",
        "project=p session=s topic_key=k",
        "id=1",
        "type!=fact",
    ] {
        assert_eq!(error(&with(broad)), Error::TooBroad, "{broad}");
    }
    for narrow in [
        "tag:a",
        "tag:a pinned=true",
        "pinned=true (tag:a title=x)",
        "ALL(ALL(tag:a))",
        "type:fact",
        "type=(fact, goal)",
    ] {
        assert!(passes(&with(narrow)), "{narrow}");
    }
    assert!(passes(&Query::of_types(&[MemoryType::Fact], 1)));
    // Neither what is near nor a walk is an exception.
    let near = Query {
        near: vec![NearMemory { id: id(1), similarity: 1 }],
        limit: Some(1),
        ..Query::default()
    };
    assert_eq!(error(&near), Error::TooBroad);
    let walk = crate::graph::Walk::new(id(1), crate::graph::Direction::Out, 1);
    assert_eq!(
        error(&Query { from: Some(walk), limit: Some(1), ..Query::default() }),
        Error::TooBroad
    );
}

#[test]
fn sizes_are_bounded() {
    let fact = Query::of_types(&[MemoryType::Fact], 1);
    let with = |filter: Predicate| Query { filter: Some(filter), ..fact.clone() };
    let tag = || Predicate::HasTag("a".into());
    let wide = |n: usize| with(Predicate::And((0..n).map(|_| tag()).collect()));
    assert!(passes(&wide(PREDICATE_NODES_MAX - 1)));
    assert_eq!(error(&wide(PREDICATE_NODES_MAX)).code(), "too_many");
    let deep = |n: usize| with((1..n).fold(tag(), |inner, _| Predicate::Not(Box::new(inner))));
    assert!(passes(&deep(PREDICATE_DEPTH_MAX)));
    assert_eq!(error(&deep(PREDICATE_DEPTH_MAX + 1)).code(), "too_many");
    let pattern = |pattern: String| with(Predicate::Matches("data.title".into(), pattern));
    assert!(passes(&pattern("a".repeat(PATTERN_BYTES_MAX))));
    assert_eq!(error(&pattern("a".repeat(PATTERN_BYTES_MAX + 1))).code(), "too_large");
    assert_eq!(error(&pattern("(a{500}){500}".into())).code(), "invalid");
    let list =
        |n: u64| with(Predicate::In("head.id".into(), (0..n).map(FieldValue::number).collect()));
    assert_eq!(error(&list(200)).code(), "too_many");
    assert_eq!(error(&with(Predicate::HasTag("a".repeat(65)))).code(), "too_large");
    assert_eq!(error(&Query { limit: Some(FIND_LIMIT_MAX + 1), ..fact.clone() }).code(), "invalid");
    let budget_tokens = Some(BUDGET_TOKENS_MAX + 1);
    assert_eq!(error(&Query { budget_tokens, ..fact.clone() }).code(), "invalid");
    assert_eq!(error(&Query { rows_max: Some(0), ..fact.clone() }).code(), "invalid");
    let near = vec![NearMemory { id: id(1), similarity: 1 }; NEAR_MAX + 1];
    assert_eq!(error(&Query { near, ..fact.clone() }).code(), "too_many");
    let near = vec![NearMemory { id: id(1), similarity: 1_000_001 }];
    assert_eq!(error(&Query { near, ..fact.clone() }).code(), "invalid");
    let order_by = vec![Order::up(OrderBy::Id); ORDER_KEYS_MAX + 1];
    assert_eq!(error(&Query { order_by, ..fact.clone() }).code(), "too_many");
    // A name too long for a key is a name nobody has, not a panic.
    let long = "x".repeat(300);
    assert!(passes(&with(filter(&format!("project={long} session={long} topic_key={long}")))));
}

/// Fifty thousand facts, every hundredth tagged `rare`, ten in project `p`.
fn large() -> Fixture {
    let mut store = Fixture::default();
    for n in 0..50_000_u32 {
        store.add(MemoryType::Fact, "f", |draft| {
            draft.tags(if n % 100 == 0 { &["common", "rare"] } else { &["common"] });
            draft.head.project = (n % 5_000 == 0).then(|| "p".to_owned());
        });
    }
    store
}

// kernel 44
#[test]
fn cost_is_bounded_by_the_chosen_bucket() {
    let store = large();
    let explain = |query: &Query| run(&store, query).unwrap().explain;

    let facts = Query::of_types(&[MemoryType::Fact], 10);
    let by_type = explain(&facts);
    assert_eq!((by_type.rows_examined, by_type.capped), (ROWS_EXAMINED_MAX, true));
    assert_eq!(by_type.index, "type Fact");
    let few = explain(&Query { rows_max: Some(100), ..facts.clone() });
    assert_eq!((few.rows_examined, few.capped, few.matched), (100, true, 100));
    let more = explain(&Query { rows_max: Some(u32::MAX), ..facts.clone() });
    assert_eq!(more.rows_examined, ROWS_EXAMINED_MAX);

    let rare = explain(&Query { filter: Some(filter("tag:common tag:rare")), ..facts.clone() });
    assert_eq!((rare.index.as_str(), rare.rows_examined, rare.capped), ("tag rare", 500, false));
    let project = explain(&Query { filter: Some(filter("tag:common project=p")), ..facts.clone() });
    assert_eq!((project.index.as_str(), project.rows_examined), ("project p", 10));
    let one = explain(&Query { filter: Some(filter("id=77")), ..facts.clone() });
    assert_eq!((one.index.as_str(), one.rows_examined), ("ids", 1));

    // The index is in the order of creation, so a page of the newest or oldest costs a page.
    for by in [OrderBy::Created, OrderBy::Id] {
        let newest = Query { order_by: vec![Order::down(by)], ..facts.clone() };
        let found = run(&store, &newest).unwrap();
        assert_eq!(ids(&found), (49_991..=50_000).rev().collect::<Vec<_>>());
        assert_eq!((found.explain.rows_examined, found.explain.capped), (11, false));
        let second = run(&store, &Query { cursor: found.next, ..newest }).unwrap();
        assert_eq!(ids(&second), (49_981..=49_990).rev().collect::<Vec<_>>());
        assert_eq!(second.explain.rows_examined, 11);
        let oldest =
            run(&store, &Query { order_by: vec![Order::up(by)], ..facts.clone() }).unwrap();
        assert_eq!((ids(&oldest), oldest.explain.rows_examined), ((1..=10).collect(), 11));
    }

    // In that order a find can go on behind the cap.
    let mut seen = Vec::new();
    let mut query = Query {
        filter: Some(filter("tag:common project=p")),
        order_by: vec![Order::up(OrderBy::Created)],
        rows_max: Some(3),
        ..facts
    };
    for _ in 0..10 {
        let found = run(&store, &query).unwrap();
        assert!(found.explain.rows_examined <= 3);
        seen.extend(ids(&found));
        query.cursor = found.next;
        if query.cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, (0..10).map(|n| n * 5_000 + 1).collect::<Vec<_>>());
}

// kernel 40
#[test]
fn the_plan_names_its_index() {
    let mut store = Fixture::default();
    for n in 0..200_u32 {
        store.add(MemoryType::Fact, "f", |draft| {
            draft.tags(&["t"]);
            draft.head.project = Some("p".into());
            draft.head.session = (n < 20).then(|| "s".to_owned());
            draft.head.topic_key = (n < 3).then(|| "k".to_owned());
        });
    }
    store.add(MemoryType::Goal, "g", |draft| draft.tags(&["t"]));
    let index = |types: &[MemoryType], text: &str| {
        let query = Query { filter: Some(filter(text)), ..Query::of_types(types, 500) };
        let found = run(&store, &query).unwrap();
        (found.explain.index, found.items.len())
    };
    let fact = [MemoryType::Fact];
    assert_eq!(index(&fact, "tag:t"), ("type Fact".to_owned(), 200));
    assert_eq!(index(&[MemoryType::Goal], "tag:t"), ("type Goal".to_owned(), 1));
    assert_eq!(index(&[], "tag:t type:goal"), ("type Goal".to_owned(), 1));
    assert_eq!(index(&[], "tag:t"), ("tag t".to_owned(), 201));
    assert_eq!(index(&fact, "session=s tag:t"), ("session s".to_owned(), 20));
    assert_eq!(index(&fact, "project=p topic_key=k tag:t"), ("topic key k".to_owned(), 3));
    assert_eq!(index(&fact, "topic_key=k"), ("type Fact".to_owned(), 3));
    assert_eq!(index(&fact, "id=(3, 4, 999)"), ("ids".to_owned(), 2));
    assert_eq!(index(&[], "tag:none project=p"), ("tag none".to_owned(), 0));
    assert_eq!(
        index(&[MemoryType::Fact, MemoryType::Goal], "tag:none"),
        ("tag none".to_owned(), 0)
    );
    // Types that exclude each other leave nothing.
    assert_eq!(index(&fact, "type:goal").1, 0);
    let near =
        Query { near: vec![NearMemory { id: id(7), similarity: 9 }], ..Query::of_types(&fact, 5) };
    assert_eq!(run(&store, &near).unwrap().explain.index, "near");
}
