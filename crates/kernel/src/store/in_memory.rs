//! The files of an actor on a disk without room: the ledger where it is, everything derived in memory.
//!
//! A full disk can be read. What must stay true: it begins with the derived store as it is on disk, which is only read,
//! and nothing of it is written back; the next open on a disk with room replays what is missing there.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;
use redb::backends::InMemoryBackend;

use super::{Medium, StoreFile};

#[derive(Debug)]
pub(crate) struct MemoryMedium {
    disk: Arc<dyn Medium>,
    derived: Mutex<BTreeMap<StoreFile, Arc<InMemoryBackend>>>,
}

impl MemoryMedium {
    /// Takes the derived store of `disk` into memory, if it has at most `bytes_max` bytes.
    pub(crate) fn new(disk: Arc<dyn Medium>, bytes_max: u64) -> io::Result<MemoryMedium> {
        let mut derived = BTreeMap::new();
        if disk.exists(StoreFile::Derived)? {
            let file = disk.open(StoreFile::Derived)?;
            let bytes = file.len()?;
            if bytes > bytes_max {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
            let mut content = vec![0; usize::try_from(bytes).map_err(io::Error::other)?];
            file.read(0, &mut content)?;
            let memory = InMemoryBackend::new();
            memory.set_len(bytes)?;
            memory.write(0, &content)?;
            derived.insert(StoreFile::Derived, Arc::new(memory));
        }
        Ok(MemoryMedium { disk, derived: Mutex::new(derived) })
    }

    fn derived(&self) -> MutexGuard<'_, BTreeMap<StoreFile, Arc<InMemoryBackend>>> {
        self.derived.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Medium for MemoryMedium {
    fn exists(&self, file: StoreFile) -> io::Result<bool> {
        if file.is_derived() {
            Ok(self.derived().contains_key(&file))
        } else {
            self.disk.exists(file)
        }
    }

    fn open(&self, file: StoreFile) -> io::Result<Box<dyn StorageBackend>> {
        if !file.is_derived() {
            return self.disk.open(file);
        }
        Ok(Box::new(MemoryFile(Arc::clone(self.derived().entry(file).or_default()))))
    }

    fn len(&self, file: StoreFile) -> io::Result<u64> {
        if !file.is_derived() {
            return self.disk.len(file);
        }
        self.derived().get(&file).map_or_else(|| Err(io::ErrorKind::NotFound.into()), |f| f.len())
    }

    fn rename(&self, from: StoreFile, to: StoreFile) -> io::Result<()> {
        if !from.is_derived() {
            return self.disk.rename(from, to);
        }
        let mut derived = self.derived();
        let file = derived.remove(&from).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        derived.insert(to, file);
        Ok(())
    }

    fn remove(&self, file: StoreFile) -> io::Result<()> {
        if !file.is_derived() {
            return self.disk.remove(file);
        }
        self.derived().remove(&file);
        Ok(())
    }

    fn segments(&self) -> io::Result<Vec<StoreFile>> {
        self.disk.segments()
    }
}

/// A file in memory that may be opened more than once.
#[derive(Debug)]
struct MemoryFile(Arc<InMemoryBackend>);

impl StorageBackend for MemoryFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        StorageBackend::read(&*self.0, offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        StorageBackend::write(&*self.0, offset, data)
    }
}
