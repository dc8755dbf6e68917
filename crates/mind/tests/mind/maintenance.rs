//! Maintenance over a real memory, up to simulated years: what fades, what is forgotten, what becomes one, and all of
//! it undone.

use std::collections::BTreeMap;

use kernel::Cortex;
use kernel::command::{Command, Removal, Stamp, Touches};
use kernel::journal::Access;
use kernel::memory::{
    Constraint, Fields, Goal, GoalStatus, MemoryId, MemoryType, Millis, Relation, Strength,
    Visibility,
};
use kernel::salience::{DecayPolicy, decayed_importance};
use mind::fading::Fading;
use mind::maintenance::{MaintenanceState, content_digest, plan, run_record, undo};
use mind::proposal::{MemoryAction, MindPlan, PlanOutcome, carry_out};
use mind::settings::{CortexSettings, MindSettings, Preset};
use proptest::prelude::*;
use testkit::Disk;
use testkit::build::salt;

use crate::store::{DAY, START, day, draft, of, open, save, submit};

fn id(n: u64) -> MemoryId {
    MemoryId::new(n).unwrap()
}

fn submit_plan(cortex: &Cortex, plan: &MindPlan, run: &str, now: Millis) -> PlanOutcome {
    let mut n = 1_000_000;
    let mut salts = || {
        n += 1;
        salt(n)
    };
    carry_out(plan, run, now, &mut salts, &mut |stamp, command| submit(cortex, stamp, command))
        .unwrap()
}

/// One maintenance run as the daemon does it.
fn maintain(
    cortex: &Cortex,
    state: &mut MaintenanceState,
    settings: &CortexSettings,
    run: &str,
    now: Millis,
) -> (MindPlan, PlanOutcome) {
    let (plan, next) = plan(&cortex.read().unwrap(), state, settings, now).unwrap();
    let outcome = submit_plan(cortex, &plan, run, now);
    *state = next;
    (plan, outcome)
}

/// The seed's rule: everything but identity fades, by days of the calendar.
fn seed() -> CortexSettings {
    Preset::Seed.apply(MindSettings::default()).cortex
}

fn once(cortex: &Cortex, now: Millis) -> (MindPlan, PlanOutcome) {
    let mut state = MaintenanceState::default();
    maintain(cortex, &mut state, &seed(), "run-1", now)
}

fn forgotten(cortex: &Cortex, n: u64) -> bool {
    cortex.read().unwrap().view().required_head(id(n)).unwrap().tombstone.is_some()
}

fn digest(cortex: &Cortex) -> kernel::Digest {
    content_digest(&cortex.read().unwrap().view()).unwrap()
}

// mind 71-79, 133
#[test]
fn what_was_not_used_fades_and_is_forgotten_below_the_threshold() {
    let cortex = open(&Disk::new());
    let fact = save(&cortex, day(0), of(MemoryType::Fact, 1, "The old printer is on floor two"));
    let used = save(&cortex, day(0), of(MemoryType::Fact, 2, "Invoices go out on Mondays"));
    let identity = save(&cortex, day(0), of(MemoryType::Identity, 3, "The user is an engineer"));
    let mut pinned = of(MemoryType::Event, 4, "The office moved to Hamburg");
    pinned.pinned = true;
    let pinned = save(&cortex, day(0), pinned);
    let hard = Fields::Constraint(Constraint { strength: Strength::Hard, trigger: None });
    let hard = save(&cortex, day(0), draft(5, "Never push to main", "", hard));
    let touch = Touches {
        accesses: vec![Access { id: id(used), count: 1, at: day(60) }],
        ..Touches::default()
    };
    submit(&cortex, Stamp::new(day(60), "user"), Command::Touch(touch)).unwrap();
    // 0.6 * 0.95^35 is 0.0997: day 65 is the first below 0.1.
    assert!(once(&cortex, day(64)).0.is_empty());
    let (plan, outcome) = once(&cortex, day(65));
    assert_eq!(outcome.done, [("forget", vec![fact], None)]);
    let said =
        "forget #1: importance 0.099 is below 0.100: 0.600 when saved, not used since 2026-01-01";
    assert!(plan.report(&|_| None).contains(said), "{}", plan.report(&|_| None));
    assert!(forgotten(&cortex, fact) && !forgotten(&cortex, used));
    let years = day(3_650);
    let (plan, _) = once(&cortex, years);
    assert!(
        !forgotten(&cortex, identity) && !forgotten(&cortex, pinned) && !forgotten(&cortex, hard)
    );
    assert!(forgotten(&cortex, used));
    assert_eq!(plan.suggestions[0].about, [hard]);
}

