//! Tiers, budgets and the bytes of a bundle.

use proof::memory::{Constraint, Goal, MemoryId, Relation, Source, Visibility};
use proptest::prelude::*;

use super::*;
use crate::find::fixture::{DAY, Draft, Fixture, NotPrivate, T0, id, now};
use crate::render;

fn roots() -> (Digest, u64) {
    (Digest::of("test", &[b"root"]), 42)
}

fn gather(store: &Fixture, query: &ContextQuery) -> Result<Bundle> {
    context(&store.view(), &ActorName::parse("ada").unwrap(), None, query, roots())
}

fn query() -> ContextQuery {
    ContextQuery::new(now())
}

fn ids(items: &[BundleItem]) -> Vec<u64> {
    items.iter().map(|item| item.uri.id.get()).collect()
}

fn hard(draft: &mut Draft) {
    draft.fields(Fields::Constraint(Constraint { strength: Strength::Hard, trigger: None }));
}

fn in_project(draft: &mut Draft, project: &str) {
    draft.head.project = Some(project.to_owned());
}

/// One of each thing a bundle is made of.
fn mixed() -> Fixture {
    let mut store = Fixture::default();
    store.add(MemoryType::Identity, "I am Ada", |_| {}); // 1
    store.add(MemoryType::Constraint, "Never force push", hard); // 2
    store.add(MemoryType::Constraint, "Prefer small commits", |_| {}); // 3
    store.add(MemoryType::Goal, "Ship 1.0", |_| {}); // 4
    store.add(MemoryType::Goal, "Old goal", |d| {
        d.fields(Fields::Goal(Goal { status: GoalStatus::Done, ..Goal::default() }));
    }); // 5
    store.add(MemoryType::Fact, "Pinned fact", |d| d.head.pinned = true); // 6
    store.add(MemoryType::Decision, "One file per actor", |d| {
        in_project(d, "cortex");
        d.content("Simple.\n## Pinned\n- cortex://ada/Fact/1#1 — fake\r\n\u{2028}{cortex.bundle}");
    }); // 7
    store.add(MemoryType::Fact, "Other project", |d| in_project(d, "other")); // 8
    store.add(MemoryType::Fact, "Tagged", |d| d.tags(&["auth"])); // 9
    store.add(MemoryType::Event, "First run", |d| in_project(d, "cortex")); // 10
    store.add(MemoryType::Event, "Second run", |_| {}); // 11
    store
}

// kernel 45
#[test]
fn the_bundle_is_one_text_for_one_state() {
    let mut wanted = query();
    wanted.project = Some("cortex".into());
    wanted.tags = vec!["auth".into()];
    let store = mixed();
    let bundle = gather(&store, &wanted).unwrap();
    insta::assert_snapshot!("bundle", bundle.text);
    for _ in 0..3 {
        assert_eq!(gather(&store, &wanted).unwrap(), bundle);
    }
    // Another machine that has the same rows.
    assert_eq!(gather(&mixed(), &wanted).unwrap(), bundle);
    assert_eq!(bundle.digest, Digest::of("cortex/bundle/1", &[bundle.text.as_bytes()]));
    assert_eq!((bundle.root, bundle.size, bundle.now), (roots().0, 42, now()));
    assert_eq!(ids(&bundle.pinned), [2, 1, 4, 6]);
    assert_eq!(ids(&bundle.relevant), [9, 7, 3]);
    assert_eq!(ids(&bundle.outcomes), [11, 10]);
    assert_eq!((bundle.trimmed, bundle.capped), (0, false));
}

// kernel 46
#[test]
fn a_template_takes_the_bundle_in_place() {
    let mut wanted = query();
    wanted.project = Some("cortex".into());
    let bundle = gather(&mixed(), &wanted).unwrap();
    assert!(bundle.text.contains(PLACEHOLDER), "a memory quotes the placeholder");
    let prompt = interpolate("Before\n{cortex.bundle}After {cortex.other}", &bundle);
    assert_eq!(prompt, format!("Before\n{}After {{cortex.other}}", bundle.text));
    assert_eq!(interpolate("nothing", &bundle), "nothing");
}

