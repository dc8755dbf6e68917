//! The scrubber: after an erasure it has the derived file rewritten, so that old copies of the content are gone from
//! disk. Where rows hold the texts of many memories at once, everything is derived again instead. It also brings back
//! to disk what had to be kept in memory while there was no room.
//!
//! It works on a thread of its own, which is there while there is work; readers and the writer go on. What must stay
//! true: the row that asks for it is gone only when a file without the old bytes has taken the place of the old one, so
//! that a crash or a full disk leaves the work to whoever opens the actor next.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::background::in_background;
use crate::error::{Error, Result, StorageFailure};
use crate::store::{Storage, unscrubbed};

/// Whether copies of erased content are still in the derived file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScrubState {
    Done,
    /// Not yet; with the error, if the last attempt failed. The next erasure and the next open try again.
    Pending(Option<Error>),
}

#[derive(Debug)]
pub(crate) struct Scrubber {
    task: Arc<ScrubTask>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Makes everything derived again, beside the live store, and puts it in its place.
pub(crate) type RemakeFn = Box<dyn Fn() -> Result<()> + Send + Sync>;

struct ScrubTask {
    storage: Arc<dyn Storage>,
    /// Set if a copy of the rows would keep something of what was erased.
    remake: OnceLock<RemakeFn>,
    work: Mutex<Work>,
    changed: Condvar,
}

impl fmt::Debug for ScrubTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScrubTask").field("work", &self.work).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Work {
    is_wanted: bool,
    is_running: bool,
    error: Option<Error>,
}

impl ScrubTask {
    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rewrites until nobody wants it any more.
    fn run(&self) {
        loop {
            let mut work = self.work();
            if !std::mem::take(&mut work.is_wanted) {
                work.is_running = false;
                self.changed.notify_all();
                return;
            }
            drop(work);
            let outcome = self.scrub();
            self.work().error = outcome.err();
        }
    }

    fn scrub(&self) -> Result<()> {
        if unscrubbed(&*self.storage.rows()?)?.is_some() {
            return match self.remake.get() {
                Some(remake) => remake(),
                None => self.storage.rewrite(),
            };
        }
        // Somebody else made everything again since, or there is only room to win.
        if self.storage.wants_rewrite() || self.storage.wants_packing()? {
            in_background(|| self.storage.pack())
        } else {
            Ok(())
        }
    }
}

impl Scrubber {
    pub(crate) fn new(storage: Arc<dyn Storage>) -> Scrubber {
        let (remake, work, changed) = (OnceLock::new(), Mutex::default(), Condvar::new());
        let task = Arc::new(ScrubTask { storage, remake, work, changed });
        Scrubber { task, thread: Mutex::default() }
    }

    /// From now on everything is made again with `remake` after an erasure.
    pub(crate) fn remake_with(&self, remake: RemakeFn) {
        // It is told once, when the actor is opened.
        let _ = self.task.remake.set(remake);
    }

    /// Asks for a rewrite, after whatever is under way.
    pub(crate) fn request(&self) {
        let mut work = self.task.work();
        work.is_wanted = true;
        if !std::mem::replace(&mut work.is_running, true)
            && let Err(error) = self.spawn()
        {
            work.is_running = false;
            work.error = Some(error);
        }
    }

    /// Asks for a rewrite unless one is under way: the file is in memory and there is room on disk again, or it has
    /// many pages that are half empty.
    pub(crate) fn heal(&self) {
        if !self.task.work().is_running {
            self.request();
        }
    }

    fn spawn(&self) -> Result<()> {
        let task = Arc::clone(&self.task);
        let thread = std::thread::Builder::new()
            .name("scrubber".to_owned())
            .spawn(move || task.run())
            .map_err(|error| Error::Storage(StorageFailure::new(error.to_string(), error)))?;
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }

    pub(crate) fn state(&self) -> ScrubState {
        // What is only packed holds nothing of what was erased. Who cannot read does not know.
        let rows = self.task.storage.rows().and_then(|rows| unscrubbed(&*rows));
        let is_unscrubbed = !matches!(rows, Ok(None));
        let work = self.task.work();
        match &work.error {
            None if !work.is_running || !is_unscrubbed => ScrubState::Done,
            error => ScrubState::Pending(error.clone()),
        }
    }

    /// Waits for the work that was asked for; true if all of it is done.
    pub(crate) fn wait(&self, patience: Duration) -> bool {
        let started = Instant::now();
        let mut work = self.task.work();
        while work.is_running {
            let left = patience.saturating_sub(started.elapsed());
            if left.is_zero() {
                return false;
            }
            let waited = self.task.changed.wait_timeout(work, left);
            work = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        work.error.is_none()
    }

    /// True while there is work.
    pub(crate) fn is_running(&self) -> bool {
        self.task.work().is_running
    }

    /// Waits for the thread.
    pub(crate) fn close(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // One that panicked has left the row that asks for it, and the next open begins again.
            let _ = thread.join();
        }
    }
}