// mind 78
#[test]
fn a_memory_exactly_at_the_threshold_is_kept() {
    let cortex = open(&Disk::new());
    let mut at = of(MemoryType::Fact, 1, "Exactly at the threshold");
    at.importance = Some(100_000);
    let mut below = of(MemoryType::Fact, 2, "A hair below it");
    below.importance = Some(99_999);
    let (at, below) = (save(&cortex, day(0), at), save(&cortex, day(0), below));
    once(&cortex, day(1));
    assert!(!forgotten(&cortex, at) && forgotten(&cortex, below));
}

// mind 80-83, 132; section 11, point 14
#[test]
fn near_duplicates_become_one_and_both_parents_are_forgotten() {
    let cortex = open(&Disk::new());
    let mut one = draft(
        1,
        "Prefers tabs over spaces",
        "It came up in the review of the parser, and again in the one of the importer.",
        Fields::empty(MemoryType::Preference),
    );
    one.tags = vec!["style".into()];
    one.importance = Some(900_000);
    let mut two = draft(
        2,
        "Prefers tabs over spaces",
        "It came up in the review of the parser, and again in the one of the importer.\nAlways.",
        Fields::empty(MemoryType::Preference),
    );
    two.tags = vec!["editor".into()];
    let (one, two) = (save(&cortex, day(0), one), save(&cortex, day(1), two));
    let swapped = save(&cortex, day(1), of(MemoryType::Preference, 3, "Prefers spaces over tabs"));
    let other = save(
        &cortex,
        day(1),
        of(MemoryType::Fact, 4, "Prefers tabs over spaces in every language"),
    );
    let before = digest(&cortex);
    let (plan, outcome) = once(&cortex, day(2));
    assert_eq!(plan.counts(), [("merge", 1)], "{}", plan.report(&|_| None));
    let made = outcome.done[0].2.unwrap();
    assert!(forgotten(&cortex, one) && forgotten(&cortex, two));
    assert!(!forgotten(&cortex, swapped) && !forgotten(&cortex, other));
    let resolved = cortex.read().unwrap().resolve_version(id(made), None).unwrap();
    let body = resolved.body.unwrap();
    assert!(body.content.ends_with("of the importer.\nAlways."), "{}", body.content);
    assert_eq!(resolved.head.tags, ["editor", "style"]);
    assert_eq!(resolved.head.importance, 900_000);
    let parents: Vec<u64> =
        resolved.version.provenance.derived_from.iter().map(|one| one.id.get()).collect();
    assert_eq!(parents, [one, two]);

    // Undone, the memory says what it said before; and the same merge is not made again.
    let back = undo(&cortex.read().unwrap().view(), "run-1").unwrap();
    submit_plan(&cortex, &back, "undo-1", day(3));
    assert_eq!(digest(&cortex), before);
    let record = run_record(&cortex.read().unwrap().view(), "run-1").unwrap();
    assert!(record.undone && record.job == "maintenance" && record.changes.len() >= 5);
    let again = undo(&cortex.read().unwrap().view(), "run-1").unwrap_err();
    assert_eq!(again.code(), "already_undone");
    assert_eq!(undo(&cortex.read().unwrap().view(), "run-9").unwrap_err().code(), "unknown_run");
    assert!(once(&cortex, day(4)).0.is_empty());
}