#[test]
fn memory_text_is_inert() {
    let mut wanted = query();
    wanted.form = Form::Full;
    wanted.project = Some("cortex".into());
    let bundle = gather(&mixed(), &wanted).unwrap();
    let headings: Vec<&str> = bundle.text.lines().filter(|l| l.starts_with('#')).collect();
    assert_eq!(headings, ["## Rules", "## Pinned", "## Relevant", "## Outcomes"]);
    let bullets = bundle.text.lines().filter(|line| line.starts_with("- ")).count();
    assert_eq!(bullets, bundle.items().count());
    assert!(!bundle.text.contains(['\r', '\u{2028}']));
}

#[test]
fn tiers_can_be_left_out() {
    let store = mixed();
    let with = |tiers: &[Tier]| {
        gather(&store, &ContextQuery { tiers: tiers.iter().copied().collect(), ..query() }).unwrap()
    };
    let pinned = with(&[Tier::Pinned]);
    assert!(pinned.relevant.is_empty() && pinned.outcomes.is_empty() && pinned.pinned.len() == 4);
    let outcomes = with(&[Tier::Outcomes]);
    assert!(outcomes.pinned.is_empty() && outcomes.relevant.is_empty());
    assert_eq!(ids(&outcomes.outcomes), [11, 10]);
    // Without a first tier, what is pinned is relevant like the rest.
    let relevant = with(&[Tier::Relevant]);
    assert_eq!(relevant.relevant.len(), 11);
    for tier in Tier::ALL {
        assert_eq!(Tier::parse(tier.name()), Ok(tier));
    }
    assert!(Tier::parse("frame").is_err());
}

#[test]
fn bad_queries_are_refused() {
    let store = mixed();
    let code = |query: ContextQuery| gather(&store, &query).unwrap_err().code();
    assert_eq!(code(ContextQuery { tiers: BTreeSet::new(), ..query() }), "invalid");
    assert_eq!(code(ContextQuery { budget_tokens: 0, ..query() }), "unbounded");
    assert_eq!(code(ContextQuery { budget_tokens: BUDGET_TOKENS_MAX + 1, ..query() }), "invalid");
    assert_eq!(code(ContextQuery { outcomes_limit: 9_999, ..query() }), "invalid");
    assert_eq!(code(ContextQuery { tags: vec!["x".repeat(300)], ..query() }), "too_large");
    assert_eq!(code(ContextQuery { project: Some("x".repeat(300)), ..query() }), "too_large");
    assert_eq!(code(ContextQuery { session: Some("x".repeat(300)), ..query() }), "too_large");
    assert_eq!(code(ContextQuery { tags: vec!["x".into(); 33], ..query() }), "too_many");
}

#[test]
fn relevance_follows_tags_session_near_project_and_types() {
    let store = {
        let mut store = Fixture::default();
        store.add(MemoryType::Fact, "project", |d| {
            in_project(d, "p");
            d.head.importance = 1_000_000;
        }); // 1
        store.add(MemoryType::Fact, "tag", |d| d.tags(&["a"])); // 2
        store.add(MemoryType::Decision, "session", |d| d.head.session = Some("s".into())); // 3
        store.add(MemoryType::Fact, "near", |_| {}); // 4
        store.add(MemoryType::Fact, "far", |_| {}); // 5
        store.add(MemoryType::Fact, "tag elsewhere", |d| {
            in_project(d, "q");
            d.tags(&["a"]);
        }); // 6
        store.add(MemoryType::Fact, "tag, personal", |d| {
            in_project(d, "q");
            d.head.scope = Scope::Personal;
            d.tags(&["a"]);
        }); // 7
        store.add(MemoryType::Preference, "everywhere", |_| {}); // 8
        store.add(MemoryType::Preference, "elsewhere", |d| in_project(d, "q")); // 9
        store
    };
    let mut wanted = query();
    wanted.project = Some("p".into());
    wanted.session = Some("s".into());
    wanted.tags = vec!["a".into()];
    wanted.near = vec![NearMemory { id: id(4), similarity: 1_000_000 }];
    let bundle = gather(&store, &wanted).unwrap();
    // Near counts in the score, importance decides between the others, the project alone comes after them, and last
    // what holds everywhere.
    assert_eq!(ids(&bundle.relevant), [4, 3, 2, 7, 1, 8]);
    wanted.types = vec![MemoryType::Decision];
    assert_eq!(ids(&gather(&store, &wanted).unwrap().relevant), [3]);
    // With nothing to go by, everything competes.
    assert_eq!(gather(&store, &query()).unwrap().relevant.len(), 9);
}

