//! Goal: a frame is whole or not there, whatever the disk does; what is copied out of a ledger is what was in it.
//! Method: a simulated disk that loses power at every sync and fails at every call, small segments, stores as they were
//! before there was a ledger, and folders for what is copied.

#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;

use kernel::ledger::RestorePoint;
use kernel::memory::Millis;
use kernel::store::{EngineOptions, RedbStorage, StoreFile};
use kernel::{BackupManifest, Cortex, Options};
use support::fill;
use support::small_segments::{CUTS, assert_found, small, states, try_open, write_one, write_some};
use testkit::build::{
    Dump, ada, assert_clean, at, dump, fact, open, removal, revision, size, stamp, verify,
};
use testkit::{Disk, DiskFault, PowerCut, ledger};

const COUNT: u64 = 40;

// L4
#[test]
fn power_may_fail_at_every_sync_of_a_ledger_of_many_segments() {
    let states = states(COUNT);
    let whole = Disk::new();
    assert_eq!(write_some(&try_open(&whole).unwrap(), COUNT), COUNT);
    assert!(ledger::segments(&whole).len() > 3, "{:?}", whole.files());
    for sync in 1.. {
        let disk = Disk::new();
        disk.die_at_sync(sync);
        let acknowledged = try_open(&disk).map_or(0, |cortex| write_some(&cortex, COUNT));
        if !disk.is_dead() {
            break;
        }
        for cut in CUTS {
            let found = disk.after_power_cut(cut);
            assert_found(&found, &states, acknowledged, &format!("sync {sync}, {cut:?}"));
        }
    }
}

// L4: a call that fails or writes half of what it should costs nothing that was acknowledged.
#[test]
fn any_call_may_fail() {
    let states = states(12);
    for (kind, fault) in [
        ("error", DiskFault::Error as fn(u64) -> DiskFault),
        ("short write", DiskFault::ShortWrite),
    ] {
        for call in (1..).step_by(3) {
            let disk = Disk::new();
            disk.fail(fault(call));
            let acknowledged = try_open(&disk).map_or(0, |cortex| write_some(&cortex, 12));
            let has_failed = disk.has_failed();
            // The machine goes on, and then it loses power.
            for cut in [PowerCut::KeepUnsynced, PowerCut::LoseUnsynced, PowerCut::Some(call)] {
                let found = disk.after_power_cut(cut);
                let what = format!("{kind} at call {call}, {cut:?}");
                assert_found(&found, &states, acknowledged, &what);
            }
            if !has_failed {
                break;
            }
        }
    }
}

// L3: bytes of a last frame that nobody has seen whole are a torn tail, at whatever byte they end.
#[test]
fn a_torn_tail_is_cut_off_and_damage_is_not() {
    let disk = Disk::new();
    let cortex = try_open(&disk).unwrap();
    let mut states = vec![dump(&cortex)];
    for n in 1..=9 {
        cortex.write(stamp(1), fact(n, &format!("memory {n}"), &"x".repeat(300))).unwrap();
        states.push(dump(&cortex));
    }
    let live = disk.after_power_cut(PowerCut::KeepUnsynced);
    std::mem::forget(cortex);
    let (file, record) = ledger::find(&live, 9);
    for end in record.frame.clone().step_by(5) {
        let torn = disk.after_power_cut(PowerCut::LoseUnsynced);
        ledger::edit(&torn, file, |bytes| bytes[end..].fill(0));
        assert_found(&torn, &states, 8, &format!("cut at {end}"));
    }
    // Once the derived store has durably seen the frame, the same bytes are damage: it is named, and stays.
    let closed = disk.after_power_cut(PowerCut::LoseUnsynced);
    drop(try_open(&closed).unwrap());
    ledger::edit(&closed, file, |bytes| bytes[record.entry.start] ^= 1);
    let before = closed.bytes_of(file);
    let cortex = try_open(&closed).unwrap();
    assert_eq!(size(&cortex), 9);
    assert!(verify(&cortex).problems.iter().any(|problem| problem.place == "entry 9"));
    drop(cortex);
    assert_eq!(closed.bytes_of(file), before);
}

