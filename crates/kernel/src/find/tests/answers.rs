//! What an answer holds: order, labels, budgets, gates, earlier moments.

use proof::memory::{Relation, Visibility};

use super::*;
use crate::error::Error;
use crate::graph::{Direction, Walk};
use crate::render::Form;

fn fact(store: &mut Fixture, title: &str) -> MemoryId {
    store.add(MemoryType::Fact, title, |_| {})
}

fn every_fact() -> Query {
    Query { order_by: vec![Order::up(OrderBy::Id)], ..Query::of_types(&[MemoryType::Fact], 100) }
}

// kernel 71
#[test]
fn what_is_put_away_is_hidden_unless_asked_for() {
    let mut store = Fixture::default();
    fact(&mut store, "current");
    let forgotten = fact(&mut store, "forgotten");
    let erased = fact(&mut store, "erased");
    store.add(MemoryType::Fact, "archived", |d| d.head.archived = true);
    let past = Millis(T0 + DAY);
    store.add(MemoryType::Fact, "expired", |d| d.version.expires = Some(past));
    store.add(MemoryType::Fact, "ended", |d| d.version.valid_until = Some(past));
    let coming = Millis(now().get() + 1);
    store.add(MemoryType::Fact, "to come", |d| d.version.valid_from = Some(coming));
    store.forget(forgotten, past);
    store.erase(erased, past);
    let asked = |include_forgotten, include_archived| {
        let query = Query { include_forgotten, include_archived, ..every_fact() };
        run(&store, &query).unwrap()
    };
    assert_eq!(ids(&asked(false, false)), [1]);
    assert_eq!(ids(&asked(false, true)), [1, 4]);
    let all = asked(true, true);
    assert_eq!(ids(&all), [1, 2, 3, 4]);
    let standings: Vec<Standing> = all.items.iter().map(|item| item.standing).collect();
    assert_eq!(
        standings,
        [Standing::Current, Standing::Forgotten, Standing::Erased, Standing::Archived]
    );
    // Forgotten memories are worth nothing and say what they are.
    assert_eq!((all.items[1].score, all.items[1].text.as_str()), (0, "[forgotten] forgotten"));
    assert_eq!(all.items[2].text, "[erased]");
    // A filter on the text of an erased memory finds nothing in it.
    let erased = Query { include_forgotten: true, ..facts("title~erased") };
    assert!(run(&store, &erased).unwrap().items.is_empty());
    let asked = Query { include_forgotten: true, ..facts("forgotten=true") };
    assert_eq!(run(&store, &asked).unwrap().items.len(), 2);
    assert!(run(&store, &facts("forgotten=true")).unwrap().items.is_empty());
}

#[test]
fn standing_gives_the_first_reason() {
    let draft = |change: fn(&mut Draft)| {
        let mut draft = Draft::new(id(1), MemoryType::Fact, "f", Millis(T0));
        change(&mut draft);
        standing(&draft.head, &draft.version, &draft.usage, Millis(T0 + DAY))
    };
    assert_eq!(draft(|_| {}), Standing::Current);
    assert_eq!(draft(|d| d.usage.superseded = 1), Standing::Superseded);
    // Intervals are half open.
    assert_eq!(draft(|d| d.version.expires = Some(Millis(T0 + DAY))), Standing::Expired);
    assert_eq!(draft(|d| d.version.expires = Some(Millis(T0 + DAY + 1))), Standing::Current);
    assert_eq!(draft(|d| d.version.valid_until = Some(Millis(T0 + DAY))), Standing::NoLongerValid);
    assert_eq!(draft(|d| d.version.valid_until = Some(Millis(T0 + DAY + 1))), Standing::Current);
    assert_eq!(draft(|d| d.version.valid_from = Some(Millis(T0 + DAY))), Standing::Current);
    assert_eq!(draft(|d| d.version.valid_from = Some(Millis(T0 + DAY + 1))), Standing::NotYetValid);
    assert_eq!(draft(|d| d.version.created = Millis(T0 + DAY + 1)), Standing::NotYetValid);
    assert_eq!(
        draft(|d| {
            d.head.archived = true;
            d.version.expires = Some(Millis(T0));
        }),
        Standing::Archived
    );
}

