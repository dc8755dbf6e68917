//! Patterns from what is observed to memories that can be found.

use kernel::Cortex;
use kernel::command::{Removal, Stamp};
use kernel::memory::{Fields, MemoryId, MemoryType, Millis, Visibility};
use mind::maintenance::{content_digest, recent_runs, undo};
use mind::patterns::{Observation, Occurrence, PatternWatch, detect, propose};
use mind::proposal::{MemoryAction, MindPlan, PlanOutcome, carry_out};
use mind::settings::PatternSettings;
use testkit::Disk;
use testkit::build::salt;
use text::analyze::{Analyzer, Language};

use crate::store::{DAY, HOUR, day, of, open, save, submit};

fn english() -> Analyzer {
    Analyzer::new(Language::English)
}

fn said(watch: &mut PatternWatch, at: Millis, channel: &str, text: &str) {
    let what = Occurrence::Said(text.to_owned());
    let channel = Some(channel.to_owned());
    watch.observe(
        &english(),
        &Observation { at, channel, private: false, what, memory: None, entry: None },
    );
}

fn tool(watch: &mut PatternWatch, at: Millis, name: &str, error: Option<&str>) {
    let what = Occurrence::Tool { name: name.to_owned(), error: error.map(str::to_owned) };
    watch.observe(
        &english(),
        &Observation { at, channel: None, private: false, what, memory: None, entry: None },
    );
}

fn look(cortex: &Cortex, watch: &PatternWatch, now: Millis) -> (MindPlan, PlanOutcome) {
    let findings = detect(watch, &PatternSettings::default(), now);
    let plan = propose(&cortex.read().unwrap(), &findings, now).unwrap();
    let mut n = 500_000 + u64::try_from(now.get() / 1_000).unwrap() * 1_000;
    let mut salts = || {
        n += 1;
        salt(n)
    };
    let run = format!("patterns-{}", now.get());
    let mut door = |stamp, command| submit(cortex, stamp, command);
    let outcome = carry_out(&plan, &run, now, &mut salts, &mut door).unwrap();
    assert!(outcome.refused.is_empty(), "{:?}", outcome.refused);
    (plan, outcome)
}

const QUESTIONS: [&str; 6] = [
    "How do I borrow a value in Rust?",
    "What does the question mark do in Rust?",
    "Why does Rust complain about this lifetime?",
    "Is there a Rust crate for dates?",
    "How are Rust enums laid out in memory?",
    "Can rust call Python?",
];

// mind 89, 90, 91, 94, 95: the seed's first example
#[test]
fn five_questions_about_rust_in_a_week_make_an_observation_and_four_do_not() {
    let cortex = open(&Disk::new());
    let mut watch = PatternWatch::default();
    // At different hours, so that it is no habit of an hour.
    for (n, question) in (0..).zip(&QUESTIONS[..4]) {
        said(&mut watch, Millis(day(n).get() + n * 5 * HOUR), "general", question);
    }
    assert!(look(&cortex, &watch, day(4)).0.is_empty());
    said(&mut watch, day(5), "general", QUESTIONS[4]);
    let (plan, outcome) = look(&cortex, &watch, day(5));
    assert_eq!(outcome.done.len(), 1, "{}", plan.report(&|_| None));
    let made = outcome.done[0].2.unwrap();
    let reading = cortex.read().unwrap();
    let memory = reading.resolve_version(MemoryId::new(made).unwrap(), None).unwrap();
    assert_eq!(memory.head.memory_type, MemoryType::Pattern);
    assert_eq!((memory.head.kind.as_str(), memory.head.importance), ("observation", 600_000));
    assert_eq!(memory.body.as_ref().unwrap().title, "Keeps asking about Rust");
    // An ordinary memory: it is found like any other.
    let query = recall::search::SearchQuery::new("what is the user learning, rust?", 5);
    let answer = recall::search::search(&reading, None, &query, day(5)).unwrap();
    assert_eq!(answer.hits[0].id.get(), made);

    // Looked at again it is not made again; with new evidence the same memory gets a new version.
    assert!(look(&cortex, &watch, day(5)).0.is_empty());
    said(&mut watch, day(6), "general", QUESTIONS[5]);
    let (plan, _) = look(&cortex, &watch, day(6));
    assert_eq!(plan.counts(), [("revise", 1)]);
    let memory =
        cortex.read().unwrap().resolve_version(MemoryId::new(made).unwrap(), None).unwrap();
    let Fields::Pattern(pattern) = memory.body.unwrap().fields else { panic!() };
    assert_eq!((memory.version.n, pattern.coverage), (2, Some(6)));
    assert_eq!(memory.version.expires, Some(day(66)));

    // Forgotten by hand, it does not come back by the same evidence.
    let removal = Removal { id: MemoryId::new(made).unwrap(), expected: None, reason: "no".into() };
    cortex.tombstone(Stamp::new(day(6), "user"), removal).unwrap();
    assert!(look(&cortex, &watch, day(6)).0.is_empty());
}