// L3: without anything derived, the watermark tells what was acknowledged from what was torn.
#[test]
fn a_damaged_last_frame_or_a_lost_last_segment_is_named_though_nothing_derived_is_there() {
    let disk = Disk::new();
    let cortex = try_open(&disk).unwrap();
    assert_eq!(write_some(&cortex, COUNT), COUNT);
    drop(cortex);
    let (file, record) = ledger::find(&disk, COUNT);
    type Damage<'d> = (&'d str, Box<dyn Fn(&Disk) + 'd>);
    let damages: [Damage<'_>; 5] = [
        ("header", Box::new(|disk| ledger::edit(disk, file, |b| b[record.frame.start] ^= 1))),
        ("entry", Box::new(|disk| ledger::edit(disk, file, |b| b[record.entry.start] ^= 1))),
        ("zeros", Box::new(|disk| ledger::edit(disk, file, |b| b[record.frame.clone()].fill(0)))),
        ("cut", Box::new(|disk| ledger::edit(disk, file, |b| b.truncate(record.frame.start + 9)))),
        ("lost segment", Box::new(|disk| disk.take(file))),
    ];
    for (what, damage) in damages {
        let damaged = disk.after_power_cut(PowerCut::KeepUnsynced);
        damage(&damaged);
        damaged.take(StoreFile::Derived);
        let cortex = try_open(&damaged).unwrap();
        assert_eq!(size(&cortex), COUNT, "{what}: no number is given twice");
        let notes = cortex.damage();
        assert!(notes.iter().any(|note| note.place.starts_with("entr")), "{what}: {notes:?}");
        let next = cortex.write(stamp(2), fact(900, "goes on", "")).unwrap();
        assert_eq!(next.seq, COUNT + 1, "{what}");
        let before = dump(&cortex);
        drop(cortex);
        let again = try_open(&damaged).unwrap();
        assert!(dump(&again) == before, "{what}");
        assert!(!again.check_ledger(&mut |_, _| {}).unwrap().problems.is_empty(), "{what}");
    }
}

// L3: a mark that lags, is torn or is not there costs nothing.
#[test]
fn nothing_depends_on_the_watermark() {
    let disk = Disk::new();
    let cortex = try_open(&disk).unwrap();
    assert_eq!(write_some(&cortex, 9), 9);
    let early = disk.bytes_of(StoreFile::Watermark);
    assert_eq!((10..=COUNT).take_while(|n| write_one(&cortex, *n).is_ok()).count(), 31);
    let expected = dump(&cortex);
    drop(cortex);
    for mark in [None, Some(Vec::new()), Some(early.clone()), Some(early[..40].to_vec())] {
        for has_derived in [true, false] {
            let found = disk.after_power_cut(PowerCut::KeepUnsynced);
            match &mark {
                Some(bytes) => found.set_bytes(StoreFile::Watermark, bytes.clone()),
                None => found.take(StoreFile::Watermark),
            }
            if !has_derived {
                found.take(StoreFile::Derived);
            }
            let cortex = try_open(&found).unwrap();
            assert!(dump(&cortex) == expected);
            assert_clean(&cortex);
        }
    }
}

/// A store as it was before there was a ledger.
fn former() -> (Disk, Dump, kernel::Digest) {
    let disk = Disk::new();
    let engine = EngineOptions::default();
    let storage = RedbStorage::open(disk.medium(), engine, || kernel::birth(&ada())).unwrap();
    let cortex = Cortex::with_storage(Arc::new(storage), &ada(), Options::default()).unwrap();
    fill(&cortex);
    let (dump, root) = (dump(&cortex), cortex.root().unwrap());
    drop(cortex);
    let old = Disk::new();
    old.set_bytes(StoreFile::Former, disk.bytes_of(StoreFile::Derived));
    (old, dump, root)
}

