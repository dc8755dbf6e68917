//! Goal: closing an actor keeps nobody else waiting, and what was erased leaves its index however often it is closed.
//! Method: a hook that waits while everything is derived again, so that a scrub is under way for as long as wanted.

#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use kernel::actor::ActorName;
use kernel::home::{Home, HomeLimits};
use kernel::hook::{HookRows, JournalHook, RecordedEntry};
use kernel::store::View;
use kernel::{Cortex, Options, ScrubState};
use testkit::build::{ada, at, dump, fact, removal, size, stamp};

/// Long enough for any machine; nobody waits for it unless something is wrong.
const PATIENCE: Duration = Duration::from_mins(5);

/// Holds up whoever derives entries again.
#[derive(Debug, Default)]
struct Gate {
    is_shut: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn shut(&self, is_shut: bool) {
        *self.is_shut.lock().unwrap() = is_shut;
        self.opened.notify_all();
    }

    fn pass(&self) {
        let is_shut = self.is_shut.lock().unwrap();
        drop(self.opened.wait_while(is_shut, |is_shut| *is_shut).unwrap());
    }
}

/// Has rows of several memories, as it says, so that an erasure derives everything again.
#[derive(Debug)]
struct GatedHook {
    gate: Arc<Gate>,
    derives_again: bool,
}

impl JournalHook for GatedHook {
    fn name(&self) -> &'static str {
        "gated"
    }

    fn open(&mut self, view: &View<'_>) -> kernel::Result<()> {
        self.derives_again = view.counters()?.size < view.last_seq()?;
        Ok(())
    }

    fn entry(
        &mut self,
        _: &View<'_>,
        _: RecordedEntry<'_>,
        _: &mut HookRows<'_>,
    ) -> kernel::Result<()> {
        if self.derives_again {
            self.gate.pass();
        }
        Ok(())
    }

    fn seal(&mut self, _: &View<'_>, _: &mut HookRows<'_>) -> kernel::Result<()> {
        Ok(())
    }

    fn committed(&mut self) {}

    fn aborted(&mut self) {}

    fn mixes_texts(&self) -> bool {
        true
    }
}

fn options(gate: &Arc<Gate>) -> Options {
    let gate = Arc::clone(gate);
    let hook = move || GatedHook { gate: Arc::clone(&gate), derives_again: false };
    let hooks = Arc::new(move || vec![Box::new(hook()) as Box<dyn JournalHook>]);
    Options { hooks, wait: PATIENCE, ..Options::default() }
}

/// Writes and erases; what was erased is taken out of the index once the gate is open.
fn erase_one(cortex: &Cortex) {
    cortex.write(stamp(1), fact(1, "kept", "")).unwrap();
    let erased = cortex.write(stamp(1), fact(2, "erased", "")).unwrap().seq;
    cortex.erase(stamp(2), removal(erased)).unwrap();
}

fn bob() -> ActorName {
    ActorName::parse("bob").unwrap()
}

// L8: the lock of the home was held until the scrub was done.
#[test]
fn an_actor_that_is_closed_while_it_is_scrubbed_keeps_only_its_own_callers_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let gate = Arc::new(Gate::default());
    let limits = HomeLimits { open_max: 8, idle_ms: 10_000 };
    let home = Arc::new(Home::new(folder.path(), options(&gate), limits));
    gate.shut(true);
    erase_one(&home.actor(&ada(), at(1)).unwrap());
    assert_eq!(home.close_idle(at(60_000)), 0, "it is closed when the scrub is done");
    let closing = Arc::clone(&home);
    let closing = std::thread::spawn(move || closing.close_all());
    while home.if_open(&ada()).is_some() {
        std::thread::yield_now();
    }
    home.actor(&bob(), at(2)).unwrap().write(stamp(3), fact(3, "bob's", "")).unwrap();
    assert_eq!(home.open_actors(), [bob()]);
    assert!(!closing.is_finished());
    gate.shut(false);
    closing.join().unwrap();
    let again = home.actor(&ada(), at(3)).unwrap();
    assert_eq!((size(&again), again.scrub_state()), (3, ScrubState::Done));
}

// L8: whoever ends a process need not wait for the scrub, and it is not forgotten.
#[test]
fn a_scrub_that_was_left_is_done_after_the_next_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ada");
    let gate = Arc::new(Gate::default());
    let open = || Cortex::open(&path, &ada(), options(&gate)).unwrap();
    gate.shut(true);
    let cortex = open();
    erase_one(&cortex);
    let before = dump(&cortex);
    for _ in 0..3 {
        cortex.leave_scrub();
    }
    gate.shut(false);
    assert!(!cortex.wait_for_scrub(PATIENCE), "it was given up");
    assert!(dump(&cortex) == before);
    cortex.write(stamp(4), fact(4, "goes on", "")).unwrap();
    drop(cortex);
    assert!(!path.join("derived.redb.new").exists(), "no stray file");
    gate.shut(true);
    let again = open();
    assert_eq!(again.scrub_state(), ScrubState::Pending(None), "it is not forgotten");
    gate.shut(false);
    assert!(again.wait_for_scrub(PATIENCE));
    assert_eq!(again.scrub_state(), ScrubState::Done);
    assert_eq!(size(&again), 4);
}
