//! Goal: nodes that share a ledger are one memory: no entry is lost, doubled or overwritten, whoever writes, and a copy
//! that is damaged costs nothing. Method: a shared journal in memory that counts, refuses and loses answers on demand;
//! copies of it in folders of their own; random histories dealt out to two nodes.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use kernel::actor::ActorName;
use kernel::command::Stamp;
use kernel::ledger::{
    CopyPurpose, Frame, LastEntry, SharedEntry, SharedJournal, SharedLedgers, SharedSource,
};
use kernel::{Cortex, Error, Options, Result};
use proptest::prelude::*;
use tempfile::TempDir;
use testkit::build::{
    ada, assert_clean, at, dump, fact, head_revision, removal, revision, size, stamp,
};

type Rows = BTreeMap<u64, (Vec<u8>, Option<Vec<u8>>)>;

/// What the next append does besides appending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextAppend {
    IsAnswered,
    LosesItsAnswer,
    IsRefused,
    /// So many times, and then it is answered.
    IsOvertaken(usize),
    /// Until others are asked to let it happen.
    HasNoWay,
}

#[derive(Debug)]
struct MemoryJournal {
    rows: Mutex<Rows>,
    next: Mutex<NextAppend>,
    overtaken: AtomicU64,
    /// How often a node asked others for the way.
    asked: AtomicU64,
    looks: AtomicU64,
}

impl MemoryJournal {
    fn new() -> Arc<MemoryJournal> {
        Arc::new(MemoryJournal {
            rows: Mutex::default(),
            next: Mutex::new(NextAppend::IsAnswered),
            overtaken: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            looks: AtomicU64::new(0),
        })
    }

    fn holds(&self, text: &[u8]) -> bool {
        let rows = self.rows.lock().unwrap();
        let bodies = rows.values().filter_map(|(_, body)| body.as_ref());
        bodies.into_iter().any(|body| body.windows(text.len()).any(|part| part == text))
    }
}

impl SharedJournal for MemoryJournal {
    fn append(&self, after: LastEntry<'_>, frame: &Frame<'_>) -> Result<()> {
        let next = std::mem::replace(&mut *self.next.lock().unwrap(), NextAppend::IsAnswered);
        if next == NextAppend::IsRefused {
            return Err(Error::LedgerAway("it is not there".into()));
        }
        if let NextAppend::IsOvertaken(times @ 1..) = next {
            *self.next.lock().unwrap() = NextAppend::IsOvertaken(times - 1);
            return Err(Error::Overtaken);
        }
        if next == NextAppend::HasNoWay {
            if self.asked.load(Ordering::Relaxed) == 0 {
                *self.next.lock().unwrap() = NextAppend::HasNoWay;
            }
            return Err(Error::Overtaken);
        }
        let mut rows = self.rows.lock().unwrap();
        let last = rows.last_key_value().map(|(seq, (entry, _))| (*seq, entry.clone()));
        let (seq, entry) = last.unwrap_or_default();
        if (seq, &*entry) != (after.seq, after.entry) {
            self.overtaken.fetch_add(1, Ordering::Relaxed);
            return Err(Error::Overtaken);
        }
        for (seq, part) in (after.seq + 1..).zip(&frame.entries) {
            rows.insert(seq, (part.entry.to_vec(), part.body.map(<[u8]>::to_vec)));
        }
        for seq in &frame.erased {
            rows.get_mut(seq).unwrap().1 = None;
        }
        match next {
            NextAppend::LosesItsAnswer => Err(Error::OutcomeUnknown("the line broke".into())),
            _ => Ok(()),
        }
    }

    fn read(&self, from: u64) -> Result<Vec<SharedEntry>> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        let rows = self.rows.lock().unwrap();
        let entry = |(seq, (entry, body)): (&u64, &(Vec<u8>, Option<Vec<u8>>))| SharedEntry {
            seq: *seq,
            entry: entry.clone(),
            body: body.clone(),
        };
        Ok(rows.range(from..).take(3).map(entry).collect())
    }

    fn ask_for_way(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct OneJournal {
    journal: Arc<MemoryJournal>,
    /// The files of a checkpoint.
    checkpoint: Option<PathBuf>,
}

impl SharedLedgers for OneJournal {
    fn journal(&self, _: &ActorName) -> Arc<dyn SharedJournal> {
        Arc::clone(&self.journal) as Arc<dyn SharedJournal>
    }

    fn has(&self, _: &ActorName) -> Result<bool> {
        Ok(!self.journal.rows.lock().unwrap().is_empty())
    }

    fn actors(&self) -> Result<Vec<ActorName>> {
        Ok(vec![ada()])
    }

    fn restore(&self, _: &ActorName, folder: &Path) -> bool {
        let Some(checkpoint) = &self.checkpoint else { return false };
        copy_all(checkpoint, folder);
        true
    }
}

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_all(&path, &to);
        } else {
            std::fs::copy(path, to).unwrap();
        }
    }
}

