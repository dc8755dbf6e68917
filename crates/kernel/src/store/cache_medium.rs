//! The files of a cache: as on any disk, but nobody waits for them.
//!
//! What must stay true: only what can be made again from elsewhere lies here. A crash of the machine may leave any mix
//! of old and new pages, so whoever keeps a cache throws it away when the machine was started anew.

use std::io;

use redb::StorageBackend;

use super::{DiskMedium, Medium, StoreFile};

#[derive(Debug)]
pub struct CacheMedium {
    disk: DiskMedium,
}

impl CacheMedium {
    pub fn new(disk: DiskMedium) -> CacheMedium {
        CacheMedium { disk }
    }
}

impl Medium for CacheMedium {
    fn exists(&self, file: StoreFile) -> io::Result<bool> {
        self.disk.exists(file)
    }

    fn open(&self, file: StoreFile) -> io::Result<Box<dyn StorageBackend>> {
        Ok(Box::new(CacheFile(self.disk.open(file)?)))
    }

    fn len(&self, file: StoreFile) -> io::Result<u64> {
        self.disk.len(file)
    }

    fn used(&self, file: StoreFile) -> io::Result<u64> {
        self.disk.used(file)
    }

    fn rename(&self, from: StoreFile, to: StoreFile) -> io::Result<()> {
        std::fs::rename(self.disk.path(from), self.disk.path(to))
    }

    fn remove(&self, file: StoreFile) -> io::Result<()> {
        self.disk.remove(file)
    }

    fn segments(&self) -> io::Result<Vec<StoreFile>> {
        self.disk.segments()
    }

    fn room(&self) -> io::Result<Option<u64>> {
        self.disk.room()
    }
}

/// A file whose syncs are left to the system.
#[derive(Debug)]
struct CacheFile(Box<dyn StorageBackend>);

impl StorageBackend for CacheFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.0.close()
    }
}
