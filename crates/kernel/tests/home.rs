//! Goal: each actor has one store of its own, opened once, closed when nobody needs it, and never shared.
//! Method: homes in temporary folders; the clock is a parameter.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use kernel::actor::ActorName;
use kernel::find::Query;
use kernel::home::{Home, HomeLimits};
use kernel::hook::{HookRows, JournalHook, RecordedEntry};
use kernel::memory::MemoryType;
use kernel::store::View;
use kernel::{Cortex, Error, Options};
use testkit::build::{ada, at, dump, fact, size, stamp};

fn name(text: &str) -> ActorName {
    ActorName::parse(text).unwrap()
}

fn home(folder: &tempfile::TempDir, open_max: usize) -> Home {
    Home::new(folder.path(), Options::default(), HomeLimits { open_max, idle_ms: 10_000 })
}

// kernel 1, 4, 64
#[test]
fn two_actors_never_see_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder, 8);
    let (ada, bob) = (home.actor(&ada(), at(1)).unwrap(), home.actor(&name("bob"), at(1)).unwrap());
    ada.write(stamp(1), fact(1, "only ada knows", "")).unwrap();
    assert_eq!((size(&ada), size(&bob)), (1, 0));
    let facts = Query::of_types(&[MemoryType::Fact], 5);
    assert_eq!(bob.find(&facts, at(2)).unwrap().items.len(), 0);
    let uri = "cortex://ada/Fact/1#1".parse().unwrap();
    assert_eq!(bob.resolve(&uri).unwrap_err().code(), "not_found");
    assert!(ada.resolve(&uri).is_ok());

    // The same memory in both gives different roots: a root belongs to its actor.
    bob.write(stamp(1), fact(1, "only ada knows", "")).unwrap();
    assert_ne!(ada.root().unwrap(), bob.root().unwrap());
    assert_eq!(dump(&ada), dump(&bob));
    assert_eq!(home.actors().unwrap(), [name("ada"), name("bob")]);
    for actor in ["ada", "bob"] {
        let ledger = folder.path().join("actors").join(actor).join("ledger");
        assert!(ledger.join("00000000000000000001.log").is_file());
    }
}

// kernel 4
#[test]
fn an_actor_is_opened_when_first_asked_for_and_then_shared() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder, 8);
    assert!(!home.has(&ada()) && home.actors().unwrap().is_empty());
    assert_eq!(home.open_count(), 0);
    assert!(!folder.path().join("actors").exists(), "asking makes nothing");
    let first = home.actor(&ada(), at(1)).unwrap();
    assert!(Arc::ptr_eq(&first, &home.actor(&ada(), at(2)).unwrap()));
    assert_eq!(home.open_count(), 1);
    std::fs::create_dir(folder.path().join("actors").join("Not An Actor")).unwrap();
    std::fs::create_dir(folder.path().join("actors").join("empty")).unwrap();
    assert_eq!(home.actors().unwrap(), [ada()]);
}

#[test]
fn few_actors_are_open_at_once_and_none_in_use_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder, 2);
    let used = home.actor(&name("a"), at(1)).unwrap();
    used.write(stamp(1), fact(1, "kept open", "")).unwrap();
    home.actor(&name("b"), at(2)).unwrap();
    home.actor(&name("c"), at(3)).unwrap();
    assert_eq!(home.open_count(), 2, "b made room for c");
    let also_used = home.actor(&name("c"), at(4)).unwrap();
    let full = home.actor(&name("d"), at(5)).unwrap_err();
    assert_eq!(full.code(), "too_many");
    assert!(!home.has(&name("d")), "a refusal makes nothing");
    drop(also_used);
    home.actor(&name("d"), at(6)).unwrap();
    assert_eq!(size(&used), 1);

    assert_eq!(home.close_idle(at(15)), 0, "not idle long enough");
    assert_eq!(home.close_idle(at(16)), 1, "d is idle, a is in use");
    assert_eq!(home.open_count(), 1);
    drop(used);
    assert_eq!(home.close_idle(at(16)), 1);
    let again = home.actor(&name("a"), at(17)).unwrap();
    assert_eq!(size(&again), 1, "closing lost nothing");
}

// kernel 4
#[test]
fn a_store_is_opened_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ada");
    let open = || Cortex::open(&path, &ada(), Options::default());
    let cortex = open().unwrap();
    cortex.write(stamp(1), fact(1, "first", "")).unwrap();
    assert_eq!(open().unwrap_err().code(), "busy");
    assert_eq!(size(&cortex), 1, "the second attempt disturbed nothing");
    let before = dump(&cortex);
    drop(cortex);
    for _ in 0..3 {
        assert_eq!(dump(&open().unwrap()), before);
    }
}

