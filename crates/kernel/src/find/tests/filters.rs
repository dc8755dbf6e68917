//! Filters: what they match, how they are written and read.

use std::fmt::Write as _;

use proof::memory::{
    Constraint, Decision, DecisionStatus, Event, Fact, Fields, Goal, GoalStatus, Identity, Pattern,
    Preference, Strength,
};
use proptest::prelude::*;

use super::*;
use crate::error::Error;
use crate::find::fixture::filtered;

/// One memory of most types, all tagged `t`.
fn mixed() -> Fixture {
    let mut store = Fixture::default();
    let mut add = |memory_type, title: &str, fields: Option<Fields>, change: fn(&mut Draft)| {
        store.add(memory_type, title, |draft| {
            draft.tags(&["t"]);
            if let Some(fields) = fields {
                draft.fields(fields);
            }
            change(draft);
        });
    };
    let goal =
        Goal { due: Some(Millis(T0)), status: GoalStatus::Active, criteria: vec!["x".into()] };
    add(MemoryType::Goal, "ship", Some(Fields::Goal(goal)), |_| {});
    let decision = Decision { status: DecisionStatus::Accepted, ..Decision::default() };
    add(MemoryType::Decision, "use one file", Some(Fields::Decision(decision)), |d| {
        d.head.importance = 700_000;
        d.content("Because it is simple.");
    });
    let fact = Fact { subject: Some("api".into()), ..Fact::default() };
    add(MemoryType::Fact, "port 7438", Some(Fields::Fact(fact)), |d| {
        d.head.project = Some("cortex".into());
        d.head.duplicates = 3;
        d.head.pinned = true;
        d.version.confidence = 250_000;
    });
    let preference = Preference { strength: Some(400_000), ..Preference::default() };
    add(MemoryType::Preference, "tabs", Some(Fields::Preference(preference)), |_| {});
    let constraint = Constraint { strength: Strength::Hard, trigger: None };
    add(MemoryType::Constraint, "no force push", Some(Fields::Constraint(constraint)), |_| {});
    let pattern = Pattern { evidence: vec![id(1), id(2)], coverage: Some(7), strength: None };
    add(MemoryType::Pattern, "monday", Some(Fields::Pattern(pattern)), |_| {});
    let event = Event { participants: vec!["ada".into(), "bob".into()], ..Event::default() };
    add(MemoryType::Event, "release", Some(Fields::Event(event)), |_| {});
    let identity = Identity { aliases: vec!["al".into()], ..Identity::default() };
    add(MemoryType::Identity, "ada", Some(Fields::Identity(identity)), |_| {});
    store
}

fn matching(store: &Fixture, text: &str) -> Vec<u64> {
    let mut query = filtered(filter(&format!("tag:t ({text})")), 100);
    query.order_by = vec![Order::up(OrderBy::Id)];
    ids(&run(store, &query).unwrap())
}

// kernel 29
#[test]
fn every_operator_and_kind_of_field() {
    let store = mixed();
    let all = [1, 2, 3, 4, 5, 6, 7, 8];
    let without =
        |gone: &[u64]| -> Vec<u64> { all.iter().copied().filter(|n| !gone.contains(n)).collect() };
    for (text, expected) in [
        ("type:decision", vec![2]),
        ("type=(Goal, fact)", vec![1, 3]),
        ("type!=goal", without(&[1])),
        ("status=active", vec![1]),
        ("status=accepted", vec![2]),
        ("status!=active", without(&[1])),
        ("status=(active, accepted)", vec![1, 2]),
        ("importance>=0.7 type=(decision,fact)", vec![2]),
        ("importance>0.7 type=(decision,fact)", vec![]),
        ("confidence<0.3", vec![3]),
        ("confidence<=0.25", vec![3]),
        ("confidence<0.25", vec![]),
        ("project=cortex", vec![3]),
        ("project!=cortex", without(&[3])),
        ("duplicates>2", vec![3]),
        ("duplicates=3", vec![3]),
        ("pinned=true", vec![3]),
        ("pinned=false", without(&[3])),
        ("title~\"^use\"", vec![2]),
        ("title~\"(?i)FILE\"", vec![2]),
        ("content~simple", vec![2]),
        ("title=tabs", vec![4]),
        ("title>=port title<q", vec![3]),
        ("subject=api", vec![3]),
        ("subject!=api", without(&[3])),
        ("strength=hard", vec![5]),
        ("strength=0.4", vec![4]),
        ("strength>0.3", vec![4]),
        ("strength!=hard", without(&[5])),
        ("evidence=2", vec![6]),
        ("evidence=#2", vec![6]),
        ("coverage=7", vec![6]),
        ("participants=bob", vec![7]),
        ("participants=(zoe, ada)", vec![7]),
        ("participants!=bob", without(&[7])),
        ("participants~\"^a\"", vec![7]),
        ("aliases=al", vec![8]),
        ("criteria=x due<=2026-01-01", vec![1]),
        ("due<2026-01-01", vec![]),
        ("created>=2026-01-01", all.to_vec()),
        ("created<2026-01-01", vec![]),
        ("id=4", vec![4]),
        ("id=(4, 5, 99)", vec![4, 5]),
        ("n=1 by=ada source=user", all.to_vec()),
        ("source=derived", vec![]),
        ("expires>2026-01-01", vec![]),
        ("NOT tag:t", vec![]),
        ("tag!=u", all.to_vec()),
        ("-type:goal -type:fact", without(&[1, 3])),
        ("title=ship OR title=tabs", vec![1, 4]),
        ("ALL()", all.to_vec()),
        ("ANY()", vec![]),
        ("type=()", vec![]),
    ] {
        assert_eq!(matching(&store, text), expected, "{text}");
    }
}

