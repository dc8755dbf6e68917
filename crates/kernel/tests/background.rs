//! Goal: a rebuild, a verification and an erasure go on beside readers and writers, and leave what each alone would.
//! Method: whoever is told of the progress writes, erases and reads at that very moment, so that nothing depends on
//! who is faster.

#![allow(clippy::unwrap_used)]

mod support;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use kernel::command::Command;
use kernel::store::StoreFile;
use kernel::{Cortex, Error, Options, Submission};
use support::fill;
use support::small_segments::{small, try_open};
use testkit::build::{
    ada, assert_clean, dump, fact, holds, open, removal, revision, size, stamp, tamper, verify,
};
use testkit::{Disk, DiskFault, PowerCut};

const PATIENCE: std::time::Duration = std::time::Duration::from_mins(5);
const CANARY: &str = "the canary sings in the coal mine";

fn write_many(cortex: &Cortex, from: u64, to: u64) {
    let request = |n| {
        let command = Command::Write(Box::new(fact(n, &format!("memory {n}"), "plain")));
        Submission { stamp: stamp(1), command, authority: None }
    };
    for receipt in cortex.submit_bulk((from..=to).map(request).collect()).unwrap() {
        receipt.unwrap();
    }
}

// L11, L17
#[test]
fn a_rebuild_lets_others_write_and_erase_and_has_all_of_it() {
    let disk = Disk::new();
    let cortex = Arc::new(open(&disk));
    fill(&cortex);
    write_many(&cortex, 1_000, 6_000);
    let erased = cortex.write(stamp(2), fact(7, "to be erased", CANARY)).unwrap().seq;
    let rounds = Arc::new(AtomicU64::new(0));
    let (told, weak) = (Arc::clone(&rounds), Arc::downgrade(&cortex));
    let report = cortex
        .rebuild(Box::new(move |done, total| {
            let Some(cortex) = weak.upgrade().filter(|_| done < total) else { return };
            // Nobody waits for the rebuild: this is answered while it goes on.
            let round = told.fetch_add(1, Ordering::Relaxed);
            cortex.write(stamp(3), fact(20_000 + round, "meanwhile", "")).unwrap();
            if round == 1 {
                cortex.update(stamp(3), revision(1_000, None, "another title")).unwrap();
                cortex.erase(stamp(3), removal(erased)).unwrap();
            }
            assert!(cortex.read().unwrap().root().is_ok());
        }))
        .unwrap();
    assert!(rounds.load(Ordering::Relaxed) > 1);
    assert!(report.is_unchanged);
    assert_eq!((report.entries, report.root), (size(&cortex), cortex.root().unwrap()));
    assert_clean(&cortex);
    cortex.write(stamp(4), fact(30_000, "and on", "")).unwrap();
    let expected = dump(&cortex);
    assert!(cortex.wait_for_scrub(PATIENCE));
    assert!(!holds(&disk.bytes(), CANARY), "L8: gone from every file");
    drop(Arc::into_inner(cortex).unwrap());
    let again = open(&disk);
    assert!(dump(&again) == expected);
    assert_clean(&again);
}

// L17
#[test]
fn an_erasure_does_not_look_like_damage_to_a_check() {
    let disk = Disk::new();
    let cortex = open(&disk);
    write_many(&cortex, 1, 5_000);
    let scratch = tempfile::tempdir().unwrap();
    let erased = Mutex::new(vec![100, 4_500]);
    let report = cortex
        .verify(&scratch.path().join("scratch"), &mut |_, _| {
            if let Some(id) = erased.lock().unwrap().pop() {
                cortex.erase(stamp(2), removal(id)).unwrap();
            }
        })
        .unwrap();
    assert_eq!(report.problems, []);
    assert_eq!(cortex.damage(), []);
    assert_eq!(report.root, Some(cortex.root().unwrap()));
}

