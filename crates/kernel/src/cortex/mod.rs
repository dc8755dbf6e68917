//! The facade: one actor's memory graph, open for reading and writing.
//!
//! Reads take a `Reading`, a consistent state that later writes do not disturb, and run on the caller's thread. Changes
//! go through the writer and return when they are on disk. Dropping a `Cortex` waits for the writer and leaves the file
//! so that the next open is fast.

mod delegate;
mod reading;

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::batch::{Hooks, Progress};
use crate::command::{
    Attestation, Command, Compaction, Draft, EdgeDraft, EdgeRemoval, HeadRevision, LateFind,
    Receipt, Removal, Revision, SnapshotDraft, Stamp,
};
use crate::commitments::Commitments;
use crate::context::{Bundle, ContextQuery};
use crate::error::{Error, Result};
use crate::find::{FindAnswer, Query};
use crate::grants::Permission;
use crate::hook::{JournalHook, SharedState};
use crate::limits::{BULK_BYTES_MAX, BULK_COMMANDS_MAX};
use crate::rebuild::{self, ACTOR_KEY, LIVE_KEY, SCHEMA_KEY, VerifyReport, live_side, side_name};
use crate::store::{
    DiskMedium, EngineOptions, Medium, RedbStorage, Side, Space, Storage, StoreReader, View,
    WriteSet,
};
use crate::uri::Uri;
use crate::writer::{Submission, Writer, WriterHandle, permission_of};
use proof::Digest;
use proof::actor::ActorName;
use proof::journal::{FoundMemory, Manifest, SCHEMA};
use proof::memory::{Millis, Salt};

pub use reading::{Reading, ResolvedMemory};

/// Makes the hooks of the layers above, one set per use: the live store, and each verification.
pub type HookFactory = Arc<dyn Fn() -> Vec<Box<dyn JournalHook>> + Send + Sync>;

/// Told when an actor has rows that another version of the program made, with the error that says which. They are made
/// again before the actor is open; what this returns hears how far that is, and of all entries once it is done.
pub type RenewalWatch = Arc<dyn Fn(&ActorName, &Error) -> Box<Progress<'static>> + Send + Sync>;

#[derive(Clone)]
pub struct Options {
    pub engine: EngineOptions,
    pub hooks: HookFactory,
    pub renewing: RenewalWatch,
    /// How long to wait for another process that has the actor open.
    pub wait: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            engine: EngineOptions::default(),
            hooks: Arc::new(Vec::new),
            renewing: Arc::new(|_, _| Box::new(|_, _| {})),
            wait: Duration::ZERO,
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("engine", &self.engine).finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub struct Cortex {
    actor: ActorName,
    storage: Arc<dyn Storage>,
    /// `None` only while dropping: the writer must stop before the store closes.
    writer: Option<WriterHandle>,
    delegates: delegate::Delegates,
    /// What the hooks of the open actor keep in memory for readers.
    shared: Arc<[SharedState]>,
    options: Options,
    folder: Option<PathBuf>,
    /// Held for as long as the actor is open, so that no other process writes.
    lock: Option<File>,
}

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
        progress: &mut Progress<'_>,
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
        progress: &mut Progress<'_>,
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
        let writer = Writer::new(actor.clone(), Arc::clone(&storage), side, hooks);
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

    pub fn actor(&self) -> &ActorName {
        &self.actor
    }

    /// True after a failed write: nothing more is written, and reading may fail too, until the actor is reopened.
    pub fn is_poisoned(&self) -> bool {
        self.writer().is_poisoned()
    }

    fn writer(&self) -> &WriterHandle {
        self.writer.as_ref().expect("the writer is there until the Cortex is dropped")
    }

    // ---- changes ----

    /// Runs one command; returns when it is on disk.
    pub fn submit(&self, request: Submission) -> Result<Receipt> {
        let Some(authority) = request.authority.clone() else {
            return self.writer().submit(request);
        };
        // A command that no grant can allow has no permission of its own.
        let asked = permission_of(&request.command)
            .map_or_else(|| request.command.kind().name(), Permission::name);
        let now = request.stamp.at;
        self.delegates.check_patience(authority.grant, now)?;
        match self.writer().submit(request) {
            Err(Error::OutsideGrant(_)) => Err(self.outside(&authority, asked, None, now)),
            outcome => outcome,
        }
    }

    /// Runs many commands in one commit. Each is admitted or refused by itself.
    pub fn submit_bulk(&self, requests: Vec<Submission>) -> Result<Vec<Result<Receipt>>> {
        if requests.len() > BULK_COMMANDS_MAX {
            let (count, max) = (requests.len(), BULK_COMMANDS_MAX);
            return Err(Error::TooMany { field: "commands", count, max });
        }
        let size = requests.iter().map(|request| request.command.content_bytes()).sum();
        if size > BULK_BYTES_MAX {
            return Err(Error::TooLarge { field: "commands", size, max: BULK_BYTES_MAX });
        }
        self.writer().submit_bulk(requests)
    }

    fn command(&self, stamp: Stamp, command: Command) -> Result<Receipt> {
        self.submit(Submission { stamp, command, authority: None })
    }

    pub fn write(&self, stamp: Stamp, draft: Draft) -> Result<Receipt> {
        self.command(stamp, Command::Write(Box::new(draft)))
    }

    pub fn update(&self, stamp: Stamp, revision: Revision) -> Result<Receipt> {
        self.command(stamp, Command::Update(Box::new(revision)))
    }

    pub fn update_head(&self, stamp: Stamp, revision: HeadRevision) -> Result<Receipt> {
        self.command(stamp, Command::UpdateHead(revision))
    }

