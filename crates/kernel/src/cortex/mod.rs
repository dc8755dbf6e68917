//! The facade: one actor's memory graph, open for reading and writing.
//!
//! Reads take a `Reading`, a consistent state that later writes do not disturb, and run on the caller's thread. Changes
//! go through the writer and return when they are on disk. Dropping a `Cortex` waits for the writer and leaves the file
//! so that the next open is fast.

mod backup;
mod checkpoint;
mod delegate;
mod open;
mod reading;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use proof::Digest;
use proof::actor::ActorName;
use proof::journal::{FoundMemory, Manifest};
use proof::memory::{Millis, Salt};

use crate::background::in_background;
use crate::batch::{Hooks, ProgressFn};
use crate::birth::{birth, live_side};
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
use crate::ledger::{
    LedgerCheck, LedgerKey, LedgerStorage, LedgerVisit, SharedSource, check_ledger, is_of_truth,
};
use crate::limits::{BULK_BYTES_MAX, BULK_COMMANDS_MAX};
use crate::rebuild::{self, RebuildReport, Remake, VerifyReport};
use crate::scrub::{ScrubState, Scrubber};
use crate::store::{DamageNote, DiskMedium, EngineOptions, Medium, RedbStorage, Storage};
use crate::uri::Uri;
use crate::writer::{Submission, WriterHandle, permission_of};

pub use backup::{BackupManifest, BackupReport, RestoreReport};
pub use checkpoint::CheckpointState;
pub use reading::{Reading, ResolvedMemory};

/// The longest a check waits for copies of what was erased to be gone.
const SCRUB_PATIENCE: Duration = Duration::from_mins(10);

/// Makes the hooks of the layers above, one set per use: the live store, and each verification.
pub type HookFactory = Arc<dyn Fn() -> Vec<Box<dyn JournalHook>> + Send + Sync>;

/// Told when an actor has rows that another version of the program made, with the error that says which. They are made
/// again before the actor is open; what this returns hears how far that is, and of all entries once it is done.
pub type RenewalWatch = Arc<dyn Fn(&ActorName, &Error) -> Box<ProgressFn<'static>> + Send + Sync>;

#[derive(Clone)]
pub struct Options {
    pub engine: EngineOptions,
    pub hooks: HookFactory,
    pub renewing: RenewalWatch,
    /// How long to wait for another process that has the actor open.
    pub wait: Duration,
    /// Makes the key of a new ledger: sixteen bytes of chance, from outside as all chance.
    pub ledger_key: Arc<dyn Fn() -> LedgerKey + Send + Sync>,
    /// Where the truth is, if it is not in the actor's folder: the folder then holds a copy of it.
    pub shared: Option<SharedSource>,
    /// Where what is derived is made for actors on a medium that cannot be written to. Without it they are not opened.
    pub read_only_scratch: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            engine: EngineOptions::default(),
            hooks: Arc::new(Vec::new),
            renewing: Arc::new(|_, _| Box::new(|_, _| {})),
            wait: Duration::ZERO,
            ledger_key: Arc::new(|| [0; 16]),
            shared: None,
            read_only_scratch: None,
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
    scrubber: Arc<Scrubber>,
    /// The ledger and what is derived, if the actor was opened from files.
    files: Option<Arc<LedgerStorage>>,
    is_read_only: bool,
    delegates: delegate::Delegates,
    /// What the hooks of the open actor keep in memory for readers.
    shared: Arc<[SharedState]>,
    options: Options,
    folder: Option<PathBuf>,
    /// What is derived lies here and goes when the actor is closed.
    pub(crate) scratch: Option<PathBuf>,
    /// Held for as long as the actor is open, so that no other process writes.
    lock: Option<File>,
}

impl Cortex {
    pub fn actor(&self) -> &ActorName {
        &self.actor
    }