// Section 11, point 14
#[test]
fn identity_and_pinned_memories_are_only_suggested() {
    let cortex = open(&Disk::new());
    save(&cortex, day(0), of(MemoryType::Identity, 1, "The user is an engineer from Oslo"));
    save(&cortex, day(0), of(MemoryType::Identity, 2, "The user is an engineer from Oslo"));
    let mut pinned = of(MemoryType::Fact, 3, "The build needs clang twelve");
    pinned.pinned = true;
    save(&cortex, day(0), pinned);
    save(&cortex, day(0), of(MemoryType::Fact, 4, "The build needs clang twelve"));
    let (plan, outcome) = once(&cortex, day(1));
    assert!(plan.is_empty() && outcome.done.is_empty(), "{}", plan.report(&|_| None));
    assert_eq!(plan.suggestions.len(), 2, "{}", plan.report(&|_| None));
}

// mind 84-88, 132
#[test]
fn what_several_channels_say_is_reduced_to_the_most_important() {
    let cortex = open(&Disk::new());
    let saved = |n: u64, channel: &str, importance: u32, title: &str| {
        let mut draft = of(MemoryType::Fact, n, title);
        draft.channel = Some(channel.into());
        draft.importance = Some(importance);
        save(&cortex, day(0), draft)
    };
    let text = "The release of version two is planned for spring";
    let a = saved(1, "general", 500_000, text);
    let b = saved(2, "random", 700_000, &format!("{text}."));
    let c = saved(3, "help", 600_000, text);
    let same = saved(4, "random", 600_000, "The canteen is closed on Tuesdays");
    let (plan, _) = once(&cortex, day(1));
    assert_eq!(plan.counts(), [("consolidate", 1)], "{}", plan.report(&|_| None));
    assert!(forgotten(&cortex, a) && !forgotten(&cortex, b) && forgotten(&cortex, c));
    assert!(!forgotten(&cortex, same));
    let reading = cortex.read().unwrap();
    for duplicate in [a, c] {
        assert!(reading.view().edge(id(duplicate), Relation::Updates, id(b)).unwrap().is_some());
    }
}

// mind 88; section 11, point 15
#[test]
fn one_channel_alone_or_another_visibility_is_no_reason() {
    let cortex = open(&Disk::new());
    for (n, visibility) in [(1, Visibility::Private), (2, Visibility::Scoped)] {
        let mut draft = of(MemoryType::Fact, n, "The door code is written on the board");
        draft.channel = Some(format!("channel-{n}"));
        draft.visibility = visibility;
        save(&cortex, day(0), draft);
    }
    assert!(once(&cortex, day(1)).0.is_empty());
}

#[test]
fn finished_goals_and_what_is_past_its_date_are_archived() {
    let cortex = open(&Disk::new());
    let goal = |n: u64, status| {
        let fields = Fields::Goal(Goal { status, ..Goal::default() });
        save(&cortex, day(0), draft(n, &format!("Goal number {n} of the plan"), "", fields))
    };
    let (done, active) = (goal(1, GoalStatus::Done), goal(2, GoalStatus::Active));
    let mut offer = of(MemoryType::Fact, 3, "The voucher is good for a coffee");
    offer.expires = Some(day(5));
    let offer = save(&cortex, day(0), offer);
    let before = digest(&cortex);
    assert!(once(&cortex, day(30)).0.is_empty());
    let (plan, _) = once(&cortex, day(36));
    assert_eq!(plan.counts(), [("archive", 2)], "{}", plan.report(&|_| None));
    let reading = cortex.read().unwrap();
    let archived = |n| reading.view().required_head(id(n)).unwrap().archived;
    assert!(archived(done) && archived(offer) && !archived(active));
    submit_plan(&cortex, &undo(&reading.view(), "run-1").unwrap(), "undo-1", day(37));
    assert_eq!(digest(&cortex), before);
}