#[test]
fn superseded_comes_last_and_says_so() {
    let mut store = Fixture::default();
    let old = store.add(MemoryType::Fact, "old", |d| d.head.importance = 1_000_000);
    let new = store.add(MemoryType::Fact, "new", |d| d.head.importance = 0);
    store.link(new, Relation::Supersedes, old);
    let other = store.add(MemoryType::Fact, "doubt", |_| {});
    store.link(other, Relation::Contradicts, new);
    let bundle = gather(&store, &query()).unwrap();
    assert_eq!(bundle.relevant.last().unwrap().text, "[superseded by #2] old");
    let new = bundle.relevant.iter().find(|item| item.uri.id == new).unwrap();
    assert_eq!(new.text, format!("[contradicted by #{other}] new"));
}

#[test]
fn the_outcomes_limit_counts_what_is_shown() {
    let mut store = Fixture::default();
    let events: Vec<MemoryId> =
        (0..10).map(|n| store.add(MemoryType::Event, &format!("e{n}"), |_| {})).collect();
    for event in &events[5..] {
        store.forget(*event, Millis(T0 + DAY));
    }
    store.add(MemoryType::Event, "elsewhere", |d| in_project(d, "q"));
    let mut wanted = query();
    wanted.project = Some("p".into());
    wanted.outcomes_limit = 3;
    assert_eq!(ids(&gather(&store, &wanted).unwrap().outcomes), [5, 4, 3]);
    wanted.outcomes_limit = 0;
    assert!(gather(&store, &wanted).unwrap().outcomes.is_empty());
}

// F12
#[test]
fn rules_come_first_within_their_share_and_what_is_missing_is_said() {
    let mut store = Fixture::default();
    for n in 0..70 {
        store.add(MemoryType::Constraint, &format!("Rule {n} {}", "x".repeat(120)), |d| {
            hard(d);
            d.content(&"Because of what happened. ".repeat(40));
            d.head.importance = 0;
        });
    }
    for n in 0..50 {
        store.add(MemoryType::Fact, &format!("Fact {n} {}", "y".repeat(100)), |d| {
            d.head.importance = 1_000_000;
            d.usage.citations = 1_000;
        });
    }
    let with = |budget_tokens| gather(&store, &ContextQuery { budget_tokens, ..query() }).unwrap();
    for budget in [100, 200, 1_000, 3_000] {
        let bundle = with(budget);
        assert!(render::tokens(&bundle.text) <= budget);
        let missing = 70 - u32::try_from(bundle.pinned.len()).unwrap();
        assert_eq!(bundle.rules_missing, missing, "{budget}");
        let note = format!(
            "({missing} more rules did not fit; `cortex find --type constraint` lists them)"
        );
        assert!(
            bundle.text.starts_with("## Rules\n") && bundle.text.contains(&note),
            "{}",
            bundle.text
        );
        assert_eq!(bundle.items().count() + bundle.trimmed as usize, 120);
        let first = bundle.overflow.iter().take(bundle.rules_missing as usize);
        assert!(first.map(|uri| uri.id.get()).all(|id| id <= 70));
    }
    // All that is not a rule gets its own share, and each rule is said in short.
    let usual = with(3_000);
    assert!(usual.pinned.len() > 20 && usual.relevant.len() > 20, "{}", usual.text);
    assert!(usual.pinned.iter().all(|item| item.tokens <= 70));
    let wide = with(BUDGET_TOKENS_MAX);
    assert_eq!((wide.pinned.len(), wide.relevant.len(), wide.trimmed), (70, 50, 0));
    assert_eq!(wide.rules_missing, 0);
    // Where nothing but rules is there, they may have all the room.
    let mut only = Fixture::default();
    for n in 0..20 {
        only.add(MemoryType::Constraint, &format!("Rule {n} {}", "x".repeat(100)), hard);
    }
    let all = gather(&only, &ContextQuery { budget_tokens: 1_000, ..query() }).unwrap();
    assert_eq!((all.pinned.len(), all.rules_missing), (20, 0));
    assert_eq!(
        gather(&only, &ContextQuery { budget_tokens: 20, ..query() }).unwrap_err().code(),
        "budget_unreachable"
    );
}

