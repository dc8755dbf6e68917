//! Goal: no byte of a store changes without being noticed, and no damage brings the process down.
//! Method: a store with every entry kind and namespace is closed, damaged row by row and byte by byte, and opened
//! again: it must refuse to open, or `verify` must name the damage, or every row must be as it was, made again if need
//! be. The ledger is read and forged by code of the tests' own.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use kernel::codec;
use kernel::digest::encode_hex;
use kernel::journal::EntryKind;
use kernel::keys::{self, NAMESPACES};
use kernel::memory::{Note, SealedBody};
use kernel::store::{Space, StoreFile};
use kernel::{Cortex, Error, Options};
use support::fill;
use testkit::build::{
    Dump, ada, dump, fact, id, open, payload, salt, size, stamp, tamper, try_dump, try_verify,
};
use testkit::{Disk, PowerCut, ledger};

struct Original {
    disk: Disk,
    dump: Dump,
    size: u64,
}

fn original() -> Original {
    let disk = Disk::new();
    let cortex = open(&disk);
    fill(&cortex);
    // Under a clock that was set back.
    cortex.write(stamp(-10_000), fact(500, "of an hour ago", "")).unwrap();
    let (dump, size) = (dump(&cortex), size(&cortex));
    drop(cortex);
    Original { disk, dump, size }
}

impl Original {
    fn copy(&self) -> Disk {
        self.disk.after_power_cut(PowerCut::KeepUnsynced)
    }

    /// What is found after `edit`, one text per problem.
    fn damaged(
        &self,
        edit: impl FnOnce(&mut dyn FnMut(Space, Vec<u8>, Option<Vec<u8>>)),
    ) -> FindAnswer {
        let disk = self.copy();
        tamper(&disk, |_, side, rows| {
            edit(&mut |space, key, value| {
                let space =
                    if let Space::Derived(_) = space { Space::Derived(side) } else { space };
                rows.set(space, key, value);
            });
        });
        FindAnswer { problems: problems(&disk), disk }
    }
}

struct FindAnswer {
    problems: Vec<String>,
    disk: Disk,
}

/// What an open and a verify find. What was made again is noted.
fn problems(disk: &Disk) -> Vec<String> {
    let opened = Cortex::open_on(disk.medium(), &ada(), Options::default());
    let report = opened.and_then(|cortex| Ok((try_verify(&cortex)?, cortex.damage())));
    match report {
        Ok((report, damage)) => {
            let named = report.problems.iter().map(|p| format!("{}: {}", p.place, p.reason));
            let noted = damage.iter().map(|note| format!("{}: {}", note.place, note.reason));
            named.chain(noted).collect::<BTreeSet<_>>().into_iter().collect()
        }
        Err(error) => vec![error.to_string()],
    }
}

const DERIVED: Space = Space::Derived(kernel::store::Side::A);

fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 1;
    bytes
}

/// One row of each kind: by namespace, and inside a memory by part.
fn samples(dump: &Dump) -> BTreeMap<(u8, u8), (Vec<u8>, Vec<u8>)> {
    let mut samples = BTreeMap::new();
    for ((derived, key), value) in dump {
        if *derived {
            let part = if key[0] == b'm' { key[9] } else { 0 };
            samples.insert((key[0], part), (key.clone(), value.clone()));
        }
    }
    samples
}

/// A place is named by its row, or at open by the part that no longer agrees with the rest.
fn assert_named(problems: &[String], key: &[u8], what: &str) {
    let hex = encode_hex(key);
    let at_open: &[&str] = match key[0] {
        // Without counters everything is replayed over what is there, and a snapshot notices.
        b'X' => &["counters", "roots differ"],
        b'l' => &["journal"],
        _ => &[],
    };
    let is_named = |text: &String| at_open.iter().any(|name| text.contains(name));
    let named = problems.iter().any(|text| text.contains(&hex) || is_named(text));
    assert!(named, "{what} of {hex}: {problems:?}");
}

