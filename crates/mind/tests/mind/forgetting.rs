//! What is put away by itself and what never is: years of default settings over a real memory.

use std::collections::BTreeSet;

use kernel::Cortex;
use kernel::command::{Command, Draft, EdgeDraft, HeadRevision, Stamp, Touches};
use kernel::journal::{Access, HeadPatch};
use kernel::memory::{MemoryId, MemoryType, Millis, Provenance, Relation, Source};
use mind::active_days::ActiveDays;
use mind::fading::KEPT_TAG;
use mind::maintenance::{MaintenanceState, content_digest, due, plan};
use mind::proposal::carry_out;
use mind::settings::{CortexSettings, MindSettings, Preset, PruneScope};
use proptest::prelude::*;
use testkit::Disk;
use testkit::build::salt;

use crate::store::{DAY, HOUR, START, day, of, open, save, submit};

fn id(n: u64) -> MemoryId {
    MemoryId::new(n).unwrap()
}

fn touch(cortex: &Cortex, one: u64, at: Millis) {
    let access = Access { id: id(one), count: 1, at };
    let touches = Touches { accesses: vec![access], ..Touches::default() };
    submit(cortex, Stamp::new(at, "user"), Command::Touch(touches)).unwrap();
}

fn captured(n: u64, title: &str) -> Draft {
    Draft { kind: Some("passive".into()), ..of(MemoryType::Fact, n, title) }
}

fn imported(n: u64, kind: &str, title: &str, at: Millis) -> Draft {
    let provenance = Provenance {
        source: Source::Imported,
        derived_from: Vec::new(),
        model: None,
        origin: Some(format!("import:{n}")),
    };
    let (kind, valid_from) = (Some(kind.to_owned()), Some(at));
    Draft { kind, provenance, valid_from, ..of(MemoryType::of_kind(&draft_kind(n)), n, title) }
}

const KINDS: [&str; 8] =
    ["decision", "architecture", "bugfix", "discovery", "learning", "config", "manual", "passive"];

fn draft_kind(n: u64) -> String {
    KINDS[usize::try_from(n % 8).unwrap()].to_owned()
}

/// One run of maintenance as the daemon does it.
fn maintain(cortex: &Cortex, state: &mut MaintenanceState, settings: &CortexSettings, now: Millis) {
    let (plan, next) = plan(&cortex.read().unwrap(), state, settings, now).unwrap();
    let mut n = 5_000_000 + u64::try_from(now.get() - START).unwrap();
    let mut salts = || {
        n += 1;
        salt(n)
    };
    let run = format!("run-{}", now.get());
    let mut door = |stamp, command| submit(cortex, stamp, command);
    let outcome = carry_out(&plan, &run, now, &mut salts, &mut door).unwrap();
    assert!(outcome.refused.is_empty(), "{:?}", outcome.refused);
    *state = next;
}

fn hidden(cortex: &Cortex, ids: &[u64]) -> Vec<u64> {
    let reading = cortex.read().unwrap();
    let is_hidden = |one: &&u64| {
        let head = reading.view().required_head(id(**one)).unwrap();
        head.archived || head.tombstone.is_some()
    };
    ids.iter().filter(is_hidden).copied().collect()
}

// T1: 272 of these 300 used to be hidden one hour after the first start.
#[test]
fn a_year_of_default_settings_hides_nothing_that_was_imported_or_saved() {
    let cortex = open(&Disk::new());
    let topics = ["orders", "login", "search", "billing", "deploys", "mails"];
    let mut ids = Vec::new();
    for n in 0..300 {
        let happened = Millis(START - i64::try_from(690 - n * 690 / 300).unwrap() * DAY);
        let title =
            format!("Row {n}: {} of {}", draft_kind(n), topics[usize::try_from(n % 6).unwrap()]);
        ids.push(save(&cortex, day(0), imported(n, &draft_kind(n), &title, happened)));
    }
    for (n, memory_type) in (400..).zip(MemoryType::ALL) {
        ids.push(save(&cortex, day(0), of(memory_type, n, &format!("Saved on purpose, {n}"))));
    }
    let anchor = save(&cortex, day(0), of(MemoryType::Fact, 500, "Touched every day"));
    let (mut state, settings) = (MaintenanceState::default(), CortexSettings::default());
    for n in 1..=365 {
        touch(&cortex, anchor, day(n));
        maintain(&cortex, &mut state, &settings, Millis(day(n).get() + HOUR));
    }
    assert_eq!(hidden(&cortex, &ids), [0; 0]);
    assert_eq!(due(&cortex.read().unwrap(), &state, &settings, day(366)).unwrap().0.len(), 0);
}