// L11: what is live stays, whatever fails, and nothing is left over.
#[test]
fn a_rebuild_may_fail_at_any_call_and_the_live_store_goes_on() {
    let states = {
        let cortex = try_open(&Disk::new()).unwrap();
        fill(&cortex);
        dump(&cortex)
    };
    for (kind, fault) in [
        ("error", DiskFault::Error as fn(u64) -> DiskFault),
        ("short write", DiskFault::ShortWrite),
        ("no room", DiskFault::NoRoom),
    ] {
        let mut failed = 0;
        for call in (1..).step_by(7) {
            let disk = Disk::new();
            let cortex = try_open(&disk).unwrap();
            fill(&cortex);
            // What was erased in it leaves the file by a copy of its own.
            assert!(cortex.wait_for_scrub(PATIENCE));
            disk.fail(fault(call));
            let outcome = cortex.rebuild(Box::new(|_, _| {}));
            if !disk.has_failed() {
                outcome.unwrap();
                break;
            }
            failed += u64::from(outcome.is_err());
            let what = format!("{kind} at call {call}");
            assert!(
                !disk.files().contains(&StoreFile::DerivedScratch),
                "{what}: L9, no stray file"
            );
            drop(cortex);
            for cut in [PowerCut::KeepUnsynced, PowerCut::LoseUnsynced, PowerCut::Some(call)] {
                let found = disk.after_power_cut(cut);
                let cortex = try_open(&found).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(dump(&cortex) == states, "{what}, {cut:?}");
                cortex.write(stamp(90), fact(90, "goes on", "")).unwrap();
                assert_clean(&cortex);
            }
        }
        assert!(failed > 0, "{kind}: {failed} failures");
    }
}

// L4: the swap.
#[test]
fn power_may_fail_at_every_sync_of_a_rebuild() {
    let states = {
        let cortex = try_open(&Disk::new()).unwrap();
        fill(&cortex);
        dump(&cortex)
    };
    for sync in 1.. {
        let disk = Disk::new();
        let cortex = try_open(&disk).unwrap();
        fill(&cortex);
        assert!(cortex.wait_for_scrub(PATIENCE));
        disk.die_at_sync(disk.syncs() + sync);
        let outcome = cortex.rebuild(Box::new(|_, _| {}));
        if !disk.is_dead() {
            outcome.unwrap();
            break;
        }
        drop(cortex);
        for cut in [PowerCut::LoseUnsynced, PowerCut::KeepUnsynced, PowerCut::Some(sync)] {
            let cortex = try_open(&disk.after_power_cut(cut)).unwrap();
            assert!(dump(&cortex) == states, "sync {sync}, {cut:?}");
        }
    }
}

// L9
#[test]
fn without_room_for_a_copy_a_rebuild_is_refused_and_nothing_is_locked() {
    let disk = Disk::new();
    let cortex = open(&disk);
    write_many(&cortex, 1, 2_000);
    disk.leave_room(Some(1 << 20));
    let refused = cortex.rebuild(Box::new(|_, _| {})).unwrap_err();
    assert_eq!(refused.code(), "disk_full");
    assert!(!disk.files().contains(&StoreFile::DerivedScratch));
    cortex.write(stamp(2), fact(9_000, "still here", "")).unwrap();
    cortex.erase(stamp(2), removal(5)).unwrap();
    disk.leave_room(None);
    cortex.rebuild(Box::new(|_, _| {})).unwrap();
    assert_clean(&cortex);
}

#[test]
fn rows_that_are_wrong_are_mended_and_told_and_a_wrong_journal_is_not_taken() {
    let disk = Disk::new();
    let cortex = Cortex::open_on(disk.medium(), &ada(), small()).unwrap();
    fill(&cortex);
    let expected = dump(&cortex);
    drop(cortex);
    // A row of another memory's usage: it reads, and is wrong.
    let usage = kernel::keys::usage(testkit::build::id(1));
    tamper(&disk, |reader, side, rows| {
        let space = kernel::store::Space::Derived(side);
        let other = reader.get(space, &kernel::keys::weights()).unwrap();
        rows.set(space, usage.clone(), other.or(Some(vec![0xa0])));
    });
    let cortex = Cortex::open_on(disk.medium(), &ada(), small()).unwrap();
    assert!(!verify(&cortex).is_clean());
    let report = cortex.rebuild(Box::new(|_, _| {})).unwrap();
    assert!(report.is_unchanged, "usage is in no root");
    assert!(dump(&cortex) == expected);
    assert_clean(&cortex);
}

