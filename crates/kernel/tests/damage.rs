//! Goal: no byte of a store changes without being noticed, and no damage brings the process down.
//! Method: a store with every entry kind and namespace is closed, damaged row by row and byte by byte, and opened
//! again: it must refuse to open, or `verify` must name the damage, or every row must be as it was.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use kernel::codec;
use kernel::digest::encode_hex;
use kernel::journal::EntryKind;
use kernel::keys::{self, NAMESPACES};
use kernel::memory::{Note, SealedBody};
use kernel::store::Space;
use kernel::{Cortex, Error, Options};
use support::fill;
use testkit::build::{
    Dump, ada, dump, id, open, payload, salt, size, tamper, try_dump, try_verify,
};
use testkit::{Disk, PowerCut};

struct Original {
    disk: Disk,
    dump: Dump,
    size: u64,
}

fn original() -> Original {
    let disk = Disk::new();
    let cortex = open(&disk);
    fill(&cortex);
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

fn problems(disk: &Disk) -> Vec<String> {
    let report = Cortex::open_on(disk.medium(), &ada(), Options::default())
        .and_then(|cortex| try_verify(&cortex));
    match report {
        Ok(report) => {
            report.problems.iter().map(|p| format!("{}: {}", p.place, p.reason)).collect()
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
    let at_open = match key[0] {
        b'X' => "counters",
        b'l' => "journal",
        _ => "no other name",
    };
    let named = problems.iter().any(|text| text.contains(&hex) || text.contains(at_open));
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

// kernel 9, 61
#[test]
fn an_altered_entry_is_noticed_wherever_the_byte_is() {
    let original = original();
    for seq in 1..=original.size {
        let bytes = &original.dump[&(false, keys::entry(seq))];
        // The author's name is the one place where another byte is still a legal entry.
        let author = bytes.windows(6).position(|window| window == b"tester").unwrap();
        for at in [1, author, bytes.len() / 2, bytes.len() - 1] {
            let changed = flipped(bytes, at);
            let found = original.damaged(|set| set(Space::Truth, keys::entry(seq), Some(changed)));
            assert!(!found.problems.is_empty(), "byte {at} of entry {seq}");
        }
    }
}

// kernel 9, 65
#[test]
fn a_missing_swapped_or_stray_entry_is_named() {
    let original = original();
    let entry = |seq| original.dump[&(false, keys::entry(seq))].clone();
    for seq in [1, original.size / 2] {
        let found = original.damaged(|set| set(Space::Truth, keys::entry(seq), None));
        let after = format!("entry {}: follows entry {}", seq + 1, seq - 1);
        assert!(found.problems.contains(&after), "{:?}", found.problems);
    }
    let last = original.size;
    let found = original.damaged(|set| set(Space::Truth, keys::entry(last), None));
    assert!(found.problems[0].contains("counters"), "{:?}", found.problems);

    let found = original.damaged(|set| {
        set(Space::Truth, keys::entry(2), Some(entry(3)));
        set(Space::Truth, keys::entry(3), Some(entry(2)));
    });
    assert!(found.problems.iter().any(|p| p == "entry 2: holds entry 3"), "{:?}", found.problems);
    let found = original.damaged(|set| set(Space::Truth, keys::entry(last + 2), Some(entry(last))));
    assert!(!found.problems.is_empty());
    let found = original.damaged(|set| set(Space::Truth, b"jx".to_vec(), Some(vec![1])));
    assert!(found.problems.iter().any(|p| p.contains("6a78")), "{:?}", found.problems);
}

// kernel 61
#[test]
fn bodies_are_where_and_what_their_entries_say() {
    let original = original();
    let cortex = open(&original.disk);
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
    let named = |found: &FindAnswer, seq: u64| {
        let place = format!("body {seq}");
        assert!(found.problems.iter().any(|p| p.contains(&place)), "{:?}", found.problems);
    };
    for seq in with_body {
        let bytes = &original.dump[&(false, keys::body(seq))];
        for at in [3, 22, bytes.len() - 1] {
            let changed = flipped(bytes, at);
            let found = original.damaged(|set| set(Space::Truth, keys::body(seq), Some(changed)));
            named(&found, seq);
        }
        named(&original.damaged(|set| set(Space::Truth, keys::body(seq), None)), seq);
    }
    let planted = codec::encode(&SealedBody::new(salt(1), &Note { text: "planted".into() }));
    for seq in [1, 5, original.size + 1] {
        let body = planted.clone();
        let found = original.damaged(|set| set(Space::Truth, keys::body(seq), Some(body)));
        assert!(!found.problems.is_empty(), "a body beside entry {seq}");
    }
    assert!(cortex.read().unwrap().view().head(id(5)).unwrap().unwrap().erased);
}

/// Opens damaged bytes: an error, or problems, or the very same rows. Anything else is a bug.
fn judge(original: &Original, bytes: Vec<u8>, what: &str) -> &'static str {
    let disk = Disk::new();
    disk.set_bytes(kernel::store::StoreFile::Derived, bytes);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let cortex = Cortex::open_on(disk.medium(), &ada(), Options::default())?;
        let report = try_verify(&cortex)?;
        let dump = try_dump(&cortex)?;
        Ok::<_, Error>((report.is_clean(), dump))
    }));
    match outcome.unwrap_or_else(|_| panic!("{what}: the API panicked")) {
        Err(_) => "refused",
        Ok((false, _)) => "reported",
        Ok((true, dump)) => {
            assert!(dump == original.dump, "{what}: other data and nobody noticed");
            "the same"
        }
    }
}

// kernel 61
#[test]
fn a_cut_off_empty_or_foreign_file_is_never_taken_for_a_store() {
    let original = original();
    let bytes = original.disk.bytes();
    for len in [0, 1, 100, 4_096, bytes.len() / 2] {
        assert_ne!(judge(&original, bytes[..len].to_vec(), "cut off"), "the same", "{len} bytes");
    }
    judge(&original, bytes[..bytes.len() - 1].to_vec(), "one byte short");
    let noise = Random(1);
    let garbage: Vec<u8> = noise.take(bytes.len()).map(|n| n.to_be_bytes()[3]).collect();
    assert_eq!(judge(&original, garbage, "garbage"), "refused");
    assert_eq!(judge(&original, b"# notes\nnot a store\n".repeat(900), "a text"), "refused");
    assert_eq!(judge(&original, vec![0; bytes.len()], "zeros"), "refused");
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
fn a_flipped_bit_anywhere_in_the_file_never_passes_as_other_data() {
    let original = original();
    let bytes = original.disk.bytes();
    let used: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
    let mut tally: BTreeMap<&str, u32> = BTreeMap::new();
    for (seed, random) in Random(42).take(100).enumerate() {
        let random = usize::try_from(random).unwrap();
        // Every fourth anywhere, the others where something is written.
        let at = if seed % 4 == 0 { random % bytes.len() } else { used[random % used.len()] };
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (seed % 8);
        *tally.entry(judge(&original, damaged, &format!("byte {at}"))).or_default() += 1;
    }
    assert!(tally.len() > 1, "some flips must matter: {tally:?}");
}

// kernel 61
#[test]
fn a_flipped_bit_in_the_file_header_never_passes_as_other_data() {
    let original = original();
    let bytes = original.disk.bytes();
    for at in (0..320).filter(|at| bytes[*at] != 0 || at % 16 == 0) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        judge(&original, damaged, &format!("header byte {at}"));
    }
}