// kernel 61
#[test]
fn a_changed_missing_or_stray_row_is_named_in_every_namespace() {
    let original = original();
    assert_eq!(problems(&original.disk), Vec::<String>::new());
    let samples = samples(&original.dump);
    for namespace in NAMESPACES {
        assert!(samples.keys().any(|(first, _)| *first == namespace.prefix), "{}", namespace.name);
    }
    assert_eq!(samples.keys().filter(|(first, _)| *first == b'm').count(), 6);
    for (key, value) in samples.values() {
        if !value.is_empty() {
            let changed = flipped(value, value.len() / 2);
            let found = original.damaged(|set| set(DERIVED, key.clone(), Some(changed)));
            assert_named(&found.problems, key, "a flipped byte");
        }
        let longer = [value.as_slice(), &[0]].concat();
        let found = original.damaged(|set| set(DERIVED, key.clone(), Some(longer)));
        assert_named(&found.problems, key, "an added byte");
        let found = original.damaged(|set| set(DERIVED, key.clone(), None));
        assert_named(&found.problems, key, "the loss");
        let stray = [key.as_slice(), &[7]].concat();
        let found = original.damaged(|set| set(DERIVED, stray.clone(), Some(value.clone())));
        assert_named(&found.problems, &stray, "a stray neighbour");
    }
    let found = original.damaged(|set| set(DERIVED, b"?x".to_vec(), Some(vec![1])));
    assert_named(&found.problems, b"?x", "an unknown namespace");
}

// kernel 60: what is derived can be made again whatever happened to it
#[test]
fn a_rebuild_heals_every_derived_row() {
    let original = original();
    for (key, value) in samples(&original.dump).values() {
        let mut changes = vec![None, Some([value.as_slice(), &[0]].concat())];
        if let Some(last) = value.len().checked_sub(1) {
            changes.push(Some(flipped(value, last)));
        }
        for change in changes {
            let found = original.damaged(|set| set(DERIVED, key.clone(), change));
            let medium = found.disk.medium();
            let (healed, entries) =
                Cortex::rebuild_on(medium, &ada(), Options::default(), &mut |_, _| {}).unwrap();
            assert_eq!(entries, original.size);
            assert!(dump(&healed) == original.dump, "{}", encode_hex(key));
        }
    }
}

// kernel 9, 61, L3
#[test]
fn an_altered_entry_is_noticed_wherever_the_byte_is() {
    let original = original();
    for seq in 1..=original.size {
        let bytes = &original.dump[&(false, keys::entry(seq))];
        // The author's name is the one place where another byte is still a legal entry.
        let author = bytes.windows(6).position(|window| window == b"tester").unwrap();
        for at in [1, author, bytes.len() / 2, bytes.len() - 1] {
            let disk = original.copy();
            let (file, record) = ledger::find(&disk, seq);
            ledger::edit(&disk, file, |bytes| bytes[record.entry.start + at] ^= 1);
            let named = format!("entry {seq}: ");
            let found = problems(&disk);
            assert!(found.iter().any(|p| p.starts_with(&named)), "byte {at}: {found:?}");

            let disk = original.copy();
            ledger::forge_entry(&disk, seq, &flipped(bytes, at));
            assert!(!problems(&disk).is_empty(), "byte {at} of entry {seq}, with its checksum");
        }
    }
}

// kernel 9, 65, L3
#[test]
fn a_missing_or_swapped_frame_is_named() {
    let original = original();
    for seq in [1, (original.size - 1) / 2, original.size] {
        let disk = original.copy();
        let (file, record) = ledger::find(&disk, seq);
        ledger::edit(&disk, file, |bytes| bytes[record.frame.clone()].fill(0));
        let found = problems(&disk);
        assert!(found.iter().any(|p| p.starts_with(&format!("entry {seq}: "))), "{found:?}");

        // The header alone: the entry still reads, and the frame is named all the same.
        let disk = original.copy();
        ledger::edit(&disk, file, |bytes| bytes[record.frame.start] ^= 1);
        let found = problems(&disk);
        assert!(found.iter().any(|p| p.starts_with(&format!("entry {seq}: "))), "{found:?}");
    }
    let disk = original.copy();
    let (file, a) = ledger::find(&disk, 2);
    let (_, b) = ledger::find(&disk, 3);
    assert_eq!(a.frame.end, b.frame.start);
    ledger::edit(&disk, file, |bytes| bytes[a.frame.start..b.frame.end].rotate_left(a.frame.len()));
    assert!(!problems(&disk).is_empty());
}