#[test]
fn five_questions_in_a_month_are_no_pattern() {
    let cortex = open(&Disk::new());
    let mut watch = PatternWatch::default();
    for (n, question) in (0..).zip(&QUESTIONS[..5]) {
        let at = Millis(day(n * 4).get() + n * 4 * HOUR);
        said(&mut watch, at, "general", question);
        assert!(look(&cortex, &watch, at).0.is_empty());
    }
}

// mind 92, 93: the seed's second example
#[test]
fn a_time_zone_in_two_channels_makes_an_identity_memory_and_in_one_does_not() {
    let cortex = open(&Disk::new());
    let mut watch = PatternWatch::default();
    said(&mut watch, day(0), "general", "I'm on America/New_York time, so mornings are bad");
    said(&mut watch, day(1), "general", "my timezone is America/New_York");
    assert!(look(&cortex, &watch, day(1)).0.is_empty());
    said(&mut watch, day(2), "billing", "Send it at nine, my time is America/New_York");
    let (_, outcome) = look(&cortex, &watch, day(2));
    let made = MemoryId::new(outcome.done[0].2.unwrap()).unwrap();
    let memory = cortex.read().unwrap().resolve_version(made, None).unwrap();
    assert_eq!((memory.head.memory_type, memory.head.importance), (MemoryType::Identity, 900_000));
    assert_eq!(memory.head.visibility, Visibility::Scoped);
    let body = memory.body.unwrap();
    assert_eq!(body.title, "User is based in the America/New_York timezone");
    assert!(look(&cortex, &watch, day(3)).0.is_empty());
    // After a move the same memory says the new zone.
    said(&mut watch, day(10), "general", "I moved, my timezone is Europe/Berlin now");
    said(&mut watch, day(11), "billing", "For me it is Europe/Berlin now");
    let (plan, _) = look(&cortex, &watch, day(11));
    assert_eq!(plan.counts(), [("revise", 1)], "{}", plan.report(&|_| None));
    let body = cortex.read().unwrap().resolve_version(made, None).unwrap().body.unwrap();
    assert_eq!(body.title, "User is based in the Europe/Berlin timezone");
}

// Section 11, point 15
#[test]
fn what_was_said_in_private_makes_a_private_memory() {
    let cortex = open(&Disk::new());
    let mut watch = PatternWatch::default();
    said(&mut watch, day(0), "general", "My name is Ada");
    let what = Occurrence::Said("My name is Ada".into());
    let channel = Some("direct".to_owned());
    let whisper =
        Observation { at: day(0), channel, private: true, what, memory: None, entry: None };
    watch.observe(&english(), &whisper);
    let (plan, _) = look(&cortex, &watch, day(0));
    let MemoryAction::Remember { draft, .. } = &plan.proposals[0].action else { panic!() };
    assert_eq!(draft.visibility, Visibility::Private);
}

// mind 109; section 11, point 13
#[test]
fn a_tool_that_keeps_failing_in_one_way_is_noticed() {
    let cortex = open(&Disk::new());
    let mut watch = PatternWatch::default();
    for (n, error) in [(0, "timeout after 31 s"), (1, "timeout after 45 s"), (2, "no such host")] {
        tool(&mut watch, Millis(day(0).get() + n * HOUR), "web_fetch", Some(error));
    }
    assert!(look(&cortex, &watch, day(1)).0.is_empty());
    tool(&mut watch, Millis(day(0).get() + 3 * HOUR), "web_fetch", Some("timeout after 9 s"));
    let (plan, _) = look(&cortex, &watch, Millis(day(1).get() - 1));
    let MemoryAction::Remember { draft, .. } = &plan.proposals[0].action else { panic!() };
    assert_eq!(draft.body.title, "The tool web_fetch keeps failing: timeout after s");
}