#[test]
fn numbers_above_two_to_the_53_compare_exactly() {
    let mut store = Fixture::default();
    let big = (1_u64 << 53) + 1;
    for size in [big - 1, big, u64::MAX] {
        store.add(MemoryType::ArtifactRef, "a", |draft| {
            draft.fields(Fields::ArtifactRef(proof::memory::ArtifactRef {
                size: Some(size),
                ..Default::default()
            }));
        });
    }
    let sized = |text: String| {
        let query = Query {
            filter: Some(filter(&text)),
            order_by: vec![Order::up(OrderBy::Id)],
            ..Query::of_types(&[MemoryType::ArtifactRef], 9)
        };
        ids(&run(&store, &query).unwrap())
    };
    assert_eq!(sized(format!("size={big}")), [2]);
    assert_eq!(sized(format!("size>{}", big - 1)), [2, 3]);
    assert_eq!(sized(format!("size={}", u64::MAX)), [3]);
}

fn refusal(predicate: Predicate) -> Error {
    run(&mixed(), &Query { filter: Some(predicate), ..Query::of_types(&MemoryType::ALL, 9) })
        .unwrap_err()
}

#[test]
fn unknown_names_and_wrong_kinds_are_refused_before_rows_are_read() {
    let eq = |name: &str, value: FieldValue| Predicate::Eq(name.into(), value);
    for name in ["head.nope", "nope", "data.", "title", "data.belief"] {
        assert_eq!(refusal(eq(name, FieldValue::text("x"))), Error::UnknownField(name.into()));
        let nested = Predicate::Or(vec![Predicate::Not(Box::new(eq(name, FieldValue::text("x"))))]);
        assert_eq!(refusal(nested).code(), "unknown_field");
    }
    let order = |name: &str, value: FieldValue| Predicate::Gt(name.into(), value);
    for bad in [
        eq("head.importance", FieldValue::text("high")),
        eq("head.created", FieldValue::number(5)),
        eq("head.project", FieldValue::number(5)),
        eq("head.pinned", FieldValue::text("true")),
        eq("data.participants", FieldValue::number(1)),
        Predicate::In("head.id".into(), vec![FieldValue::number(1), FieldValue::text("x")]),
        order("head.pinned", FieldValue::Flag(true)),
        order("data.participants", FieldValue::text("a")),
        order("head.type", FieldValue::text("fact")),
        order("data.status", FieldValue::text("active")),
        Predicate::Matches("head.created".into(), ".".into()),
        Predicate::Matches("head.pinned".into(), ".".into()),
    ] {
        assert_eq!(refusal(bad.clone()).code(), "not_comparable", "{bad}");
    }
    // A word that no type has cannot be meant.
    assert_eq!(refusal(eq("data.status", FieldValue::text("activ"))).code(), "invalid");
    assert_eq!(refusal(filter("tag:\" \"")).code(), "invalid");
    assert_eq!(refusal(filter("title~\"(\"")).code(), "invalid");
    // A field of another type is no error.
    assert!(run(&mixed(), &facts("status=active")).unwrap().items.is_empty());
    assert_eq!(ids(&run(&mixed(), &facts("status!=active")).unwrap()), [3]);
    assert!(run(&mixed(), &facts("due>2020-01-01")).unwrap().items.is_empty());
}

