//! A home: many actors, each opened when it is first needed and closed when it has been idle, never more than a few at
//! once.
//!
//! Opening can take long, when rows of another version of the program are made again, and so can closing, while what
//! was erased is taken out of the index. Whoever wants that actor waits; nobody else does.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use proof::actor::ActorName;
use proof::memory::Millis;

use crate::cortex::{BackupManifest, Cortex, Options};
use crate::error::{Error, Result};
use crate::ledger::{SharedSource, remove_copy};
use crate::store::DiskMedium;

/// An actor nobody used for this long has what is derived made durable by `close_idle`.
const SETTLE_IDLE_MS: i64 = 5_000;

#[derive(Clone, Copy, Debug)]
pub struct HomeLimits {
    /// Actors open at once.
    pub open_max: usize,
    /// An actor nobody used for this long is closed by `close_idle`.
    pub idle_ms: i64,
}

impl Default for HomeLimits {
    fn default() -> Self {
        HomeLimits { open_max: 64, idle_ms: 10 * 60_000 }
    }
}

#[derive(Debug)]
pub struct Home {
    folder: PathBuf,
    /// The folder is a backup: its actors lie in it and are only read.
    is_backup: bool,
    options: Options,
    limits: HomeLimits,
    open: Mutex<OpenActors>,
    /// Somebody has finished opening an actor, or failed to.
    opened: Condvar,
}

#[derive(Debug, Default)]
struct OpenActors {
    actors: BTreeMap<ActorName, OpenActor>,
    /// Those that somebody opens or closes right now.
    in_between: BTreeSet<ActorName>,
}

impl OpenActors {
    /// Takes out those that nobody holds and that `is_meant` says; nobody gets at them before they are closed.
    fn take_out(&mut self, is_meant: impl Fn(&ActorName, &OpenActor) -> bool) -> Vec<TakenActor> {
        let is_free = |actor: &OpenActor| Arc::strong_count(&actor.cortex) == 1;
        let taken =
            self.actors.extract_if(.., |name, actor| is_free(actor) && is_meant(name, actor));
        let taken: Vec<TakenActor> = taken.map(|(name, actor)| (name, actor.cortex)).collect();
        self.in_between.extend(taken.iter().map(|(name, _)| name.clone()));
        taken
    }
}

/// An actor on its way to be closed.
type TakenActor = (ActorName, Arc<Cortex>);

#[derive(Debug)]
struct OpenActor {
    cortex: Arc<Cortex>,
    used: Millis,
}

impl Home {
    pub fn new(folder: impl Into<PathBuf>, options: Options, limits: HomeLimits) -> Home {
        let (open, opened) = (Mutex::default(), Condvar::new());
        let folder = folder.into();
        let is_backup = !folder.join("actors").exists() && BackupManifest::are_in(&folder);
        Home { folder, is_backup, options, limits, open, opened }
    }

    fn actors_folder(&self) -> PathBuf {
        if self.is_backup { self.folder.clone() } else { self.folder.join("actors") }
    }

    /// The folder of one actor.
    pub fn actor_folder(&self, actor: &ActorName) -> PathBuf {
        self.actors_folder().join(actor.as_str())
    }

    /// True if the actor has a store. If a shared ledger cannot be asked, whoever opens the actor is told why.
    pub fn has(&self, actor: &ActorName) -> bool {
        match &self.options.shared {
            None => self.has_files(actor),
            Some(shared) => {
                self.if_open(actor).is_some() || shared.ledgers.has(actor).unwrap_or(true)
            }
        }
    }

    /// True if the truth is not in this home, which then only caches it.
    pub fn is_shared(&self) -> bool {
        self.options.shared.is_some()
    }

    fn has_files(&self, actor: &ActorName) -> bool {
        DiskMedium::new(self.actor_folder(actor)).is_actor()
    }

    /// Names of all actors that have a store, in order.
    pub fn actors(&self) -> Result<Vec<ActorName>> {
        match &self.options.shared {
            None => self.actors_here(),
            Some(SharedSource { ledgers, .. }) => ledgers.actors(),
        }
    }