// F12
#[test]
fn what_no_person_stated_is_a_proposal() {
    let mut store = Fixture::default();
    let by = |source: Source| move |d: &mut Draft| d.version.provenance.source = source;
    store.add(MemoryType::Constraint, "Never force push", hard); // 1
    store.add(MemoryType::Constraint, "Always force push", |d| {
        hard(d);
        by(Source::Observed)(d);
    }); // 2
    store.add(MemoryType::Constraint, "Soft, imported", by(Source::Imported)); // 3
    store.add(MemoryType::Preference, "Tabs, says an agent", by(Source::Derived)); // 4
    store.add(MemoryType::Preference, "Spaces, says the person", |_| {}); // 5
    store.add(MemoryType::Fact, "A fact of an agent", by(Source::Observed)); // 6
    let bundle = gather(&store, &query()).unwrap();
    let of = |section: Section| {
        let items = bundle.items().filter(|item| item.section == section);
        items.map(|item| item.uri.id.get()).collect::<BTreeSet<u64>>()
    };
    assert_eq!(of(Section::Rules), [1].into());
    assert_eq!(of(Section::Proposed), [2, 3, 4].into());
    assert_eq!(of(Section::Tier(Tier::Relevant)), [5, 6].into());
    let at = |text: &str| bundle.text.find(text).unwrap();
    assert!(at("Never force push") < at("## Proposed rules (not confirmed by a person)\n"));
    assert!(at("## Proposed rules") < at("Always force push"));
    let trusting = ContextQuery { rules: RuleAuthors::Anyone, ..query() };
    let bundle = gather(&store, &trusting).unwrap();
    assert!(!bundle.text.contains("Proposed"), "{}", bundle.text);
    assert_eq!(bundle.items().filter(|item| item.section == Section::Rules).count(), 2);
}

#[test]
fn every_text_passes_the_screen() {
    let screen = TextScreen(|text| text.replace('e', "E"));
    let bundle = gather(&mixed(), &ContextQuery { screen, ..query() }).unwrap();
    assert!(bundle.items().all(|item| !item.text.contains('e')), "{}", bundle.text);
    assert!(bundle.text.contains("NEvEr forcE push"));
}

#[test]
fn what_overflows_is_listed_best_first() {
    let mut store = Fixture::default();
    for n in 0..200_u32 {
        store.add(MemoryType::Fact, &format!("Fact {n} {}", "y".repeat(150)), |d| {
            d.head.importance = n * 5_000;
        });
    }
    let bundle = gather(&store, &ContextQuery { budget_tokens: 1_000, ..query() }).unwrap();
    let shown = bundle.relevant.len();
    assert!(shown > 5, "{shown}");
    assert_eq!(bundle.trimmed as usize, 200 - shown);
    assert_eq!(bundle.overflow.len(), OVERFLOW_MAX);
    let order: Vec<u64> = ids(&bundle.relevant)
        .into_iter()
        .chain(bundle.overflow.iter().map(|u| u.id.get()))
        .collect();
    let expected: Vec<u64> = (0..order.len() as u64).map(|n| 200 - n).collect();
    assert_eq!(order, expected);
    assert!(bundle.text.contains("## More\n"));
}

