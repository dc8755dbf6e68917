//! Opening an actor: its folder and lock, its store, its hooks, its writer.
//!
//! What must stay true: an actor is open once; a store of another format, of another actor or with a journal that
//! disagrees with what is derived from it is refused; entries whose derived rows a crash took are derived again, and
//! rows that another version of the program made are made again, before anybody reads.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proof::actor::ActorName;

use super::{Cortex, Options, delegate};
use crate::background::in_background;
use crate::batch::{Hooks, ProgressFn};
use crate::birth::{check_birth, live_side};
use crate::commitments::Commitments;
use crate::error::{Error, Result};
use crate::ledger::{CopyPurpose, LedgerStorage, remove_copy};
use crate::rebuild::{self, Remake};
use crate::scrub::Scrubber;
use crate::store::{CacheMedium, DiskMedium, Medium, Side, Storage, View, unscrubbed};
use crate::writer::{WriterHandle, WriterThread};

impl Cortex {
    /// Opens the actor in a folder of its own, making both if they are not there. Rows of hooks that another version of
    /// the program made are made again first, which takes as long as a rebuild; see `Options::renewing`.
    pub fn open(folder: &Path, actor: &ActorName, options: Options) -> Result<Cortex> {
        let lock = claim(folder, options.wait)?;
        let disk = DiskMedium::new(folder);
        let opened = match &options.shared {
            None => Cortex::open_on(Box::new(disk), actor, options)?,
            Some(shared) => {
                let medium: Arc<dyn Medium> = match shared.purpose {
                    CopyPurpose::Cache => {
                        if !disk.is_actor() {
                            // A long journal is faster from its last checkpoint; without one it is read from its start.
                            shared.ledgers.restore(actor, folder);
                        }
                        Arc::new(CacheMedium::new(disk))
                    }
                    CopyPurpose::Home => Arc::new(disk),
                };
                Cortex::open_copy(&medium, actor, &options)?
            }
        };
        Ok(opened.living_in(folder, lock))
    }