    /// Those that have files in this home.
    pub fn actors_here(&self) -> Result<Vec<ActorName>> {
        let folder = self.actors_folder();
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(|error| failed(&folder, error))?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| failed(&folder, error))?;
            // A folder that is not an actor's name is not ours.
            if let Some(name) = entry.file_name().to_str().and_then(|n| ActorName::parse(n).ok())
                && self.has_files(&name)
            {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// The actor's memory, opened now if it is not open, and anew if a write to it failed. `now` only decides who is
    /// idle.
    pub fn actor(&self, name: &ActorName, now: Millis) -> Result<Arc<Cortex>> {
        let mut open = self.lock();
        loop {
            let taken = if let Some(actor) = open.actors.get_mut(name) {
                if !actor.cortex.is_poisoned() {
                    actor.used = actor.used.max(now);
                    return Ok(Arc::clone(&actor.cortex));
                }
                // A write failed. What is on disk is known again once the actor is opened anew, which has to wait for
                // whoever still holds it; the wait is not here, where callers of all other actors would wait too.
                if Arc::strong_count(&actor.cortex) > 1 {
                    return Err(Error::Poisoned);
                }
                open.take_out(|found, _| found == name)
            } else if open.in_between.contains(name) {
                open = self.opened.wait(open).unwrap_or_else(PoisonError::into_inner);
                continue;
            } else if open.actors.len() + open.in_between.len() >= self.limits.open_max {
                take_longest_idle(&mut open)?
            } else {
                break;
            };
            drop(open);
            self.close(taken);
            open = self.lock();
        }
        open.in_between.insert(name.clone());
        drop(open);
        let _between_guard = BetweenGuard { home: self, name };
        let folder = self.actor_folder(name);
        let cortex = Arc::new(self.open(&folder, name)?);
        let actor = OpenActor { cortex: Arc::clone(&cortex), used: now };
        self.lock().actors.insert(name.clone(), actor);
        Ok(cortex)
    }

    /// Opens an actor; for reading only, if it is a backup or lies where nobody can write.
    fn open(&self, folder: &Path, name: &ActorName) -> Result<Cortex> {
        let opened = if self.is_backup {
            Err(Error::io(folder.display(), ErrorKind::ReadOnlyFilesystem.into()))
        } else {
            Cortex::open(folder, name, self.options.clone())
        };
        match (opened, &self.options.read_only_scratch) {
            (Err(error), Some(scratch))
                if error.io_kind() == Some(ErrorKind::ReadOnlyFilesystem)
                    && self.has_files(name) =>
            {
                let scratch = scratch.join(name.as_str());
                let options = self.options.clone();
                let mut cortex = Cortex::open_read_only(folder, name, &scratch, options)?;
                cortex.scratch = Some(scratch);
                Ok(cortex)
            }
            (opened, _) => opened,
        }
    }

    fn lock(&self) -> MutexGuard<'_, OpenActors> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The actor's memory if it is open. Looking is not using: it may be closed as if nobody had asked.
    pub fn if_open(&self, name: &ActorName) -> Option<Arc<Cortex>> {
        self.lock().actors.get(name).map(|actor| Arc::clone(&actor.cortex))
    }

    /// For how long nobody has used an actor that is open.
    pub fn idle_ms(&self, name: &ActorName, now: Millis) -> Option<i64> {
        self.lock().actors.get(name).map(|actor| now.get().saturating_sub(actor.used.get()))
    }

    /// Closes actors that nobody holds and nobody used for a while; returns how many. What is derived of the others is
    /// made durable once they were left alone for a moment.
    pub fn close_idle(&self, now: Millis) -> usize {
        let (taken, quiet) = {
            let mut open = self.lock();
            let idle_ms = |actor: &OpenActor| now.get().saturating_sub(actor.used.get());
            // One that still takes out what was erased is closed when it is done.
            let taken = open.take_out(|_, actor| {
                idle_ms(actor) >= self.limits.idle_ms && !actor.cortex.is_scrubbing()
            });
            let quiet = open.actors.values().filter(|actor| idle_ms(actor) >= SETTLE_IDLE_MS);
            let quiet: Vec<_> = quiet.map(|actor| Arc::clone(&actor.cortex)).collect();
            (taken, quiet)
        };
        let closed = self.close(taken);
        for cortex in quiet {
            // Nothing depends on it: what is not durable is replayed from the ledger.
            let _ = cortex.settle();
        }
        closed
    }

    /// Closes every actor that nobody holds; returns how many stay open. One that takes out what was erased is waited
    /// for.
    pub fn close_all(&self) -> usize {
        self.close_all_soon(Duration::MAX)
    }

    /// The same, but the scrubs of all actors together are waited for at most `patience`; what is left of them is done
    /// after the next open.
    pub fn close_all_soon(&self, patience: Duration) -> usize {
        let taken = self.lock().take_out(|_, _| true);
        let began = Instant::now();
        for (_, cortex) in &taken {
            if !cortex.wait_for_scrub(patience.saturating_sub(began.elapsed())) {
                cortex.leave_scrub();
            }
        }
        self.close(taken);
        self.open_count()
    }

    /// Closes actors that were taken out; returns how many.
    fn close(&self, taken: Vec<TakenActor>) -> usize {
        let closed = taken.len();
        for (name, cortex) in taken {
            let _between_guard = BetweenGuard { home: self, name: &name };
            drop(cortex);
        }
        closed
    }

    /// Throws away what a home that only caches holds of an actor. False: somebody uses it.
    pub fn drop_copy(&self, name: &ActorName) -> Result<bool> {
        if !self.is_shared() {
            return Err(Error::invalid("actor", "this home holds its truth"));
        }
        {
            let mut open = self.lock();
            if open.actors.contains_key(name) || !open.in_between.insert(name.clone()) {
                return Ok(false);
            }
        }
        let _between_guard = BetweenGuard { home: self, name };
        remove_copy(&DiskMedium::new(self.actor_folder(name)))?;
        Ok(true)
    }

    /// Names of those that are open, in order.
    pub fn open_actors(&self) -> Vec<ActorName> {
        self.lock().actors.keys().cloned().collect()
    }

    pub fn open_count(&self) -> usize {
        self.lock().actors.len()
    }
}

/// Lets the next one try when this one is done, however it ended.
struct BetweenGuard<'a> {
    home: &'a Home,
    name: &'a ActorName,
}

impl Drop for BetweenGuard<'_> {
    fn drop(&mut self) {
        self.home.lock().in_between.remove(self.name);
        self.home.opened.notify_all();
    }
}

/// Makes room: takes out the actor that was idle longest; one in use cannot be closed. One that takes out what was
/// erased comes last.
fn take_longest_idle(open: &mut OpenActors) -> Result<Vec<TakenActor>> {
    let idle = open
        .actors
        .iter()
        .filter(|(_, actor)| Arc::strong_count(&actor.cortex) == 1)
        .min_by_key(|(_, actor)| (actor.cortex.is_scrubbing(), actor.used))
        .map(|(name, _)| name.clone());
    match idle {
        Some(name) => Ok(open.take_out(|found, _| *found == name)),
        None => {
            let max = open.actors.len() + open.in_between.len();
            Err(Error::TooMany { field: "open actors", count: max + 1, max })
        }
    }
}

fn failed(folder: &Path, error: std::io::Error) -> Error {
    Error::io(folder.display(), error)
}
