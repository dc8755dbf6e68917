//! Goal: a wrong clock costs its own dates and nothing else: what comes after it follows the clock again, grants live
//! as long as they were given for, and every moment is the end of a prefix of the journal.
//! Method: entries under clocks ten years ahead, back in 1970, and an hour off, and what is seen afterwards.

#![allow(clippy::unwrap_used)]

mod support;

use kernel::Cortex;
use kernel::command::Stamp;
use kernel::ledger::RestorePoint;
use kernel::memory::Millis;
use kernel::store::StoreFile;
use testkit::Disk;
use testkit::build::{assert_clean, at, dump, fact, open, revision, size, stamp};

const YEAR: i64 = 365 * 24 * support::HOUR;

fn times(cortex: &Cortex) -> Vec<Millis> {
    let reading = cortex.read().unwrap();
    let view = reading.view();
    (1..=size(cortex)).map(|seq| view.entry(seq).unwrap().unwrap().at).collect()
}

// L15
#[test]
fn later_entries_follow_the_clock_again() {
    for wrong in [10 * YEAR, -at(0).get() / 1_000, 3_600 - 60, -3_600] {
        let disk = Disk::new();
        let cortex = open(&disk);
        cortex.write(stamp(10), fact(1, "before", "")).unwrap();
        cortex.write(stamp(60 + wrong), fact(2, "under a wrong clock", "")).unwrap();
        cortex.write(stamp(120), fact(3, "after", "")).unwrap();
        cortex.update(stamp(130), revision(2, None, "seen again")).unwrap();
        let expected = [10, 60 + wrong, 120, 130].map(at);
        assert_eq!(times(&cortex), expected, "off by {wrong} s");
        let jumps = cortex.read().unwrap().view().clock_jumps().unwrap();
        assert_eq!(jumps.len(), 1, "told once: {jumps:?}");
        let set_back = if wrong > 0 { 3 } else { 2 };
        assert_eq!(jumps[0].0, set_back);
        // Everything is there now, whatever the clock said.
        for n in 1..=3 {
            let found =
                cortex.read().unwrap().resolve_version(testkit::build::id(n), None).unwrap();
            assert!(found.body.is_some());
        }
        assert_clean(&cortex);
        let before = dump(&cortex);
        cortex.rebuild(Box::new(|_, _| {})).unwrap();
        assert!(dump(&cortex) == before);
        drop(cortex);
        disk.take(StoreFile::Derived);
        assert!(dump(&open(&disk)) == before);
    }
}

// L15: whoever waited its turn is no wrong clock, and what is dated by others never goes back.
#[test]
fn a_caller_that_lags_and_what_is_dated_keep_the_order_of_time() {
    let cortex = open(&Disk::new());
    cortex.write(stamp(1_000), fact(1, "now", "")).unwrap();
    cortex.write(stamp(998), fact(2, "two seconds late", "")).unwrap();
    let dated = Stamp { is_dated: true, ..stamp(-YEAR) };
    cortex.write(dated, fact(3, "of last year, from elsewhere", "")).unwrap();
    assert_eq!(times(&cortex), [1_000; 3].map(at));
    assert_eq!(cortex.read().unwrap().view().clock_jumps().unwrap(), []);
}

// L15, L12
#[test]
fn a_moment_is_the_end_of_a_prefix_of_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let (home, backup) = (folder.path().join("home"), folder.path().join("backup"));
    let ada = testkit::build::ada();
    let cortex = Cortex::open(&home, &ada, kernel::Options::default()).unwrap();
    let clock = [10, 20, 30 + 10 * YEAR, 40, 50, 60 - 40 * YEAR, 70, 80];
    for (n, second) in (1..).zip(clock) {
        cortex.write(stamp(second), fact(n, &format!("memory {n}"), "")).unwrap();
    }
    cortex.backup(&backup).unwrap();
    for (second, entries) in [(5, 0), (15, 1), (20, 3), (45, 4), (55, 6), (75, 7), (80, 8)] {
        let target = folder.path().join(format!("at {second}"));
        let moment = Some(RestorePoint::Time(at(second)));
        let restored = Cortex::restore_backup(&backup, moment, &target, kernel::Options::default());
        assert_eq!(restored.unwrap().1.entries, entries, "at second {second}");
    }
}
