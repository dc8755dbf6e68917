//! The text of nine types in three forms.

use proof::memory::{
    ArtifactRef, Constraint, Decision, DecisionStatus, Event, Fact, Goal, GoalStatus, Identity,
    MemoryType, Outcome, Pattern, Preference, Strength, Tombstone,
};
use proptest::prelude::*;

use super::*;
use crate::find::fixture::{DAY, Draft, T0, id};

fn texts(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

/// Every field of a type set.
fn full_fields(memory_type: MemoryType) -> Fields {
    let day = |n: i64| Some(Millis(T0 + n * DAY));
    match memory_type {
        MemoryType::Identity => Fields::Identity(Identity {
            name: Some("Ada".into()),
            aliases: texts(&["al", "countess"]),
            role: Some("maintainer".into()),
        }),
        MemoryType::Goal => Fields::Goal(Goal {
            status: GoalStatus::Active,
            due: day(1),
            criteria: texts(&["green build", "no open bugs"]),
        }),
        MemoryType::Preference => Fields::Preference(Preference {
            topic: Some("tabs".into()),
            polarity: Polarity::Avoid,
            strength: Some(805_000),
        }),
        MemoryType::Constraint => Fields::Constraint(Constraint {
            strength: Strength::Hard,
            trigger: Some("before a release".into()),
        }),
        MemoryType::Decision => Fields::Decision(Decision {
            rationale: Some("one file\nper actor".into()),
            alternatives: texts(&["a server", "plain files"]),
            status: DecisionStatus::Accepted,
        }),
        MemoryType::Fact => Fields::Fact(Fact {
            subject: Some("api".into()),
            predicate: Some("listens on".into()),
            object: Some("7438".into()),
            as_of: day(2),
        }),
        MemoryType::Pattern => Fields::Pattern(Pattern {
            strength: Some(750_000),
            coverage: Some(12),
            evidence: vec![id(3), id(9)],
        }),
        MemoryType::Event => Fields::Event(Event {
            happened_at: Some(Millis(T0 + 3 * DAY + 61_001)),
            outcome: Some(Outcome::Failure),
            participants: texts(&["ada", "bob"]),
        }),
        MemoryType::ArtifactRef => Fields::ArtifactRef(ArtifactRef {
            uri: Some("file:///srv/plan.md".into()),
            digest: Some("sha256:00ff".into()),
            media_type: Some("text/markdown".into()),
            size: Some(u64::MAX),
        }),
    }
}

fn draft(memory_type: MemoryType) -> Draft {
    let mut draft = Draft::new(id(5), memory_type, "The title", Millis(T0));
    draft.fields(full_fields(memory_type));
    draft.content("First line.\n\n- second   line");
    draft.tags(&["release", "ci"]);
    draft.head.project = Some("cortex".into());
    draft.version.confidence = 900_000;
    draft.version.valid_until = Some(Millis(T0 + 40 * DAY));
    draft
}

fn text(draft: &Draft, form: Form) -> String {
    render(&draft.head, &draft.version, draft.body.as_ref(), form)
}

// kernel 30, kernel 38
#[test]
fn nine_types_in_three_forms() {
    let mut golden = String::new();
    for memory_type in MemoryType::ALL {
        for form in Form::ALL {
            let shown = text(&draft(memory_type), form);
            writeln!(golden, "=== {} {}\n{shown}", memory_type.name(), form.name()).unwrap();
        }
    }
    insta::assert_snapshot!("forms", golden);
}

// kernel 30
#[test]
fn a_memory_without_fields_reads_well_too() {
    let mut golden = String::new();
    for memory_type in MemoryType::ALL {
        let bare = Draft::new(id(5), memory_type, "The title", Millis(T0));
        writeln!(golden, "{}", text(&bare, Form::Medium)).unwrap();
    }
    insta::assert_snapshot!(golden, @r"
    The title
    [active] The title
    prefers: The title
    [firm] The title
    [accepted] The title
    The title
    The title
    The title
    The title
    ");
}

#[test]
fn forgotten_is_marked_and_erased_says_nothing() {
    for form in Form::ALL {
        let mut draft = draft(MemoryType::Fact);
        draft.head.tombstone =
            Some(Tombstone { reason: "wrong".into(), by: "ada".into(), at: Millis(T0) });
        assert!(text(&draft, form).starts_with("[forgotten] "), "{form:?}");
        draft.body = None;
        assert_eq!(text(&draft, form), "[erased]");
    }
}

#[test]
fn long_text_is_cut_inside_the_budget_on_a_character() {
    let mut draft = Draft::new(id(5), MemoryType::Fact, &"ä…".repeat(500), Millis(T0));
    draft.content(&"é".repeat(500_000));
    for (form, max) in [(Form::Short, SHORT_TOKENS_MAX), (Form::Medium, MEDIUM_TOKENS_MAX)] {
        let shown = text(&draft, form);
        assert!(shown.ends_with('…') && tokens(&shown) == max, "{form:?} {}", shown.len());
    }
    assert!(text(&draft, Form::Full).contains(&draft.body.as_ref().unwrap().content));
}

#[test]
fn tokens_are_a_quarter_of_the_bytes_rounded_up() {
    for (text, n) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("ää", 1), ("äää", 2)] {
        assert_eq!(tokens(text), n, "{text}");
    }
}

#[test]
fn form_names_read_back() {
    for form in Form::ALL {
        assert_eq!(Form::parse(form.name()), Ok(form));
    }
    assert!(Form::parse("Short").is_err());
}

proptest! {
    // kernel 38
    #[test]
    fn budgets_and_lines_hold_for_any_body(
        code in 1u8..=9, title in "\\PC{1,300}", content in "(?s).{0,1200}", field in "(?s).{0,400}", forgotten: bool,
    ) {
        let memory_type = MemoryType::from_code(code).unwrap();
        let mut draft = draft(memory_type);
        let body = draft.body.as_mut().unwrap();
        (body.title, body.content) = (title, content);
        match &mut body.fields {
            Fields::Identity(f) => f.name = Some(field),
            Fields::Goal(f) => f.criteria.push(field),
            Fields::Preference(f) => f.topic = Some(field),
            Fields::Constraint(f) => f.trigger = Some(field),
            Fields::Decision(f) => f.rationale = Some(field),
            Fields::Fact(f) => f.object = Some(field),
            Fields::Pattern(_) => {}
            Fields::Event(f) => f.participants.push(field),
            Fields::ArtifactRef(f) => f.uri = Some(field),
        }
        if forgotten {
            draft.head.tombstone = Some(Tombstone { reason: "r".into(), by: "b".into(), at: Millis(T0) });
        }
        for (form, max) in [(Form::Short, SHORT_TOKENS_MAX), (Form::Medium, MEDIUM_TOKENS_MAX)] {
            let shown = text(&draft, form);
            prop_assert!(tokens(&shown) <= max);
            prop_assert!(!shown.chars().any(char::is_control));
            prop_assert_eq!(shown.lines().count().max(1), 1);
            prop_assert_eq!(&shown, &text(&draft, form));
            prop_assert!(!forgotten || shown.starts_with("[forgotten]"));
        }
        prop_assert!(text(&draft, Form::Full).ends_with(&draft.body.as_ref().unwrap().content));
    }
}
