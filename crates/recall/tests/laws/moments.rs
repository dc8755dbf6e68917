//! A search sees exactly the state its reading shows, whatever the writer is doing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use kernel::command::{Command, Draft, HeadRevision, Revision};
use kernel::hook::{HookRows, JournalHook, RecordedEntry};
use kernel::journal::HeadPatch;
use kernel::store::View;
use kernel::{Cortex, Error, Reading, Result, Submission};
use recall::RecallHook;
use recall::search::{ArmWeights, SearchOutcome, SearchQuery};
use testkit::Disk;
use testkit::build::{fact, id, removal, salt, stamp};

use crate::support::{Moment, Twice, answers, ask, assert_same, hooks_flushed_after, ids, turn};

fn draft(n: u64) -> Draft {
    let mut draft = Draft::new(turn(n), salt(n));
    draft.session = Some(format!("s{}", n / 6));
    draft
}

fn request(command: Command) -> Submission {
    Submission { stamp: stamp(1), command, authority: None }
}

fn write(n: u64) -> Submission {
    request(Command::Write(Box::new(draft(n))))
}

fn update(n: u64, to: u64) -> Submission {
    // Turns eight apart have the same type.
    let revision = Revision::new(id(n), None, turn(to), salt(1_000 + to));
    request(Command::Update(Box::new(revision)))
}

fn tags(n: u64, tag: &str) -> Submission {
    let patch = HeadPatch { tags: Some(vec![tag.into()]), ..HeadPatch::default() };
    request(Command::UpdateHead(HeadRevision { id: id(n), expected: None, patch, reason: None }))
}

/// Changes of every kind, in commits of one or several.
fn commits() -> Vec<Vec<Submission>> {
    vec![
        vec![write(14)],
        vec![update(3, 27)],
        vec![tags(5, "zebra")],
        vec![request(Command::Tombstone(removal(2)))],
        vec![write(15), write(16), update(18, 31), tags(19, "kitten")],
        vec![request(Command::Restore(removal(2)))],
        vec![request(Command::Erase(removal(4)))],
        vec![write(17), request(Command::Erase(removal(8)))],
        vec![write(18)],
    ]
}

fn filled(disk: &Disk) -> Twice {
    let twice = Twice::open(disk);
    for n in 1..=13 {
        twice.warm.write(stamp(1), draft(n)).unwrap();
    }
    twice
}

struct Seen {
    moment: Moment,
    fresh: Vec<SearchOutcome>,
    cold: Vec<SearchOutcome>,
    old: Vec<SearchOutcome>,
}

// recall: a save is found by the very next search; a reading keeps its state
#[test]
fn every_moment_of_a_commit_shows_one_state() {
    // Codes are loaded by whoever asks first: before all, between seal and commit, or between commit and
    // acknowledgement.
    for first in [None, Some(Moment::Sealed), Some(Moment::Durable)] {
        let disk = Disk::new();
        let mut readings: Vec<(Reading, Vec<SearchOutcome>)> = Vec::new();
        let mut twice = filled(&disk);
        for commit in commits() {
            let before = answers(&twice.cold.read().unwrap());
            if first.is_some() {
                drop(twice);
                twice = Twice::open(&disk);
            }
            readings.push((twice.warm.read().unwrap(), before.clone()));
            let old = twice.warm.read().unwrap();
            let seen = Arc::new(Mutex::new(Vec::new()));
            let (notes, cold) = (Arc::clone(&seen), Arc::clone(&twice.cold));
            let warm = Arc::downgrade(&twice.warm);
            twice.store.watch(move |moment| {
                let is_swap = moment == Moment::Swapped;
                if !is_swap && first.is_none_or(|first| first == moment) {
                    let read = |cortex: &Cortex| answers(&cortex.read().unwrap());
                    let fresh = read(&warm.upgrade().unwrap());
                    let (cold, old) = (read(&cold), answers(&old));
                    notes.lock().unwrap().push(Seen { moment, fresh, cold, old });
                }
                Ok(())
            });
            for outcome in twice.warm.submit_bulk(commit).unwrap() {
                outcome.unwrap();
            }
            twice.store.unwatch();
            let after = twice.agree("acknowledged");
            for Seen { moment, fresh, cold, old } in seen.lock().unwrap().iter() {
                assert_same(fresh, cold, &format!("{moment:?}"));
                assert_same(old, &before, &format!("{moment:?}, a reading from before"));
            }
            let sealed = seen.lock().unwrap().first().map(|seen| (seen.moment, seen.fresh.clone()));
            match sealed {
                Some((Moment::Sealed, fresh)) => assert_same(&fresh, &before, "not there yet"),
                Some((Moment::Durable, fresh)) => assert_same(&fresh, &after, "there already"),
                Some((Moment::Swapped, _)) | None => panic!("nobody looked"),
            }
        }
        for (reading, then) in &readings {
            assert_same(&answers(reading), then, "an old reading, at the end");
        }
    }
}