// L14, L4
#[test]
fn a_former_store_is_moved_and_power_may_fail_at_every_sync_of_it() {
    let (old, expected, root) = former();
    let mut cuts = 0;
    for sync in 1.. {
        let disk = old.after_power_cut(PowerCut::KeepUnsynced);
        disk.die_at_sync(sync);
        let opened = try_open(&disk);
        let is_dead = disk.is_dead();
        drop(opened);
        for cut in CUTS {
            let found = disk.after_power_cut(cut);
            let cortex = try_open(&found).unwrap();
            assert!(dump(&cortex) == expected, "sync {sync}, {cut:?}");
            assert_eq!(cortex.root().unwrap(), root);
            assert_clean(&cortex);
            cortex.write(stamp(90), fact(90, "goes on", "")).unwrap();
            drop(cortex);
            assert!(!found.files().contains(&StoreFile::Former), "{:?}", found.files());
            assert_eq!(size(&try_open(&found).unwrap()), size_of(&expected) + 1);
        }
        if !is_dead {
            break;
        }
        cuts += 1;
    }
    assert!(cuts > 5, "{cuts}");
}

fn size_of(dump: &Dump) -> u64 {
    dump.keys().filter(|(derived, key)| !derived && key.last() == Some(&0)).count() as u64
}

#[test]
fn a_former_store_beside_a_ledger_is_refused_and_both_stay() {
    let (old, ..) = former();
    let disk = Disk::new();
    write_some(&try_open(&disk).unwrap(), 3);
    let before = disk.bytes_of(StoreFile::Segment(1));
    disk.set_bytes(StoreFile::Former, old.bytes_of(StoreFile::Former));
    assert_eq!(try_open(&disk).unwrap_err().code(), "invalid");
    assert_eq!(disk.bytes_of(StoreFile::Segment(1)), before);
    disk.take(StoreFile::Former);
    assert_eq!(size(&try_open(&disk).unwrap()), 3);
}

// L1
#[test]
fn what_is_derived_can_be_deleted() {
    let disk = Disk::new();
    let cortex = open(&disk);
    fill(&cortex);
    let (before, root) = (dump(&cortex), cortex.root().unwrap());
    drop(cortex);
    disk.take(StoreFile::Derived);
    let cortex = open(&disk);
    assert_eq!((dump(&cortex), cortex.root().unwrap()), (before, root));
    assert_clean(&cortex);
}

// L12
#[test]
fn a_backup_under_load_restores_to_the_root_it_names() {
    let home = tempfile::tempdir().unwrap();
    let (folder, backup) = (home.path().join("ada"), home.path().join("backup"));
    let cortex = Cortex::open(&folder, &ada(), small()).unwrap();
    write_some(&cortex, 20);
    let mut copied = Vec::new();
    std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            for n in 100..160 {
                cortex.write(stamp(2), fact(n, "more", &"y".repeat(200))).unwrap();
            }
        });
        for round in 0..6 {
            let report = cortex.backup(&backup).unwrap();
            copied.push(report.copied_bytes);
            assert_eq!(BackupManifest::read(&backup).unwrap(), report.manifest);
            let restored = home.path().join(format!("restored {round}"));
            let (found, told) =
                Cortex::restore_backup(&backup, None, &restored, Options::default()).unwrap();
            assert_eq!((told.root, told.entries), (report.manifest.root, report.manifest.size));
            assert_clean(&found);
        }
        load.join().unwrap();
    });
    let whole = cortex.backup(&backup).unwrap();
    let again = cortex.backup(&backup).unwrap();
    assert_eq!((again.manifest, again.copied_bytes), (whole.manifest, 0), "nothing is new");
    assert!(copied[0] > 8_192);

    // What is erased leaves the backup with the next one.
    let secret = "the passphrase was correct-horse-battery";
    let written = cortex.write(stamp(3), fact(900, "a secret", secret)).unwrap();
    write_more(&cortex, 30);
    cortex.backup(&backup).unwrap();
    assert!(folder_holds(&backup, secret));
    cortex.erase(stamp(4), removal(written.seq)).unwrap();
    cortex.backup(&backup).unwrap();
    assert!(!folder_holds(&backup, secret));
}

