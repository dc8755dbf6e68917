//! Goal: layers above the kernel see every entry in order and commit with it or not at all; after a failed commit
//! nothing goes on until the actor is reopened, and then everything acknowledged is there.
//! Method: a hook that keeps a row per entry, one that fails on demand, and a disk that loses power.

#![allow(clippy::unwrap_used)]

mod support;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use kernel::command::Command;
use kernel::hook::{HookRows, JournalHook, Prepare, PreparedBody, RecordedEntry};
use kernel::journal::EntryKind;
use kernel::memory::{Body, Outcome};
use kernel::store::View;
use kernel::{Cortex, Error, Options, Result, Submission};
use support::{attestation, fill};
use testkit::build::{
    Dump, ada, assert_clean, dump, fact, id, removal, run, size, stamp, tamper, verify,
};
use testkit::{Disk, PowerCut};

/// What a hook was told, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Call {
    Open(u64),
    Entry(u64, EntryKind, bool),
    Seal,
    Committed,
    Aborted,
}

/// Keeps one row per entry under its own prefix, and a count of all.
#[derive(Debug)]
struct Scribe {
    calls: Arc<Mutex<Vec<Call>>>,
    fails: Arc<AtomicBool>,
    count: u64,
    committed: u64,
}

impl Scribe {
    fn note(&self, call: Call) {
        self.calls.lock().unwrap().push(call);
    }
}

const COUNT: &[u8] = &[0x90, 1];

impl JournalHook for Scribe {
    fn name(&self) -> &'static str {
        "scribe"
    }

    fn open(&mut self, view: &View<'_>) -> Result<()> {
        let count = view.get(COUNT)?.map_or(0, |b| u64::from_be_bytes(b.try_into().unwrap()));
        (self.count, self.committed) = (count, count);
        self.note(Call::Open(count));
        Ok(())
    }

    fn entry(
        &mut self,
        view: &View<'_>,
        recorded: RecordedEntry<'_>,
        staged: &mut HookRows<'_>,
    ) -> Result<()> {
        let entry = recorded.entry;
        self.note(Call::Entry(entry.seq, entry.kind, recorded.sealed.is_some()));
        assert_eq!(view.counters()?.size, entry.seq, "the kernel's own changes are visible");
        let mut key = vec![0x90, 2];
        key.extend(entry.seq.to_be_bytes());
        staged.set(key, Some(entry.by.clone().into_bytes()));
        self.count += 1;
        // After its rows are staged: a failure must take them back.
        if self.fails.load(Ordering::Relaxed) && entry.by == "tester" {
            return Err(Error::corrupt("scribe", "told to fail"));
        }
        Ok(())
    }

    fn seal(&mut self, _: &View<'_>, staged: &mut HookRows<'_>) -> Result<()> {
        self.note(Call::Seal);
        staged.set(COUNT.to_vec(), Some(self.count.to_be_bytes().to_vec()));
        Ok(())
    }

    fn committed(&mut self) {
        self.note(Call::Committed);
        self.committed = self.count;
    }

    fn aborted(&mut self) {
        self.note(Call::Aborted);
        self.count = self.committed;
    }
}

#[derive(Clone, Default)]
struct Watch {
    calls: Arc<Mutex<Vec<Call>>>,
    fails: Arc<AtomicBool>,
}

impl Watch {
    fn open(&self, disk: &Disk) -> Result<Cortex> {
        let watch = self.clone();
        let hooks = Arc::new(move || {
            let (calls, fails) = (Arc::clone(&watch.calls), Arc::clone(&watch.fails));
            vec![Box::new(Scribe { calls, fails, count: 0, committed: 0 }) as Box<dyn JournalHook>]
        });
        Cortex::open_on(disk.medium(), &ada(), Options { hooks, ..Options::default() })
    }

    fn take(&self) -> Vec<Call> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }

    fn entries(&self) -> Vec<Call> {
        self.take().into_iter().filter(|call| matches!(call, Call::Entry(..))).collect()
    }
}