// T1: an import may say the same thing twice; a first start leaves it as it came and says what could be one.
#[test]
fn rows_of_an_import_that_say_the_same_stay_as_they_came() {
    let cortex = open(&Disk::new());
    let mut ids = Vec::new();
    for n in 0..40 {
        let title =
            format!("Keep the {} simple", ["orders", "login"][usize::try_from(n % 2).unwrap()]);
        ids.push(save(&cortex, day(0), imported(n * 8, "decision", &title, day(-400))));
    }
    let (mut state, mut settings) = (MaintenanceState::default(), CortexSettings::default());
    let (proposed, _) = plan(&cortex.read().unwrap(), &state, &settings, day(1)).unwrap();
    assert!(proposed.suggestions.iter().any(|one| one.reason.contains("imported")), "{proposed:?}");
    maintain(&cortex, &mut state, &settings, day(1));
    assert_eq!(hidden(&cortex, &ids), [0; 0]);
    settings.prune_scope = PruneScope::All;
    maintain(&cortex, &mut MaintenanceState::default(), &settings, day(2));
    assert!(!hidden(&cortex, &ids).is_empty(), "the seed's rule joins them");
}

// T3, T5
#[test]
fn what_was_captured_follows_the_seed_after_it_was_announced() {
    let cortex = open(&Disk::new());
    let anchor = save(&cortex, day(0), of(MemoryType::Fact, 1, "Touched every day"));
    let gone = save(&cortex, day(0), captured(2, "The linter prints two warnings"));
    let opened = save(&cortex, day(0), captured(3, "The cache lies under var"));
    let linked = save(&cortex, day(0), captured(4, "The printer is on floor two"));
    let kept = save(&cortex, day(0), captured(5, "The invoice job runs at noon"));
    let pinned =
        save(&cortex, day(0), Draft { pinned: true, ..captured(6, "The office is in Oslo") });
    let topic =
        Draft { topic_key: Some("build/flags".into()), ..captured(7, "Flags of the build") };
    let topic = save(&cortex, day(0), topic);
    let decision =
        Draft { kind: Some("decision".into()), ..of(MemoryType::Decision, 8, "One file") };
    let decision = save(&cortex, day(0), decision);
    let stays = [opened, linked, kept, pinned, topic, decision, anchor];
    touch(&cortex, opened, day(1));
    let edge = EdgeDraft {
        src: id(anchor),
        relation: Relation::References,
        dst: id(linked),
        weight: 500_000,
    };
    submit(&cortex, Stamp::new(day(1), "user"), Command::AddEdge(edge)).unwrap();
    let (mut state, settings) = (MaintenanceState::default(), CortexSettings::default());
    let mut announced = BTreeSet::new();
    let mut ended = None;
    for n in 1..=200 {
        let now = day(n);
        touch(&cortex, anchor, now);
        if n == 60 {
            let named = due(&cortex.read().unwrap(), &state, &settings, now).unwrap().0;
            assert!(named.iter().any(|one| one.id == kept), "{named:?}");
            let patch = HeadPatch { tags: Some(vec![KEPT_TAG.into()]), ..HeadPatch::default() };
            let (id, expected, reason) = (id(kept), None, None);
            let keep = HeadRevision { id, expected, patch, reason };
            submit(&cortex, Stamp::new(now, "user"), Command::UpdateHead(keep)).unwrap();
        }
        let named = due(&cortex.read().unwrap(), &state, &settings, now).unwrap().0;
        if named.iter().any(|one| one.id == gone) && ended.is_none() {
            announced.insert(n);
        }
        maintain(&cortex, &mut state, &settings, now);
        if ended.is_none() && !hidden(&cortex, &[gone]).is_empty() {
            ended = Some(n);
        }
    }
    // 0.6 * 0.95^35 is the first below 0.1; it was named on each of the seven days before, and on the day itself.
    assert_eq!(ended, Some(65));
    assert_eq!(announced, (58..=65).collect());
    assert_eq!(hidden(&cortex, &stays), [0; 0]);
}

// T5: the seed's rule to the letter
#[test]
fn with_the_scope_all_everything_but_identity_fades() {
    let cortex = open(&Disk::new());
    let identity = save(&cortex, day(0), of(MemoryType::Identity, 1, "The user is Ada"));
    let decision = save(&cortex, day(0), of(MemoryType::Decision, 2, "One file for each actor"));
    let row = save(&cortex, day(0), imported(3, "bugfix", "A bug of long ago", day(-400)));
    let settings = CortexSettings { prune_scope: PruneScope::All, ..CortexSettings::default() };
    let mut state = MaintenanceState::default();
    for n in 1..=200 {
        maintain(&cortex, &mut state, &settings, day(n));
    }
    assert_eq!(hidden(&cortex, &[identity, decision, row]), [decision, row]);
}

// T2: a holiday ages nothing
#[test]
fn days_without_activity_do_not_count() {
    let cortex = open(&Disk::new());
    let one = save(&cortex, day(0), captured(1, "The linter prints two warnings"));
    let (mut state, settings) = (MaintenanceState::default(), CortexSettings::default());
    for n in 1..=400 {
        maintain(&cortex, &mut state, &settings, day(n));
    }
    assert_eq!(hidden(&cortex, &[one]), [0; 0]);
    let anchor = save(&cortex, day(401), of(MemoryType::Fact, 2, "Back from the journey"));
    for n in 402..=500 {
        touch(&cortex, anchor, day(n));
        maintain(&cortex, &mut state, &settings, day(n));
    }
    assert_eq!(hidden(&cortex, &[one]), [one]);
}

