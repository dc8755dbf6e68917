//! Goal: every named limit holds at its bound and refuses one above it, and bad text is refused by name.
//! Method: a table of requests with the error code each must give; after every refusal all rows are as they were.

#![allow(clippy::unwrap_used)]

mod support;

use kernel::command::{
    Command, Compaction, Draft, MigrationDraft, PromptDraft, SessionDraft, SnapshotDraft, Stamp,
    Touches,
};
use kernel::context::ContextQuery;
use kernel::find::{FieldValue, NearMemory, Order, OrderBy, Predicate, Query};
use kernel::graph::{Direction, Walk};
use kernel::journal::{Access, HeadPatch};
use kernel::limits::{
    BUDGET_TOKENS_MAX, BULK_COMMANDS_MAX, CITATIONS_MAX, COMPACT_ITEMS_MAX, CONTENT_BYTES_MAX,
    DERIVED_FROM_MAX, EDGES_PER_MEMORY_MAX, FIELD_BYTES_MAX, FIELD_ITEMS_MAX, FIND_LIMIT_MAX,
    KIND_BYTES_MAX, NAME_BYTES_MAX, NEAR_MAX, PATTERN_BYTES_MAX, PREDICATE_DEPTH_MAX,
    PREDICATE_NODES_MAX, REASON_BYTES_MAX, TAG_BYTES_MAX, TAGS_MAX, TITLE_BYTES_MAX,
    TOPIC_KEY_BYTES_MAX, TOUCHES_MAX, WALK_DEPTH_MAX, WALK_EDGES_MAX, WALK_NODES_MAX,
};
use kernel::memory::{
    Body, Fields, Goal, Identity, MemoryType, Millis, Outcome, Pattern, Relation,
};
use kernel::{Cortex, Error, Result, Submission};
use support::{attestation, pinned};
use testkit::Disk;
use testkit::build::{
    assert_refused, at, body, dump, fact, head_revision, id, open, removal, run, salt, stamp,
};

/// A store with one fact.
fn one_fact() -> Cortex {
    let cortex = open(&Disk::new());
    cortex.write(stamp(1), fact(1, "a fact", "")).unwrap();
    cortex
}