// L12: only what is new is copied, also of the segment that is still written to.
#[test]
fn a_later_backup_copies_what_is_new_and_never_damage_over_a_copy() {
    let home = tempfile::tempdir().unwrap();
    let (folder, backup) = (home.path().join("ada"), home.path().join("backup"));
    let cortex = Cortex::open(&folder, &ada(), Options::default()).unwrap();
    write_more(&cortex, 50);
    let whole = cortex.backup(&backup).unwrap();
    write_more(&cortex, 1);
    let more = cortex.backup(&backup).unwrap();
    assert!(more.copied_bytes > 0 && more.copied_bytes * 10 < whole.copied_bytes, "{more:?}");
    let restore = |n: u32| {
        let restored = home.path().join(format!("restored {n}"));
        Cortex::restore_backup(&backup, None, &restored, Options::default()).map(|(_, told)| told)
    };
    assert_eq!(restore(1).unwrap().root, more.manifest.root);

    // A file that another backup shares stays as it is.
    let (copy, shared) =
        (backup.join("ledger/00000000000000000001.log"), home.path().join("shared"));
    std::fs::hard_link(&copy, &shared).unwrap();
    let before = std::fs::read(&shared).unwrap();
    write_more(&cortex, 1);
    cortex.backup(&backup).unwrap();
    assert_eq!(std::fs::read(&shared).unwrap(), before);
    restore(2).unwrap();

    // Damage of what is copied already does not keep new memories from being copied, and damage of what is new is told.
    let segment = folder.join("ledger/00000000000000000001.log");
    let damage = |at: usize| {
        let mut bytes = std::fs::read(&segment).unwrap();
        bytes[at] ^= 1;
        std::fs::write(&segment, bytes).unwrap();
    };
    damage(ledger::records(&before)[3].entry.start);
    write_more(&cortex, 1);
    let root = cortex.backup(&backup).unwrap().manifest.root;
    assert_eq!(restore(3).unwrap().root, root, "the copy has what the ledger lost");
    let kept = std::fs::read(&copy).unwrap();
    write_more(&cortex, 1);
    let last = ledger::records(&std::fs::read(&segment).unwrap()).pop().unwrap();
    damage(last.entry.start);
    let refused = cortex.backup(&backup).unwrap_err();
    assert_eq!(refused.code(), "corrupt", "{refused}");
    assert!(refused.to_string().contains(&format!("entry {}", last.seq)), "{refused}");
    assert_eq!(std::fs::read(&copy).unwrap(), kept);
    assert_eq!(restore(4).unwrap().root, root);
}

fn write_more(cortex: &Cortex, count: u64) {
    for n in 0..count {
        cortex.write(stamp(3), fact(1_000 + n, "filler", &"z".repeat(300))).unwrap();
    }
}

fn folder_holds(folder: &std::path::Path, text: &str) -> bool {
    std::fs::read_dir(folder.join("ledger")).unwrap().any(|file| {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        testkit::build::holds(&bytes, text)
    })
}