    /// True after a failed write, or once what is derived turned out to be damaged: nothing more is written, and
    /// reading may fail too, until the actor is reopened.
    pub fn is_poisoned(&self) -> bool {
        self.writer().is_poisoned() || self.storage.has_failed()
    }

    /// True for a backup, or an actor on a disk without leave to write: nothing is written to its folder.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    fn files(&self) -> Result<&LedgerStorage> {
        self.files.as_deref().ok_or_else(|| Error::invalid("actor", "it has no ledger of its own"))
    }

    fn check_writable(&self) -> Result<()> {
        if self.is_read_only {
            Err(Error::invalid(
                "actor",
                "it is open for reading only: a backup, or a disk without leave to write",
            ))
        } else {
            Ok(())
        }
    }

    fn writer(&self) -> &WriterHandle {
        self.writer.as_ref().expect("the writer is there until the Cortex is dropped")
    }

    // ---- changes ----

    /// Runs one command; returns when it is on disk.
    pub fn submit(&self, request: Submission) -> Result<Receipt> {
        self.check_writable()?;
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
        self.check_writable()?;
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

    /// Deletes the content for good: when this returns, it is gone from the ledger. What was derived from it is gone
    /// from what anybody reads; its old bytes leave the derived file in the background, see `scrub_state`.
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

    /// Takes over what other nodes wrote to the shared ledger. Returns the size of the journal then; where nobody else
    /// writes, the size it has.
    pub fn catch_up(&self) -> Result<u64> {
        self.writer().catch_up()
    }

    /// Lets another node append: this one does not until an entry came that it did not write, for a moment at most.
    /// Returns at once.
    pub fn give_way(&self) -> Result<()> {
        self.writer().give_way()
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
        // The entry will carry this time: the find can then be made again.
        let now = stamp.entry_time(reading.view().counters()?.at);
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

    /// Makes everything derived again from the journal, beside what is there, while others read and write; then
    /// it takes its place.
    pub fn rebuild(&self, mut progress: Box<ProgressFn<'static>>) -> Result<RebuildReport> {
        if self.is_poisoned() {
            return Err(Error::Poisoned);
        }
        let mut remake = Remake::begin(&*self.storage, &self.actor, self.fresh_hooks())?;
        in_background(|| remake.follow(&*self.storage, &mut *progress))?;
        let report = self.writer().replace(remake)?;
        progress(report.entries, report.entries);
        Ok(report)
    }

    fn fresh_hooks(&self) -> Hooks {
        Hooks::new(Commitments::new(self.actor.clone()), (self.options.hooks)())
    }

    /// Checks every byte of the store against the journal, with a scratch store in `scratch`.
    pub fn verify(&self, scratch: &Path, progress: &mut ProgressFn<'_>) -> Result<VerifyReport> {
        self.with_scratch(scratch, |storage| self.verify_with(storage, progress))
    }

    /// Replays the journal into a scratch store and shows each entry with its changes to `hook`. Nothing of the store
    /// itself is written.
    pub fn replay(
        &self,
        scratch: &Path,
        hook: Box<dyn JournalHook>,
        progress: &mut ProgressFn<'_>,
    ) -> Result<()> {
        let mut hooks = Hooks::new(Commitments::new(self.actor.clone()), vec![hook]);
        self.with_scratch(scratch, |storage| {
            rebuild::replay_into(&*self.storage, storage, &mut hooks, progress)
        })
    }

    /// Does something with an empty store in a folder of its own, which is gone afterwards, however that ends.
    fn with_scratch<T>(
        &self,
        folder: &Path,
        work: impl FnOnce(&RedbStorage) -> Result<T>,
    ) -> Result<T> {
        let failed = |error| Error::io(folder.display(), error);
        std::fs::create_dir_all(folder).map_err(failed)?;
        let medium: Box<dyn Medium> = Box::new(DiskMedium::new(folder));
        let done = RedbStorage::open(medium, self.options.engine, || birth(&self.actor)).and_then(
            |storage| {
                let done = work(&storage);
                storage.close().and(done)
            },
        );
        match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                done.and(Err(failed(error)))
            }
            _ => done,
        }
    }

    /// The same with any empty storage as scratch.
    pub fn verify_with(
        &self,
        scratch: &dyn Storage,
        progress: &mut ProgressFn<'_>,
    ) -> Result<VerifyReport> {
        let mut hooks = self.fresh_hooks();
        // Rows of many memories keep something of an erased one until they were made again.
        let settle = || {
            self.scrubber.wait(SCRUB_PATIENCE);
        };
        rebuild::verify(&self.actor, (&*self.storage, &settle), scratch, &mut hooks, progress)
    }

    /// Reads the ledger once against its checksums and the hash tree, while others go on. Nothing is derived: `verify`
    /// checks that too.
    pub fn check_ledger(&self, progress: &mut ProgressFn<'_>) -> Result<LedgerCheck> {
        let files = self.files()?;
        let roots = self.read()?.roots()?;
        let mut told = files.ledger().named_roots();
        told.push((roots.size, roots.journal));
        check_ledger(files.ledger(), roots.size, told, progress)
    }

    /// Damage that was met since the actor was opened, and gone around: each note names what was lost, or what was made
    /// again.
    pub fn damage(&self) -> Vec<DamageNote> {
        self.storage.damage()
    }

    /// Told of an error that somebody met. If rows that are derived do not decode, they are put aside, and the next
    /// open makes them again from the ledger; nothing is done about damage of the ledger itself. True: ask again.
    pub fn distrust(&self, error: &Error) -> bool {
        match (error, &self.files) {
            (Error::Corrupt { place, reason }, Some(files)) if !is_of_truth(place) => {
                files.distrust(DamageNote::new(place, reason));
                true
            }
            _ => false,
        }
    }

    /// Whether old bytes of what was erased are still in the derived file.
    pub fn scrub_state(&self) -> ScrubState {
        self.scrubber.state()
    }

    /// Waits until they are gone, at most `patience`. False: they are not, and `scrub_state` says why if it failed.
    pub fn wait_for_scrub(&self, patience: Duration) -> bool {
        self.scrubber.wait(patience)
    }

    /// True while copies of what was erased are taken out, or the file is packed.
    pub fn is_scrubbing(&self) -> bool {
        self.scrubber.is_running()
    }

    /// Gives up what is made beside the live rows: a scrub, a rebuild, a packing. Nothing is lost: the next open goes
    /// on with a scrub. For whoever wants to close this soon.
    pub fn leave_scrub(&self) {
        self.storage.give_up_copies();
    }

    /// Makes durable what is derived, so that the next open has nothing to replay, and has its file packed if much came
    /// since. Nothing depends on it.
    pub fn settle(&self) -> Result<()> {
        self.storage.settle()?;
        if !self.is_read_only && (self.storage.wants_rewrite() || self.storage.wants_packing()?) {
            self.scrubber.heal();
        }
        Ok(())
    }

    /// Visits entries and bodies from `from` on, as the ledger holds them. Nothing to visit where there are no files.
    pub fn visit_ledger(&self, from: u64, visit: &mut LedgerVisit<'_>) -> Result<()> {
        self.files.as_ref().map_or(Ok(()), |files| files.ledger().read(from, visit))
    }

    /// Bytes of all its files.
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
        // What is erased leaves the files before they are closed; the writer has a part in that.
        self.scrubber.close();
        drop(self.writer.take());
        self.scrubber.close();
        // Nothing is lost if this fails: every answer was given after its commit. The next open only repairs.
        let _ = self.storage.close();
        drop(self.lock.take());
        if let Some(scratch) = self.scratch.take() {
            // It is a folder for what is temporary: what stays goes with the next start of the machine.
            let _ = std::fs::remove_dir_all(&scratch);
            // The folder of the process goes with the last of its actors.
            let _ = scratch.parent().map(std::fs::remove_dir);
        }
    }
}
