//! Pages: cursors lose and repeat nothing.

use proptest::prelude::*;

use super::*;
use crate::error::Error;
use crate::render::Form;

fn store(rows: &[(u8, u8, i64, bool)]) -> Fixture {
    let mut store = Fixture::default();
    for (tag, importance, used, superseded) in rows {
        store.add(MemoryType::Fact, &"x".repeat(usize::from(*importance) + 1), |draft| {
            draft.tags(&[["a", "b", "c"][usize::from(tag % 3)]]);
            draft.head.importance = u32::from(*importance) * 100_000;
            draft.head.updated = Millis(T0 + used % 5);
            draft.usage.last_access = (*used > 3).then(|| Millis(T0 + used * DAY));
        });
        if *superseded && store.view().head(id(2)).unwrap().is_some() {
            store.link(id(1), proof::memory::Relation::Supersedes, id(2));
        }
    }
    store
}

fn order_key() -> impl Strategy<Value = Order> {
    (0..OrderBy::ALL.len(), any::<bool>())
        .prop_map(|(by, descending)| Order { by: OrderBy::ALL[by], descending })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // kernel 29: pages of a state that does not change are the unpaged answer, cut up.
    #[test]
    fn pages_join_without_gaps_or_repeats(
        rows in prop::collection::vec((0u8..3, 0u8..10, 0i64..9, any::<bool>()), 1..40),
        order_by in prop::collection::vec(order_key(), 0..3),
        limit in 1u32..7, budget in prop::option::of(1u32..40), one_tag: bool,
    ) {
        let store = store(&rows);
        let whole = Query {
            filter: one_tag.then(|| filter("tag:a")),
            order_by,
            form: Form::Short,
            ..Query::of_types(&[MemoryType::Fact], 1_000)
        };
        let expected = run(&store, &whole).unwrap();
        prop_assert!(expected.next.is_none());
        let mut page = Query { limit: Some(limit), budget_tokens: budget, ..whole };
        let mut joined = Vec::new();
        let mut clock = now();
        loop {
            // The clock of the first page counts for all of them.
            let found = find(&store.view(), None, &page, clock).unwrap();
            clock = Millis(clock.get() + 40 * DAY);
            prop_assert!(!found.items.is_empty() || expected.items.is_empty());
            prop_assert!(found.items.len() <= limit as usize);
            if let Some(budget) = budget {
                prop_assert!(found.items.len() == 1 || found.tokens <= u64::from(budget) || found.items.is_empty());
            }
            joined.extend(found.items);
            let Some(next) = found.next else { break };
            page.cursor = Some(next);
        }
        prop_assert_eq!(joined, expected.items);
    }
}

#[test]
fn a_cursor_belongs_to_its_query() {
    let store = store(&[(0, 1, 0, false); 9]);
    let query = Query::of_types(&[MemoryType::Fact], 4);
    let cursor = run(&store, &query).unwrap().next.unwrap();
    let with = |query: &Query, cursor: &Cursor| {
        run(&store, &Query { cursor: Some(cursor.clone()), ..query.clone() })
    };
    assert_eq!(with(&query, &cursor).unwrap().items.len(), 4);
    for other in [
        Query { limit: Some(5), ..query.clone() },
        Query { types: vec![MemoryType::Goal], ..query.clone() },
        Query { include_forgotten: true, ..query.clone() },
        Query { filter: Some(filter("tag:a")), ..query.clone() },
        Query { order_by: vec![Order::up(OrderBy::Id)], ..query.clone() },
    ] {
        assert_eq!(with(&other, &cursor), Err(Error::BadCursor));
    }
    let text = cursor.as_str();
    for broken in ["", "zz", "00", &text[2..], &format!("{text}00"), &text.replace('a', "b")] {
        assert_eq!(with(&query, &Cursor::new(broken)), Err(Error::BadCursor), "{broken}");
    }
}

#[test]
fn a_budget_keeps_the_best_and_at_least_one() {
    let mut store = Fixture::default();
    for importance in [1, 9, 5] {
        store.add(MemoryType::Fact, &"x".repeat(40), |draft| {
            draft.head.importance = importance * 100_000;
        });
    }
    let query = |budget| Query {
        types: vec![MemoryType::Fact],
        budget_tokens: Some(budget),
        ..Query::default()
    };
    let found = run(&store, &query(20)).unwrap();
    assert_eq!((ids(&found), found.tokens, found.trimmed), (vec![2, 3], 20, 1));
    assert_eq!(found.items[0].tokens, 10);
    let found = run(&store, &query(1)).unwrap();
    assert_eq!((ids(&found), found.tokens, found.trimmed), (vec![2], 10, 2));
    let found = run(&store, &query(30)).unwrap();
    assert_eq!((found.items.len(), found.trimmed, found.next), (3, 0, None));
    // What ranks last by the order asked for goes first.
    let oldest = Query { order_by: vec![Order::up(OrderBy::Created)], ..query(20) };
    assert_eq!(ids(&run(&store, &oldest).unwrap()), [1, 2]);
}