fn try_node(folder: &TempDir, journal: &Arc<MemoryJournal>) -> Result<Cortex> {
    let ledgers = Arc::new(OneJournal { journal: Arc::clone(journal), checkpoint: None });
    let shared = Some(SharedSource { ledgers, purpose: CopyPurpose::Cache });
    Cortex::open(folder.path(), &ada(), Options { shared, ..Options::default() })
}

fn node(folder: &TempDir, journal: &Arc<MemoryJournal>) -> Cortex {
    try_node(folder, journal).unwrap()
}

/// A node that begins with the files of a checkpoint.
fn node_from(folder: &TempDir, journal: &Arc<MemoryJournal>, checkpoint: &Path) -> Cortex {
    let checkpoint = Some(checkpoint.to_owned());
    let ledgers = Arc::new(OneJournal { journal: Arc::clone(journal), checkpoint });
    let shared = Some(SharedSource { ledgers, purpose: CopyPurpose::Cache });
    Cortex::open(folder.path(), &ada(), Options { shared, ..Options::default() }).unwrap()
}

fn folders<const N: usize>() -> [TempDir; N] {
    std::array::from_fn(|_| TempDir::new().unwrap())
}

/// Every byte of every file below a folder.
fn bytes_below(folder: &std::path::Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            bytes.extend(bytes_below(&path));
        } else {
            bytes.extend(std::fs::read(path).unwrap());
        }
    }
    bytes
}

fn is_within(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|part| part == text)
}

