//! The files of an actor on a medium that is not written to: a backup, a snapshot of a file system, a mounted disc.
//!
//! Segments are only read. What opening a ledger would write is kept to itself: a torn tail is cut off for the reader
//! alone. Everything derived is made in a folder elsewhere.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;

use super::{DiskMedium, Medium, StoreFile};

#[derive(Debug)]
pub struct ReadOnlyMedium {
    ledger: DiskMedium,
    derived: DiskMedium,
}

impl ReadOnlyMedium {
    /// Reads the ledger in `folder` and keeps what is derived in `scratch`.
    pub fn new(folder: impl Into<PathBuf>, scratch: impl Into<PathBuf>) -> ReadOnlyMedium {
        ReadOnlyMedium { ledger: DiskMedium::new(folder), derived: DiskMedium::new(scratch) }
    }

    fn of(&self, file: StoreFile) -> &DiskMedium {
        if file.is_derived() { &self.derived } else { &self.ledger }
    }
}

impl Medium for ReadOnlyMedium {
    fn exists(&self, file: StoreFile) -> io::Result<bool> {
        self.of(file).exists(file)
    }

    fn open(&self, file: StoreFile) -> io::Result<Box<dyn redb::StorageBackend>> {
        if file.is_derived() {
            return self.derived.open(file);
        }
        let inner = redb::backends::FileBackend::new(File::open(self.ledger.path(file))?)
            .map_err(|error| io::Error::other(error.to_string()))?;
        let length = Mutex::new(redb::StorageBackend::len(&inner)?);
        Ok(Box::new(ReadOnlyFile { inner, length }))
    }

    fn len(&self, file: StoreFile) -> io::Result<u64> {
        self.of(file).len(file)
    }

    fn used(&self, file: StoreFile) -> io::Result<u64> {
        self.of(file).used(file)
    }

    fn rename(&self, from: StoreFile, to: StoreFile) -> io::Result<()> {
        if from.is_derived() {
            self.derived.rename(from, to)
        } else {
            Err(io::ErrorKind::ReadOnlyFilesystem.into())
        }
    }

    fn remove(&self, file: StoreFile) -> io::Result<()> {
        // A segment that somebody was making is worthless, here as elsewhere, and stays.
        if file.is_derived() { self.derived.remove(file) } else { Ok(()) }
    }

    fn segments(&self) -> io::Result<Vec<StoreFile>> {
        self.ledger.segments()
    }

    fn room(&self) -> io::Result<Option<u64>> {
        self.derived.room()
    }
}

/// A file that may be read, and written with what it holds.
#[derive(Debug)]
struct ReadOnlyFile {
    inner: redb::backends::FileBackend,
    /// As far as it is shown.
    length: Mutex<u64>,
}

impl redb::StorageBackend for ReadOnlyFile {
    fn len(&self) -> io::Result<u64> {
        Ok(*self.length.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if offset + out.len() as u64 > self.len()? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut length = self.length.lock().unwrap_or_else(PoisonError::into_inner);
        if len > *length {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        *length = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut held = vec![0; data.len()];
        match self.read(offset, &mut held) {
            Ok(()) if held == data => Ok(()),
            _ => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
        }
    }
}