// recall: a search sees exactly the state its view shows, also when the commit's fate is unknown
#[test]
fn a_failed_commit_is_seen_as_far_as_it_went() {
    for fails_at in [Moment::Sealed, Moment::Durable] {
        let twice = filled(&Disk::new());
        let before = twice.agree("before");
        let old = twice.warm.read().unwrap();
        twice.store.watch(move |moment| {
            if moment == fails_at { Err(Error::Storage("told to fail".into())) } else { Ok(()) }
        });
        for outcome in twice.warm.submit_bulk(vec![write(16), update(3, 27)]).unwrap() {
            outcome.unwrap_err();
        }
        twice.store.unwatch();
        let after = twice.agree(&format!("failed when {fails_at:?}"));
        assert_eq!(after == before, fails_at == Moment::Sealed);
        assert_same(&answers(&old), &before, "a reading from before");
    }
}

/// Fails on demand: in the middle of a batch, or when it is sealed and recall has announced its part.
#[derive(Debug)]
struct Failing {
    entry: Arc<AtomicBool>,
    seal: Arc<AtomicBool>,
}

impl JournalHook for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn open(&mut self, _: &View<'_>) -> Result<()> {
        Ok(())
    }

    fn entry(&mut self, _: &View<'_>, r: RecordedEntry<'_>, _: &mut HookRows<'_>) -> Result<()> {
        let fails = self.entry.load(Ordering::Relaxed) && r.entry.seq.is_multiple_of(2);
        if fails { Err(Error::corrupt("entry", "told to fail")) } else { Ok(()) }
    }

    fn seal(&mut self, _: &View<'_>, _: &mut HookRows<'_>) -> Result<()> {
        let fails = self.seal.load(Ordering::Relaxed);
        if fails { Err(Error::corrupt("seal", "told to fail")) } else { Ok(()) }
    }

    fn committed(&mut self) {}

    fn aborted(&mut self) {}
}

// recall: an aborted batch leaves nothing behind
#[test]
fn an_aborted_batch_leaves_nothing() {
    let (entry, seal) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (at_entry, at_seal) = (Arc::clone(&entry), Arc::clone(&seal));
    let hooks = Arc::new(move || {
        let failing = Failing { entry: Arc::clone(&at_entry), seal: Arc::clone(&at_seal) };
        vec![Box::new(RecallHook::new()) as Box<dyn JournalHook>, Box::new(failing)]
    });
    let disk = Disk::new();
    let twice = Twice::open_with(&disk, hooks);
    for n in 1..=13 {
        twice.warm.write(stamp(1), draft(n)).unwrap();
    }
    let before = twice.agree("before");
    for fails in [&entry, &seal, &entry] {
        fails.store(true, Ordering::Relaxed);
        let batch = vec![write(16), update(3, 27), tags(5, "zebra"), write(24)];
        for outcome in twice.warm.submit_bulk(batch).unwrap() {
            outcome.unwrap_err();
        }
        assert_same(&twice.agree("aborted"), &before, "aborted");
        fails.store(false, Ordering::Relaxed);
    }
    // The same numbers are given to other memories now.
    for n in [32, 33, 34, 35] {
        twice.warm.write(stamp(2), draft(n)).unwrap();
        twice.agree("going on");
    }
    testkit::build::assert_clean(&twice.warm);
}

// recall: more changes between a reading and its search than are remembered
#[test]
fn a_reading_that_is_very_old_still_shows_its_state() {
    let twice = filled(&Disk::new());
    let mut readings = vec![(twice.warm.read().unwrap(), twice.agree("before"))];
    for round in 0..9u64 {
        let changes =
            (0..500u64).map(|n| update(1 + n % 13, 1 + n % 13 + 8 * (round * 40 + n / 13)));
        for outcome in twice.warm.submit_bulk(changes.collect()).unwrap() {
            outcome.unwrap();
        }
        readings.push((twice.warm.read().unwrap(), twice.agree("after a round")));
    }
    for (reading, then) in readings.iter().rev().chain(&readings) {
        assert_same(&answers(reading), then, "long ago");
    }
}

// recall: blocks that are full in what others have loaded, and not yet in an older reading
#[test]
fn a_reading_from_before_a_block_was_full_shows_its_state() {
    let twice = Twice::open_with(&Disk::new(), hooks_flushed_after(8));
    let write = |numbers: std::ops::RangeInclusive<u64>| {
        for n in numbers {
            twice.warm.write(stamp(1), draft(n)).unwrap();
        }
    };
    write(1..=29);
    let (early, then) = (twice.warm.read().unwrap(), answers(&twice.cold.read().unwrap()));
    write(30..=50);
    // By words alone: the block is loaded, and no vector of it was looked at.
    let by_words =
        SearchQuery { weights: ArmWeights([1, 0, 0, 0, 0, 0, 0, 0]), ..SearchQuery::new("key", 5) };
    assert!(!ask(&twice.warm.read().unwrap(), &by_words).hits.is_empty());
    assert_same(&answers(&early), &then, "before the block was full");
    let (full, later) = (twice.warm.read().unwrap(), twice.agree("the block is full"));
    twice.warm.erase(stamp(2), removal(20)).unwrap();
    twice.agree("erased");
    assert_same(&answers(&early), &then, "before the block was full and the erasure");
    assert_same(&answers(&full), &later, "before the erasure");
    twice.agree("erased, after a look at the past");
}

