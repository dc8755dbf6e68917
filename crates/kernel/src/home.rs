//! A home: many actors, each opened when it is first needed and closed when it has been idle, never more than a few at
//! once.
//!
//! Opening can take long, when rows of another version of the program are made again. Whoever wants that actor waits;
//! nobody else does.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

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
    /// Those that somebody opens right now.
    opening: BTreeSet<ActorName>,
}

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
            match open.actors.get_mut(name) {
                // A write failed. What is on disk is known again once the actor is opened anew, which has to wait for
                // whoever still holds it; the wait is not here, where callers of all other actors would wait too.
                Some(actor) if actor.cortex.is_poisoned() => {
                    if Arc::strong_count(&actor.cortex) > 1 {
                        return Err(Error::Poisoned);
                    }
                    open.actors.remove(name);
                }
                Some(actor) => {
                    actor.used = actor.used.max(now);
                    return Ok(Arc::clone(&actor.cortex));
                }
                None => {}
            }
            if !open.opening.contains(name) {
                break;
            }
            open = self.opened.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
        if open.actors.len() + open.opening.len() >= self.limits.open_max {
            close_longest_idle(&mut open)?;
        }
        open.opening.insert(name.clone());
        drop(open);
        let _opening_guard = OpeningGuard { home: self, name };
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
        let (closed, quiet) = {
            let open = &mut self.lock().actors;
            let before = open.len();
            let idle_ms = |actor: &OpenActor| now.get().saturating_sub(actor.used.get());
            open.retain(|_, actor| {
                let is_idle = idle_ms(actor) >= self.limits.idle_ms;
                !(is_idle && Arc::strong_count(&actor.cortex) == 1)
            });
            let quiet = open.values().filter(|actor| idle_ms(actor) >= SETTLE_IDLE_MS);
            let quiet: Vec<_> = quiet.map(|actor| Arc::clone(&actor.cortex)).collect();
            (before - open.len(), quiet)
        };
        for cortex in quiet {
            // Nothing depends on it: what is not durable is replayed from the ledger.
            let _ = cortex.settle();
        }
        closed
    }

    /// Closes every actor that nobody holds; returns how many stay open.
    pub fn close_all(&self) -> usize {
        let open = &mut self.lock().actors;
        open.retain(|_, actor| Arc::strong_count(&actor.cortex) > 1);
        open.len()
    }

    /// Throws away what a home that only caches holds of an actor. False: somebody uses it.
    pub fn drop_copy(&self, name: &ActorName) -> Result<bool> {
        if !self.is_shared() {
            return Err(Error::invalid("actor", "this home holds its truth"));
        }
        {
            let mut open = self.lock();
            if open.actors.contains_key(name) || !open.opening.insert(name.clone()) {
                return Ok(false);
            }
        }
        let _opening_guard = OpeningGuard { home: self, name };
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
struct OpeningGuard<'a> {
    home: &'a Home,
    name: &'a ActorName,
}

impl Drop for OpeningGuard<'_> {
    fn drop(&mut self) {
        self.home.lock().opening.remove(self.name);
        self.home.opened.notify_all();
    }
}

/// Makes room by closing the actor that was idle longest; one in use cannot be closed.
fn close_longest_idle(open: &mut OpenActors) -> Result<()> {
    let idle = open
        .actors
        .iter()
        .filter(|(_, actor)| Arc::strong_count(&actor.cortex) == 1)
        .min_by_key(|(_, actor)| actor.used)
        .map(|(name, _)| name.clone());
    match idle {
        Some(name) => {
            open.actors.remove(&name);
            Ok(())
        }
        None => {
            let max = open.actors.len() + open.opening.len();
            Err(Error::TooMany { field: "open actors", count: max + 1, max })
        }
    }
}

fn failed(folder: &Path, error: std::io::Error) -> Error {
    Error::io(folder.display(), error)
}