// kernel 70
#[test]
fn as_of_picks_the_version_that_was_true_and_known_then() {
    let day = |n: i64| Millis(T0 + n * DAY);
    let mut store = Fixture::default();
    let memory = store.add(MemoryType::Fact, "v1", |d| {
        d.version.valid_until = Some(day(10));
    });
    store.revise(memory, "v2", day(5), |d| {
        d.version.valid_from = Some(day(8));
        d.version.valid_until = Some(day(20));
    });
    store.revise(memory, "v3", day(15), |d| d.version.valid_from = Some(day(15)));
    let late = store.add(MemoryType::Fact, "late", |_| {});
    assert_eq!(late.get(), 4);
    store.forget(late, day(30));
    let shown = |as_of: Option<Millis>| -> Vec<(u64, u32, String)> {
        let found = run(&store, &Query { as_of, ..every_fact() }).unwrap();
        let item = |item: &FoundItem| (item.head.id.get(), item.version.n, item.text.clone());
        found.items.iter().map(item).collect()
    };
    let one = |n: u32| vec![(1, n, format!("v{n}")), (4, 1, "late".to_owned())];
    assert_eq!(shown(Some(Millis(T0))), []);
    assert_eq!(shown(Some(day(4))), one(1));
    // Version 2 was known on day 5, but true only from day 8.
    assert_eq!(shown(Some(day(7))), one(1));
    assert_eq!(shown(Some(day(8))), one(2));
    assert_eq!(shown(Some(day(12))), one(2));
    assert_eq!(shown(Some(day(16))), one(3));
    // Forgotten on day 30, and not before.
    assert_eq!(shown(Some(Millis(day(30).get() - 1))), one(3));
    assert_eq!(shown(Some(day(30))), [(1, 3, "v3".to_owned())]);
    assert_eq!(shown(None), [(1, 3, "v3".to_owned())]);
    assert_eq!(shown(None), shown(Some(now())));
}

#[test]
fn a_memory_that_ended_does_not_come_back_as_an_older_version() {
    let day = |n: i64| Millis(T0 + n * DAY);
    let mut store = Fixture::default();
    let memory = fact(&mut store, "for ever");
    store.revise(memory, "for a while", day(2), |d| d.version.expires = Some(day(4)));
    let titles = |as_of| {
        let found = run(&store, &Query { as_of, ..every_fact() }).unwrap();
        found.items.into_iter().map(|item| item.text).collect::<Vec<_>>()
    };
    assert_eq!(titles(Some(day(1))), ["for ever"]);
    assert_eq!(titles(Some(day(3))), ["for a while"]);
    assert!(titles(Some(day(5))).is_empty());
    assert!(titles(None).is_empty());
}

#[test]
fn a_clock_that_went_back_hides_nothing_and_shows_nothing_forgotten() {
    let mut store = Fixture::default();
    fact(&mut store, "kept");
    let gone = fact(&mut store, "gone");
    store.forget(gone, Millis(T0 + DAY));
    let found = find(&store.view(), None, &every_fact(), Millis(T0 - DAY)).unwrap();
    assert_eq!(ids(&found), [1]);
}