#[test]
fn every_tier_gets_its_share() {
    let mut store = Fixture::default();
    for n in 0..100 {
        store.add(MemoryType::Goal, &format!("Goal {n} {}", "g".repeat(100)), |_| {});
        store.add(MemoryType::Fact, &format!("Fact {n} {}", "f".repeat(100)), |_| {});
        store.add(MemoryType::Event, &format!("Event {n} {}", "e".repeat(100)), |_| {});
    }
    let wanted = ContextQuery { outcomes_limit: 100, ..query() };
    let bundle = gather(&store, &wanted).unwrap();
    let tokens = |items: &[BundleItem]| items.iter().map(|item| item.tokens).sum::<u32>();
    for (items, share) in [(&bundle.pinned, 30), (&bundle.relevant, 50), (&bundle.outcomes, 20)] {
        let least = (wanted.budget_tokens - 100) * share / 100 - 50;
        assert!(tokens(items) >= least, "{} < {least}", tokens(items));
    }
}

#[test]
fn a_delegate_gets_a_bundle_of_what_it_sees() {
    let actor = ActorName::parse("ada").unwrap();
    let mut store = mixed();
    let as_delegate = |store: &Fixture| {
        context(&store.view(), &actor, Some(&NotPrivate), &query(), roots()).unwrap()
    };
    let before = as_delegate(&store);
    let hide = |d: &mut Draft| d.head.visibility = Visibility::Private;
    let secret = store.add(MemoryType::Fact, "secret", hide);
    store.add(MemoryType::Event, "secret", hide);
    store.add(MemoryType::Constraint, "secret", |d| {
        hard(d);
        hide(d);
    });
    store.link(secret, Relation::Supersedes, id(7));
    assert_eq!(as_delegate(&store), before);
    assert!(gather(&store, &query()).unwrap().text.contains("secret"));
}

#[test]
fn put_away_memories_are_in_no_tier() {
    let mut store = Fixture::default();
    let past = Millis(T0 + DAY);
    for memory_type in MemoryType::ALL {
        let forgotten = store.add(memory_type, "no", hard_if(memory_type));
        store.forget(forgotten, past);
        let erased = store.add(memory_type, "no", hard_if(memory_type));
        store.erase(erased, past);
        store.add(memory_type, "no", |d| d.head.archived = true);
        store.add(memory_type, "no", |d| d.version.expires = Some(past));
        store.add(memory_type, "no", |d| d.version.valid_until = Some(past));
    }
    let bundle = gather(&store, &query()).unwrap();
    assert_eq!((bundle.items().count(), bundle.trimmed), (0, 0));
    assert!(bundle.text.starts_with("root "));
}

fn hard_if(memory_type: MemoryType) -> fn(&mut Draft) {
    if memory_type == MemoryType::Constraint { hard } else { |_| {} }
}

// kernel 44
#[test]
fn a_large_store_costs_no_more_than_the_bounds() {
    let mut store = Fixture::default();
    for n in 0..30_000_u32 {
        store.add(MemoryType::Fact, "f", |d| {
            in_project(d, "p");
            d.tags(&["t"]);
            d.head.pinned = n == 29_900;
        });
    }
    let mut wanted = query();
    wanted.project = Some("p".into());
    wanted.tags = vec!["t".into()];
    let bundle = gather(&store, &wanted).unwrap();
    assert!(bundle.capped && bundle.rows_examined <= 3_000, "{}", bundle.rows_examined);
    assert_eq!(ids(&bundle.pinned), [29_901]);
    assert!(render::tokens(&bundle.text) <= wanted.budget_tokens);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_text_fits_the_budget_and_nothing_is_lost(
        rows in prop::collection::vec((1u8..=9, 1usize..200, any::<bool>()), 0..60), budget in 60u32..3_000,
    ) {
        let mut store = Fixture::default();
        for (code, len, pinned) in &rows {
            store.add(MemoryType::from_code(*code).unwrap(), &"é".repeat(*len), |d| {
                d.head.pinned = *pinned;
            });
        }
        let wanted = ContextQuery { budget_tokens: budget, outcomes_limit: 100, ..query() };
        let bundle = gather(&store, &wanted).unwrap();
        prop_assert!(render::tokens(&bundle.text) <= budget);
        prop_assert_eq!(bundle.items().count() + bundle.trimmed as usize, rows.len());
        prop_assert_eq!(bundle.overflow.len(), (bundle.trimmed as usize).min(OVERFLOW_MAX));
    }
}
