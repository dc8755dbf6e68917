//! Opening an actor: its folder and lock, its store, its hooks, its writer.
//!
//! What must stay true: an actor is open once; a store of another format, of another actor or with a journal that
//! disagrees with what is derived from it is refused; entries whose derived rows a crash took are derived again, and rows
//! that another version of the program made are made again, before anybody reads.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proof::actor::ActorName;

use super::{Cortex, Options, delegate};
use crate::batch::{Hooks, ProgressFn};
use crate::birth::{check_birth, live_side};
use crate::commitments::Commitments;
use crate::error::{Error, Result};
use crate::ledger::LedgerStorage;
use crate::rebuild;
use crate::store::{DiskMedium, Medium, Storage, View};
use crate::writer::{WriterHandle, WriterThread};

impl Cortex {
    /// Opens the actor in a folder of its own, making both if they are not there. Rows of hooks that another version of
    /// the program made are made again first, which takes as long as a rebuild; see `Options::renewing`.
    pub fn open(folder: &Path, actor: &ActorName, options: Options) -> Result<Cortex> {
        let lock = claim(folder, options.wait)?;
        let medium = Box::new(DiskMedium::new(folder));
        Ok(Cortex::open_on(medium, actor, options)?.living_in(folder, lock))
    }

    /// Makes everything derived again before the actor in a folder is opened; see `rebuild_on`.
    pub fn rebuild_in(
        folder: &Path,
        actor: &ActorName,
        options: Options,
        progress: &mut ProgressFn<'_>,
    ) -> Result<(Cortex, u64)> {
        let lock = claim(folder, options.wait)?;
        let medium = Box::new(DiskMedium::new(folder));
        let (cortex, entries) = Cortex::rebuild_on(medium, actor, options, progress)?;
        Ok((cortex.living_in(folder, lock), entries))
    }

    fn living_in(mut self, folder: &Path, lock: File) -> Cortex {
        self.folder = Some(folder.to_owned());
        self.lock = Some(lock);
        self
    }

    /// Opens the actor on any medium. The caller sees to it that nobody else has it open.
    pub fn open_on(medium: Box<dyn Medium>, actor: &ActorName, options: Options) -> Result<Cortex> {
        let key = (options.ledger_key)();
        let storage = LedgerStorage::open(medium, actor, options.engine, key)?;
        Cortex::with_storage(Arc::new(storage), actor, options)
    }

    /// Makes everything derived again before the actor is opened: the way out when what is derived is so damaged that
    /// it cannot be opened. Journal and bodies are only read. Also returns the number of entries.
    pub fn rebuild_on(
        medium: Box<dyn Medium>,
        actor: &ActorName,
        options: Options,
        progress: &mut ProgressFn<'_>,
    ) -> Result<(Cortex, u64)> {
        let key = (options.ledger_key)();
        let storage = LedgerStorage::open(medium, actor, options.engine, key)?;
        let reader = storage.reader()?;
        check_birth(&*reader, actor)?;
        let side = live_side(&*reader)?;
        drop(reader);
        let mut hooks = Hooks::new(Commitments::new(actor.clone()), (options.hooks)());
        let (_, entries) = rebuild::rebuild(&storage, side, &mut hooks, progress)?;
        Ok((Cortex::with_storage(Arc::new(storage), actor, options)?, entries))
    }

    /// Opens the actor on a storage that holds at least what `birth` writes.
    pub fn with_storage(
        storage: Arc<dyn Storage>,
        actor: &ActorName,
        options: Options,
    ) -> Result<Cortex> {
        let reader = storage.reader()?;
        check_birth(&*reader, actor)?;
        let side = live_side(&*reader)?;
        let view = View::new(&*reader, side);
        check_agreement(&view)?;
        let mut hooks = Hooks::new(Commitments::new(actor.clone()), (options.hooks)());
        let opened = hooks.each(|hook| hook.open(&view));
        drop(reader);
        let side = match opened {
            Err(outdated @ Error::Outdated { .. }) => {
                let mut progress = (options.renewing)(actor, &outdated);
                rebuild::renew(&*storage, side, actor, &mut hooks, &mut *progress)?
            }
            opened => {
                opened?;
                rebuild::replay(&*storage, side, &mut hooks)?;
                side
            }
        };
        let shared = hooks.shared().into();
        let writer = WriterThread::new(actor.clone(), Arc::clone(&storage), side, hooks);
        let writer = WriterHandle::start(writer, actor.as_str())?;
        // An erasure that a crash interrupted is finished before anything else.
        writer.scrub()?;
        let actor = actor.clone();
        let delegates = delegate::Delegates::default();
        let (folder, lock) = (None, None);
        Ok(Cortex {
            actor,
            storage,
            writer: Some(writer),
            delegates,
            shared,
            options,
            folder,
            lock,
        })
    }
}

/// The journal tree must be as long as the counters say, and the journal at least that long.
fn check_agreement(view: &View<'_>) -> Result<()> {
    let (journal, counted) = (view.last_seq()?, view.counters()?.size);
    if journal < counted {
        let reason = format!("{journal} entries in the journal, {counted} applied; run rebuild");
        return Err(Error::corrupt("counters", reason));
    }
    proof::merkle::log::root(view, counted)?;
    Ok(())
}

/// Makes the actor's folder and takes its lock, waiting for another process up to `wait`.
fn claim(folder: &Path, wait: Duration) -> Result<File> {
    const STEP: Duration = Duration::from_millis(5);
    std::fs::create_dir_all(folder)
        .map_err(|error| Error::io(format_args!("cannot create {}", folder.display()), error))?;
    let path = folder.join("lock");
    let failed = |error: std::io::Error| Error::io(path.display(), error);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(failed)?;
    let mut waited = Duration::ZERO;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(std::fs::TryLockError::Error(error)) => return Err(failed(error)),
            Err(std::fs::TryLockError::WouldBlock) if waited >= wait => return Err(Error::Busy),
            Err(std::fs::TryLockError::WouldBlock) => {
                std::thread::sleep(STEP);
                waited += STEP;
            }
        }
    }
}