#[test]
fn a_dry_run_changes_nothing_and_a_race_is_reported() {
    let cortex = open(&Disk::new());
    let mut faint = of(MemoryType::Fact, 1, "Hardly worth a word");
    faint.importance = Some(1);
    let faint = save(&cortex, day(0), faint);
    let root = cortex.root().unwrap();
    let state = MaintenanceState::default();
    let settings = seed();
    let (dry, _) = plan(&cortex.read().unwrap(), &state, &settings, day(1)).unwrap();
    assert_eq!((dry.proposals.len(), cortex.root().unwrap()), (1, root));
    // Somebody rewrites it before the plan is carried out.
    let revision = testkit::build::revision(faint, Some(1), "Worth a lot after all");
    cortex.update(Stamp::new(day(1), "user"), revision).unwrap();
    let outcome = submit_plan(&cortex, &dry, "run-1", day(1));
    assert_eq!(outcome.refused[0].1.code(), "version_conflict");
    assert!(!forgotten(&cortex, faint));
}

// mind 119-123
#[test]
fn presets_forget_faster_or_later() {
    let days = |settings: MindSettings| {
        let cortex = open(&Disk::new());
        let n = save(&cortex, day(0), of(MemoryType::Fact, 1, "Nobody asks about this"));
        let mut state = MaintenanceState::default();
        (1..400)
            .find(|d| {
                maintain(&cortex, &mut state, &settings.cortex, &format!("run-{d}"), day(*d));
                forgotten(&cortex, n)
            })
            .unwrap()
    };
    let at_once = |preset: Preset| {
        let mut settings = preset.apply(Preset::Seed.apply(MindSettings::default()));
        settings.cortex.announce_days = 0;
        settings
    };
    assert_eq!(days(at_once(Preset::Aggressive)), 41);
    assert_eq!(days(at_once(Preset::Seed)), 65);
    assert_eq!(days(at_once(Preset::Conservative)), 153);
}

#[test]
fn the_cap_on_changes_is_kept_and_the_rest_follows() {
    let cortex = open(&Disk::new());
    for n in 1..=20 {
        let mut faint = of(MemoryType::Event, n, &format!("Something small happened, case {n}"));
        faint.importance = Some(1);
        save(&cortex, day(0), faint);
    }
    let settings = CortexSettings { maintenance_changes_max: 8, ..seed() };
    let mut state = MaintenanceState::default();
    let mut counts = Vec::new();
    for run in 0..4 {
        let (plan, outcome) =
            maintain(&cortex, &mut state, &settings, &format!("run-{run}"), day(1));
        counts.push((outcome.done.len(), plan.left));
    }
    assert_eq!(counts, [(8, 12), (8, 4), (4, 0), (0, 0)]);
}

#[test]
fn joining_is_not_held_up_by_what_waits_to_be_forgotten() {
    let cortex = open(&Disk::new());
    for n in 1..=20 {
        let mut faint = of(MemoryType::Event, n, &format!("Something small happened, case {n}"));
        faint.importance = Some(1);
        save(&cortex, day(0), faint);
    }
    for n in 31..=32 {
        save(&cortex, day(0), of(MemoryType::Decision, n, "The store is one file per actor"));
    }
    let settings = CortexSettings { maintenance_changes_max: 5, ..seed() };
    let mut state = MaintenanceState::default();
    let (first, _) = maintain(&cortex, &mut state, &settings, "run-1", day(1));
    assert_eq!(first.counts(), [("merge", 1), ("forget", 4)]);
    let (second, _) = maintain(&cortex, &mut state, &settings, "run-2", day(1));
    assert_eq!(second.counts(), [("forget", 5)]);
}