// Law 7: a first start, or a changed setting, hides nothing that nobody could read about.
#[test]
fn a_new_rule_waits_until_it_was_announced() {
    let cortex = open(&Disk::new());
    let one = save(&cortex, day(0), captured(1, "The linter prints two warnings"));
    let anchor = save(&cortex, day(0), of(MemoryType::Fact, 2, "Touched every day"));
    for n in 1..=100 {
        touch(&cortex, anchor, day(n));
    }
    let (mut state, mut settings) = (MaintenanceState::default(), CortexSettings::default());
    maintain(&cortex, &mut state, &settings, day(100));
    assert_eq!(hidden(&cortex, &[one]), [0; 0]);
    let named = due(&cortex.read().unwrap(), &state, &settings, day(100)).unwrap().0;
    assert_eq!((named[0].id, named[0].days_left), (one, 7));
    for n in 101..=105 {
        touch(&cortex, anchor, day(n));
        maintain(&cortex, &mut state, &settings, day(n));
    }
    settings.decay_factor = 0.9;
    maintain(&cortex, &mut state, &settings, day(106));
    for n in 107..=112 {
        touch(&cortex, anchor, day(n));
        maintain(&cortex, &mut state, &settings, day(n));
        assert_eq!(hidden(&cortex, &[one]), [0; 0], "day {n}");
    }
    touch(&cortex, anchor, day(113));
    maintain(&cortex, &mut state, &settings, day(113));
    assert_eq!(hidden(&cortex, &[one]), [one]);
}

// T2: a talent that saves every night while nobody is there ages nothing
#[test]
fn what_talents_do_by_themselves_makes_no_day() {
    let cortex = open(&Disk::new());
    save(&cortex, day(0), captured(1, "The build took nine minutes"));
    let days = || {
        let reading = cortex.read().unwrap();
        ActiveDays::of(&reading.view()).unwrap().until(day(9))
    };
    let of_talent =
        |at| Stamp { idempotency_key: Some("talent-0f2a".into()), ..Stamp::new(at, "night_watch") };
    let draft = of(MemoryType::Fact, 2, "The night was quiet");
    cortex.write(of_talent(day(3)), draft).unwrap();
    assert_eq!(days(), 1, "only the day on which somebody saved");
    save(&cortex, day(4), of(MemoryType::Fact, 3, "Ada is back"));
    assert_eq!(days(), 2);
}

#[test]
fn every_preset_has_a_name() {
    for preset in Preset::ALL {
        assert_eq!(Preset::parse(preset.name()), Some(preset));
        preset.apply(MindSettings::default()).validate().unwrap();
    }
    assert!(Preset::Default.changes().is_empty());
    let scope = |preset: Preset| preset.apply(MindSettings::default()).cortex.prune_scope;
    assert_eq!(
        (scope(Preset::Seed), scope(Preset::Aggressive)),
        (PruneScope::All, PruneScope::All)
    );
    assert_eq!(scope(Preset::Quiet), PruneScope::Captured);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

    // T2: hourly, daily and weekly maintenance put away the same
    #[test]
    fn what_is_put_away_does_not_depend_on_how_often_maintenance_runs(
        importances in prop::collection::vec(100_000u32..1_000_000, 3..6),
        active in prop::collection::vec(any::<bool>(), 140),
    ) {
        let left = |hours: i64| {
            let cortex = open(&Disk::new());
            let anchor = save(&cortex, day(0), of(MemoryType::Fact, 1, "Touched on some days"));
            let words = ["amber", "birch", "cedar", "delta", "ember", "flint"];
            for (n, importance) in (2u64..).zip(&importances) {
                let word = words[usize::try_from(n).unwrap() % 6];
                let mut draft = captured(n, &format!("{word} was seen {n} times"));
                draft.importance = Some(*importance);
                save(&cortex, day(0), draft);
            }
            let settings = CortexSettings {
                maintenance_interval_hours: u64::try_from(hours).unwrap(),
                ..CortexSettings::default()
            };
            let mut state = MaintenanceState::default();
            maintain(&cortex, &mut state, &settings, day(0));
            for (n, active) in (0i64..).zip(&active) {
                if *active {
                    touch(&cortex, anchor, day(n));
                }
                // Hourly runs are tried every six hours of a day: the others are like them.
                for hour in (1..=24).filter(|hour| hours < 24 || hour == &24) {
                    let since = n * 24 + hour;
                    if since % hours == 0 && (hours > 1 || hour % 6 == 0) {
                        maintain(&cortex, &mut state, &settings, Millis(START + since * HOUR - 1));
                    }
                }
            }
            let reading = cortex.read().unwrap();
            let days = ActiveDays::of(&reading.view()).unwrap();
            // Read at once or bit by bit, the days are the same.
            assert_eq!(days.until(day(140)), state.days.until(day(140)));
            content_digest(&reading.view()).unwrap()
        };
        let hourly = left(1);
        prop_assert_eq!(hourly, left(24));
        prop_assert_eq!(hourly, left(168));
    }
}
