//! Goal: rows that another version of the program made are made again when the actor is opened, and nothing but them.
//! Method: a hook that keeps the version of its rows in one of them; a disk that loses power at every sync of the
//! renewal.

#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use kernel::actor::ActorName;
use kernel::home::{Home, HomeLimits};
use kernel::hook::{HookRows, JournalHook, RecordedEntry};
use kernel::store::{Side, Space, View};
use kernel::{Cortex, Error, Options, Result};
use testkit::build::{
    Dump, ada, assert_clean, at, dump, fact, removal, revision, size, stamp, tamper,
};
use testkit::{Disk, PowerCut};

const VERSION: &[u8] = &[0x90, 1];

/// A row per entry that names the version of whoever made it, and a row with the version.
#[derive(Debug)]
struct Versioned(u8);

impl JournalHook for Versioned {
    fn name(&self) -> &'static str {
        "versioned"
    }

    fn open(&mut self, view: &View<'_>) -> Result<()> {
        match view.get(VERSION)?.as_deref() {
            None => Ok(()),
            Some([version]) if *version == self.0 => Ok(()),
            Some([version]) => Err(Error::outdated("the index", format!("version {version}"))),
            Some(_) => Err(Error::corrupt("rows", "no version")),
        }
    }

    fn entry(
        &mut self,
        _: &View<'_>,
        recorded: RecordedEntry<'_>,
        staged: &mut HookRows<'_>,
    ) -> Result<()> {
        let key = [&[0x90, 2][..], &recorded.entry.seq.to_be_bytes()].concat();
        staged.set(key, Some(vec![self.0]));
        staged.set(VERSION.to_vec(), Some(vec![self.0]));
        Ok(())
    }

    fn seal(&mut self, _: &View<'_>, _: &mut HookRows<'_>) -> Result<()> {
        Ok(())
    }

    fn committed(&mut self) {}

    fn aborted(&mut self) {}
}

/// What was said while an actor was opened.
#[derive(Clone, Debug, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn options(&self, version: u8) -> Options {
        let heard = self.clone();
        Options {
            hooks: Arc::new(move || vec![Box::new(Versioned(version))]),
            renewing: Arc::new(move |actor, why| {
                heard.0.lock().unwrap().push(format!("{actor}: {why}"));
                let heard = heard.clone();
                Box::new(move |done, total| {
                    heard.0.lock().unwrap().push(format!("{done} of {total}"));
                })
            }),
            ..Options::default()
        }
    }

    fn open(&self, disk: &Disk, version: u8) -> Result<Cortex> {
        Cortex::open_on(disk.medium(), &ada(), self.options(version))
    }
}

/// Writes, a change, and an erasure: a rebuild cannot read all that there was.
fn filled(disk: &Disk, version: u8) {
    let cortex = Heard::default().open(disk, version).unwrap();
    for n in 1..=6 {
        cortex.write(stamp(1), fact(n, &format!("memory {n}"), "")).unwrap();
    }
    cortex.update(stamp(2), revision(2, None, "another title")).unwrap();
    cortex.erase(stamp(3), removal(3)).unwrap();
}

fn of_journal(dump: &Dump) -> Dump {
    dump.iter().filter(|((derived, _), _)| !derived).map(|(k, v)| (k.clone(), v.clone())).collect()
}

fn copy(disk: &Disk) -> Disk {
    disk.after_power_cut(PowerCut::KeepUnsynced)
}

// kernel 25, 62
#[test]
fn rows_of_an_earlier_and_of_a_later_version_are_made_again_once() {
    let (disk, heard) = (Disk::new(), Heard::default());
    filled(&disk, 2);
    let two = dump(&heard.open(&disk, 2).unwrap());
    assert_eq!(heard.take(), [""; 0], "one's own rows are no news");
    for version in [3, 1] {
        let disk = copy(&disk);
        let cortex = heard.open(&disk, version).unwrap();
        let why = "ada: the index was made by another version of this program: version 2";
        assert_eq!(heard.take(), [why, "0 of 8", "8 of 8"]);
        let made = dump(&cortex);
        let rows = |dump: &Dump| dump.keys().cloned().collect::<Vec<_>>();
        assert_eq!((of_journal(&made), rows(&made)), (of_journal(&two), rows(&two)));
        assert_eq!(made[&(true, VERSION.to_vec())], [version]);
        assert_clean(&cortex);
        cortex.write(stamp(4), fact(9, "goes on", "")).unwrap();
        assert_eq!(size(&cortex), 9);
        drop(cortex);
        assert_clean(&heard.open(&disk, version).unwrap());
        assert_eq!(heard.take(), [""; 0]);
    }
}

