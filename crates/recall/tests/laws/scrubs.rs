//! Erasures are scrubbed in the background, by making everything again: rows change under a state that has the same
//! number.
//!
//! Goal: nobody who asks can tell. Method: random histories in which the scrub begins when the test says so, with
//! readings from before, questions in the middle of the swap, and a rebuild at the end.

use std::sync::{Arc, Mutex};

use kernel::Reading;
use kernel::command::{Draft, Revision};
use proptest::prelude::*;
use recall::search::SearchOutcome;
use testkit::Disk;
use testkit::build::{assert_clean, dump, holds, id, removal, salt, stamp};

use crate::support::{Moment, Twice, answers, assert_same, hooks_flushed_after, turn};

#[derive(Clone, Debug)]
enum Step {
    /// A memory with a word of its own.
    Save,
    /// One of those there are gets another text.
    Update(prop::sample::Index),
    Erase(prop::sample::Index),
    /// A reading that is asked again later.
    Read,
    /// What waits is scrubbed, and every answer stays.
    Scrub,
    /// The same, while others go on.
    BeginScrub,
    Rebuild,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => Just(Step::Save),
        2 => any::<prop::sample::Index>().prop_map(Step::Update),
        3 => any::<prop::sample::Index>().prop_map(Step::Erase),
        1 => Just(Step::Read),
        2 => Just(Step::Scrub),
        1 => Just(Step::BeginScrub),
        1 => Just(Step::Rebuild),
    ];
    prop::collection::vec(step, 12..40)
}

/// The word that only memory `n` has.
fn canary(n: u64) -> String {
    format!("zyx{}canary", n * 7_919)
}

fn draft(n: u64) -> Draft {
    let mut body = turn(n);
    body.content = format!("{} {}", body.content, canary(n));
    let mut draft = Draft::new(body, salt(n));
    draft.session = Some(format!("session {}", n / 5));
    draft
}

struct History {
    disk: Disk,
    twice: Twice,
    live: Vec<u64>,
    erased: Vec<u64>,
    readings: Vec<(Reading, Vec<SearchOutcome>)>,
    salts: u64,
}

impl History {
    fn begin(flush_docs: u32) -> History {
        let disk = Disk::new();
        let twice = Twice::open_with(&disk, hooks_flushed_after(flush_docs));
        twice.store.hold(true);
        let (live, erased, readings) = (Vec::new(), Vec::new(), Vec::new());
        let mut history = History { disk, twice, live, erased, readings, salts: 1_000 };
        (0..9).for_each(|_| history.take(&Step::Save));
        history
    }

    fn take(&mut self, step: &Step) {
        let warm = &self.twice.warm;
        match step {
            Step::Save => {
                let next = warm.read().unwrap().view().counters().unwrap().size + 1;
                let saved = warm.write(stamp(1), draft(next)).unwrap().seq;
                self.live.push(saved);
            }
            Step::Update(which) if !self.live.is_empty() => {
                let n = *which.get(&self.live);
                self.salts += 1;
                // Turns eight apart have the same type.
                let revision = Revision::new(id(n), None, turn(n + 8), salt(self.salts));
                warm.update(stamp(1), revision).unwrap();
            }
            Step::Erase(which) if self.live.len() > 3 => {
                let at = which.index(self.live.len());
                let n = self.live.swap_remove(at);
                warm.erase(stamp(1), removal(n)).unwrap();
                self.erased.push(n);
            }
            Step::Update(_) | Step::Erase(_) => {}
            Step::Read => {
                let then = answers(&self.twice.cold.read().unwrap());
                self.readings.push((self.twice.warm.read().unwrap(), then));
            }
            Step::Scrub => {
                let before = self.twice.agree("before the scrub");
                self.scrub();
                assert_same(&self.twice.agree("scrubbed"), &before, "by the scrub");
            }
            Step::BeginScrub => {
                self.twice.store.hold(false);
                self.twice.store.hold(true);
            }
            Step::Rebuild => {
                let before = self.twice.agree("before the rebuild");
                self.twice.store.hold(false);
                self.twice.warm.rebuild(Box::new(|_, _| {})).unwrap();
                self.twice.store.hold(true);
                assert_same(&self.twice.agree("rebuilt"), &before, "by the rebuild");
            }
        }
        self.twice.agree(&format!("after {step:?}"));
        for (reading, then) in &self.readings {
            // What was erased since is gone from old readings too, so those are left alone.
            if !self.is_erased_since(reading) {
                assert_same(&answers(reading), then, &format!("a reading from before {step:?}"));
            }
        }
    }

    fn is_erased_since(&self, reading: &Reading) -> bool {
        let view = reading.view();
        self.erased.iter().any(|n| view.head(id(*n)).unwrap().is_some_and(|head| !head.erased))
    }

    /// Lets the scrub go, and asks in the middle of its swap.
    fn scrub(&self) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (notes, cold) = (Arc::clone(&seen), Arc::clone(&self.twice.cold));
        let warm = Arc::downgrade(&self.twice.warm);
        self.twice.store.watch(move |moment| {
            if moment == Moment::Swapped {
                let warm = warm.upgrade().unwrap();
                let found = [&warm, &cold].map(|cortex| answers(&cortex.read().unwrap()));
                notes.lock().unwrap().push(found);
            }
            Ok(())
        });
        self.twice.store.hold(false);
        self.twice.scrubbed();
        self.twice.store.hold(true);
        self.twice.store.unwatch();
        for [warm, cold] in seen.lock().unwrap().iter() {
            assert_same(warm, cold, "in the middle of the swap");
        }
    }
}

impl Drop for History {
    fn drop(&mut self) {
        // An actor that is closed waits for its scrub.
        self.twice.store.hold(false);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    // L8: whatever is saved, erased, scrubbed, rebuilt and asked in between: the answers, and in the end the rows, are
    // those of a fresh rebuild, and nothing of what was erased is left.
    #[test]
    fn a_scrub_changes_no_answer_and_ends_with_the_rows_of_a_rebuild(
        steps in steps(), flush_docs in prop_oneof![Just(1u32), Just(6), Just(1_024)],
    ) {
        let mut history = History::begin(flush_docs);
        for step in &steps {
            history.take(step);
        }
        let last = history.live.pop().unwrap();
        history.twice.warm.erase(stamp(1), removal(last)).unwrap();
        history.erased.push(last);
        history.take(&Step::Scrub);
        history.readings.clear();
        let bytes = history.disk.bytes();
        for n in &history.erased {
            prop_assert!(!holds(&bytes, &canary(*n)), "{n} is left");
        }
        prop_assert!(history.live.iter().any(|n| holds(&bytes, &canary(*n))), "the search for words finds them");
        let twice = &history.twice;
        let (rows, wanted) = (dump(&twice.warm), twice.agree("scrubbed"));
        assert_clean(&twice.warm);
        twice.store.hold(false);
        twice.warm.rebuild(Box::new(|_, _| {})).unwrap();
        prop_assert!(dump(&twice.warm) == rows, "other rows than a rebuild gives");
        assert_same(&twice.agree("rebuilt"), &wanted, "by the rebuild");
    }
}
