//! What stays written out, what shrinks to a line, and what does not fit.

use proof::memory::{Constraint, Fields, MemoryType, Strength, Visibility};

use super::*;
use crate::find::fixture::{DAY, Fixture, NotPrivate, T0, id, now};

fn at(n: u64, version: u32) -> PinnedVersion {
    PinnedVersion { id: id(n), version }
}

fn request(in_context: &[PinnedVersion], load_bearing: &[u64]) -> CompactRequest {
    CompactRequest {
        in_context: in_context.to_vec(),
        load_bearing: load_bearing.iter().map(|n| id(*n)).collect(),
        ..CompactRequest::new("intent", "step")
    }
}

fn store() -> Fixture {
    let mut store = Fixture::default();
    store.add(MemoryType::Fact, "one", |d| d.content(&"long ".repeat(40))); // 1
    store.add(MemoryType::Fact, "two", |d| d.content("why")); // 2
    store.revise(id(2), "two again", Millis(T0 + DAY), |d| d.content("because")); // 3 is the entry
    store.add(MemoryType::Constraint, "hard rule", |d| {
        d.fields(Fields::Constraint(Constraint { strength: Strength::Hard, trigger: None }));
    }); // 4
    store.add(MemoryType::Constraint, "soft rule", |_| {}); // 5
    store.add(MemoryType::Fact, "pinned", |d| d.head.pinned = true); // 6
    store.add(MemoryType::Goal, "active goal", |_| {}); // 7
    store.add(MemoryType::Identity, "who", |_| {}); // 8
    store
}

fn numbers(texts: &[CompactText]) -> Vec<(u64, u32)> {
    texts.iter().map(|text| (text.memory.id.get(), text.memory.version)).collect()
}

// kernel 18
#[test]
fn load_bearing_and_pinned_stay_and_the_rest_shrinks() {
    let all = [at(8, 1), at(1, 1), at(2, 2), at(4, 1), at(5, 1), at(6, 1), at(7, 1)];
    let plan = plan(&store().view(), None, &request(&all, &[2]), now()).unwrap();
    assert_eq!(numbers(&plan.kept), [(2, 2), (4, 1), (6, 1), (7, 1), (8, 1)]);
    assert_eq!(numbers(&plan.stubs), [(1, 1), (5, 1)]);
    assert_eq!(plan.kept[0].text, "two again — because");
    assert_eq!(plan.stubs[0].text, "one");
    let compaction = &plan.compaction;
    assert_eq!((compaction.intent.as_str(), compaction.step.as_str()), ("intent", "step"));
    assert_eq!(compaction.kept, plan.kept.iter().map(|text| text.memory).collect::<Vec<_>>());
    let stubs: Vec<PinnedVersion> = compaction.stubs.iter().map(|stub| stub.memory).collect();
    assert_eq!(stubs, plan.stubs.iter().map(|text| text.memory).collect::<Vec<_>>());
    assert!(compaction.stubs.iter().all(|stub| stub.score > 0));
    let sum: u32 = plan.kept.iter().chain(&plan.stubs).map(|text| text.tokens).sum();
    assert_eq!((compaction.tokens, compaction.budget), (sum, COMPACT_TOKENS_DEFAULT));
    assert!(plan.left_out.is_empty());
}

#[test]
fn a_load_bearing_memory_counts_at_any_version() {
    // The context holds the older version: it is kept as it was read.
    let plan = plan(&store().view(), None, &request(&[at(2, 1)], &[2]), now()).unwrap();
    assert_eq!(plan.kept[0].text, "two — why");
    // Named twice, the newest counts once.
    let twice = request(&[at(2, 1), at(2, 2), at(2, 1)], &[2]);
    let plan = super::plan(&store().view(), None, &twice, now()).unwrap();
    assert_eq!(numbers(&plan.kept), [(2, 2)]);
}

// kernel 18
#[test]
fn over_budget_is_refused_and_nothing_is_cut() {
    let store = store();
    let mut wanted = request(&[at(1, 1), at(2, 2)], &[1, 2]);
    let needed = plan(&store.view(), None, &wanted, now()).unwrap().compaction.tokens;
    wanted.budget_tokens = needed;
    assert!(plan(&store.view(), None, &wanted, now()).is_ok());
    wanted.budget_tokens = needed - 1;
    let expected = Error::BudgetUnreachable { needed: needed.into(), budget: (needed - 1).into() };
    assert_eq!(plan(&store.view(), None, &wanted, now()), Err(expected));
    // The same context fits as stubs.
    wanted.load_bearing.clear();
    assert!(plan(&store.view(), None, &wanted, now()).is_ok());
}

#[test]
fn what_is_left_out_says_why() {
    let mut store = store();
    store.forget(id(1), Millis(T0 + DAY));
    store.erase(id(5), Millis(T0 + DAY));
    let hidden = store.add(MemoryType::Fact, "hidden", |d| d.head.visibility = Visibility::Private);
    let wanted = request(&[at(1, 1), at(5, 1), at(99, 1), at(2, 9), at(hidden.get(), 1)], &[7]);
    let plan = plan(&store.view(), Some(&NotPrivate), &wanted, now()).unwrap();
    assert!(plan.kept.is_empty() && plan.stubs.is_empty());
    assert_eq!(
        plan.left_out,
        [
            (id(1), Omission::Forgotten),
            (id(2), Omission::NotFound),
            (id(5), Omission::Forgotten),
            (id(7), Omission::NotInContext),
            (hidden, Omission::NotFound),
            (id(99), Omission::NotFound),
        ]
    );
}

#[test]
fn bad_requests_are_refused() {
    let store = store();
    let code =
        |request: CompactRequest| plan(&store.view(), None, &request, now()).unwrap_err().code();
    assert_eq!(code(CompactRequest::new("", "step")), "invalid");
    assert_eq!(code(CompactRequest::new("intent", "a\nb")), "invalid");
    assert_eq!(code(request(&vec![at(1, 1); COMPACT_ITEMS_MAX + 1], &[])), "too_many");
}

#[test]
fn the_plan_is_a_function_of_state_request_and_time() {
    let wanted = request(&[at(1, 1), at(2, 2), at(6, 1)], &[1]);
    let first = plan(&store().view(), None, &wanted, now()).unwrap();
    assert_eq!(plan(&store().view(), None, &wanted, now()).unwrap(), first);
    let later = plan(&store().view(), None, &wanted, Millis(now().get() + 300 * DAY)).unwrap();
    assert_ne!(later.compaction.stubs, first.compaction.stubs);
    assert_eq!(later.kept, first.kept);
}
