//! Goal: a backup keeps nobody who erases waiting, and holds nothing of what was erased meanwhile.
//! Method: a disk that lets somebody act at the moment when the copy of a segment begins.

#![allow(clippy::unwrap_used)]

use std::io;
use std::sync::{Arc, Mutex};

use kernel::ledger::RestorePoint;
use kernel::store::{DiskMedium, Medium, StoreFile};
use kernel::{Cortex, Options};
use redb::StorageBackend;
use testkit::build::{ada, assert_clean, fact, holds, id, removal, size, stamp};

/// The header of a segment, which is read when it is opened; a copy reads more at a time.
const HEADER_BYTES: usize = 144;
const SECRET: &str = "the passphrase was correct-horse-battery";

type Act = Box<dyn FnOnce() + Send>;
/// What is done once, when a copy begins.
type Meanwhile = Arc<Mutex<Option<Act>>>;

#[derive(Debug)]
struct WatchedDisk {
    disk: DiskMedium,
    meanwhile: WatchedMoment,
}

#[derive(Clone, Default)]
struct WatchedMoment(Meanwhile);

impl std::fmt::Debug for WatchedMoment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WatchedMoment")
    }
}

impl Medium for WatchedDisk {
    fn exists(&self, file: StoreFile) -> io::Result<bool> {
        self.disk.exists(file)
    }

    fn open(&self, file: StoreFile) -> io::Result<Box<dyn StorageBackend>> {
        let inner = self.disk.open(file)?;
        Ok(match file {
            StoreFile::Segment(_) => {
                Box::new(WatchedFile { inner, meanwhile: self.meanwhile.clone() })
            }
            _ => inner,
        })
    }

    fn len(&self, file: StoreFile) -> io::Result<u64> {
        self.disk.len(file)
    }

    fn rename(&self, from: StoreFile, to: StoreFile) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, file: StoreFile) -> io::Result<()> {
        self.disk.remove(file)
    }

    fn segments(&self) -> io::Result<Vec<StoreFile>> {
        self.disk.segments()
    }
}

#[derive(Debug)]
struct WatchedFile {
    inner: Box<dyn StorageBackend>,
    meanwhile: WatchedMoment,
}

impl StorageBackend for WatchedFile {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)?;
        if offset == 0 && out.len() > HEADER_BYTES {
            let act = self.meanwhile.0.lock().unwrap().take();
            if let Some(act) = act {
                act();
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.inner.write(offset, data)
    }
}

// L8, L12, L17: whoever erased waited for the copy of a whole segment, and everybody who wrote waited for him.
#[test]
fn an_erasure_while_a_segment_is_copied_waits_for_nothing_and_leaves_the_copy_too() {
    let home = tempfile::tempdir().unwrap();
    let (folder, backup) = (home.path().join("ada"), home.path().join("backup"));
    let meanwhile = WatchedMoment::default();
    let disk = WatchedDisk { disk: DiskMedium::new(&folder), meanwhile: meanwhile.clone() };
    std::fs::create_dir_all(&folder).unwrap();
    let cortex = Cortex::open_on(Box::new(disk), &ada(), Options::default()).unwrap();
    let cortex = Arc::new(cortex);
    for round in 0..2 {
        // The first time the folder is empty, the second time a copy is there that grows.
        let secret = cortex.write(stamp(1), fact(round, "a secret", SECRET)).unwrap().seq;
        cortex.write(stamp(1), fact(100 + round, "kept", "plain")).unwrap();
        if round == 1 {
            // What was erased since the last backup has the whole segment copied again.
            cortex.erase(stamp(1), removal(2)).unwrap();
        }
        let erasing = Arc::clone(&cortex);
        let erase = move || drop(erasing.erase(stamp(2), removal(secret)).unwrap());
        *meanwhile.0.lock().unwrap() = Some(Box::new(erase));
        let report = cortex.backup(&backup).unwrap();
        assert!(meanwhile.0.lock().unwrap().is_none(), "it was erased in the middle");
        let copy = std::fs::read(backup.join("ledger/00000000000000000001.log")).unwrap();
        assert!(!holds(&copy, SECRET), "round {round}");
        let restored = home.path().join(format!("restored {round}"));
        let (found, told) =
            Cortex::restore_backup(&backup, None, &restored, Options::default()).unwrap();
        assert_eq!(told.root, report.manifest.root, "round {round}");
        assert_clean(&found);
    }
    assert_clean(&cortex);
}

// L12, L17: a home restored to a moment before an erasure was not clean: a body was missing, and no entry said why.
#[test]
fn what_was_erased_after_the_moment_that_is_restored_stays_erased_and_is_named() {
    let home = tempfile::tempdir().unwrap();
    let (folder, backup) = (home.path().join("ada"), home.path().join("backup"));
    let cortex = Cortex::open(&folder, &ada(), Options::default()).unwrap();
    cortex.write(stamp(1), fact(1, "kept", "plain")).unwrap();
    let secret = cortex.write(stamp(1), fact(2, "a secret", SECRET)).unwrap().seq;
    cortex.write(stamp(1), fact(3, "another", "plain")).unwrap();
    let root = cortex.root().unwrap();
    cortex.erase(stamp(2), removal(secret)).unwrap();
    let whole = cortex.backup(&backup).unwrap();
    let restore = |at, name: &str| {
        let target = home.path().join(name);
        Cortex::restore_backup(&backup, at, &target, Options::default()).unwrap()
    };
    let (found, told) = restore(Some(RestorePoint::Seq(3)), "before");
    assert_eq!((told.entries, told.root), (3, root), "the root that it had then");
    assert_eq!(told.erased_since, [id(secret)]);
    assert_clean(&found);
    assert_eq!(size(&found), 4, "an entry says that it was erased");
    let (found, told) = restore(None, "whole");
    assert_eq!((told.root, told.erased_since), (whole.manifest.root, Vec::new()));
    assert_clean(&found);
}