#[test]
fn superseded_ranks_below_and_is_labelled() {
    let mut store = Fixture::default();
    let old = store.add(MemoryType::Fact, "old", |d| {
        d.head.importance = 1_000_000;
        d.usage.citations = 900;
    });
    let new = store.add(MemoryType::Fact, "new", |d| d.head.importance = 100_000);
    let other = fact(&mut store, "other");
    let query = Query::of_types(&[MemoryType::Fact], 10);
    assert_eq!(ids(&run(&store, &query).unwrap()), [1, 3, 2]);
    store.link(new, Relation::Supersedes, old);
    store.link(other, Relation::Contradicts, new);
    let found = run(&store, &query).unwrap();
    assert_eq!(ids(&found), [3, 2, 1]);
    let last = &found.items[2];
    assert_eq!((last.standing, &last.superseded_by[..]), (Standing::Superseded, &[new][..]));
    assert!(last.score > found.items[0].score);
    assert_eq!(found.items[1].contradicted_by, [other]);
    assert_eq!(found.items[0].contradicted_by, [new]);
    // At a time before the edge was made, nothing was superseded.
    let then = run(&store, &Query { as_of: Some(Millis(T0 + 3)), ..query.clone() }).unwrap();
    assert!(then.items.iter().all(|item| item.standing == Standing::Current));
    // What is forgotten supersedes nothing, but it did before.
    store.forget(new, Millis(T0 + DAY));
    assert_eq!(ids(&run(&store, &query).unwrap()), [1, 3]);
    let then = run(&store, &Query { as_of: Some(Millis(T0 + DAY - 1)), ..query }).unwrap();
    assert_eq!(ids(&then), [3, 2, 1]);
}

#[test]
fn orders_are_followed_and_ties_go_to_the_older() {
    let mut store = Fixture::default();
    for (importance, updated) in [(5, 30), (7, 20), (5, 20), (7, 10)] {
        store.add(MemoryType::Fact, "f", |d| {
            d.head.importance = importance * 100_000;
            d.head.updated = Millis(T0 + updated);
        });
    }
    let ordered =
        |order_by: Vec<Order>| ids(&run(&store, &Query { order_by, ..every_fact() }).unwrap());
    assert_eq!(ordered(vec![Order::up(OrderBy::Importance)]), [1, 3, 2, 4]);
    assert_eq!(ordered(vec![Order::down(OrderBy::Importance)]), [2, 4, 1, 3]);
    assert_eq!(
        ordered(vec![Order::down(OrderBy::Importance), Order::up(OrderBy::Updated)]),
        [4, 2, 3, 1]
    );
    assert_eq!(ordered(vec![Order::down(OrderBy::Updated)]), [1, 2, 3, 4]);
    assert_eq!(ordered(vec![Order::down(OrderBy::Created)]), [4, 3, 2, 1]);
    assert_eq!(ordered(vec![Order::down(OrderBy::Id)]), [4, 3, 2, 1]);
    assert_eq!(ordered(vec![Order::up(OrderBy::Salience)]), [1, 3, 2, 4]);
    assert_eq!(Order::parse("-created"), Ok(Order::down(OrderBy::Created)));
    assert_eq!(Order::parse("hop"), Ok(Order::up(OrderBy::Hop)));
    assert!(Order::parse("rank").is_err());
}

#[test]
fn near_brings_candidates_and_counts_in_the_score() {
    let mut store = Fixture::default();
    for _ in 0..4 {
        fact(&mut store, "f");
    }
    let near = vec![
        NearMemory { id: id(3), similarity: 900_000 },
        NearMemory { id: id(1), similarity: 200_000 },
        NearMemory { id: id(99), similarity: 1_000_000 },
    ];
    let query = Query { near, ..Query::of_types(&[MemoryType::Fact], 10) };
    let found = run(&store, &query).unwrap();
    assert_eq!(ids(&found), [3, 1]);
    assert_eq!(found.items[0].similarity, Some(900_000));
    assert!(found.items[0].score > found.items[1].score);
    let order_by = vec![Order::up(OrderBy::Similarity)];
    assert_eq!(ids(&run(&store, &Query { order_by, ..query }).unwrap()), [1, 3]);
}

