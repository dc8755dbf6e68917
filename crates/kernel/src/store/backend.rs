//! What lies between redb and a medium: its files, its errors, its panics.

use std::fmt;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};

use redb::{BackendError, StorageBackend};

use super::engine::STORE_FILE;
use crate::error::{Error, Result, StorageFailure};

/// redb takes its backend by type; a medium hands out a boxed one.
pub(super) struct Backend(pub(super) Box<dyn StorageBackend>);

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StorageBackend for Backend {
    fn len(&self) -> std::io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> std::io::Result<()> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> std::io::Result<()> {
        self.0.write(offset, data)
    }

    fn close(&self) -> std::io::Result<()> {
        self.0.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.try_lock_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.0.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.query_lock_range(start, end)
    }
}

/// Runs engine code; a panic over damaged pages becomes an error instead of taking the process down.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let reason = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("the engine stopped");
        Err(Error::corrupt(STORE_FILE, format!("the engine could not read it ({reason})")))
    })
}

pub(crate) fn io(error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::WouldBlock => Error::Busy,
        std::io::ErrorKind::UnexpectedEof => Error::corrupt(STORE_FILE, "the file is cut off"),
        _ => Error::io(STORE_FILE, error),
    }
}

pub(super) fn engine(error: impl Into<redb::Error>) -> Error {
    match error.into() {
        redb::Error::DatabaseAlreadyOpen => Error::Busy,
        redb::Error::Corrupted(reason) => Error::corrupt(STORE_FILE, reason),
        redb::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            Error::corrupt(STORE_FILE, error.to_string())
        }
        redb::Error::Io(error) => io(error),
        redb::Error::PreviousIo => Error::Poisoned,
        other => Error::Storage(StorageFailure::new(other.to_string(), other)),
    }
}