#[test]
fn what_people_type() {
    let eq = |name: &str, value: &str| Predicate::Eq(name.into(), FieldValue::text(value));
    let tag = |tag: &str| Predicate::HasTag(tag.into());
    let not = |part| Predicate::Not(Box::new(part));
    for (text, expected) in [
        ("type:decision", eq("head.type", "decision")),
        ("  project = \"my project\" ", eq("head.project", "my project")),
        ("tag:a tag:b", Predicate::And(vec![tag("a"), tag("b")])),
        ("tag:a AND tag:b", Predicate::And(vec![tag("a"), tag("b")])),
        (
            "tag:a tag:b OR tag:c",
            Predicate::Or(vec![Predicate::And(vec![tag("a"), tag("b")]), tag("c")]),
        ),
        (
            "tag:a (tag:b OR tag:c)",
            Predicate::And(vec![tag("a"), Predicate::Or(vec![tag("b"), tag("c")])]),
        ),
        ("NOT tag:a", not(tag("a"))),
        ("NOT(tag:a)", not(tag("a"))),
        ("-tag:a", not(tag("a"))),
        (
            "status!=(active)",
            not(Predicate::In("data.status".into(), vec![FieldValue::text("active")])),
        ),
        ("importance>=0.7", Predicate::Gte("head.importance".into(), FieldValue::number(700_000))),
        ("created>2026-01-01", Predicate::Gt("head.created".into(), FieldValue::Time(Millis(T0)))),
        (
            "version.created<=2026-01-01T00:00:01.5Z",
            Predicate::Lte("version.created".into(), FieldValue::Time(Millis(T0))),
        ),
        (r#"title~"\d+ \"x\" \\""#, Predicate::Matches("data.title".into(), r#"\d+ "x" \"#.into())),
    ] {
        if text.contains("1.5Z") {
            // Half a second needs three digits.
            assert!(text.parse::<Predicate>().is_err());
            continue;
        }
        assert_eq!(text.parse::<Predicate>().unwrap(), expected, "{text}");
    }
}

#[test]
fn errors_say_where_and_what_was_expected() {
    let mut golden = String::new();
    for text in [
        "",
        "tag:a )",
        "(tag:a",
        "tag:",
        "tag>a",
        "hello",
        "importance>=high",
        "importance=0.1234567",
        "created>yesterday",
        "created>2026-02-30",
        "pinned=maybe",
        "id=x",
        "title=\"open",
        "nope=1",
        "a OR",
        "NOT",
        "status=(active",
        "status=(active,)",
        "ä=1",
    ] {
        writeln!(golden, "{text:?}: {}", text.parse::<Predicate>().unwrap_err()).unwrap();
    }
    insta::assert_snapshot!("filter_errors", golden);
}

#[test]
fn nesting_is_bounded_before_it_hurts() {
    let deep = |n: usize| format!("{}tag:a{}", "(".repeat(n), ")".repeat(n));
    assert!(deep(20).parse::<Predicate>().is_ok());
    assert_eq!(deep(60_000 / 2).parse::<Predicate>().unwrap_err().code(), "too_many");
    assert_eq!("NOT ".repeat(10_000).parse::<Predicate>().unwrap_err().code(), "too_many");
    let long = format!("tag:{}", "a".repeat(FILTER_BYTES_MAX));
    assert_eq!(long.parse::<Predicate>().unwrap_err().code(), "too_large");
}

#[test]
fn times_are_strict() {
    for (text, ms) in [
        ("1970-01-01", 0),
        ("2026-01-01", T0),
        ("2026-01-01T00:00Z", T0),
        ("2026-01-01T01:02:03Z", T0 + 3_723_000),
        ("2026-01-01T01:02:03.004Z", T0 + 3_723_004),
        ("2000-02-29", 951_782_400_000),
        ("0000-01-01", -62_167_219_200_000),
        ("@-5", -5),
    ] {
        assert_eq!(parse_time(text), Some(Millis(ms)), "{text}");
    }
    for bad in [
        "2026-1-1",
        "2026-02-30",
        "2026-13-01",
        "2026-00-10",
        "2026-01-00",
        "20260101",
        "2026-01-01T",
        "26-01-01",
        "2026-01-01T24:00Z",
        "2026-01-01T00:00",
        "2026-01-01T00:60Z",
        "2026-01-01T00:00:00.1Z",
        "+026-01-01",
        "@",
    ] {
        assert_eq!(parse_time(bad), None, "{bad}");
    }
}

fn value_for(name: &'static str) -> BoxedStrategy<FieldValue> {
    let text = prop_oneof![
        "[a-z0-9./:@#_-]{0,8}",
        "\\PC{0,8}",
        Just("0.5".to_owned()),
        Just("say \"\\d\" \\".to_owned()),
        Just("two\nlines".to_owned()),
    ];
    match name {
        "head.pinned" => any::<bool>().prop_map(FieldValue::Flag).boxed(),
        "head.id" | "data.size" | "data.evidence" => {
            any::<u64>().prop_map(FieldValue::number).boxed()
        }
        "head.importance" => any::<i64>().prop_map(FieldValue::number).boxed(),
        "data.strength" => {
            prop_oneof![any::<u64>().prop_map(FieldValue::number), text.prop_map(FieldValue::Text)]
                .boxed()
        }
        "head.created" | "version.created" => prop_oneof![
            any::<i64>(),
            (-40_000i64..80_000).prop_map(|day| day * DAY),
            -62_200_000_000_000i64..253_402_400_000_000,
        ]
        .prop_map(|ms| FieldValue::Time(Millis(ms)))
        .boxed(),
        _ => text.prop_map(FieldValue::Text).boxed(),
    }
}

fn leaf() -> BoxedStrategy<Predicate> {
    let names = [
        "head.id",
        "head.type",
        "head.project",
        "head.pinned",
        "head.importance",
        "head.created",
        "version.created",
        "version.by",
        "data.title",
        "data.status",
        "data.strength",
        "data.size",
        "data.evidence",
        "data.participants",
    ];
    let test = prop::sample::select(names.to_vec()).prop_flat_map(|name| {
        let field = name.to_owned();
        (0..7usize, value_for(name), prop::collection::vec(value_for(name), 0..4)).prop_map(
            move |(op, value, list)| match op {
                0 => Predicate::Eq(field.clone(), value),
                1 => Predicate::Ne(field.clone(), value),
                2 => Predicate::Gt(field.clone(), value),
                3 => Predicate::Gte(field.clone(), value),
                4 => Predicate::Lt(field.clone(), value),
                5 => Predicate::Lte(field.clone(), value),
                _ => Predicate::In(field.clone(), list),
            },
        )
    });
    prop_oneof![
        4 => test,
        1 => "\\PC{1,8}".prop_map(Predicate::HasTag),
        1 => "(?s).{0,12}".prop_map(|pattern| Predicate::Matches("data.content".into(), pattern)),
    ]
    .boxed()
}

fn tree() -> impl Strategy<Value = Predicate> {
    leaf().prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Predicate::And),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Predicate::Or),
            inner.prop_map(|part| Predicate::Not(Box::new(part))),
        ]
    })
}