#[test]
fn a_walk_brings_candidates_by_distance() {
    let mut store = Fixture::default();
    for _ in 0..5 {
        fact(&mut store, "f");
    }
    let goal = store.add(MemoryType::Goal, "g", |_| {});
    store.link(id(1), Relation::References, id(4));
    store.link(id(4), Relation::References, id(2));
    store.link(id(1), Relation::References, goal);
    let walk = Walk::new(id(1), Direction::Out, 3);
    let query = Query { from: Some(walk), ..Query::of_types(&[MemoryType::Fact], 10) };
    let found = run(&store, &query).unwrap();
    assert_eq!(ids(&found), [4, 2]);
    assert_eq!(found.items.iter().map(|item| item.hop).collect::<Vec<_>>(), [Some(1), Some(2)]);
    assert_eq!(found.explain.index, "walk");
    let order_by = vec![Order::down(OrderBy::Hop)];
    assert_eq!(ids(&run(&store, &Query { order_by, ..query.clone() }).unwrap()), [2, 4]);
    let lost = Query { from: Some(Walk::new(id(99), Direction::Out, 1)), ..query };
    assert_eq!(run(&store, &lost), Err(Error::not_found("memory", 99)));
}

#[test]
fn forms_are_as_asked() {
    let mut store = Fixture::default();
    store.add(MemoryType::Fact, "title", |d| d.content("content"));
    let text = |form| run(&store, &Query { form, ..every_fact() }).unwrap().items.remove(0).text;
    assert_eq!(text(Form::Short), "title");
    assert_eq!(text(Form::Medium), "title — content");
    assert_eq!(text(Form::Full), "title\ntype: Fact\n\ncontent");
    assert_eq!(Query::default().form, Form::Medium);
}

#[test]
fn a_delegate_learns_nothing_of_what_it_does_not_see() {
    let mut store = Fixture::default();
    let hide = |d: &mut Draft| d.head.visibility = Visibility::Private;
    let seen = fact(&mut store, "seen");
    let before = find(&store.view(), Some(&NotPrivate), &every_fact(), now()).unwrap();
    let hidden: Vec<MemoryId> =
        (0..70).map(|_| store.add(MemoryType::Fact, "hidden", hide)).collect();
    store.link(hidden[0], Relation::Supersedes, seen);
    store.link(hidden[1], Relation::Contradicts, seen);
    store.link(seen, Relation::References, hidden[2]);
    let after = find(&store.view(), Some(&NotPrivate), &every_fact(), now()).unwrap();
    assert_eq!(after, before);
    assert_eq!((after.explain.rows_examined, after.explain.matched), (1, 1));
    // The owner sees all of it.
    let owner = run(&store, &every_fact()).unwrap();
    assert_eq!(owner.items.len(), 71);
    assert_eq!(owner.items[0].standing, Standing::Superseded);
    // Which index is read does not tell which bucket is small.
    let tagged = Query { filter: Some(filter("tag:x tag:y")), ..every_fact() };
    let plan = |store: &Fixture| {
        find(&store.view(), Some(&NotPrivate), &tagged, now()).unwrap().explain.index
    };
    let empty = plan(&store);
    store.add(MemoryType::Fact, "hidden", |d| {
        hide(d);
        d.tags(&["x"]);
    });
    assert_eq!(plan(&store), empty);
    // A walk from a hidden memory is a walk from nothing.
    let from = Some(Walk::new(hidden[0], Direction::Out, 1));
    let error = find(&store.view(), Some(&NotPrivate), &Query { from, ..every_fact() }, now());
    assert_eq!(error, Err(Error::not_found("memory", hidden[0])));
}

// kernel 47, kernel 48: a find has a view and nothing to write with; what a late find records comes from its answer.
#[test]
fn results_are_what_a_journaled_find_records() {
    let mut store = Fixture::default();
    let memory = fact(&mut store, "v1");
    store.revise(memory, "v2", Millis(T0 + DAY), |_| {});
    let found = run(&store, &every_fact()).unwrap();
    let [result] = found.results()[..] else { panic!("one result") };
    assert_eq!((result.id, result.version, result.score), (memory, 2, found.items[0].score));
    // The query that is journaled asks the same again.
    let again = Query::from_bytes(&every_fact().to_bytes()).unwrap();
    assert_eq!(run(&store, &again).unwrap(), found);
}