// L12: any moment that the ledger covers.
#[test]
fn a_restore_goes_back_to_an_entry_or_to_a_moment() {
    let home = tempfile::tempdir().unwrap();
    let (folder, backup) = (home.path().join("ada"), home.path().join("backup"));
    let cortex = Cortex::open(&folder, &ada(), Options::default()).unwrap();
    let mut roots = vec![cortex.root().unwrap()];
    for n in 1..=12_u32 {
        let second = i64::from(n) * 10;
        let draft = fact(n.into(), &format!("memory {n}"), "");
        cortex.write(stamp(second), draft).unwrap();
        roots.push(cortex.root().unwrap());
    }
    cortex.backup(&backup).unwrap();
    let restored = |name: &str, point| {
        let folder = home.path().join(name);
        Cortex::restore_backup(&backup, Some(point), &folder, Options::default())
    };
    for seq in [0, 1, 7, 12] {
        let (_, told) = restored(&format!("at {seq}"), RestorePoint::Seq(seq)).unwrap();
        assert_eq!((told.entries, told.root), (seq, roots[usize::try_from(seq).unwrap()]));
    }
    let between = Millis(at(70).get() + 5_000);
    let (_, told) = restored("by time", RestorePoint::Time(between)).unwrap();
    assert_eq!((told.entries, told.root), (7, roots[7]));
    assert_eq!(restored("later", RestorePoint::Seq(13)).unwrap_err().code(), "invalid");
    assert_eq!(restored("at 7", RestorePoint::Seq(7)).unwrap_err().code(), "invalid", "taken");
}

// L13
#[test]
fn an_actor_is_read_without_a_write_to_its_folder() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("ada");
    let cortex = Cortex::open(&folder, &ada(), small()).unwrap();
    write_some(&cortex, 20);
    let (before, root) = (dump(&cortex), cortex.root().unwrap());
    drop(cortex);
    std::fs::remove_file(folder.join("derived.redb")).unwrap();
    std::fs::remove_file(folder.join("lock")).unwrap();
    let files = || {
        let mut files: Vec<_> = std::fs::read_dir(folder.join("ledger"))
            .unwrap()
            .map(|file| file.unwrap().path())
            .map(|path| (std::fs::read(&path).unwrap(), path))
            .collect();
        files.sort();
        files
    };
    let untouched = files();
    let scratch = home.path().join("scratch");
    let cortex = Cortex::open_read_only(&folder, &ada(), &scratch, small()).unwrap();
    assert_eq!((dump(&cortex), cortex.root().unwrap()), (before, root));
    assert_clean(&cortex);
    let refused = cortex.write(stamp(9), fact(9, "no", "")).unwrap_err();
    assert_eq!(refused.code(), "invalid", "{refused}");
    drop(cortex);
    assert_eq!(files(), untouched);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

// L3
#[test]
fn a_salvage_keeps_what_is_sound_and_marks_what_is_lost() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("ada");
    let cortex = Cortex::open(&folder, &ada(), Options::default()).unwrap();
    for n in 1..=9 {
        cortex.write(stamp(1), fact(n, &format!("memory {n}"), "a text")).unwrap();
    }
    cortex.update(stamp(2), revision(4, None, "of a lost memory")).unwrap();
    drop(cortex);
    let path = folder.join("ledger/00000000000000000001.log");
    let mut bytes = std::fs::read(&path).unwrap();
    let records = ledger::records(&bytes);
    bytes[records[3].entry.clone()].fill(1);
    bytes[records[6].frame.clone()].fill(0);
    bytes[records[7].body.clone().unwrap()].fill(2);
    std::fs::write(&path, bytes).unwrap();

    let fresh = home.path().join("salvaged");
    let (cortex, told) = Cortex::salvage(&folder, &ada(), &fresh, Options::default()).unwrap();
    let lost: Vec<_> = told.lost.iter().map(|note| note.place.as_str()).collect();
    assert_eq!(lost, ["body 8", "entry 10", "entry 4", "entry 7"]);
    assert_eq!(told.entries, 10);
    let reading = cortex.read().unwrap();
    for n in [1, 2, 3, 5, 6, 9] {
        let found = reading.resolve_version(testkit::build::id(n), None).unwrap();
        assert_eq!(found.body.unwrap().title, format!("memory {n}"));
    }
    for n in [4, 7] {
        let missing = reading.resolve_version(testkit::build::id(n), None).unwrap_err();
        assert_eq!(missing.code(), "not_found");
    }
    drop(reading);
    cortex.write(stamp(3), fact(11, "goes on", "")).unwrap();
}