// kernel 61, L3
#[test]
fn bodies_are_where_and_what_their_entries_say() {
    let original = original();
    let cortex = open(&original.copy());
    let with_body: Vec<u64> = (1..=original.size)
        .filter(|n| original.dump.contains_key(&(false, keys::body(*n))))
        .collect();
    let kinds: Vec<EntryKind> = with_body.iter().map(|n| payload(&cortex, *n).kind()).collect();
    for kind in [
        EntryKind::Write,
        EntryKind::Update,
        EntryKind::FindLate,
        EntryKind::Prompt,
        EntryKind::SessionEnd,
    ] {
        assert!(kinds.contains(&kind), "{kind:?}");
    }
    assert!(!with_body.contains(&5), "the erased one");
    let named = |disk: &Disk, seq: u64| {
        let (place, found) = (format!("body {seq}: "), problems(disk));
        assert!(found.len() == 1 && found[0].starts_with(&place), "{found:?}");
    };
    for seq in with_body {
        let bytes = &original.dump[&(false, keys::body(seq))];
        for at in [3, 22, bytes.len() - 1] {
            let disk = original.copy();
            let (file, record) = ledger::find(&disk, seq);
            ledger::edit(&disk, file, |bytes| bytes[record.body.unwrap().start + at] ^= 1);
            named(&disk, seq);
            let disk = original.copy();
            ledger::forge_body(&disk, seq, &flipped(bytes, at));
            named(&disk, seq);
        }
    }
    // A body in the place of one that was erased.
    let (disk, erased) = (original.copy(), 5);
    let length = ledger::find(&disk, erased).1.body.unwrap().len();
    let planted = SealedBody::new(salt(1), &Note { text: "x".repeat(length - 26) });
    let planted = codec::encode(&planted);
    assert_eq!(planted.len(), length);
    ledger::forge_body(&disk, erased, &planted);
    named(&disk, erased);
    assert!(cortex.read().unwrap().view().head(id(5)).unwrap().unwrap().erased);
}

/// Opens damaged files: an error, or problems, or the very same rows, made again or not. Anything else is a bug.
fn judge(original: &Original, disk: &Disk, what: &str) -> &'static str {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let cortex = Cortex::open_on(disk.medium(), &ada(), Options::default())?;
        let report = try_verify(&cortex)?;
        let dump = try_dump(&cortex)?;
        Ok::<_, Error>((report.is_clean(), dump, cortex.damage()))
    }));
    match outcome.unwrap_or_else(|_| panic!("{what}: the API panicked")) {
        Err(_) => "refused",
        Ok((false, ..)) => "reported",
        Ok((true, dump, damage)) => {
            assert!(dump == original.dump, "{what}: other data and nobody noticed");
            if damage.is_empty() { "the same" } else { "made again" }
        }
    }
}

fn with_derived(original: &Original, bytes: Vec<u8>) -> Disk {
    let disk = original.copy();
    disk.set_bytes(StoreFile::Derived, bytes);
    disk
}

// kernel 61, L1, L2: a derived store that is none is put aside and made again, to the same rows.
#[test]
fn a_cut_off_empty_or_foreign_derived_store_is_made_again() {
    let original = original();
    let bytes = original.disk.bytes_of(StoreFile::Derived);
    let made = |bytes: Vec<u8>, what: &str| {
        let disk = with_derived(&original, bytes);
        assert_eq!(judge(&original, &disk, what), "made again", "{what}");
        assert!(disk.files().contains(&StoreFile::DerivedAside), "{what}");
        assert_eq!(judge(&original, &disk, what), "the same", "{what}, opened again");
    };
    for len in [0, 1, 100, 4_096, bytes.len() / 2] {
        made(bytes[..len].to_vec(), "cut off");
    }
    judge(&original, &with_derived(&original, bytes[..bytes.len() - 1].to_vec()), "a byte short");
    let noise = Random(1);
    made(noise.take(bytes.len()).map(|n| n.to_be_bytes()[3]).collect(), "garbage");
    made(b"# notes\nnot a store\n".repeat(900), "a text");
    made(vec![0; bytes.len()], "zeros");
    let disk = original.copy();
    disk.take(StoreFile::Derived);
    assert_eq!(judge(&original, &disk, "deleted"), "the same", "one that is absent is no damage");
}