#[test]
fn a_habit_has_an_hour_and_what_is_done_all_day_is_none() {
    let cortex = open(&Disk::new());
    let mut watch = PatternWatch::default();
    for n in 0..5 {
        tool(&mut watch, Millis(day(n).get() + 9 * HOUR + n * 60_000), "deploy", None);
        for hour in 0..24 {
            tool(&mut watch, Millis(day(n).get() + hour * HOUR), "read_file", None);
        }
    }
    let (plan, _) = look(&cortex, &watch, day(5));
    let titles: Vec<&str> = plan
        .proposals
        .iter()
        .filter_map(|proposal| match &proposal.action {
            MemoryAction::Remember { draft, .. } => Some(draft.body.title.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(titles, ["Usually uses deploy between 09:00 and 11:00 UTC"]);
}

#[test]
fn the_same_correction_again_and_again_is_remembered_with_its_evidence() {
    let cortex = open(&Disk::new());
    let note = save(&cortex, day(0), of(MemoryType::Preference, 1, "Prefers tabs"));
    let mut watch = PatternWatch::default();
    for (n, text) in (0..).zip(["No, use tabs", "I told you: tabs", "Don't indent without tabs"]) {
        let what = Occurrence::Said(text.to_owned());
        let (channel, memory) = (Some("general".to_owned()), Some(note));
        let one = Observation { at: day(n), channel, private: false, what, memory, entry: None };
        watch.observe(&english(), &one);
    }
    let (_, outcome) = look(&cortex, &watch, day(3));
    let made = MemoryId::new(outcome.done[0].2.unwrap()).unwrap();
    let reading = cortex.read().unwrap();
    let memory = reading.resolve_version(made, None).unwrap();
    let Fields::Pattern(pattern) = &memory.body.as_ref().unwrap().fields else { panic!() };
    assert_eq!(pattern.evidence, [MemoryId::new(note).unwrap()]);
    let edges = reading.view().edges_out(made, 10).unwrap();
    assert_eq!(edges[0].dst.get(), note);
    assert!(memory.body.unwrap().content.contains("Don't indent without tabs"));
}

// Section 11, point 3
#[test]
fn what_patterns_wrote_and_rewrote_can_be_undone() {
    let cortex = open(&Disk::new());
    let note = save(&cortex, day(0), of(MemoryType::Fact, 1, "Rust has enums"));
    let mut watch = PatternWatch::default();
    let digest = || content_digest(&cortex.read().unwrap().view()).unwrap();
    let mut states = vec![digest()];
    let mut runs = Vec::new();
    for (n, question) in (0..).zip(QUESTIONS) {
        let at = Millis(day(n).get() + n * 4 * HOUR);
        let what = Occurrence::Said(question.to_owned());
        let (channel, memory) = (Some("general".to_owned()), Some(note));
        watch.observe(
            &english(),
            &Observation { at, channel, private: false, what, memory, entry: None },
        );
        let (plan, outcome) = look(&cortex, &watch, at);
        if !plan.is_empty() {
            runs.push(outcome.run);
            states.push(digest());
        }
    }
    assert_eq!(runs.len(), 2);
    let log = recent_runs(&cortex.read().unwrap().view(), 10).unwrap();
    let lines: Vec<(&str, Option<&str>, bool)> =
        log.iter().map(|l| (l.run.as_str(), l.planned.as_deref(), l.undone)).collect();
    assert_eq!(
        lines,
        [
            (runs[1].as_str(), Some("1 revise"), false),
            (runs[0].as_str(), Some("1 remember"), false),
        ]
    );
    for run in runs.iter().rev() {
        states.pop();
        let back = undo(&cortex.read().unwrap().view(), run).unwrap();
        let mut n = 7_000_000 + states.len() as u64 * 1_000;
        let mut salts = || {
            n += 1;
            salt(n)
        };
        let mut door = |stamp, command| submit(&cortex, stamp, command);
        let outcome =
            carry_out(&back, &format!("undo-{run}"), day(20), &mut salts, &mut door).unwrap();
        assert!(outcome.refused.is_empty(), "{:?}", outcome.refused);
        assert_eq!(Some(&digest()), states.last());
    }
    let log = recent_runs(&cortex.read().unwrap().view(), 10).unwrap();
    assert_eq!(log.iter().filter(|line| line.undone).count(), 2);
    assert!(log.iter().all(|line| line.done.is_some()));
}

#[test]
fn what_is_kept_is_bounded_in_number_and_in_time_and_survives_a_restart() {
    let mut watch = PatternWatch::default();
    for n in 0..i64::try_from(2 * mind::patterns::OBSERVED_MAX).unwrap() {
        tool(&mut watch, Millis(day(0).get() + n), "grep", None);
    }
    assert_eq!(watch.len(), mind::patterns::OBSERVED_MAX);
    let kept: PatternWatch = serde_json::from_str(&serde_json::to_string(&watch).unwrap()).unwrap();
    assert_eq!(kept, watch);
    tool(&mut watch, Millis(day(0).get() + 31 * DAY), "grep", None);
    assert_eq!(watch.len(), 1);
}