// kernel 62, 66
#[test]
fn power_lost_at_any_moment_leaves_a_store_that_does_it_again() {
    let (disk, heard) = (Disk::new(), Heard::default());
    filled(&disk, 1);
    let expected = dump(&heard.open(&copy(&disk), 2).unwrap());
    let mut cuts = 0;
    for moment in 1.. {
        let dying = copy(&disk);
        dying.die_at_sync(moment);
        let opened = heard.open(&dying, 2);
        if opened.is_ok() && !dying.is_dead() {
            break;
        }
        drop(opened);
        cuts += 1;
        for cut in [PowerCut::LoseUnsynced, PowerCut::KeepUnsynced, PowerCut::Some(moment)] {
            // Whoever comes next: the same version, the one before, or yet another.
            for version in [2, 1, 3] {
                let found = dying.after_power_cut(cut);
                let cortex = heard.open(&found, version).unwrap();
                assert_eq!(of_journal(&dump(&cortex)), of_journal(&expected), "{moment} {cut:?}");
                assert_clean(&cortex);
                drop(cortex);
                let cortex = heard.open(&found, 2).unwrap();
                assert_eq!(dump(&cortex), expected, "{moment} {cut:?} {version}");
                assert_clean(&cortex);
            }
        }
    }
    assert!(cuts >= 3, "beginning, slice and switch are commits of their own: {cuts}");
}

// L1, L2
#[test]
fn damaged_rows_are_made_again_and_told() {
    let (disk, heard) = (Disk::new(), Heard::default());
    filled(&disk, 1);
    let expected = dump(&heard.open(&copy(&disk), 1).unwrap());
    let rows: [(Space, &[u8], &[u8]); 2] = [
        // Rows without a version: the hook says that they are damaged.
        (Space::Derived(Side::A), VERSION, &[]),
        // A schema that this build does not know: the ledger says that it is ours.
        (Space::Engine, b"schema", &[0, 0, 0, 99]),
    ];
    for (space, key, value) in rows {
        let damaged = copy(&disk);
        tamper(&damaged, |_, _, rows| rows.put(space, key.to_vec(), value.to_vec()));
        heard.take();
        let cortex = heard.open(&damaged, 1).unwrap();
        assert_eq!(heard.take()[1..], ["0 of 8", "8 of 8"]);
        assert_eq!(dump(&cortex), expected);
        assert_clean(&cortex);
        drop(cortex);
        assert_eq!(dump(&heard.open(&damaged, 1).unwrap()), expected);
        assert_eq!(heard.take(), [""; 0], "once");
    }
}

// Who has changed the journal cannot have the state changed with it.
#[test]
fn a_journal_that_gives_another_state_is_an_error() {
    let (disk, heard) = (Disk::new(), Heard::default());
    filled(&disk, 1);
    let mut other = heard.open(&disk, 1).unwrap().read().unwrap().view().entry(5).unwrap().unwrap();
    other.by = "forger".to_owned();
    testkit::ledger::forge_entry(&disk, 5, &other.to_bytes());
    for _ in 0..2 {
        let error = heard.open(&disk, 2).unwrap_err();
        assert_eq!(error.code(), "corrupt", "{error}");
    }
    // The state is as it was for the version that made it.
    heard.take();
    let cortex = heard.open(&disk, 1).unwrap();
    assert_eq!(heard.take(), [""; 0]);
    assert!(!testkit::build::verify(&cortex).is_clean());
}

/// Opens `ada` in a thread and holds it in the middle of its renewal until told to go on.
#[test]
fn nobody_waits_for_an_actor_that_somebody_else_opens() {
    let folder = tempfile::tempdir().unwrap();
    let limits = HomeLimits { open_max: 2, idle_ms: 10_000 };
    let bob = ActorName::parse("bob").unwrap();
    {
        let home = Home::new(folder.path(), Heard::default().options(1), limits);
        for actor in [&ada(), &bob] {
            let cortex = home.actor(actor, at(1)).unwrap();
            cortex.write(stamp(1), fact(1, "of an earlier version", "")).unwrap();
        }
    }
    let (begun, has_begun) = channel();
    let (go, may_go) = channel();
    let may_go: Arc<Mutex<Receiver<()>>> = Arc::new(Mutex::new(may_go));
    let renewing = move |actor: &ActorName, _: &Error| -> Box<kernel::ProgressFn<'static>> {
        if actor.as_str() == "ada" {
            begun.send(()).unwrap();
            may_go.lock().unwrap().recv().unwrap();
        }
        Box::new(|_, _| {})
    };
    let options = Options { renewing: Arc::new(renewing), ..Heard::default().options(2) };
    let home = Home::new(folder.path(), options, limits);
    let second_is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| home.actor(&ada(), at(2)).unwrap());
        has_begun.recv().unwrap();
        let second = scope.spawn(|| {
            let cortex = home.actor(&ada(), at(2)).unwrap();
            second_is_done.store(true, Ordering::SeqCst);
            cortex
        });
        let bobs = home.actor(&bob, at(2)).unwrap();
        assert_eq!(size(&bobs), 1);
        let third = ActorName::parse("eve").unwrap();
        assert_eq!(home.actor(&third, at(2)).unwrap_err().code(), "too_many");
        assert!(!second_is_done.load(Ordering::SeqCst) && !first.is_finished());
        go.send(()).unwrap();
        // Both got the same one: it was opened once.
        assert!(Arc::ptr_eq(&first.join().unwrap(), &second.join().unwrap()));
        assert!(has_begun.try_recv().is_err());
    });
    assert_eq!(home.open_count(), 2);
}
