//! The laws, over random histories of every kind of change.
//!
//! Method: a history is plain data (`testkit::history`). It is run on two fresh stores, in groups of other sizes, after
//! reopening, after a rebuild, and with the power cut at every sync; each time every row is compared, not only the
//! root.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use kernel::store::{EngineOptions, RedbStorage, Storage};
use kernel::{Cortex, Options};
use proptest::prelude::*;
use testkit::build::{ada, open};
use testkit::history::{HistoryStep, StateDump, dump, request, run, steps};
use testkit::{Disk, PowerCut};

fn try_open(disk: &Disk) -> kernel::Result<Cortex> {
    Cortex::open_on(disk.medium(), &ada(), Options::default())
}

fn scratch() -> impl Storage {
    let medium = Disk::new().medium();
    RedbStorage::open(medium, EngineOptions::default(), || kernel::birth(&ada())).unwrap()
}

fn assert_clean(cortex: &Cortex) {
    let report = cortex.verify_with(&scratch(), &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{:#?}", report.problems);
    assert_eq!(report.root, Some(cortex.root().unwrap()));
}

/// Runs all steps one by one; refusals are fine, they must only be the same everywhere.
fn play(cortex: &Cortex, steps: &[HistoryStep]) -> Vec<Result<u64, &'static str>> {
    let outcome = |(n, step)| run(cortex, n, step).map(|r| r.seq).map_err(|e| e.code());
    steps.iter().enumerate().map(outcome).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    // kernel 7, kernel 8, kernel 60, kernel 62, kernel 6
    #[test]
    fn the_same_history_gives_the_same_bytes_everywhere(history in steps(60)) {
        let (disk_a, disk_b) = (Disk::new(), Disk::new());
        let a = open(&disk_a);
        let b = open(&disk_b);
        prop_assert_eq!(play(&a, &history), play(&b, &history));
        let expected = dump(&a);
        let root = a.root().unwrap();
        prop_assert_eq!(&dump(&b), &expected);
        prop_assert_eq!(b.root().unwrap(), root);

        drop(b);
        let b = open(&disk_b);
        prop_assert_eq!(&dump(&b), &expected, "after reopening");
        for round in ["first", "second"] {
            b.rebuild(Box::new(|_, _| {})).unwrap();
            prop_assert_eq!(&dump(&b), &expected, "after the {} rebuild", round);
            prop_assert_eq!(b.root().unwrap(), root);
        }
        assert_clean(&b);

        // A store that goes on after a rebuild stays equal to one that never was rebuilt.
        let more: Vec<HistoryStep> = history.iter().rev().cloned().collect();
        prop_assert_eq!(play(&a, &more), play(&b, &more));
        prop_assert_eq!(dump(&a), dump(&b), "after going on");
        assert_clean(&a);
    }

    // kernel 65, kernel 67: how commands are grouped into commits leaves no trace.
    #[test]
    fn grouping_leaves_no_trace(history in steps(40), group in 2usize..9) {
        let single = open(&Disk::new());
        let grouped = open(&Disk::new());
        for (first, chunk) in history.chunks(group).enumerate().map(|(i, c)| (i * group, c)) {
            // Requests name ids that exist when they are made, so both stores get those made before the group.
            let requests: Vec<_> = chunk
                .iter()
                .enumerate()
                .map(|(i, step)| request(&single, first + i, step).unwrap())
                .collect();
            let one_by_one: Vec<_> =
                requests.iter().cloned().map(|r| single.submit(r).map(|r| r.seq)).collect();
            let together: Vec<_> = grouped
                .submit_bulk(requests)
                .unwrap()
                .into_iter()
                .map(|outcome| outcome.map(|r| r.seq))
                .collect();
            prop_assert_eq!(one_by_one, together);
        }
        prop_assert_eq!(dump(&single), dump(&grouped));
    }
}

/// What is run while the power is cut: steps, and the two operations that rewrite more than they add.
#[derive(Clone, Debug)]
enum Act {
    Step(HistoryStep),
    Rebuild,
    Erase(u64),
}

/// Runs acts until the disk dies. Returns how many were acknowledged.
fn perform(disk: &Disk, acts: &[Act], mut after: impl FnMut(usize, &Cortex)) -> usize {
    let Ok(cortex) = try_open(disk) else { return 0 };
    for (n, act) in acts.iter().enumerate() {
        let outcome = match act {
            Act::Step(step) => request(&cortex, n, step).and_then(|r| cortex.submit(r)).map(drop),
            Act::Rebuild => cortex.rebuild(Box::new(|_, _| {})).map(drop),
            Act::Erase(id) => {
                let removal = kernel::command::Removal {
                    id: testkit::build::id(*id),
                    expected: None,
                    reason: "test".into(),
                };
                let stamp = testkit::build::stamp(i64::try_from(n).unwrap());
                cortex.erase(stamp, removal).map(drop)
            }
        };
        if disk.is_dead() {
            return n;
        }
        // On a living disk a refusal is an answer like any other.
        drop(outcome);
        after(n, &cortex);
    }
    acts.len()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    // kernel 67, kernel 62: after a power cut at any sync, the store is exactly some state at or after the last
    // acknowledged one; nothing is torn, and verify is clean.
    #[test]
    fn power_may_fail_at_every_sync(history in steps(18), seed: u64) {
        let mut acts: Vec<Act> = history.into_iter().map(Act::Step).collect();
        acts.insert(acts.len() / 2, Act::Rebuild);
        acts.push(Act::Erase(1));

        let disk = Disk::new();
        let mut states: Vec<StateDump> = vec![StateDump::default()];
        perform(&disk, &acts, |_, cortex| states.push(dump(cortex)));
        let syncs = disk.syncs();

        for at_sync in 1..=syncs {
            let disk = Disk::new();
            disk.die_at_sync(at_sync);
            let acknowledged = perform(&disk, &acts, |_, _| {});
            for cut in [PowerCut::LoseUnsynced, PowerCut::KeepUnsynced, PowerCut::Some(seed ^ at_sync)] {
                let revived = disk.after_power_cut(cut);
                let cortex = try_open(&revived).unwrap();
                let found = dump(&cortex);
                let possible = &states[acknowledged..states.len().min(acknowledged + 2)];
                prop_assert!(
                    possible.contains(&found),
                    "sync {} of {}, {:?}: after {} acknowledged acts the store is in no expected state",
                    at_sync, syncs, cut, acknowledged
                );
                assert_clean(&cortex);
            }
        }
    }
}