proptest! {
    // kernel 29: the text form is stable and loses nothing.
    #[test]
    fn what_is_written_reads_back(predicate in tree()) {
        let text = predicate.to_string();
        prop_assert_eq!(text.parse::<Predicate>().map_err(|e| e.to_string()), Ok(predicate), "{}", text);
    }

    #[test]
    fn no_text_makes_the_parser_panic(
        text in "(?s).{0,80}",
        tokens in
            prop::collection::vec("[()\"~=!<>:, a-z-]{1,3}|NOT|OR|AND|ALL\\(|tag:a|id=1", 0..12),
    ) {
        // Whether the text is a filter does not matter here, only that the parser answers.
        let _ = text.parse::<Predicate>();
        let _ = tokens.join(" ").parse::<Predicate>();
    }

    #[test]
    fn a_query_reads_back_from_its_bytes(
        predicate in tree(),
        limit in prop::option::of(any::<u32>()),
        at in prop::option::of(any::<i64>()),
    ) {
        let query = Query {
            types: vec![MemoryType::Goal],
            filter: Some(predicate),
            order_by: vec![Order::down(OrderBy::Updated), Order::up(OrderBy::Hop)],
            limit,
            as_of: at.map(Millis),
            near: vec![NearMemory { id: id(3), similarity: 5 }],
            from: Some(crate::graph::Walk::new(id(1), crate::graph::Direction::Both, 2)),
            ..Query::default()
        };
        let bytes = query.to_bytes();
        prop_assert_eq!(Query::from_bytes(&bytes).unwrap(), query);
        prop_assert!(Query::from_bytes(&bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = Query::from_bytes(&bytes);
    }
}

#[test]
fn hostile_nesting_in_bytes_is_refused() {
    // A million open arrays must not reach a recursive decoder.
    assert!(Query::from_bytes(&vec![0x81; 1_000_000]).is_err());
    let mut predicate = Predicate::HasTag("a".into());
    for _ in 0..40 {
        predicate = Predicate::Not(Box::new(predicate));
    }
    let query = filtered(predicate, 1);
    assert_eq!(Query::from_bytes(&query.to_bytes()).unwrap_err().code(), "non_canonical");
}