fn hook_rows(dump: &Dump) -> usize {
    dump.keys().filter(|(derived, key)| *derived && key[0] == 0x90).count()
}

// kernel 25
#[test]
fn a_hook_sees_every_entry_once_and_again_on_a_rebuild() {
    let (disk, watch) = (Disk::new(), Watch::default());
    let cortex = watch.open(&disk).unwrap();
    assert_eq!(watch.take(), [Call::Open(0)]);
    cortex.write(stamp(1), fact(1, "one", "")).unwrap();
    let one = [Call::Entry(1, EntryKind::Write, true), Call::Seal, Call::Committed];
    assert_eq!(watch.take(), one);
    cortex.attest(stamp(2), attestation("i", Outcome::Success, &[1], &[])).unwrap();
    let two = [
        Call::Entry(2, EntryKind::Attest, false),
        Call::Entry(3, EntryKind::LearnWeights, false),
        Call::Seal,
        Call::Committed,
    ];
    assert_eq!(watch.take(), two, "both in one batch");
    run(&cortex, 3, Command::Tombstone(removal(9))).unwrap_err();
    assert_eq!(watch.take(), [], "a refusal is no entry");

    let before = dump(&cortex);
    assert_eq!(hook_rows(&before), 4);
    cortex.rebuild(Box::new(|_, _| {})).unwrap();
    let replayed = watch.take();
    assert_eq!(replayed[0], Call::Open(0), "a rebuild starts from nothing");
    let then = [Call::Open(3)];
    assert_eq!(replayed[1..], [&one[..1], &two, &then].concat(), "and the writer goes on with it");
    assert_eq!(dump(&cortex), before);
    drop(cortex);
    let cortex = watch.open(&disk).unwrap();
    assert_eq!(watch.take(), [Call::Open(3)]);
    assert_eq!(dump(&cortex), before);
}

// kernel 25, 60
#[test]
fn rows_of_hooks_are_the_same_after_a_rebuild_and_verify_covers_them() {
    let (disk, watch) = (Disk::new(), Watch::default());
    let cortex = watch.open(&disk).unwrap();
    fill(&cortex);
    let live = watch.entries();
    assert_eq!(live.len() as u64, size(&cortex));
    let before = dump(&cortex);
    assert_eq!(hook_rows(&before), live.len() + 1);
    cortex.rebuild(Box::new(|_, _| {})).unwrap();
    let expected: Vec<_> = live
        .iter()
        .map(|call| match call {
            Call::Entry(seq @ (5 | 29), kind, true) => Call::Entry(*seq, *kind, false),
            other => other.clone(),
        })
        .collect();
    assert_eq!(watch.entries(), expected, "only the erased bodies are no longer shown");
    assert_eq!(dump(&cortex), before);
    assert_clean(&cortex);
    drop(cortex);

    let row = [&[0x90, 2][..], &7_u64.to_be_bytes()].concat();
    for value in [None, Some(b"tampered".to_vec())] {
        let damaged = disk.after_power_cut(PowerCut::KeepUnsynced);
        tamper(&damaged, |_, side, rows| {
            rows.set(kernel::store::Space::Derived(side), row.clone(), value);
        });
        let report = verify(&watch.open(&damaged).unwrap());
        let place = format!("hook row {}", kernel::digest::encode_hex(&row));
        assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
        assert_eq!(report.problems[0].place, place);
    }
    // Without the hook its rows do not follow from the journal.
    let report = verify(&testkit::build::open(&disk));
    assert_eq!(report.problems.len(), live.len() + 1);
}