// cluster 2, 3, 9
#[test]
fn two_nodes_that_write_at_once_lose_and_double_nothing() {
    const WRITES: u64 = 60;
    let (journal, folders) = (MemoryJournal::new(), folders::<2>());
    let nodes = [node(&folders[0], &journal), node(&folders[1], &journal)];
    let seqs: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0_u64..)
            .zip(&nodes)
            .map(|(place, cortex)| {
                scope.spawn(move || {
                    let name = |n| format!("node {place} wrote {n}");
                    let one = |n| cortex.write(stamp(1), fact(place * 1_000 + n, &name(n), "x"));
                    (0..WRITES).map(|n| one(n).unwrap().seq).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let mut sorted = seqs.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (1..=2 * WRITES).collect::<Vec<_>>(), "each answer has a seq of its own");
    for cortex in &nodes {
        assert_eq!(cortex.catch_up().unwrap(), 2 * WRITES);
        assert_clean(cortex);
    }
    assert_eq!(nodes[0].root().unwrap(), nodes[1].root().unwrap());
    assert_eq!(dump(&nodes[0]), dump(&nodes[1]));
}

// cluster 3
#[test]
fn of_two_nodes_that_expect_the_same_version_one_wins() {
    let (journal, folders) = (MemoryJournal::new(), folders::<2>());
    let nodes = [node(&folders[0], &journal), node(&folders[1], &journal)];
    nodes[0].write(stamp(1), fact(1, "a fact", "x")).unwrap();
    nodes[1].catch_up().unwrap();
    nodes[0].update(stamp(2), revision(1, Some(1), "first")).unwrap();
    let lost = nodes[1].update(stamp(2), revision(1, Some(1), "second"));
    assert!(matches!(lost, Err(Error::VersionConflict { current: 2, .. })), "{lost:?}");
    assert!(journal.overtaken.load(Ordering::Relaxed) > 0, "it had not heard of the first");
}

// cluster 3, 19
#[test]
fn what_was_decided_before_another_node_wrote_is_to_be_decided_again() {
    let (journal, folders) = (MemoryJournal::new(), folders::<2>());
    let nodes = [node(&folders[0], &journal), node(&folders[1], &journal)];
    nodes[0].write(stamp(1), fact(1, "first", "x")).unwrap();
    nodes[1].catch_up().unwrap();
    let decided = |size| Stamp { decided_at: Some(size), ..stamp(2) };
    assert_eq!(nodes[1].write(decided(1), fact(2, "second", "x")).unwrap().seq, 2);
    // The first node has not heard of it, and finds out by its append.
    let late = nodes[0].write(decided(1), fact(3, "third", "x"));
    assert!(matches!(late, Err(Error::Overtaken)), "{late:?}");
    assert_eq!(size(&nodes[0]), 2, "it has heard of it now");
    assert_eq!(nodes[0].write(decided(2), fact(3, "third", "x")).unwrap().seq, 3);
    // What the same node wrote meanwhile is no other node's.
    assert_eq!(nodes[0].write(decided(2), fact(4, "fourth", "x")).unwrap().seq, 4);
    nodes[1].catch_up().unwrap();
    assert_eq!(nodes[0].root().unwrap(), nodes[1].root().unwrap());
}

// cluster 2: a node that looks first and then appends loses most races against one that only appends
#[test]
fn a_write_that_is_overtaken_a_thousand_times_is_made_in_the_end() {
    let (journal, folders) = (MemoryJournal::new(), folders::<1>());
    let node = node(&folders[0], &journal);
    *journal.next.lock().unwrap() = NextAppend::IsOvertaken(1_000);
    assert_eq!(node.write(stamp(1), fact(1, "first", "x")).unwrap().seq, 1);
    assert_eq!(*journal.next.lock().unwrap(), NextAppend::IsAnswered);
}

// cluster 2
#[test]
fn a_node_that_is_overtaken_asks_for_the_way_and_one_that_is_asked_writes_after_the_other() {
    let (journal, folders) = (MemoryJournal::new(), folders::<2>());
    let nodes = [node(&folders[0], &journal), node(&folders[1], &journal)];
    *journal.next.lock().unwrap() = NextAppend::IsOvertaken(2);
    nodes[0].write(stamp(1), fact(1, "after two", "x")).unwrap();
    assert_eq!(journal.asked.load(Ordering::Relaxed), 0, "two may be chance");
    *journal.next.lock().unwrap() = NextAppend::HasNoWay;
    nodes[0].write(stamp(1), fact(2, "after it asked", "x")).unwrap();
    assert_eq!(journal.asked.load(Ordering::Relaxed), 1);
    // It waits for a moment only, which this thread may miss where much else is done.
    let is_given = (0..20_u64).any(|n| {
        nodes[1].catch_up().unwrap();
        nodes[0].give_way().unwrap();
        std::thread::scope(|scope| {
            let looks = journal.looks.load(Ordering::Relaxed);
            let own = scope.spawn(|| nodes[0].write(stamp(2), fact(10 + n, "own", "x")).unwrap());
            // It looks again and again whether the other wrote.
            let is_waiting = || journal.looks.load(Ordering::Relaxed) > looks + 3;
            while !is_waiting() && !own.is_finished() {
                std::thread::yield_now();
            }
            let other = nodes[1].write(stamp(2), fact(50 + n, "the other's", "x")).unwrap();
            own.join().unwrap().seq > other.seq
        })
    });
    assert!(is_given, "who is asked writes first nevertheless");
    // Nobody else writes now.
    nodes[0].give_way().unwrap();
    nodes[0].write(stamp(3), fact(90, "nobody wanted the way", "x")).unwrap();
}

// cluster 3, 8
#[test]
fn a_question_is_answered_while_a_write_is_overtaken_again_and_again() {
    let (journal, folders) = (MemoryJournal::new(), folders::<2>());
    let nodes = [node(&folders[0], &journal), node(&folders[1], &journal)];
    nodes[1].write(stamp(1), fact(1, "of the other node", "x")).unwrap();
    // A write is given up in the end, also where this thread has to wait for its turn as long as that.
    let is_made = (0..5).any(|_| {
        *journal.next.lock().unwrap() = NextAppend::IsOvertaken(usize::MAX);
        let is_overtaken = || *journal.next.lock().unwrap() != NextAppend::IsOvertaken(usize::MAX);
        std::thread::scope(|scope| {
            let write = scope.spawn(|| nodes[0].write(stamp(2), fact(2, "contested", "x")));
            while !is_overtaken() {
                std::thread::yield_now();
            }
            assert_eq!(nodes[0].catch_up().unwrap(), 1);
            *journal.next.lock().unwrap() = NextAppend::IsAnswered;
            write.join().unwrap().is_ok()
        })
    });
    assert!(is_made, "the question waits for the write");
    assert_eq!(nodes[1].catch_up().unwrap(), 2);
}

// cluster 9, 10
#[test]
fn a_node_begins_from_a_checkpoint_and_refuses_one_with_another_root() {
    let journal = MemoryJournal::new();
    let [first, second, third, fourth] = folders::<4>();
    let [checkpoint, stranger] = folders::<2>();
    let writer = node(&first, &journal);
    for n in 1..=20 {
        writer.write(stamp(1), fact(n, &format!("fact {n}"), "x")).unwrap();
    }
    let state = writer.checkpoint(&|| stamp(2), checkpoint.path()).unwrap().unwrap();
    assert_eq!((state.size, state.erased), (20, 0));
    writer.write(stamp(3), fact(30, "behind it", "x")).unwrap();
    let begun = node_from(&second, &journal, checkpoint.path());
    assert_eq!((begun.root().unwrap(), size(&begun)), (writer.root().unwrap(), 22));
    assert_eq!(dump(&begun), dump(&writer));
    assert_clean(&begun);
    // The state of another journal is noticed by its root, and the journal is read from its start.
    let elsewhere = MemoryJournal::new();
    let other = node(&third, &elsewhere);
    for n in 1..=20 {
        other.write(stamp(1), fact(n, &format!("another {n}"), "x")).unwrap();
    }
    other.checkpoint(&|| stamp(2), stranger.path()).unwrap().unwrap();
    let made_again = node_from(&fourth, &journal, stranger.path());
    assert_eq!(made_again.root().unwrap(), writer.root().unwrap());
    assert_clean(&made_again);
}

// cluster 5, 7
#[test]
fn an_answer_that_is_lost_is_found_again_by_its_key() {
    let (journal, folders) = (MemoryJournal::new(), folders::<2>());
    let nodes = [node(&folders[0], &journal), node(&folders[1], &journal)];
    let keyed = || Stamp { idempotency_key: Some("k".into()), ..stamp(1) };
    *journal.next.lock().unwrap() = NextAppend::LosesItsAnswer;
    let lost = nodes[0].write(keyed(), fact(1, "once", "x"));
    assert!(matches!(lost, Err(Error::OutcomeUnknown(_))), "{lost:?}");
    for cortex in &nodes {
        let receipt = cortex.write(keyed(), fact(1, "once", "x")).unwrap();
        assert!(receipt.replayed && receipt.seq == 1, "{receipt:?}");
        assert_eq!(size(cortex), 1);
    }
    *journal.next.lock().unwrap() = NextAppend::IsRefused;
    let away = nodes[0].write(stamp(1), fact(2, "two", "x"));
    assert!(matches!(away, Err(Error::LedgerAway(_))), "{away:?}");
    assert!(!nodes[0].is_poisoned());
    assert_eq!(nodes[0].write(stamp(1), fact(2, "two", "x")).unwrap().seq, 2);
}

// cluster 11
#[test]
fn what_one_node_erases_is_gone_from_the_journal_and_from_every_copy() {
    const SECRET: &[u8] = b"the harbour master's name";
    let (journal, folders) = (MemoryJournal::new(), folders::<3>());
    let first = node(&folders[0], &journal);
    let content = std::str::from_utf8(SECRET).unwrap();
    first.write(stamp(1), fact(1, "a fact", content)).unwrap();
    first.write(stamp(1), fact(2, "another", "that stays")).unwrap();
    let second = node(&folders[1], &journal);
    assert!(is_within(&bytes_below(folders[1].path()), SECRET));
    second.erase(stamp(2), removal(1)).unwrap();
    assert!(!journal.holds(SECRET) && journal.holds(b"that stays"));
    first.catch_up().unwrap();
    let third = node(&folders[2], &journal);
    for (cortex, folder) in [first, second, third].into_iter().zip(&folders) {
        assert!(cortex.wait_for_scrub(std::time::Duration::from_mins(1)));
        assert_clean(&cortex);
        drop(cortex);
        assert!(!is_within(&bytes_below(folder.path()), SECRET));
    }
}

// cluster 9
#[test]
fn any_altered_byte_of_a_copy_is_noticed_and_the_copy_made_again() {
    let (journal, folders) = (MemoryJournal::new(), folders::<2>());
    let first = node(&folders[0], &journal);
    for n in 1..=8 {
        first.write(stamp(1), fact(n, &format!("memory {n}"), "some content")).unwrap();
    }
    let (root, state) = (first.root().unwrap(), dump(&first));
    drop(node(&folders[1], &journal));
    let segment = folders[1].path().join("ledger").join("00000000000000000001.log");
    let sound = std::fs::read(&segment).unwrap();
    let used = sound.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    for place in (0..used).step_by(29) {
        let mut bytes = std::fs::read(&segment).unwrap();
        bytes[place] ^= 0x10;
        std::fs::write(&segment, &bytes).unwrap();
        // Without what is derived, everything has to be read from the segment.
        std::fs::remove_file(folders[1].path().join("derived.redb")).unwrap();
        let cortex = node(&folders[1], &journal);
        assert_eq!(cortex.root().unwrap(), root, "byte {place}");
        assert_eq!(dump(&cortex), state, "byte {place}");
    }
}

// cluster 9
#[test]
fn a_copy_with_another_past_is_thrown_away() {
    let (journal, other, folders) = (MemoryJournal::new(), MemoryJournal::new(), folders::<2>());
    let first = node(&folders[0], &journal);
    first.write(stamp(1), fact(1, "here", "x")).unwrap();
    let second = node(&folders[1], &other);
    second.write(stamp(1), fact(2, "elsewhere", "x")).unwrap();
    second.write(stamp(1), fact(3, "elsewhere", "y")).unwrap();
    drop(second);
    // As after a database lost what it had acknowledged.
    let cortex = node(&folders[1], &journal);
    assert_eq!(cortex.root().unwrap(), first.root().unwrap());
    cortex.write(stamp(2), fact(4, "both", "x")).unwrap();
    assert_eq!(first.catch_up().unwrap(), 2);
}

// cluster 14
#[test]
fn entries_that_this_build_does_not_read_are_refused() {
    let (journal, folders) = (MemoryJournal::new(), folders::<2>());
    let first = node(&folders[0], &journal);
    first.write(stamp(1), fact(1, "a fact", "x")).unwrap();
    first.write(stamp(1), fact(2, "another", "y")).unwrap();
    {
        let mut rows = journal.rows.lock().unwrap();
        let another = rows[&2].1.clone();
        rows.get_mut(&1).unwrap().1 = another;
    }
    let forged = try_node(&folders[1], &journal);
    assert!(matches!(&forged, Err(Error::Corrupt { place, .. }) if place.contains("entry 1")));
    journal.rows.lock().unwrap().get_mut(&1).unwrap().0 = b"not an entry".to_vec();
    assert!(try_node(&folders[1], &journal).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    // cluster 3, 9: any history, dealt out to two nodes in any order, gives one state everywhere.
    #[test]
    fn a_history_dealt_out_to_nodes_gives_one_state(
        steps in prop::collection::vec((0_usize..2, 0_u8..5, 1_u64..6), 1..40),
    ) {
        let (journal, folders) = (MemoryJournal::new(), folders::<3>());
        let nodes = [node(&folders[0], &journal), node(&folders[1], &journal)];
        for (n, (place, kind, pick)) in (1_u64..).zip(steps) {
            let cortex = &nodes[place];
            let now = Stamp::new(at(i64::try_from(n).unwrap()), "tester");
            // What does not apply is refused and changes nothing.
            let _ = match kind {
                0 | 1 => cortex.write(now, fact(n, &format!("memory {n}"), "x")),
                2 => cortex.update(now, revision(pick, None, &format!("title {n}"))),
                3 => cortex.erase(now, removal(pick)),
                _ => cortex.update_head(now, head_revision(pick, kernel::journal::HeadPatch {
                    pinned: Some(n % 2 == 0),
                    ..Default::default()
                })),
            };
        }
        let late = node(&folders[2], &journal);
        for cortex in &nodes {
            cortex.catch_up().unwrap();
            prop_assert_eq!(cortex.root().unwrap(), late.root().unwrap());
            prop_assert_eq!(dump(cortex), dump(&late));
        }
        assert_clean(&late);
    }
}