struct Random(u64);

impl Iterator for Random {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some(self.0 >> 33)
    }
}

// kernel 61
#[test]
fn a_flipped_bit_anywhere_in_a_file_never_passes_as_other_data() {
    let original = original();
    for file in [StoreFile::Derived, StoreFile::Segment(1)] {
        let bytes = original.disk.bytes_of(file);
        let used: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
        let mut tally: BTreeMap<&str, u32> = BTreeMap::new();
        for (seed, random) in Random(42).take(100).enumerate() {
            let random = usize::try_from(random).unwrap();
            // Every fourth anywhere, the others where something is written.
            let at = if seed % 4 == 0 { random % bytes.len() } else { used[random % used.len()] };
            let disk = original.copy();
            ledger::edit(&disk, file, |bytes| bytes[at] ^= 1 << (seed % 8));
            *tally.entry(judge(&original, &disk, &format!("byte {at}"))).or_default() += 1;
        }
        assert!(tally.len() > 1, "some flips must matter: {tally:?}");
    }
}

// kernel 61
#[test]
fn a_flipped_bit_in_the_header_of_the_derived_store_never_passes_as_other_data() {
    let original = original();
    let bytes = original.disk.bytes_of(StoreFile::Derived);
    for at in (0..320).filter(|at| bytes[*at] != 0 || at % 16 == 0) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        judge(&original, &with_derived(&original, damaged), &format!("header byte {at}"));
    }
}

// L2: a page of the derived store is overwritten, the process is killed, everything is made again: nothing is lost.
#[test]
fn no_page_of_the_derived_store_costs_a_memory() {
    const TRIALS: usize = 30;
    let original = original();
    let bytes = original.disk.bytes_of(StoreFile::Derived);
    let seed = 20_261_117;
    println!("seed {seed}");
    for (trial, random) in Random(seed).take(TRIALS).enumerate() {
        let page = usize::try_from(random).unwrap() % (bytes.len() / 4_096) * 4_096;
        let disk = original.copy();
        let mut noise = Random(random ^ 7);
        ledger::edit(&disk, StoreFile::Derived, |bytes| {
            bytes[page..page + 4_096].fill_with(|| noise.next().unwrap().to_be_bytes()[4]);
        });
        // Whoever comes next reads and writes what there is, and is killed.
        let served = catch_unwind(AssertUnwindSafe(|| {
            let cortex = Cortex::open_on(disk.medium(), &ada(), Options::default())?;
            drop(try_dump(&cortex));
            std::mem::forget(cortex);
            Ok::<_, Error>(())
        }));
        served.unwrap().unwrap_or_else(|error| panic!("trial {trial}, page {page}: {error}"));
        let disk = disk.after_power_cut(PowerCut::KeepUnsynced);
        let (healed, entries) =
            Cortex::rebuild_on(disk.medium(), &ada(), Options::default(), &mut |_, _| {}).unwrap();
        assert_eq!(entries, original.size);
        assert!(dump(&healed) == original.dump, "trial {trial}, page {page}");
    }
}

// L3: what is lost is named, everything else is served, and the actor goes on.
#[test]
fn a_damaged_ledger_costs_what_was_damaged() {
    let original = original();
    // Without the derived store the watermark says that the last frame was acknowledged.
    for seq in 1..=original.size {
        let disk = original.copy();
        let (file, record) = ledger::find(&disk, seq);
        ledger::edit(&disk, file, |bytes| bytes[record.entry.clone()].fill(0xff));
        disk.take(StoreFile::Derived);
        let cortex = open(&disk);
        let lost = format!("entry {seq}");
        assert!(cortex.damage().iter().any(|note| note.place == lost), "{:?}", cortex.damage());
        assert_eq!(size(&cortex), original.size);
        let found = dump(&cortex);
        for ((derived, key), value) in &original.dump {
            let is_lost = *derived || *key == keys::entry(seq);
            assert!(is_lost || found.get(&(false, key.clone())) == Some(value), "{seq}");
        }
        let receipt = cortex.write(stamp(99), fact(99, "on", ""));
        assert_eq!(receipt.unwrap().seq, original.size + 1);
    }
}