// kernel 25, 66, 67
#[test]
fn a_hook_that_fails_takes_the_whole_batch_with_it_and_the_pen_goes_on() {
    let (disk, watch) = (Disk::new(), Watch::default());
    let cortex = watch.open(&disk).unwrap();
    cortex.write(stamp(1), fact(1, "kept", "")).unwrap();
    let (before, root) = (dump(&cortex), cortex.root().unwrap());
    watch.take();
    watch.fails.store(true, Ordering::Relaxed);
    let by = |by: &str, n| Submission {
        stamp: kernel::command::Stamp::new(testkit::build::at(2), by),
        command: Command::Write(Box::new(fact(n, "lost", ""))),
        authority: None,
    };
    // The first would be fine by itself; it shares the batch with one that fails.
    let outcomes =
        cortex.submit_bulk(vec![by("other", 2), by("tester", 3), by("other", 4)]).unwrap();
    for outcome in outcomes {
        let error = outcome.unwrap_err();
        assert_eq!(error, Error::corrupt("scribe (scribe)", "told to fail"));
    }
    assert_eq!(watch.take().last(), Some(&Call::Aborted));
    assert_eq!((dump(&cortex), cortex.root().unwrap()), (before.clone(), root));
    let attest = attestation("i", Outcome::Success, &[1], &[]);
    cortex.attest(stamp(2), attest.clone()).unwrap_err();
    assert_eq!(dump(&cortex), before);

    watch.fails.store(false, Ordering::Relaxed);
    let receipt = cortex.write(stamp(3), fact(2, "next", "")).unwrap();
    assert_eq!(receipt.seq, 2, "kernel 65: no gap after aborted batches");
    cortex.attest(stamp(3), attest).unwrap();
    assert_eq!(hook_rows(&dump(&cortex)), 5);
    assert_clean(&cortex);
    drop(cortex);
    assert_clean(&watch.open(&disk).unwrap());
}

// kernel 62
#[test]
fn a_rebuild_that_fails_leaves_the_live_state_and_can_be_made_again() {
    let (disk, watch) = (Disk::new(), Watch::default());
    let cortex = watch.open(&disk).unwrap();
    fill(&cortex);
    let before = dump(&cortex);
    watch.fails.store(true, Ordering::Relaxed);
    assert_eq!(cortex.rebuild(Box::new(|_, _| {})).unwrap_err().code(), "corrupt");
    assert_eq!(dump(&cortex), before);
    watch.fails.store(false, Ordering::Relaxed);
    let next = cortex.write(stamp(90), fact(90, "x", "")).unwrap();
    assert!(next.changed, "the writer is none the worse for it");
    let before = dump(&cortex);
    drop(cortex);
    let cortex = watch.open(&disk).unwrap();
    assert_eq!(dump(&cortex), before);
    cortex.rebuild(Box::new(|_, _| {})).unwrap();
    assert_eq!(dump(&cortex), before);
    assert_clean(&cortex);
}

// kernel 65, 66, 67
#[test]
fn a_failed_commit_poisons_the_pen_and_reopening_recovers_all_that_was_acknowledged() {
    // How many syncs a write takes is the engine's affair: fail at each of the next few.
    for after in 1..=4 {
        let (disk, watch) = (Disk::new(), Watch::default());
        let cortex = watch.open(&disk).unwrap();
        cortex.write(stamp(1), fact(1, "acknowledged", "")).unwrap();
        disk.die_at_sync(disk.syncs() + after);
        let mut acknowledged = 1;
        let failure = loop {
            match cortex.write(stamp(2), fact(2 + acknowledged, "maybe", "")) {
                Ok(receipt) => acknowledged = receipt.seq,
                Err(error) => break error,
            }
        };
        assert_eq!(failure.code(), "storage");
        assert_eq!(cortex.write(stamp(3), fact(9, "x", "")).unwrap_err(), Error::Poisoned);
        assert_eq!(cortex.erase(stamp(3), removal(1)).unwrap_err(), Error::Poisoned);
        assert_eq!(cortex.rebuild(Box::new(|_, _| {})).unwrap_err(), Error::Poisoned);
        drop(cortex);

        for cut in [PowerCut::LoseUnsynced, PowerCut::KeepUnsynced, PowerCut::Some(after)] {
            let found = disk.after_power_cut(cut);
            let cortex = watch.open(&found).unwrap();
            let there = size(&cortex);
            assert!((acknowledged..=acknowledged + 1).contains(&there), "{there} entries, {cut:?}");
            let view = cortex.read().unwrap();
            assert!(view.resolve_version(id(acknowledged), None).unwrap().body.is_some());
            assert_clean(&cortex);
            let next = cortex.write(stamp(5), fact(50, "goes on", "")).unwrap();
            assert_eq!(next.seq, there + 1);
        }
    }
}