// kernel 1, 64
#[test]
fn a_store_stays_with_the_actor_it_was_made_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ada");
    drop(Cortex::open(&path, &ada(), Options::default()).unwrap());
    let error = Cortex::open(&path, &name("bob"), Options::default()).unwrap_err();
    assert_eq!(error.code(), "invalid");
    assert!(error.to_string().contains("belongs to \"ada\""), "{error}");
    let error =
        Cortex::rebuild_in(&path, &name("bob"), Options::default(), &mut |_, _| {}).unwrap_err();
    assert_eq!(error.code(), "invalid");
    assert_eq!(size(&Cortex::open(&path, &ada(), Options::default()).unwrap()), 0);
}

// kernel 64
#[test]
fn no_name_leaves_the_home() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(&folder, 2);
    for bad in ["", ".", "..", "../x", "a/b", "a\\b", "a\0b", "/etc", "A", "a..b"] {
        assert_eq!(ActorName::parse(bad).unwrap_err().code(), "bad_actor", "{bad:?}");
    }
    let longest = name(&"a".repeat(64));
    let inside = home.actor_folder(&longest);
    assert_eq!(inside.parent().unwrap(), folder.path().join("actors"));
    home.actor(&longest, at(1)).unwrap();
}

/// Cannot be opened the n-th time from when it is told so.
#[derive(Debug)]
struct Refusing(Arc<AtomicU32>);

impl JournalHook for Refusing {
    fn name(&self) -> &'static str {
        "refusing"
    }

    fn open(&mut self, _: &View<'_>) -> kernel::Result<()> {
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        if left == Ok(1) { Err(Error::DiskFull("told so".into())) } else { Ok(()) }
    }

    fn entry(
        &mut self,
        _: &View<'_>,
        _: RecordedEntry<'_>,
        _: &mut HookRows<'_>,
    ) -> kernel::Result<()> {
        Ok(())
    }

    fn seal(&mut self, _: &View<'_>, _: &mut HookRows<'_>) -> kernel::Result<()> {
        Ok(())
    }

    fn committed(&mut self) {}

    fn aborted(&mut self) {}
}

// kernel 67
#[test]
fn an_actor_whose_write_failed_is_opened_anew_once_nobody_holds_it() {
    let folder = tempfile::tempdir().unwrap();
    let refuses = Arc::new(AtomicU32::new(0));
    let told = Arc::clone(&refuses);
    let hooks =
        Arc::new(move || vec![Box::new(Refusing(Arc::clone(&told))) as Box<dyn JournalHook>]);
    let options = Options { hooks, ..Options::default() };
    let home = Home::new(folder.path(), options, HomeLimits { open_max: 2, idle_ms: 10_000 });
    let held = home.actor(&ada(), at(1)).unwrap();
    held.write(stamp(1), fact(1, "acknowledged", "")).unwrap();
    // The hook that makes everything again opens, the one of the writer does not open what was made.
    refuses.store(2, Ordering::Relaxed);
    assert_eq!(held.rebuild(Box::new(|_, _| {})).unwrap_err().code(), "disk_full");
    assert!(held.is_poisoned());
    // Whoever asks meanwhile is told at once, and others are not kept waiting.
    assert_eq!(home.actor(&ada(), at(2)).unwrap_err(), Error::Poisoned);
    home.actor(&name("bob"), at(2)).unwrap();
    drop(held);
    let anew = home.actor(&ada(), at(3)).unwrap();
    assert_eq!(size(&anew), 1);
    anew.write(stamp(2), fact(2, "goes on", "")).unwrap();
}

// L13: a backup is a home that is only read, and nothing is left of what was derived.
#[test]
fn a_backup_is_opened_for_reading_only() {
    let folder = tempfile::tempdir().unwrap();
    let (backup, scratch) = (folder.path().join("backup"), folder.path().join("scratch"));
    let home = Home::new(folder.path().join("home"), Options::default(), HomeLimits::default());
    let cortex = home.actor(&ada(), at(0)).unwrap();
    cortex.write(stamp(1), fact(1, "kept", "")).unwrap();
    let report = cortex.backup(&backup.join("ada")).unwrap();
    let options = Options { read_only_scratch: Some(scratch.clone()), ..Options::default() };
    let copy = Home::new(&backup, options, HomeLimits::default());
    assert_eq!(copy.actors().unwrap(), [ada()]);
    let read = copy.actor(&ada(), at(0)).unwrap();
    assert_eq!(read.root().unwrap(), report.manifest.root);
    assert_eq!(read.write(stamp(2), fact(2, "no", "")).unwrap_err().code(), "invalid");
    drop(read);
    assert_eq!(copy.close_all(), 0);
    assert!(!scratch.exists());
    let files: Vec<_> = std::fs::read_dir(backup.join("ada")).unwrap().flatten().collect();
    assert_eq!(files.len(), 2, "the manifest and the ledger: {files:?}");
}