    /// Opens the copy of a shared ledger and brings it up to date. A copy that is not sound is made again, once: what
    /// is wrong after that is wrong with the shared ledger.
    fn open_copy(medium: &Arc<dyn Medium>, actor: &ActorName, options: &Options) -> Result<Cortex> {
        let open = || {
            let cortex = Cortex::open_files(medium, actor, options)?;
            cortex.catch_up()?;
            Ok(cortex)
        };
        match open() {
            Err(
                Error::Corrupt { .. }
                | Error::NonCanonical { .. }
                | Error::RootMismatch { .. }
                | Error::Poisoned,
            ) => {
                remove_copy(&**medium)?;
                open()
            }
            opened => opened,
        }
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

    /// Opens the actor on any medium. The caller sees to it that nobody else has it open. If what is derived cannot be
    /// opened or fails its checks, it is put aside and made again from the ledger; see `Options::renewing`.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "whoever opens an actor hands its options over"
    )]
    pub fn open_on(medium: Box<dyn Medium>, actor: &ActorName, options: Options) -> Result<Cortex> {
        let medium: Arc<dyn Medium> = medium.into();
        Cortex::open_files(&medium, actor, &options)
    }

    fn open_files(
        medium: &Arc<dyn Medium>,
        actor: &ActorName,
        options: &Options,
    ) -> Result<Cortex> {
        let storage = open_storage(medium, actor, options)?;
        let why = storage.made_because();
        match Cortex::from_files(&storage, actor, options, why) {
            Err(error) if is_of_derived(&error) => {
                let anew = storage.begun_anew(actor, options.engine, Some(&error))?;
                Cortex::from_files(&Arc::new(anew), actor, options, Some(&error))
            }
            opened => opened,
        }
    }

    /// Makes everything derived again before the actor is opened. Journal and bodies are only read. Also returns the
    /// number of entries.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "whoever opens an actor hands its options over"
    )]
    pub fn rebuild_on(
        medium: Box<dyn Medium>,
        actor: &ActorName,
        options: Options,
        progress: &mut ProgressFn<'_>,
    ) -> Result<(Cortex, u64)> {
        let medium: Arc<dyn Medium> = medium.into();
        let opened = open_storage(&medium, actor, &options)?;
        let storage = Arc::new(opened.begun_anew(actor, options.engine, None)?);
        let reader = storage.reader()?;
        let (side, entries) = (live_side(&*reader)?, View::new(&*reader, Side::A).last_seq()?);
        drop(reader);
        let mut hooks = Hooks::new(Commitments::new(actor.clone()), (options.hooks)());
        open_hooks(&*storage, side, &mut hooks)?;
        rebuild::replay(&*storage, (side, true), &mut hooks, progress)?;
        Ok((Cortex::from_files(&storage, actor, &options, None)?, entries))
    }

    fn from_files(
        storage: &Arc<LedgerStorage>,
        actor: &ActorName,
        options: &Options,
        why: Option<&Error>,
    ) -> Result<Cortex> {
        let own = Arc::<LedgerStorage>::clone(storage);
        let mut cortex = Cortex::start(own, actor, options, why)?;
        cortex.files = Some(Arc::clone(storage));
        Ok(cortex)
    }

    /// Opens the actor on a storage that holds at least what `birth` writes.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "whoever opens an actor hands its options over"
    )]
    pub fn with_storage(
        storage: Arc<dyn Storage>,
        actor: &ActorName,
        options: Options,
    ) -> Result<Cortex> {
        Cortex::start(storage, actor, &options, None)
    }

    /// `why` everything derived is made again, if it is.
    fn start(
        storage: Arc<dyn Storage>,
        actor: &ActorName,
        options: &Options,
        why: Option<&Error>,
    ) -> Result<Cortex> {
        let reader = storage.reader()?;
        check_birth(&*reader, actor)?;
        let side = live_side(&*reader)?;
        check_agreement(&View::new(&*reader, side))?;
        drop(reader);
        let mut hooks = Hooks::new(Commitments::new(actor.clone()), (options.hooks)());
        let side = match open_hooks(&*storage, side, &mut hooks) {
            Err(outdated @ Error::Outdated { .. }) => {
                let mut progress = (options.renewing)(actor, &outdated);
                let fresh = Hooks::new(Commitments::new(actor.clone()), (options.hooks)());
                let remake = Remake::begin(&*storage, actor, fresh)?;
                rebuild::renew(&*storage, side, remake, &mut *progress)?;
                open_hooks(&*storage, Side::A, &mut hooks)?;
                Side::A
            }
            opened => {
                opened?;
                let mut progress: Box<ProgressFn<'_>> = match why {
                    Some(why) => (options.renewing)(actor, why),
                    // What a crash left is replayed in no time.
                    None => Box::new(|_, _| {}),
                };
                rebuild::replay(&*storage, (side, why.is_some()), &mut hooks, &mut *progress)?;
                if why.is_some() {
                    compare_roots(&*storage, side)?;
                }
                side
            }
        };
        let options = options.clone();
        let shared = hooks.shared().into();
        let scrubber = Arc::new(Scrubber::new(Arc::clone(&storage)));
        let own = (Arc::clone(&storage), Arc::clone(&scrubber));
        let mix_texts = hooks.mix_texts();
        let writer = WriterThread::new(actor.clone(), own, side, hooks);
        let writer = WriterHandle::start(writer, actor.as_str())?;
        if mix_texts {
            let (storage, actor) = (Arc::clone(&storage), actor.clone());
            let make = Arc::clone(&options.hooks);
            let replace = writer.replacer();
            scrubber.remake_with(Box::new(move || {
                let hooks = Hooks::new(Commitments::new(actor.clone()), make());
                let mut remake = Remake::begin(&*storage, &actor, hooks)?;
                in_background(|| remake.follow(&*storage, &mut |_, _| {}))?;
                replace(remake).map(drop)
            }));
        }
        // An erasure whose copies a crash left is finished while others go on.
        if unscrubbed(&*storage.reader()?)?.is_some() {
            scrubber.request();
        }
        let actor = actor.clone();
        let delegates = delegate::Delegates::default();
        let (folder, scratch, lock) = (None, None, None);
        Ok(Cortex {
            actor,
            storage,
            writer: Some(writer),
            scrubber,
            files: None,
            is_read_only: false,
            delegates,
            shared,
            options,
            folder,
            scratch,
            lock,
        })
    }
}

fn open_storage(
    medium: &Arc<dyn Medium>,
    actor: &ActorName,
    options: &Options,
) -> Result<Arc<LedgerStorage>> {
    let key = (options.ledger_key)();
    let shared = options.shared.as_ref().map(|shared| shared.ledgers.journal(actor));
    let medium = Arc::clone(medium);
    LedgerStorage::open_copy(medium, actor, options.engine, key, shared).map(Arc::new)
}

fn open_hooks(storage: &dyn Storage, side: Side, hooks: &mut Hooks) -> Result<()> {
    let reader = storage.reader()?;
    let view = View::new(&*reader, side);
    hooks.each(|hook| hook.open(&view))
}

/// Names journals that have another root than the one they were told to have, after everything was made again. Where an
/// entry is lost that is no news.
fn compare_roots(storage: &dyn Storage, side: Side) -> Result<()> {
    if storage.damage().iter().any(|note| note.place.starts_with("entr")) {
        return Ok(());
    }
    let reader = storage.reader()?;
    let view = View::new(&*reader, side);
    for note in rebuild::other_roots(storage, &view, view.counters()?.size)? {
        reader.note_damage(note);
    }
    Ok(())
}

/// True if what is derived is to blame, so that making it again helps. A journal that no longer gives the state that
/// was derived from it is another matter: somebody has to look at it.
fn is_of_derived(error: &Error) -> bool {
    match error {
        Error::Corrupt { place, .. } => place != "journal",
        Error::NonCanonical { .. } | Error::Schema { .. } | Error::RootMismatch { .. } => true,
        _ => false,
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