fn text(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// A change of a draft, and the code it is refused with.
type Bad = (&'static str, fn(&mut Draft));

#[test]
fn bad_drafts_are_refused_by_name() {
    let cortex = one_fact();
    let table: &[Bad] = &[
        ("too_large", |d| d.body.title = text(10 << 20)),
        ("too_large", |d| d.body.title = text(TITLE_BYTES_MAX + 1)),
        ("too_large", |d| d.body.content = text(CONTENT_BYTES_MAX + 1)),
        ("too_large", |d| d.kind = Some(text(KIND_BYTES_MAX + 1))),
        ("too_large", |d| d.tags = vec![text(TAG_BYTES_MAX + 1)]),
        ("too_large", |d| d.topic_key = Some(text(TOPIC_KEY_BYTES_MAX + 1))),
        ("too_large", |d| d.project = Some(text(NAME_BYTES_MAX + 1))),
        ("too_large", |d| d.session = Some(text(NAME_BYTES_MAX + 1))),
        ("too_large", |d| d.channel = Some(text(NAME_BYTES_MAX + 1))),
        ("too_large", |d| d.provenance.model = Some(text(NAME_BYTES_MAX + 1))),
        ("too_large", |d| d.provenance.origin = Some(text(FIELD_BYTES_MAX + 1))),
        ("too_large", |d| {
            let name = Some(text(FIELD_BYTES_MAX + 1));
            d.body.fields = Fields::Identity(Identity { name, ..Identity::default() });
        }),
        ("too_many", |d| d.tags = (0..=TAGS_MAX).map(|n| n.to_string()).collect()),
        ("too_many", |d| d.provenance.derived_from = vec![pinned(1, 1); DERIVED_FROM_MAX + 1]),
        ("too_many", |d| {
            let criteria = vec![text(1); FIELD_ITEMS_MAX + 1];
            d.body.fields = Fields::Goal(Goal { criteria, ..Goal::default() });
        }),
        ("too_many", |d| {
            let evidence = vec![id(1); FIELD_ITEMS_MAX + 1];
            d.body.fields = Fields::Pattern(Pattern { evidence, ..Pattern::default() });
        }),
        ("invalid", |d| d.body.title = String::new()),
        ("invalid", |d| d.body.title = " \t ".into()),
        ("invalid", |d| d.body.title = "two\nlines".into()),
        ("invalid", |d| d.body.title = "two\r\nlines".into()),
        ("invalid", |d| d.body.title = "a\0b".into()),
        ("invalid", |d| d.body.title = "\u{1b}[2J".into()),
        ("invalid", |d| d.body.content = "a\0b".into()),
        ("invalid", |d| d.kind = Some("Not A Slug".into())),
        ("invalid", |d| d.kind = Some(String::new())),
        ("invalid", |d| d.tags = vec![String::new()]),
        ("invalid", |d| d.tags = vec!["a\nb".into()]),
        ("invalid", |d| d.topic_key = Some(String::new())),
        ("invalid", |d| d.project = Some(String::new())),
        ("invalid", |d| d.project = Some("a\0b".into())),
        ("invalid", |d| d.session = Some("\n".into())),
        ("invalid", |d| d.importance = Some(1_000_001)),
        ("invalid", |d| d.confidence = 1_000_001),
        ("invalid", |d| (d.valid_from, d.valid_until) = (Some(at(5)), Some(at(5)))),
        ("invalid", |d| {
            let aliases = vec!["a\nb".into()];
            d.body.fields = Fields::Identity(Identity { aliases, ..Identity::default() });
        }),
        ("invalid", |d| {
            let strength = Some(1_000_001);
            d.body.fields = Fields::Pattern(Pattern { strength, ..Pattern::default() });
        }),
    ];
    for (n, (code, change)) in table.iter().enumerate() {
        let mut draft = fact(2, "another", "");
        change(&mut draft);
        let before = dump(&cortex);
        let error = cortex.write(stamp(2), draft).expect_err(code);
        assert_eq!(error.code(), *code, "draft {n}: {error}");
        assert_eq!(dump(&cortex), before, "draft {n}");
        assert!(error.to_string().len() < 200, "draft {n}: the message repeats the input");
    }
}

#[test]
fn a_draft_at_every_bound_is_taken() {
    let cortex = one_fact();
    let mut draft = Draft::new(
        Body {
            title: text(TITLE_BYTES_MAX),
            content: text(CONTENT_BYTES_MAX),
            fields: Fields::Identity(Identity {
                name: Some(text(FIELD_BYTES_MAX)),
                aliases: vec![text(FIELD_BYTES_MAX); FIELD_ITEMS_MAX],
                role: Some("ä\t√".into()),
            }),
        },
        salt(2),
    );
    draft.kind = Some(text(KIND_BYTES_MAX));
    draft.tags = (0..TAGS_MAX).map(|n| format!("{n:x>TAG_BYTES_MAX$}")).collect();
    draft.topic_key = Some(text(TOPIC_KEY_BYTES_MAX));
    draft.project = Some(text(NAME_BYTES_MAX));
    draft.session = Some(text(NAME_BYTES_MAX));
    draft.channel = Some(text(NAME_BYTES_MAX));
    draft.importance = Some(1_000_000);
    draft.provenance.derived_from = vec![pinned(1, 1); DERIVED_FROM_MAX];
    (draft.valid_from, draft.valid_until) = (Some(Millis(i64::MIN)), Some(Millis(i64::MAX)));
    draft.expires = Some(Millis(i64::MAX));
    let stamp = Stamp {
        by: text(NAME_BYTES_MAX),
        run: Some(text(NAME_BYTES_MAX)),
        idempotency_key: Some(text(NAME_BYTES_MAX)),
        ..stamp(2)
    };
    let wanted = draft.body.clone();
    cortex.write(stamp, draft).unwrap();
    let resolved = cortex.read().unwrap().resolve_version(id(2), None).unwrap();
    assert_eq!(resolved.body, Some(wanted));
    assert_eq!(resolved.head.tags.len(), TAGS_MAX);
    testkit::build::assert_clean(&cortex);
}

#[test]
fn bad_stamps_reasons_and_records_are_refused() {
    let cortex = one_fact();
    let write = |stamp: Stamp| Submission {
        stamp,
        command: Command::Write(Box::new(fact(2, "b", ""))),
        authority: None,
    };
    let long = text(NAME_BYTES_MAX + 1);
    for (code, bad) in [
        ("invalid", Stamp { by: String::new(), ..stamp(2) }),
        ("too_large", Stamp { by: long.clone(), ..stamp(2) }),
        ("invalid", Stamp { run: Some("a\nb".into()), ..stamp(2) }),
        ("too_large", Stamp { run: Some(long.clone()), ..stamp(2) }),
        ("invalid", Stamp { idempotency_key: Some(String::new()), ..stamp(2) }),
        ("too_large", Stamp { idempotency_key: Some(long.clone()), ..stamp(2) }),
    ] {
        assert_refused(&cortex, code, |c| c.submit(write(bad)));
    }
    let because = |bytes| kernel::command::Removal { reason: text(bytes), ..removal(1) };
    let snapshot = |bytes| Command::Snapshot(SnapshotDraft { reason: text(bytes) });
    let touches = |count| {
        let access = Access { id: id(1), count: 1, at: at(2) };
        Command::Touch(Touches { accesses: vec![access; count], ..Touches::default() })
    };
    let cited = |count| {
        let mut attestation = attestation("i", Outcome::Success, &[], &[]);
        attestation.cited = vec![pinned(1, 1); count];
        Command::Attest(attestation)
    };
    let shown = |count: u32| {
        let mut attestation = attestation("j", Outcome::Success, &[], &[]);
        attestation.retrieved = vec![id(1); count as usize];
        Command::Attest(attestation)
    };
    let compact = |count| {
        Command::Compact(Compaction {
            intent: "i".into(),
            step: "s".into(),
            budget: 10,
            kept: vec![pinned(1, 1); count],
            stubs: Vec::new(),
            tokens: 10,
        })
    };
    let prompt = |bytes| {
        let text = text(bytes);
        Command::Prompt(PromptDraft { session: None, project: None, text, salt: salt(3) })
    };
    let session = |bytes, directory| {
        let (session, directory) = (text(bytes), Some(text(directory)));
        Command::SessionStart(SessionDraft { session, project: None, directory, agent: None })
    };
    let migration =
        |bytes| Command::Migration(MigrationDraft { component: text(bytes), from: 1, to: 2 });
    for (code, command) in [
        ("invalid", Command::Tombstone(because(0))),
        ("too_large", Command::Tombstone(because(REASON_BYTES_MAX + 1))),
        ("too_large", Command::Erase(because(REASON_BYTES_MAX + 1))),
        ("too_large", snapshot(REASON_BYTES_MAX + 1)),
        ("too_many", touches(TOUCHES_MAX + 1)),
        ("too_many", cited(CITATIONS_MAX + 1)),
        ("too_many", shown(FIND_LIMIT_MAX + 1)),
        ("too_many", compact(COMPACT_ITEMS_MAX + 1)),
        ("too_large", prompt(CONTENT_BYTES_MAX + 1)),
        ("invalid", prompt(0)),
        ("too_large", session(NAME_BYTES_MAX + 1, 1)),
        ("too_large", session(1, FIELD_BYTES_MAX + 1)),
        ("too_large", migration(NAME_BYTES_MAX + 1)),
    ] {
        assert_refused(&cortex, code, |c| run(c, 2, command));
    }
    for command in [
        snapshot(REASON_BYTES_MAX),
        touches(TOUCHES_MAX),
        cited(CITATIONS_MAX),
        shown(FIND_LIMIT_MAX),
        compact(COMPACT_ITEMS_MAX),
        prompt(CONTENT_BYTES_MAX),
        session(NAME_BYTES_MAX, FIELD_BYTES_MAX),
        migration(NAME_BYTES_MAX),
        Command::Tombstone(because(REASON_BYTES_MAX)),
    ] {
        assert!(run(&cortex, 2, command).unwrap().changed);
    }
}

#[test]
fn a_patch_is_checked_like_a_draft() {
    let cortex = one_fact();
    let none = HeadPatch::default;
    for (code, patch) in [
        ("too_large", HeadPatch { project: Some(text(NAME_BYTES_MAX + 1)), ..none() }),
        ("too_large", HeadPatch { topic_key: Some(text(TOPIC_KEY_BYTES_MAX + 1)), ..none() }),
        ("too_large", HeadPatch { kind: Some(text(KIND_BYTES_MAX + 1)), ..none() }),
        ("invalid", HeadPatch { kind: Some(String::new()), ..none() }),
        ("invalid", HeadPatch { channel: Some("a\nb".into()), ..none() }),
        ("invalid", HeadPatch { importance: Some(1_000_001), ..none() }),
        ("too_many", HeadPatch { tags: Some(vec![text(1); TAGS_MAX + 1]), ..none() }),
        ("invalid", HeadPatch { tags: Some(vec![" ".into()]), ..none() }),
    ] {
        assert_refused(&cortex, code, |c| c.update_head(stamp(2), head_revision(1, patch)));
    }
}

fn nested(depth: usize) -> Predicate {
    (1..depth).fold(Predicate::HasTag("a".into()), |inner, _| Predicate::And(vec![inner]))
}

fn any_of(values: usize) -> Predicate {
    Predicate::In("head.id".into(), vec![FieldValue::number(1_u64); values])
}

fn code<T>(outcome: Result<T>) -> &'static str {
    outcome.err().map_or("fine", |error: Error| error.code())
}

#[test]
fn questions_have_bounds() {
    let cortex = one_fact();
    let facts = |limit| Query::of_types(&[MemoryType::Fact], limit);
    let with = |filter| Query { filter: Some(filter), ..facts(1) };
    let near = |count| vec![NearMemory { id: id(1), similarity: 1_000_000 }; count];
    let order = |count| vec![Order::up(OrderBy::Updated); count];
    let pattern = |bytes| Predicate::Matches("data.title".into(), text(bytes));
    let budget = |tokens| Query { limit: None, budget_tokens: Some(tokens), ..facts(1) };
    for (wanted, query) in [
        ("fine", facts(FIND_LIMIT_MAX)),
        ("invalid", facts(FIND_LIMIT_MAX + 1)),
        ("unbounded", facts(0)),
        ("fine", budget(BUDGET_TOKENS_MAX)),
        ("invalid", budget(BUDGET_TOKENS_MAX + 1)),
        ("fine", with(nested(PREDICATE_DEPTH_MAX))),
        ("too_many", with(nested(PREDICATE_DEPTH_MAX + 1))),
        ("fine", with(any_of(PREDICATE_NODES_MAX - 1))),
        ("too_many", with(any_of(PREDICATE_NODES_MAX))),
        ("fine", with(pattern(PATTERN_BYTES_MAX))),
        ("too_large", with(pattern(PATTERN_BYTES_MAX + 1))),
        ("invalid", with(Predicate::Matches("data.title".into(), "(((a{50}){50}){50})".into()))),
        ("invalid", with(Predicate::Matches("data.title".into(), "(".into()))),
        ("unknown_field", with(Predicate::Eq("head.colour".into(), FieldValue::text("red")))),
        ("not_comparable", with(Predicate::Gt("head.pinned".into(), FieldValue::Flag(true)))),
        ("fine", Query { near: near(NEAR_MAX), ..facts(1) }),
        ("too_many", Query { near: near(NEAR_MAX + 1), ..facts(1) }),
        ("fine", Query { order_by: order(kernel::find::ORDER_KEYS_MAX), ..facts(1) }),
        ("too_many", Query { order_by: order(kernel::find::ORDER_KEYS_MAX + 1), ..facts(1) }),
        ("invalid", Query { rows_max: Some(0), ..facts(1) }),
        ("not_found", Query { from: Some(Walk::new(id(9), Direction::Out, 1)), ..facts(1) }),
    ] {
        assert_eq!(code(cortex.find(&query, at(2))), wanted, "{query:?}");
    }

    let walk = |change: fn(&mut Walk)| {
        let mut walk = Walk::new(id(1), Direction::Both, 1);
        change(&mut walk);
        code(cortex.read().unwrap().walk(None, &walk, at(2)))
    };
    assert_eq!(walk(|w| w.depth = WALK_DEPTH_MAX), "fine");
    assert_eq!(walk(|w| w.depth = WALK_DEPTH_MAX + 1), "invalid");
    assert_eq!(walk(|w| w.depth = 0), "invalid");
    assert_eq!(walk(|w| w.nodes_max = Some(WALK_NODES_MAX + 1)), "invalid");
    assert_eq!(walk(|w| w.edges_max = Some(WALK_EDGES_MAX + 1)), "invalid");

    let context = |change: fn(&mut ContextQuery)| {
        let mut query = ContextQuery::new(at(2));
        change(&mut query);
        code(cortex.context(&query))
    };
    assert_eq!(context(|q| q.budget_tokens = BUDGET_TOKENS_MAX), "fine");
    assert_eq!(context(|q| q.budget_tokens = BUDGET_TOKENS_MAX + 1), "invalid");
    assert_eq!(context(|q| q.outcomes_limit = FIND_LIMIT_MAX + 1), "invalid");
    assert_eq!(context(|q| q.tags = vec![text(1); TAGS_MAX + 1]), "too_many");
    assert_eq!(context(|q| q.tags = vec![text(TAG_BYTES_MAX + 1)]), "too_large");
    assert_eq!(context(|q| q.project = Some(text(NAME_BYTES_MAX + 1))), "too_large");
    assert_eq!(context(|q| q.tiers.clear()), "invalid");
}

#[test]
fn a_budget_below_the_frame_is_an_error_and_a_rule_that_does_not_fit_is_told() {
    let cortex = one_fact();
    let mut rule = body(MemoryType::Constraint, "Never delete backups", &text(4_000));
    rule.fields = Fields::Constraint(kernel::memory::Constraint {
        strength: kernel::memory::Strength::Hard,
        trigger: None,
    });
    cortex.write(stamp(2), Draft::new(rule, salt(2))).unwrap();
    let query = ContextQuery { budget_tokens: 20, ..ContextQuery::new(at(3)) };
    assert_refused(&cortex, "budget_unreachable", |c| c.context(&query));
    let bundle = cortex.context(&ContextQuery { budget_tokens: 70, ..query }).unwrap();
    assert_eq!((bundle.pinned.len(), bundle.rules_missing), (0, 1));
    assert!(bundle.text.contains("(1 more rule did not fit;"), "{}", bundle.text);
}

#[test]
fn a_bulk_request_judges_each_command_by_itself() {
    let cortex = one_fact();
    let request = |title: &str| Submission {
        stamp: stamp(2),
        command: Command::Write(Box::new(fact(2, title, ""))),
        authority: None,
    };
    let outcomes = cortex.submit_bulk(vec![request("a"), request(""), request("b")]).unwrap();
    assert_eq!(outcomes.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(testkit::build::size(&cortex), 3);
    assert_eq!(code(outcomes.into_iter().nth(1).unwrap()), "invalid");
}

#[test]
fn a_bulk_request_has_a_bound() {
    let cortex = one_fact();
    let forget = |count| {
        let command = Command::Tombstone(removal(1));
        vec![Submission { stamp: stamp(2), command, authority: None }; count]
    };
    assert_refused(&cortex, "too_many", |c| c.submit_bulk(forget(BULK_COMMANDS_MAX + 1)));
    let outcomes = cortex.submit_bulk(forget(BULK_COMMANDS_MAX)).unwrap();
    assert_eq!(outcomes.iter().flatten().filter(|receipt| receipt.changed).count(), 1);
}

#[test]
fn a_memory_has_so_many_edges_and_no_more() {
    let cortex = open(&Disk::new());
    let many = u64::from(EDGES_PER_MEMORY_MAX);
    let bulk = |make: &dyn Fn(u64) -> Command, range: std::ops::RangeInclusive<u64>| {
        let request = |n| Submission { stamp: stamp(1), command: make(n), authority: None };
        let outcomes = cortex.submit_bulk(range.map(request).collect()).unwrap();
        assert!(outcomes.iter().all(Result::is_ok));
    };
    bulk(&|n| Command::Write(Box::new(fact(n, "a node", ""))), 1..=many + 2);
    let from_first = |n| Command::AddEdge(support::edge(1, Relation::References, n));
    bulk(&from_first, 2..=many + 1);
    let refused = |command| {
        let root = cortex.root().unwrap();
        assert_eq!(code(run(&cortex, 2, command)), "too_many");
        assert_eq!(cortex.root().unwrap(), root);
    };
    refused(from_first(many + 2));
    let to_first = Command::AddEdge(support::edge(many + 2, Relation::References, 1));
    assert!(run(&cortex, 2, to_first).unwrap().changed, "incoming edges count apart");
}