// L3: entries that read and are others replace nothing, and without anything derived the watermark knows the root.
#[test]
fn a_journal_of_another_root_is_not_taken_and_is_told() {
    let disk = Disk::new();
    let cortex = Cortex::open_on(disk.medium(), &ada(), small()).unwrap();
    for n in 1..=5 {
        cortex.write(stamp(1), fact(n, "a memory", "of the true journal")).unwrap();
    }
    let mut forged = cortex.read().unwrap().view().entry(1).unwrap().unwrap();
    drop(cortex);
    forged.by = "forger".chars().cycle().take(forged.by.len()).collect();
    testkit::ledger::forge_entry(&disk, 1, &forged.to_bytes());
    let cortex = Cortex::open_on(disk.medium(), &ada(), small()).unwrap();
    let root = cortex.root().unwrap();
    assert!(matches!(cortex.rebuild(Box::new(|_, _| {})), Err(Error::Corrupt { .. })));
    assert_eq!(cortex.root().unwrap(), root);
    drop(cortex);
    disk.take(StoreFile::Derived);
    let cortex = Cortex::open_on(disk.medium(), &ada(), Options::default()).unwrap();
    let damage = cortex.damage();
    assert!(damage.iter().any(|note| note.place == "journal"), "{damage:?}");
    assert!(verify(&cortex).problems.iter().any(|problem| problem.place == "journal"));
    let check = cortex.check_ledger(&mut |_, _| {}).unwrap();
    assert!(check.problems.iter().any(|note| note.place == "journal"), "{check:?}");
}

// L19: what came row by row is packed when nobody asks, beside those who read and write.
#[test]
fn a_file_that_grew_is_packed_and_nothing_else_changes() {
    let folder = tempfile::tempdir().unwrap();
    let cortex = Cortex::open(folder.path(), &ada(), Options::default()).unwrap();
    write_many(&cortex, 1, 1_000);
    cortex.settle().unwrap();
    assert!(cortex.wait_for_scrub(PATIENCE));
    let few = cortex.size_bytes().unwrap();
    write_many(&cortex, 1_001, 6_000);
    let (before, grown) = (dump(&cortex), cortex.size_bytes().unwrap());
    let early = cortex.read().unwrap();
    cortex.settle().unwrap();
    cortex.write(stamp(2), fact(7, "meanwhile", "")).unwrap();
    assert!(cortex.wait_for_scrub(PATIENCE));
    assert!(early.root().is_ok());
    drop(early);
    let packed = cortex.size_bytes().unwrap();
    assert!(few < packed && 10 * packed < 9 * grown, "{few}, {grown}, then {packed}");
    assert!(dump(&cortex).len() > before.len(), "what was written meanwhile is there");
    assert_clean(&cortex);
    let rows = dump(&cortex);
    drop(cortex);
    let cortex = Cortex::open(folder.path(), &ada(), Options::default()).unwrap();
    assert!(dump(&cortex) == rows, "the packed file is the file");
}

// L8: a file is packed while an erasure waits for its scrub, and the erasure is still scrubbed
#[test]
fn packing_ends_no_scrub() {
    let disk = Disk::new();
    let cortex = open(&disk);
    write_many(&cortex, 1, 3_000);
    let erased = cortex.write(stamp(2), fact(7, "to be erased", CANARY)).unwrap().seq;
    cortex.settle().unwrap();
    cortex.erase(stamp(3), removal(erased)).unwrap();
    assert!(cortex.wait_for_scrub(PATIENCE));
    assert!(!holds(&disk.bytes(), CANARY));
    assert_clean(&cortex);
    for sync in 1.. {
        let disk = Disk::new();
        let cortex = open(&disk);
        write_many(&cortex, 1, 2_100);
        let (rows, before) = (dump(&cortex), disk.syncs());
        disk.die_at_sync(before + sync);
        let _ = cortex.settle();
        cortex.wait_for_scrub(PATIENCE);
        drop(cortex);
        for cut in [PowerCut::KeepUnsynced, PowerCut::LoseUnsynced, PowerCut::Some(sync)] {
            let found = disk.after_power_cut(cut);
            assert!(dump(&open(&found)) == rows, "power cut at sync {sync} of packing, {cut:?}");
        }
        if !disk.is_dead() {
            assert!(sync > 2, "{sync} syncs");
            break;
        }
    }
}
