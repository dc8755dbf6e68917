//! Goal: a full disk costs nothing that was acknowledged, locks nothing, and a save that it refuses is cheap: the
//! actor is not opened anew for it, and goes on as soon as there is room.
//! Method: a simulated disk with so many bytes of room, or that has none at one call.

#![allow(clippy::unwrap_used)]

mod support;

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kernel::hook::{HookRows, JournalHook, RecordedEntry};
use kernel::store::{StoreFile, View};
use kernel::{Cortex, Options, Result};
use support::small_segments::{assert_found, small, states, try_open, write_one, write_some};
use testkit::build::{ada, assert_clean, dump, fact, size, stamp};
use testkit::{Disk, DiskFault, PowerCut};

const COUNT: u64 = 40;
const PATIENCE: Duration = Duration::from_mins(1);

// L4, L9
#[test]
fn a_full_disk_is_told_and_costs_nothing_that_was_acknowledged() {
    let states = states(COUNT);
    for room in (0..64).map(|n| n * 4_096) {
        let disk = Disk::new();
        let cortex = try_open(&disk).unwrap();
        disk.leave_room(Some(room));
        let acknowledged = write_some(&cortex, COUNT);
        if acknowledged == COUNT {
            break;
        }
        for _ in 0..3 {
            let error = write_one(&cortex, acknowledged + 1).unwrap_err();
            assert_eq!(error.code(), "disk_full", "{error}");
        }
        assert!(!cortex.is_poisoned(), "nothing has to be opened anew");
        assert!(dump(&cortex) == states[usize::try_from(acknowledged).unwrap()]);
        drop(cortex);
        disk.leave_room(None);
        assert_found(&disk, &states, acknowledged, &format!("room for {room} bytes"));
    }
}

// L4: wherever the disk has no room, the same save succeeds when it has.
#[test]
fn any_call_may_find_no_room() {
    const WRITES: u64 = 16;
    let states = states(WRITES);
    for call in 1.. {
        let disk = Disk::new();
        disk.fail(DiskFault::NoRoom(call));
        let (mut cortex, mut refused) = (try_open(&disk), 0);
        if let Err(error) = &cortex {
            assert_eq!(error.io_kind(), Some(ErrorKind::StorageFull), "call {call}: {error}");
            (cortex, refused) = (try_open(&disk), 1);
        }
        let cortex = cortex.unwrap();
        let mut n = 1;
        while n <= WRITES {
            match write_one(&cortex, n) {
                Ok(_) => n += 1,
                Err(error) if error.code() == "disk_full" => {
                    assert!(!cortex.is_poisoned(), "call {call}");
                    refused += 1;
                }
                // Nobody knows whether it is there. The next open does.
                Err(error) => {
                    assert!(
                        cortex.is_poisoned() && error.code() == "storage",
                        "call {call}: {error}"
                    );
                    refused += 1;
                    break;
                }
            }
        }
        assert!(refused <= 1, "one call failed");
        let has_failed = disk.has_failed();
        drop(cortex);
        for cut in [PowerCut::KeepUnsynced, PowerCut::LoseUnsynced, PowerCut::Some(call)] {
            let found = disk.after_power_cut(cut);
            assert_found(&found, &states, n - 1, &format!("no room at call {call}, {cut:?}"));
        }
        if !has_failed {
            break;
        }
    }
}

// L9: what was acknowledged before the disk was full is read, though its derived rows have no room.
#[test]
fn a_full_disk_can_be_read() {
    let disk = Disk::new();
    let cortex = try_open(&disk).unwrap();
    for n in 1..=60 {
        cortex.write(stamp(1), fact(n, &format!("memory {n}"), &"x".repeat(900))).unwrap();
    }
    let before = dump(&cortex);
    std::mem::forget(cortex);
    // Also when nothing derived is there, and there is no room for any.
    for is_derived in [true, false] {
        let full = disk.after_power_cut(PowerCut::LoseUnsynced);
        if !is_derived {
            full.take(StoreFile::Derived);
        }
        full.leave_room(Some(0));
        let cortex = try_open(&full).unwrap();
        assert!(dump(&cortex) == before);
        // More than the zeros that are written ahead have room for.
        let refused = cortex.write(stamp(2), fact(61, "more", &"y".repeat(200_000)));
        assert_eq!(refused.unwrap_err().code(), "disk_full");
        drop(cortex);
        full.leave_room(None);
        let cortex = try_open(&full).unwrap();
        assert!(dump(&cortex) == before);
        let is_own = |file: &StoreFile| {
            matches!(file, StoreFile::Derived | StoreFile::Segment(_) | StoreFile::Watermark)
        };
        assert!(full.files().iter().all(is_own), "no stray file: {:?}", full.files());
        assert_clean(&cortex);
    }
}

/// Counts the entries that are derived.
#[derive(Debug)]
struct Counting(Arc<AtomicUsize>);

impl JournalHook for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn open(&mut self, _: &View<'_>) -> Result<()> {
        Ok(())
    }

    fn entry(&mut self, _: &View<'_>, _: RecordedEntry<'_>, _: &mut HookRows<'_>) -> Result<()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn seal(&mut self, _: &View<'_>, _: &mut HookRows<'_>) -> Result<()> {
        Ok(())
    }

    fn committed(&mut self) {}

    fn aborted(&mut self) {}
}

// L9: derived rows that are in memory for want of room come back to disk, without an open in between.
#[test]
fn with_room_again_what_is_in_memory_comes_back_to_disk() {
    let counted = Arc::new(AtomicUsize::new(0));
    let told = Arc::clone(&counted);
    let hooks =
        Arc::new(move || vec![Box::new(Counting(Arc::clone(&told))) as Box<dyn JournalHook>]);
    let options = Options { hooks, ..small() };
    let open = |disk: &Disk| Cortex::open_on(disk.medium(), &ada(), options.clone()).unwrap();
    let disk = Disk::new();
    let cortex = open(&disk);
    // Room for the ledger, and not for what is derived from it.
    disk.leave_room(Some(900 << 10));
    let write = |n: u64| cortex.write(stamp(1), fact(n, &format!("memory {n}"), &"x".repeat(99)));
    let n = (1..1_000_000).take_while(|n| write(*n).is_ok()).count() as u64;
    assert!(n > 600, "{n} entries had room");
    let lost = disk.after_power_cut(PowerCut::LoseUnsynced);
    counted.store(0, Ordering::Relaxed);
    drop(open(&lost));
    let replayed = counted.swap(0, Ordering::Relaxed);
    assert!(replayed > 512, "a crash costs the rows in memory, {replayed}, and nothing else");

    disk.leave_room(None);
    write(n + 1).unwrap();
    assert!(cortex.wait_for_scrub(PATIENCE));
    let before = dump(&cortex);
    let found = disk.after_power_cut(PowerCut::LoseUnsynced);
    counted.store(0, Ordering::Relaxed);
    let again = open(&found);
    assert_eq!(counted.load(Ordering::Relaxed), 0, "nothing is left to derive");
    assert_eq!(size(&again), n + 1);
    assert!(dump(&again) == before);
    assert_clean(&again);
}
