//! Goal: an index that another version of the program made is made again when the actor opens, and answers as before.
//! Method: the row that names format and settings is rewritten in a real store, as an earlier or a later build would
//! have it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::sync::{Arc, Mutex};

use kernel::store::Space;
use kernel::{Cortex, Options, Result};
use recall::RecallHook;
use recall::search::{SearchQuery, search};
use testkit::build::{
    Dump, ada, assert_clean, at, dump, fact, removal, revision, size, stamp, tamper,
};
use testkit::{Disk, PowerCut};

/// Where the row is, now and in the first formats.
const META: [u8; 10] = [0x86, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0];
const FORMER_META: [u8; 1] = [0x83];

type Heard = Arc<Mutex<Vec<String>>>;

fn open(disk: &Disk) -> (Result<Cortex>, Vec<String>) {
    let heard = Heard::default();
    let told = Arc::clone(&heard);
    let options = Options {
        hooks: Arc::new(|| vec![Box::new(RecallHook::new())]),
        renewing: Arc::new(move |_, why| {
            told.lock().unwrap().push(why.to_string());
            Box::new(|_, _| {})
        }),
        ..Options::default()
    };
    let cortex = Cortex::open_on(disk.medium(), &ada(), options);
    let heard = std::mem::take(&mut *heard.lock().unwrap());
    (cortex, heard)
}

fn filled() -> Disk {
    let disk = Disk::new();
    let cortex = open(&disk).0.unwrap();
    let notes = [
        ("Use redb for the store", "One file per actor, safe on kill -9."),
        ("Login failed on empty password", "The check came after the hash; see src/auth.rs."),
        ("Deploys go out on Fridays", "Nobody works on the weekend, so we stopped that."),
        ("The signing key rotates every 90 days", "Run scripts/rotate-key.sh and restart."),
        ("Cats sleep sixteen hours a day", "Found while reading about pets."),
    ];
    for (n, (title, content)) in (1..).zip(notes) {
        cortex.write(stamp(1), fact(n, title, content)).unwrap();
    }
    cortex.update(stamp(2), revision(3, None, "Deploys go out on Mondays")).unwrap();
    cortex.erase(stamp(3), removal(5)).unwrap();
    disk
}

/// What is found for some questions, with its score, in order.
fn answers(cortex: &Cortex) -> Vec<String> {
    let reading = cortex.read().unwrap();
    ["which database", "login", "key", "when do we deploy", "restart the file", "cats"]
        .map(|text| search(&reading, None, &SearchQuery::new(text, 10), at(1_000)).unwrap())
        .map(|answer| format!("{:?}", answer.hits))
        .to_vec()
}

fn copy(disk: &Disk) -> Disk {
    disk.after_power_cut(PowerCut::KeepUnsynced)
}

/// The store with the row as `change` leaves it.
fn changed(disk: &Disk, change: impl FnOnce(&mut Vec<u8>)) -> Disk {
    let disk = copy(disk);
    tamper(&disk, |reader, side, rows| {
        let mut row = reader.get(Space::Derived(side), &META).unwrap().unwrap();
        change(&mut row);
        rows.put(Space::Derived(side), META.to_vec(), row);
    });
    disk
}

fn state(cortex: &Cortex) -> (Dump, Vec<String>, kernel::Digest) {
    (dump(cortex), answers(cortex), cortex.root().unwrap())
}

#[test]
fn an_index_of_another_version_is_made_again_and_answers_the_same() {
    let disk = filled();
    let (cortex, heard) = open(&disk);
    let before = state(&cortex.unwrap());
    assert_eq!(heard, [""; 0]);

    let former = copy(&disk);
    tamper(&former, |reader, side, rows| {
        let row = reader.get(Space::Derived(side), &META).unwrap().unwrap();
        rows.delete(Space::Derived(side), META.to_vec());
        rows.put(Space::Derived(side), FORMER_META.to_vec(), row);
        // What only that format had.
        rows.put(Space::Derived(side), vec![0x81, 1], b"left over".to_vec());
    });
    let others = [
        (former, "format 1 or 2, not "),
        (changed(&disk, |row| row[0] = 1), "format 1, not "),
        (changed(&disk, |row| row[0] = 127), "format 127, not "),
        // All of a format that nobody here can read.
        (changed(&disk, |row| *row = vec![126, 0xff, 0xff]), "format 126, not "),
        (changed(&disk, |row| row[1] = 99), "another analyzer, or other weights"),
    ];
    for (disk, reason) in others {
        let (cortex, heard) = open(&disk);
        let cortex = cortex.unwrap();
        let said = format!("the index was made by another version of this program: {reason}");
        assert!(heard.len() == 1 && heard[0].starts_with(&said), "{heard:?}");
        assert_eq!(state(&cortex), before, "{reason}");
        assert_clean(&cortex);
        // What is saved next is found.
        let saved = cortex.write(stamp(4), fact(9, "Zebras have stripes", "")).unwrap().seq;
        let found =
            search(&cortex.read().unwrap(), None, &SearchQuery::new("zebras", 1), at(1_000));
        assert_eq!(found.unwrap().hits[0].id.get(), saved);
        drop(cortex);
        let (cortex, heard) = open(&disk);
        assert_eq!((size(&cortex.unwrap()), heard.len()), (saved, 0), "once is enough");
    }
}

// ledger L1, L2
#[test]
fn damaged_rows_are_made_again_once_and_that_is_told() {
    let disk = filled();
    let expected = answers(&open(&changed(&disk, |_| {})).0.unwrap());
    let damage: [fn(&mut Vec<u8>); 6] = [
        Vec::clear,
        |row| *row = vec![0],
        |row| *row = vec![0x80],
        |row| *row = vec![0xff, 0xff, 0xff],
        |row| *row = vec![200, 1, 1],
        |row| row.truncate(8),
    ];
    for (n, damage) in damage.into_iter().enumerate() {
        let disk = changed(&disk, damage);
        let (cortex, heard) = open(&disk);
        assert!(heard.len() == 1 && heard[0].contains("damaged"), "{n}: {heard:?}");
        assert!(answers(&cortex.unwrap()) == expected, "{n}");
        assert!(open(&disk).1.is_empty(), "{n}: it is told once");
    }
}