// recall: searches during a rebuild, of the present and of the past
#[test]
fn a_rebuild_disturbs_no_reading() {
    let twice = filled(&Disk::new());
    let early = (twice.warm.read().unwrap(), answers(&twice.cold.read().unwrap()));
    // Up to exactly where the first slice of a rebuild ends.
    let slice = u64::try_from(kernel::limits::REBUILD_ENTRIES_PER_COMMIT).unwrap();
    let more = |from: u64, to: u64| {
        let drafts =
            (from..=to).map(|n| request(Command::Write(Box::new(fact(n, "note", "plain")))));
        for outcome in twice.warm.submit_bulk(drafts.collect()).unwrap() {
            outcome.unwrap();
        }
    };
    more(14, slice);
    let whole = (twice.warm.read().unwrap(), answers(&twice.cold.read().unwrap()));
    twice.warm.erase(stamp(2), removal(3)).unwrap();
    for n in 16..24 {
        twice.warm.write(stamp(3), draft(n)).unwrap();
    }
    let expected = twice.agree("before the rebuild");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (notes, warm) = (Arc::clone(&seen), Arc::downgrade(&twice.warm));
    let past = Arc::new(Mutex::new(vec![early, whole]));
    let looked = Arc::clone(&past);
    let progress = move |done, _| {
        let past: Vec<_> = looked.lock().unwrap().iter().map(|(r, _)| answers(r)).collect();
        let now = answers(&warm.upgrade().unwrap().read().unwrap());
        notes.lock().unwrap().push((done, past, now));
    };
    twice.warm.rebuild(Box::new(progress)).unwrap();
    let check_past = |past_answers: &[Vec<SearchOutcome>], when: &str| {
        for (found, (_, then)) in past_answers.iter().zip(past.lock().unwrap().iter()) {
            assert_same(found, then, when);
        }
    };
    assert_eq!(seen.lock().unwrap().len(), 3);
    for (done, past, now) in seen.lock().unwrap().iter() {
        assert_same(now, &expected, &format!("now, {done} rebuilt"));
        check_past(past, &format!("the past, {done} rebuilt"));
    }
    assert_same(&twice.agree("rebuilt"), &expected, "rebuilt");
    let after: Vec<_> = past.lock().unwrap().iter().map(|(r, _)| answers(r)).collect();
    check_past(&after, "the past, after the rebuild");
    twice.warm.write(stamp(4), draft(40)).unwrap();
    twice.agree("going on");
}

// recall: a save is found by the very next search, 1,000 times in a row under concurrent writes
#[test]
fn a_thousand_saves_are_each_found_by_the_next_search() {
    let twice = Twice::open(&Disk::new());
    let (cortex, done) = (&twice.warm, AtomicBool::new(false));
    let find = |word: &str, weights: ArmWeights| -> Vec<u64> {
        let query = SearchQuery { weights, ..SearchQuery::new(word, 10) };
        ids(&ask(&cortex.read().unwrap(), &query))
    };
    let words = |word: &str| find(word, ArmWeights::default());
    std::thread::scope(|threads| {
        for writer in 1..=2u64 {
            let done = &done;
            threads.spawn(move || {
                for n in (0..1_500u64).take_while(|_| !done.load(Ordering::Relaxed)) {
                    let n = writer * 1_000_000 + n;
                    cortex
                        .write(stamp(1), fact(n, &format!("other{n}"), "noise in between"))
                        .unwrap();
                }
            });
        }
        let (searching, finished) = (&words, &done);
        threads.spawn(move || {
            while !finished.load(Ordering::Relaxed) {
                searching("noise in between");
            }
        });
        for n in 0..1_000u64 {
            let (word, new) = (format!("qword{n}z"), format!("rword{n}z"));
            let saved = cortex.write(stamp(1), fact(n, &format!("about {word}"), "text")).unwrap();
            let saved = saved.id.unwrap().get();
            assert_eq!(words(&word).first(), Some(&saved));
            match n % 10 {
                3 => {
                    let body = testkit::build::body(kernel::memory::MemoryType::Fact, &new, "text");
                    let revision = Revision::new(id(saved), None, body, salt(n << 20));
                    cortex.update(stamp(1), revision).unwrap();
                    assert_eq!(words(&new).first(), Some(&saved));
                    assert_ne!(words(&format!("\"about {word}\"")).first(), Some(&saved));
                }
                5 => {
                    cortex.tombstone(stamp(1), removal(saved)).unwrap();
                    assert!(!words(&word).contains(&saved));
                    cortex.restore(stamp(1), removal(saved)).unwrap();
                    assert_eq!(words(&word).first(), Some(&saved));
                }
                7 => {
                    let meaning = ArmWeights([0, 1, 0, 0, 0, 0, 0, 0]);
                    assert!(find(&format!("about {word}. text"), meaning).contains(&saved));
                }
                _ => {}
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    twice.agree("at the end");
}
