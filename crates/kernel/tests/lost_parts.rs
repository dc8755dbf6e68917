//! Goal: a part of a ledger that is lost costs what was in it, and nothing else: the rest is served, and the actor goes
//! on.
//! Method: one segment with one large frame, as an import leaves it; its header is damaged at every byte, its end is
//! cut off, its entries are overwritten.

#![allow(clippy::unwrap_used)]

mod support;

use kernel::command::Command;
use kernel::store::StoreFile;
use kernel::{Error, Submission};
use testkit::build::{ada, assert_clean, dump, fact, id, open, size, stamp};
use testkit::{Disk, PowerCut, ledger};

const COUNT: u64 = 30;

/// An actor with one frame of many memories.
fn imported() -> Disk {
    let disk = Disk::new();
    let cortex = open(&disk);
    let request = |n: u64| {
        let draft = fact(n, &format!("memory {n}"), &"of some length ".repeat(20));
        Submission { stamp: stamp(1), command: Command::Write(Box::new(draft)), authority: None }
    };
    for receipt in cortex.submit_bulk((1..=COUNT).map(request).collect()).unwrap() {
        receipt.unwrap();
    }
    disk
}

fn copy(disk: &Disk) -> Disk {
    disk.after_power_cut(PowerCut::KeepUnsynced)
}

// L3: most ledgers have one segment, and so one header.
#[test]
fn no_byte_of_the_only_header_costs_the_ledger() {
    let whole = imported();
    let expected = dump(&open(&copy(&whole)));
    let file = StoreFile::Segment(1);
    let spans = (0..ledger::SEGMENT_HEADER).map(|at| at..at + 1);
    for span in spans.chain(std::iter::once(0..ledger::SEGMENT_HEADER)) {
        for is_derived_there in [true, false] {
            let disk = copy(&whole);
            ledger::edit(&disk, file, |bytes| {
                bytes[span.clone()].iter_mut().for_each(|byte| *byte ^= 0x5a);
            });
            if !is_derived_there {
                disk.take(StoreFile::Derived);
            }
            let cortex = open(&disk);
            assert!(dump(&cortex) == expected, "{span:?}");
            let notes = cortex.damage();
            assert!(notes.iter().any(|note| note.place == "ledger segment 1"), "{notes:?}");
            cortex.write(stamp(2), fact(99, "goes on", "")).unwrap();
            drop(cortex);
            assert_eq!(size(&open(&disk)), COUNT + 1, "{span:?}");
        }
    }
}

// L3: without the watermark the bytes in the place of the key are tried.
#[test]
fn a_damaged_header_is_read_around_without_a_watermark() {
    let disk = imported();
    let expected = dump(&open(&copy(&disk)));
    disk.take(StoreFile::Watermark);
    ledger::edit(&disk, StoreFile::Segment(1), |bytes| bytes[..8].fill(0));
    assert!(dump(&open(&disk)) == expected);
}

// L3: a frame whose end is gone serves the records that are left of it, at every open.
#[test]
fn a_frame_that_is_cut_off_serves_what_is_left_of_it() {
    let whole = imported();
    let (file, cut_in) = ledger::find(&whole, COUNT / 2);
    let middle = cut_in.body.unwrap().start + 3;
    for is_derived_there in [true, false] {
        let disk = copy(&whole);
        ledger::edit(&disk, file, |bytes| bytes.truncate(middle));
        if !is_derived_there {
            disk.take(StoreFile::Derived);
        }
        let served = |cortex: &kernel::Cortex| {
            let reading = cortex.read().unwrap();
            let body = |n: u64| {
                let version = reading.view().version(id(n), 1).unwrap();
                version.and_then(|version| reading.view().body(&version).unwrap())
            };
            (1..=COUNT).filter(|n| body(*n).is_some()).collect::<Vec<u64>>()
        };
        for opened in 0..3 {
            let cortex = open(&disk);
            assert_eq!(served(&cortex), (1..COUNT / 2).collect::<Vec<u64>>(), "open {opened}");
            assert!(!cortex.damage().is_empty() || opened > 0);
            let check = cortex.check_ledger(&mut |_, _| {}).unwrap();
            for lost in COUNT / 2 + 1..=COUNT {
                let place = format!("entry {lost}");
                assert!(check.problems.iter().any(|note| note.place == place), "{check:?}");
            }
            let next = cortex.write(stamp(2 + opened), fact(100, "goes on", "")).unwrap();
            assert_eq!(next.seq, COUNT + 1 + u64::try_from(opened).unwrap());
        }
    }
}

// L3: a lost last segment, again and again: no number is given twice, and no header is written over.
#[test]
fn numbers_of_lost_entries_are_not_given_again_by_a_later_open() {
    let disk = imported();
    let (file, record) = ledger::find(&disk, 1);
    ledger::edit(&disk, file, |bytes| bytes[record.frame.clone()].fill(0));
    disk.take(StoreFile::Derived);
    let header = disk.bytes_of(file)[..ledger::SEGMENT_HEADER].to_vec();
    for opened in 0..3 {
        let cortex = open(&disk);
        assert_eq!(size(&cortex), COUNT + opened);
        // The mark is gone: what was derived knows the last number.
        disk.take(StoreFile::Watermark);
        cortex.write(stamp(5), fact(200 + opened, "goes on", "")).unwrap();
        drop(cortex);
        assert_eq!(disk.bytes_of(file)[..ledger::SEGMENT_HEADER], header);
    }
    let disk = copy(&disk);
    disk.take(StoreFile::Derived);
    let cortex = open(&disk);
    assert_eq!(size(&cortex), COUNT + 3);
    assert!(cortex.read().unwrap().view().head(id(COUNT + 3)).unwrap().is_some());
}

// L3: whoever follows the journal passes an entry that does not read, and it is named.
#[test]
fn an_entry_that_does_not_read_is_passed_over_and_named() {
    let disk = imported();
    assert_clean(&open(&copy(&disk)));
    let (file, record) = ledger::find(&disk, 7);
    ledger::edit(&disk, file, |bytes| bytes[record.entry.start] ^= 1);
    let cortex = open(&disk);
    let reading = cortex.read().unwrap();
    let read = |seq: u64| reading.view().entry(seq).unwrap().map(|entry| entry.seq);
    assert_eq!((read(6), read(7), read(8)), (Some(6), None, Some(8)));
    assert!(cortex.damage().iter().any(|note| note.place == "entry 7"));
    assert_eq!(cortex.actor(), &ada());
}

// L2: a layer above the kernel meets a row that does not decode; who meets damage of the truth gains nothing by that.
#[test]
fn rows_that_somebody_could_not_read_are_made_again_and_the_truth_is_left_alone() {
    let disk = imported();
    let cortex = open(&disk);
    let before = dump(&cortex);
    for place in
        ["entry 3", "entries 3 to 5", "body 3", "ledger segment 1", "journal", "a/manifest"]
    {
        assert!(!cortex.distrust(&Error::corrupt(place, "does not read")), "{place}");
    }
    assert!(!cortex.distrust(&Error::Poisoned) && !cortex.is_poisoned());
    assert!(cortex.distrust(&Error::corrupt("a segment of codes", "does not decode")));
    assert!(cortex.is_poisoned(), "it is opened anew");
    drop(cortex);
    assert!(dump(&open(&disk)) == before);
}
