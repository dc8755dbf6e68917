//! Opening an actor: its folder and lock, its store, its hooks, its writer.
//!
//! What must stay true: an actor is open once; a store of another format, of another actor or with a journal that
//! disagrees with what is derived from it is refused; rows that another version of the program made are made again
//! before anybody reads.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proof::actor::ActorName;
use proof::journal::SCHEMA;

use super::{Cortex, Options, delegate};
use crate::batch::{Hooks, ProgressFn};
use crate::commitments::Commitments;
use crate::error::{Error, Result};
use crate::rebuild::{self, ACTOR_KEY, LIVE_KEY, SCHEMA_KEY, live_side, side_name};
use crate::store::{
    DiskMedium, Medium, RedbStorage, Side, Space, Storage, StoreReader, View, WriteSet,
};
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
        let storage = RedbStorage::open(medium, options.engine, || birth(actor))?;
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
        let storage = RedbStorage::open(medium, options.engine, || birth(actor))?;
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
            opened => opened.map(|()| side)?,
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

/// What a new store holds: which format, whose memory, which side.
pub fn birth(actor: &ActorName) -> WriteSet {
    let mut rows = WriteSet::new();
    rows.put(Space::Engine, SCHEMA_KEY.to_vec(), SCHEMA.to_be_bytes().to_vec());
    rows.put(Space::Engine, ACTOR_KEY.to_vec(), actor.as_str().as_bytes().to_vec());
    rows.put(Space::Engine, LIVE_KEY.to_vec(), side_name(Side::A).to_vec());
    rows
}

fn check_birth(reader: &dyn StoreReader, actor: &ActorName) -> Result<()> {
    let schema = reader.get(Space::Engine, SCHEMA_KEY)?.and_then(|b| b.try_into().ok());
    let found = u32::from_be_bytes(
        schema.ok_or_else(|| Error::corrupt("engine row schema", "is missing or malformed"))?,
    );
    if found != SCHEMA {
        return Err(Error::Schema { found, expected: SCHEMA });
    }
    let owner = reader.get(Space::Engine, ACTOR_KEY)?.unwrap_or_default();
    if owner == actor.as_str().as_bytes() {
        Ok(())
    } else {
        let owner = String::from_utf8_lossy(&owner).into_owned();
        Err(Error::invalid("actor", format!("this store belongs to {owner:?}, not {actor}")))
    }
}

/// Journal, counters and the journal tree must agree on how long the journal is.
fn check_agreement(view: &View<'_>) -> Result<()> {
    let (journal, counted) = (view.last_seq()?, view.counters()?.size);
    if journal != counted {
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