    pub fn tombstone(&self, stamp: Stamp, removal: Removal) -> Result<Receipt> {
        self.command(stamp, Command::Tombstone(removal))
    }

    pub fn restore(&self, stamp: Stamp, removal: Removal) -> Result<Receipt> {
        self.command(stamp, Command::Restore(removal))
    }

    /// Deletes the content for good: when this returns, its bytes are gone from the store file.
    pub fn erase(&self, stamp: Stamp, removal: Removal) -> Result<Receipt> {
        self.command(stamp, Command::Erase(removal))
    }

    pub fn add_edge(&self, stamp: Stamp, draft: EdgeDraft) -> Result<Receipt> {
        self.command(stamp, Command::AddEdge(draft))
    }

    pub fn remove_edge(&self, stamp: Stamp, removal: EdgeRemoval) -> Result<Receipt> {
        self.command(stamp, Command::RemoveEdge(removal))
    }

    pub fn attest(&self, stamp: Stamp, attestation: Attestation) -> Result<Receipt> {
        self.command(stamp, Command::Attest(attestation))
    }

    pub fn compact(&self, stamp: Stamp, compaction: Compaction) -> Result<Receipt> {
        self.command(stamp, Command::Compact(compaction))
    }

    /// Journals the state as it is; proofs can be given as of this point for as long as the store lives.
    pub fn snapshot(&self, stamp: Stamp, reason: &str) -> Result<Manifest> {
        let draft = SnapshotDraft { reason: reason.to_owned() };
        let receipt = self.command(stamp, Command::Snapshot(draft))?;
        let reading = self.read()?;
        let entry = reading.view().entry(receipt.seq)?;
        match entry.map(|entry| entry.payload()).transpose()? {
            Some(proof::journal::Payload::Snapshot(manifest)) => Ok(manifest),
            _ => Err(Error::corrupt(format!("entry {}", receipt.seq), "is not the snapshot")),
        }
    }

    // ---- reads ----

    /// The state now, unaffected by later writes.
    pub fn read(&self) -> Result<Reading> {
        let reader = self.storage.reader()?;
        let side = live_side(&*reader)?;
        Ok(Reading::new(reader, side, self.actor.clone(), Arc::clone(&self.shared)))
    }

    pub fn find(&self, query: &Query, now: Millis) -> Result<FindAnswer> {
        self.read()?.find(None, query, now)
    }

    /// A find made to act upon: the query, the root it read at and what it returned go into the journal, and each
    /// result counts as used, all in one commit.
    pub fn find_late(
        &self,
        stamp: Stamp,
        query: &Query,
        salt: Salt,
    ) -> Result<(FindAnswer, Receipt)> {
        let reading = self.read()?;
        // The entry will carry this time, never the caller's if that lags: the find can then be made again.
        let now = stamp.at.max(reading.view().counters()?.at);
        let found = reading.find(None, query, now)?;
        let roots = reading.roots()?;
        let results = found
            .items
            .iter()
            .map(|item| FoundMemory {
                id: item.head.id,
                version: item.version.n,
                score: item.score,
            })
            .collect();
        let late = LateFind {
            query: query.to_bytes(),
            salt,
            size: roots.size,
            root: roots.overall(self.actor.as_str()),
            results,
        };
        let receipt = self.command(stamp, Command::FindLate(late))?;
        Ok((found, receipt))
    }

    pub fn context(&self, query: &ContextQuery) -> Result<Bundle> {
        self.read()?.context(None, query)
    }

    pub fn resolve(&self, uri: &Uri) -> Result<ResolvedMemory> {
        self.read()?.resolve(uri)
    }

    /// One digest over the journal and the current state.
    pub fn root(&self) -> Result<Digest> {
        self.read()?.root()
    }

    // ---- the whole ----

    /// Drops everything derived and makes it again from the journal. Returns the number of entries.
    pub fn rebuild(&self, progress: Box<Progress<'static>>) -> Result<u64> {
        self.writer().rebuild(progress)
    }

    /// Checks every byte of the store against the journal, with a scratch store in `scratch`.
    pub fn verify(&self, scratch: &Path, progress: &mut Progress<'_>) -> Result<VerifyReport> {
        std::fs::create_dir_all(scratch).map_err(|error| Error::io(scratch.display(), error))?;
        let removed = || match std::fs::remove_dir_all(scratch) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io(scratch.display(), error))
            }
            _ => Ok(()),
        };
        let medium = Box::new(DiskMedium::new(scratch));
        let storage = RedbStorage::open(medium, self.options.engine, || birth(&self.actor))?;
        let report = self.verify_with(&storage, progress);
        storage.close()?;
        removed()?;
        report
    }

    /// The same with any empty storage as scratch.
    pub fn verify_with(
        &self,
        scratch: &dyn Storage,
        progress: &mut Progress<'_>,
    ) -> Result<VerifyReport> {
        let mut hooks = Hooks::new(Commitments::new(self.actor.clone()), (self.options.hooks)());
        rebuild::verify(&self.actor, &*self.storage, scratch, &mut hooks, progress)
    }

    /// Bytes of the store file.
    pub fn size_bytes(&self) -> Result<u64> {
        self.storage.size_bytes()
    }

    /// The folder of the actor, if it lives in one.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }
}

impl Drop for Cortex {
    fn drop(&mut self) {
        drop(self.writer.take());
        // Nothing is lost if this fails: every answer was given after its commit. The next open only repairs.
        let _ = self.storage.close();
        drop(self.lock.take());
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