#[test]
fn suggestions_are_bounded_and_counted() {
    let cortex = open(&Disk::new());
    let count = mind::maintenance::SUGGESTIONS_MAX as u64 + 30;
    for n in 1..=count {
        let hard = Fields::Constraint(Constraint { strength: Strength::Hard, trigger: None });
        let mut rule = draft(n, &format!("Rule {n} of the house"), "", hard);
        rule.importance = Some(1);
        save(&cortex, day(0), rule);
    }
    let settings = CortexSettings { maintenance_compared_max: 0, ..seed() };
    let mut state = MaintenanceState::default();
    let (plan, _) = maintain(&cortex, &mut state, &settings, "run-1", day(1));
    assert_eq!((plan.suggestions.len(), plan.unsaid), (200, 30));
    assert!(plan.report(&|_| None).contains("30 more suggestions"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    // Issue 6: simulated years; mind 74, 131; section 11, points 2 and 3
    #[test]
    fn over_simulated_years_importance_follows_the_formula_and_everything_can_be_undone(
        memories in prop::collection::vec((1u8..=9, 0u32..=1_000_000, 0i64..200, any::<bool>()), 5..25),
        uses in prop::collection::vec((0usize..25, 0i64..700), 0..30),
        gaps in prop::collection::vec(1i64..90, 8..20),
    ) {
        let cortex = open(&Disk::new());
        let settings = seed();
        let (policy, fading) =
            (DecayPolicy::default(), Fading::by_calendar(DecayPolicy::default()));
        let words = ["amber", "birch", "cedar", "delta", "ember", "flint", "grove", "heath", "iris"];
        let mut last: BTreeMap<u64, (u32, i64, bool)> = BTreeMap::new();
        for (n, (code, importance, at, pinned)) in (1u64..).zip(&memories) {
            let memory_type = MemoryType::from_code(*code).unwrap();
            let word = |k: u64| words[usize::try_from((n * k) % 9).unwrap()];
            let mut draft = of(memory_type, n, &format!("{} {} {} number {n}", word(1), word(2), word(5)));
            (draft.importance, draft.pinned) = (Some(*importance), *pinned);
            // The journal's clock never runs back, so a memory is as old as the newest before it.
            let at = last.values().map(|(_, at, _)| *at).max().unwrap_or(START).max(day(*at).get());
            let saved = save(&cortex, Millis(at), draft);
            last.insert(saved, (*importance, at, *pinned || memory_type == MemoryType::Identity));
        }
        let before = digest(&cortex);
        let ids: Vec<u64> = last.keys().copied().collect();
        let mut state = MaintenanceState::default();
        let (mut now, mut runs) = (day(200), Vec::new());
        let mut uses: Vec<(usize, i64)> = uses;
        uses.sort_by_key(|(_, at)| *at);
        for (turn, gap) in gaps.iter().enumerate() {
            let until = Millis(now.get() + gap * DAY);
            for (which, at) in &uses {
                let at = day(200 + at);
                if at > now && at <= until {
                    let one = ids[which % ids.len()];
                    let access = Access { id: id(one), count: 1, at };
                    let touch = Touches { accesses: vec![access], ..Touches::default() };
                    submit(&cortex, Stamp::new(at, "user"), Command::Touch(touch)).unwrap();
                    last.get_mut(&one).unwrap().1 = at.get();
                }
            }
            now = until;
            let run = format!("run-{turn}");
            let (_, outcome) = maintain(&cortex, &mut state, &settings, &run, now);
            prop_assert!(outcome.refused.is_empty());
            if !outcome.done.is_empty() {
                runs.push(run);
            }
            // Twice changes nothing: not a byte is journaled.
            let root = cortex.root().unwrap();
            let (again, _) = maintain(&cortex, &mut state, &settings, "again", now);
            prop_assert!(again.is_empty(), "{}", again.report(&|_| None));
            prop_assert_eq!(cortex.root().unwrap(), root);
            let reading = cortex.read().unwrap();
            for (one, (base, used, exempt)) in &last {
                let resolved = reading.resolve_version(id(*one), None).unwrap();
                prop_assert!(resolved.body.is_some(), "no memory is lost");
                let (head, version, usage) = (&resolved.head, &resolved.version, &resolved.usage);
                let found = fading.importance(head, version, usage, now);
                let oracle = decayed_importance(*base, *exempt, *used, now.get(), &policy);
                prop_assert_eq!(found, oracle);
                let merged = head.tombstone.as_ref().is_some_and(|gone| gone.reason.contains("say the same"));
                let faint = oracle < 100_000 && head.memory_type != MemoryType::Identity && !head.pinned;
                prop_assert!(merged || head.archived || faint == head.tombstone.is_some() || head.tombstone.is_some());
            }
        }
        for (n, run) in runs.iter().rev().enumerate() {
            let back = undo(&cortex.read().unwrap().view(), run).unwrap();
            let outcome = submit_plan(&cortex, &back, &format!("undo-{n}"), now);
            prop_assert!(outcome.refused.is_empty(), "{:?}", outcome.refused);
        }
        prop_assert_eq!(digest(&cortex), before);
        testkit::build::size(&cortex);
    }
}

// Issue 6: a simulated year of hourly ticks in seconds
#[test]
fn a_year_of_hourly_maintenance_forgets_what_a_yearly_one_forgets() {
    let shown = |hours: i64| {
        let cortex = open(&Disk::new());
        for n in 1..=12 {
            let memory_type = MemoryType::from_code(u8::try_from(n % 9 + 1).unwrap()).unwrap();
            save(
                &cortex,
                day(0),
                of(memory_type, n, &format!("memory number {n} about topic {n}")),
            );
        }
        let mut state = MaintenanceState::default();
        let settings = seed();
        let mut now = 0;
        while now < 365 * 24 {
            now += hours;
            let at = Millis(START + now * 3_600_000);
            maintain(&cortex, &mut state, &settings, &format!("run-{now}"), at);
        }
        digest(&cortex)
    };
    assert_eq!(shown(1), shown(365 * 24));
}

#[test]
fn what_somebody_restored_is_left_alone() {
    let cortex = open(&Disk::new());
    let mut faint = of(MemoryType::Fact, 1, "Hardly worth a word");
    faint.importance = Some(1);
    let faint = save(&cortex, day(0), faint);
    once(&cortex, day(1));
    let removal = Removal { id: id(faint), expected: None, reason: "I want it".into() };
    cortex.restore(Stamp::new(day(2), "user"), removal).unwrap();
    let (plan, _) = once(&cortex, day(3));
    assert!(plan.proposals.iter().all(|p| !matches!(p.action, MemoryAction::Forget(_))));
}

/// Forgets nothing said: how many live memories there are, and whether every text is still in one of them.
fn live_texts(cortex: &Cortex) -> Vec<String> {
    let reading = cortex.read().unwrap();
    let query = kernel::find::Query::of_types(&MemoryType::ALL, 100);
    let found = reading.find(None, &query, day(9)).unwrap();
    let text = |item: &kernel::find::FoundItem| {
        reading.view().body(&item.version).unwrap().unwrap().content
    };
    found.items.iter().map(text).collect()
}

// Section 11, point 4
#[test]
fn a_merge_cut_short_at_any_step_is_finished_by_the_next_run() {
    let filled = || {
        let cortex = open(&Disk::new());
        let note = "It came up in the review of the parser, and again in the one of the importer.";
        for n in 1..=2 {
            let fields = Fields::empty(MemoryType::Preference);
            save(&cortex, day(0), draft(n, "Prefers tabs over spaces", note, fields));
        }
        cortex
    };
    for steps in 0..8 {
        let cortex = filled();
        let state = MaintenanceState::default();
        let settings = seed();
        let (cut, _) = plan(&cortex.read().unwrap(), &state, &settings, day(1)).unwrap();
        let mut left = steps;
        let mut door = |stamp, command| {
            if left == 0 {
                return Err(kernel::Error::Closed);
            }
            left -= 1;
            submit(&cortex, stamp, command)
        };
        let mut n = 2_000_000;
        let mut salts = || {
            n += 1;
            salt(n)
        };
        let ended = carry_out(&cut, "run-cut", day(1), &mut salts, &mut door);
        assert_eq!(ended.is_err(), steps < 7, "after {steps} steps");
        assert!(!live_texts(&cortex).is_empty(), "after {steps} steps");
        let mut state = state;
        for round in 0..6 {
            maintain(&cortex, &mut state, &settings, &format!("run-{round}"), day(2 + round));
        }
        assert_eq!(live_texts(&cortex).len(), 1, "after {steps} steps");
    }
}