/// Prepares the length of a text, and compares it with the body that comes with the entry.
#[derive(Clone, Debug, Default)]
struct Lengths {
    prepared: Arc<AtomicUsize>,
    /// Entries that came with what was prepared, and without.
    with: Arc<AtomicUsize>,
    without: Arc<AtomicUsize>,
}

impl Lengths {
    fn counts(&self) -> [usize; 3] {
        [&self.prepared, &self.with, &self.without].map(|count| count.swap(0, Ordering::Relaxed))
    }
}

impl Prepare for Lengths {
    fn prepare(&self, body: &Body) -> PreparedBody {
        self.prepared.fetch_add(1, Ordering::Relaxed);
        Box::new(body.content.len())
    }
}

impl JournalHook for Lengths {
    fn name(&self) -> &'static str {
        "lengths"
    }

    fn open(&mut self, _: &View<'_>) -> Result<()> {
        Ok(())
    }

    fn entry(
        &mut self,
        _: &View<'_>,
        recorded: RecordedEntry<'_>,
        _: &mut HookRows<'_>,
    ) -> Result<()> {
        let prepared = recorded.prepared.iter().find_map(|made| made.downcast_ref::<usize>());
        if let Some(length) = prepared {
            let body = recorded.sealed.unwrap().open().unwrap();
            assert_eq!(*length, body.content.len(), "prepared from the body beside the entry");
            self.with.fetch_add(1, Ordering::Relaxed);
        } else {
            self.without.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn seal(&mut self, _: &View<'_>, _: &mut HookRows<'_>) -> Result<()> {
        Ok(())
    }

    fn committed(&mut self) {}

    fn aborted(&mut self) {}

    fn preparer(&self) -> Option<Arc<dyn Prepare>> {
        Some(Arc::new(self.clone()))
    }
}

#[test]
fn bodies_are_prepared_by_the_caller_and_come_with_their_entries() {
    let (disk, lengths) = (Disk::new(), Lengths::default());
    let hook = lengths.clone();
    let hooks = Arc::new(move || vec![Box::new(hook.clone()) as Box<dyn JournalHook>]);
    let cortex = Cortex::open_on(disk.medium(), &ada(), Options { hooks, ..Options::default() });
    let cortex = cortex.unwrap();
    cortex.write(stamp(1), fact(1, "one", "a text")).unwrap();
    assert_eq!(lengths.counts(), [1, 1, 0]);
    // More than the writer is handed at once; every ninth is refused, and every eleventh has no body.
    let request = |n: u64| {
        let command = match n {
            n if n.is_multiple_of(11) => Command::Tombstone(removal(1)),
            n if n.is_multiple_of(9) => Command::Write(Box::new(fact(n, "", "no title"))),
            n => {
                Command::Write(Box::new(fact(n, "many", &"x".repeat(usize::try_from(n).unwrap()))))
            }
        };
        Submission { stamp: stamp(2), command, authority: None }
    };
    let outcomes = cortex.submit_bulk((2..102).map(request).collect()).unwrap();
    let written = (2..102u64).filter(|n| !n.is_multiple_of(11) && !n.is_multiple_of(9)).count();
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_err()).count(), 10);
    assert_eq!(lengths.counts(), [written, written, 1]);
    let before = dump(&cortex);
    cortex.rebuild(Box::new(|_, _| {})).unwrap();
    assert_eq!(lengths.counts(), [written + 1, written + 1, 1], "and so with a rebuild");
    assert_eq!(dump(&cortex), before);
}
