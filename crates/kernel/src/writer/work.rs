//! The writer's thread: group commit, snapshots, gates for delegates.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use proof::actor::ActorName;
use proof::journal::{Entry, Idempotency, Manifest, Payload, SCHEMA};
use proof::memory::Millis;

use super::gate::{gate, may_name};
use super::held::{HeldJob, reply};
use super::{Job, Submission};
use crate::admit::{Admission, AdmittedCommand, Situation, admit, idempotency, recall_answer};
use crate::batch::{Batch, Hooks};
use crate::command::{Command, Receipt, Stamp};
use crate::error::{Error, Result};
use crate::hook::{Prepare, PreparedBody};
use crate::limits::{GROUP_BYTES_MAX, GROUP_COMMANDS_MAX};
use crate::rebuild::{RebuildReport, Remake};
use crate::scrub::Scrubber;
use crate::store::{SCRUB_KEY, Side, Space, Storage, View, WriteSet};
use crate::validate::check_reason;

/// The longest the writer waits for callers it expects.
const PATIENCE_MAX: Duration = Duration::from_millis(2);
/// How long a group that another node overtook is tried again. A node learns within a heartbeat (a second) that an
/// actor is served elsewhere; until then the one that appends without a pause wins nearly every race.
const OVERTAKEN_WAIT: Duration = Duration::from_secs(3);

pub(crate) struct WriterThread {
    actor: ActorName,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) scrubber: Arc<Scrubber>,
    pub(super) side: Side,
    pub(super) hooks: Hooks,
    /// Seen by whoever holds the actor, so that it is reopened.
    pub(super) poisoned: Arc<AtomicBool>,
    /// The size of the journal when entries of other nodes were last taken over.
    pub(super) taken_over_at: u64,
    /// Appends in a row that another node overtook.
    pub(super) overtaken: u32,
}

impl WriterThread {
    pub(crate) fn new(
        actor: ActorName,
        (storage, scrubber): (Arc<dyn Storage>, Arc<Scrubber>),
        side: Side,
        hooks: Hooks,
    ) -> WriterThread {
        let (poisoned, taken_over_at, overtaken) = (Arc::default(), 0, 0);
        WriterThread { actor, storage, scrubber, side, hooks, poisoned, taken_over_at, overtaken }
    }

    /// True from the first failed commit on.
    pub(super) fn poison(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.poisoned)
    }

    pub(super) fn preparers(&self) -> Vec<Arc<dyn Prepare>> {
        self.hooks.preparers()
    }

    pub(super) fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Acquire)
    }

    pub(crate) fn run(mut self, jobs: &Receiver<Job>) {
        let (mut last_group, mut last_took) = (1, Duration::ZERO);
        while let Ok(first) = jobs.recv() {
            let mut waiting = gather(jobs, first, last_group, (last_took / 2).min(PATIENCE_MAX));
            last_group = waiting.len();
            let started = Instant::now();
            let mut asked = take_catch_ups(&mut waiting);
            let mut appended = false;
            while let Some(job) = waiting.pop_front() {
                match job {
                    Job::Close => {
                        self.answer_catch_ups(asked, appended);
                        return;
                    }
                    Job::Replace(remake, answer) => {
                        let outcome = self.replace(*remake);
                        reply(&answer, outcome);
                    }
                    Job::CatchUp(answer) => self.answer_catch_ups(vec![answer], false),
                    Job::GiveWay => self.give_way(&mut waiting, jobs),
                    first => {
                        waiting.push_front(first);
                        appended |= self.commit_group(&mut waiting, &mut asked, jobs);
                    }
                }
            }
            self.answer_catch_ups(asked, appended);
            last_took = started.elapsed();
        }
    }

    /// Answers all who wanted to know what other nodes wrote with one look. An append that succeeded after they asked
    /// was one: it came behind the last entry there was.
    fn answer_catch_ups(&mut self, asked: Vec<SyncSender<Result<u64>>>, appended: bool) {
        if asked.is_empty() {
            return;
        }
        let outcome = if appended && !self.is_poisoned() { self.size() } else { self.catch_up() };
        for answer in asked {
            reply(&answer, outcome.clone());
        }
    }

    pub(super) fn size(&self) -> Result<u64> {
        let reader = self.storage.reader()?;
        Ok(View::new(&*reader, self.side).counters()?.size)
    }

    /// Takes commands from the front until something else comes, and makes them durable together. If another node wrote
    /// first, they are judged again by what is there now; whoever asked only what others wrote is answered meanwhile.
    /// True if something was appended.
    fn commit_group(
        &mut self,
        waiting: &mut VecDeque<Job>,
        asked: &mut Vec<SyncSender<Result<u64>>>,
        jobs: &Receiver<Job>,
    ) -> bool {
        let (mut held, mut later) = (Vec::new(), VecDeque::new());
        let mut outcome = self.try_group(waiting, &mut held);
        let began = Instant::now();
        while matches!(outcome, Err(Error::Overtaken)) && began.elapsed() < OVERTAKEN_WAIT {
            let room = GROUP_COMMANDS_MAX.saturating_sub(waiting.len() + later.len());
            // Who is overtaken gives way to nobody.
            later.extend(jobs.try_iter().take(room).filter(|job| !matches!(job, Job::GiveWay)));
            asked.extend(take_catch_ups(&mut later));
            let size = self.catch_up();
            asked.drain(..).for_each(|answer| reply(&answer, size.clone()));
            outcome = size.map(|_| false);
            if outcome.is_ok() {
                // In front of whoever came later, in their own order.
                let again = held.drain(..).rev().map(HeldJob::into_job);
                again.for_each(|job| waiting.push_front(job));
                outcome = self.try_group(waiting, &mut held);
            }
        }
        // Commands that came meanwhile have a wait of their own.
        waiting.append(&mut later);
        let appended = matches!(outcome, Ok(true));
        let outcome = outcome.map(drop);
        for job in held {
            job.answer(&outcome);
        }
        appended
    }

    /// True if something was appended.
    fn try_group(&mut self, waiting: &mut VecDeque<Job>, held: &mut Vec<HeldJob>) -> Result<bool> {
        match self.stage_group(waiting, held) {
            Ok(rows) if rows.is_empty() => Ok(false),
            Ok(rows) => {
                let is_erasure = rows.get(Space::Engine, SCRUB_KEY).is_some();
                // The bytes are gone from the ledger with the commit. Copies in the derived file go while others write.
                self.commit(&rows).map(|()| {
                    if is_erasure {
                        self.scrubber.request();
                    }
                    true
                })
            }
            Err(error) => {
                self.hooks.aborted();
                Err(error)
            }
        }
    }

    pub(super) fn commit(&mut self, rows: &WriteSet) -> Result<()> {
        match self.storage.commit(rows) {
            Ok(()) => {
                self.hooks.committed();
                if !rows.is_foreign() {
                    self.overtaken = 0;
                }
                // What was committed is safe, but nobody can read it before the actor is reopened.
                self.poisoned.fetch_or(self.storage.has_failed(), Ordering::AcqRel);
                if self.storage.wants_rewrite() {
                    self.scrubber.heal();
                }
                Ok(())
            }
            // There was no room, so nothing has happened.
            Err(error @ Error::DiskFull(_)) if !self.storage.has_failed() => {
                self.hooks.aborted();
                Err(error)
            }
            // A shared ledger says so before anything is written here: this state is still one that was true.
            Err(error @ (Error::Overtaken | Error::LedgerAway(_) | Error::OutcomeUnknown(_))) => {
                self.hooks.aborted();
                self.note_overtaken(&error);
                Err(error)
            }
            Err(error) => {
                // The state on disk is unknown now. Going on could acknowledge what a reader never sees.
                self.poisoned.store(true, Ordering::Release);
                self.hooks.aborted();
                Err(error)
            }
        }
    }

    fn stage_group(
        &mut self,
        waiting: &mut VecDeque<Job>,
        held: &mut Vec<HeldJob>,
    ) -> Result<WriteSet> {
        if self.is_poisoned() {
            while let Some(job) = take_command(waiting) {
                HeldJob::stage(held, job, |_, _| Err(Error::Poisoned));
            }
            return Ok(WriteSet::new());
        }
        let reader = match self.storage.reader() {
            Ok(reader) => reader,
            Err(error) => {
                while let Some(job) = take_command(waiting) {
                    HeldJob::stage(held, job, |_, _| Err(error.clone()));
                }
                return Ok(WriteSet::new());
            }
        };
        let mut batch = Batch::new(&*reader, self.side, &mut self.hooks);
        let (mut failed, taken_over_at) = (None, self.taken_over_at);
        while batch.bytes() < GROUP_BYTES_MAX
            && let Some(job) = take_command(waiting)
        {
            HeldJob::stage(held, job, |request, prepared| match &failed {
                Some(error) => Err(Error::clone(error)),
                None if request.stamp.decided_at.is_some_and(|size| size < taken_over_at) => {
                    Err(Error::Overtaken)
                }
                None => stage(&self.actor, &mut batch, request, prepared).map_err(|refused| {
                    match refused {
                        Refusal::Command(error) => error,
                        Refusal::Batch(error) => {
                            failed = Some(error.clone());
                            error
                        }
                    }
                }),
            });
        }
        match failed {
            Some(error) => Err(error),
            None if batch.entries() == 0 => Ok(WriteSet::new()),
            None => batch.seal(),
        }
    }

    /// Finishes a remake and goes on with it.
    fn replace(&mut self, remake: Remake) -> Result<RebuildReport> {
        if self.is_poisoned() {
            return Err(Error::Poisoned);
        }
        let report = remake.finish(&*self.storage, self.side)?;
        self.side = Side::A;
        let opened = self.storage.reader().and_then(|reader| {
            let view = View::new(&*reader, self.side);
            self.hooks.each(|hook| hook.open(&view))
        });
        if let Err(error) = opened {
            // Nobody knows which state the hooks follow now.
            self.poisoned.store(true, Ordering::Release);
            return Err(error);
        }
        Ok(report)
    }
}

/// The jobs that will share a commit: all that wait, and under load those that are about to come.
///
/// Callers that were answered together tend to ask together again. Without a moment's patience the first of them would
/// get a commit of its own and the others would wait for it. Patience is half of what the last commit took, so waiting
/// can never cost more than it saves, and a caller that is alone never waits. The clock decides only who shares a
/// commit, which leaves no trace in what is written.
fn gather(
    jobs: &Receiver<Job>,
    first: Job,
    last_group: usize,
    patience: Duration,
) -> VecDeque<Job> {
    let mut waiting = VecDeque::from([first]);
    let started = Instant::now();
    while waiting.len() < GROUP_COMMANDS_MAX {
        match jobs.try_recv() {
            Ok(job) => waiting.push_back(job),
            Err(_) if waiting.len() < last_group => {
                let left = patience.saturating_sub(started.elapsed());
                match jobs.recv_timeout(left) {
                    Ok(job) => waiting.push_back(job),
                    Err(_) => break,
                }
            }
            Err(_) => break,
        }
    }
    waiting
}

/// Takes out whoever wants to know what other nodes wrote.
pub(super) fn take_catch_ups(waiting: &mut VecDeque<Job>) -> Vec<SyncSender<Result<u64>>> {
    if !waiting.iter().any(|job| matches!(job, Job::CatchUp(_))) {
        return Vec::new();
    }
    let (mut asked, mut rest) = (Vec::new(), VecDeque::new());
    for job in waiting.drain(..) {
        match job {
            Job::CatchUp(answer) => asked.push(answer),
            other => rest.push_back(other),
        }
    }
    *waiting = rest;
    asked
}

fn take_command(waiting: &mut VecDeque<Job>) -> Option<Job> {
    match waiting.front() {
        Some(Job::One(..) | Job::Bulk(..)) => waiting.pop_front(),
        _ => None,
    }
}

/// Why a command was not staged.
enum Refusal {
    /// This command cannot be done; nothing of it is staged.
    Command(Error),
    /// The batch is unusable: a hook failed, or state is damaged.
    Batch(Error),
}

fn stage(
    actor: &ActorName,
    batch: &mut Batch<'_>,
    request: &Submission,
    prepared: &[PreparedBody],
) -> Result<Receipt, Refusal> {
    let stamp = &request.stamp;
    let counters = batch.view().counters().map_err(Refusal::Batch)?;
    let at = stamp.entry_time(counters.at);
    if let Some(authority) = &request.authority
        && !may_name(&batch.view(), authority, &request.command).map_err(Refusal::Batch)?
    {
        let reason = "what the request names lies outside the slice";
        return Err(Refusal::Command(Error::OutsideGrant(reason.into())));
    }
    let admitted = {
        let view = batch.view();
        let situation = Situation { actor, view: &view, counters: &counters, at };
        let answer = recall_answer(&situation, stamp, &request.command);
        if let Some(receipt) = answer.map_err(Refusal::Command)? {
            return Ok(receipt);
        }
        match &request.command {
            Command::Snapshot(_) => Ok(AdmittedCommand::default()),
            command => admit(&situation, command),
        }
    };
    let mut admitted = admitted.map_err(Refusal::Command)?;
    if let Command::Snapshot(draft) = &request.command {
        check_reason(&draft.reason).map_err(Refusal::Command)?;
        let manifest = manifest(actor, batch, &draft.reason).map_err(Refusal::Batch)?;
        let payload = Payload::Snapshot(manifest);
        admitted.entries.push(Admission { payload, sealed: None });
    }
    if let Some(authority) = &request.authority {
        untaught(&mut admitted.entries);
        gate(&batch.view(), authority, &admitted.entries, at).map_err(Refusal::Command)?;
    }

    let changed = !admitted.entries.is_empty();
    let idempotency = idempotency(stamp, &request.command, &admitted);
    let entries = (admitted.entries.as_slice(), prepared);
    let last = record(batch, stamp, at, idempotency, entries).map_err(Refusal::Batch)?;
    Ok(Receipt {
        seq: if changed { counters.size + 1 } else { last },
        at,
        kind: request.command.kind(),
        id: admitted.id,
        version: admitted.version,
        changed,
        replayed: false,
        skipped: admitted.skipped,
    })
}

/// Records entries one after the other; returns the `seq` of the last, or of the journal if there are none.
fn record(
    batch: &mut Batch<'_>,
    stamp: &Stamp,
    at: Millis,
    mut idempotency: Option<Idempotency>,
    (admissions, prepared): (&[Admission], &[PreparedBody]),
) -> Result<u64> {
    let mut seq = batch.view().counters()?.size;
    for admission in admissions {
        seq += 1;
        let entry = Entry {
            schema: SCHEMA,
            seq,
            kind: admission.payload.kind(),
            at,
            by: stamp.by.clone(),
            payload: admission.payload.to_bytes(),
            run: stamp.run.clone(),
            idempotency: idempotency.take(),
        };
        // A command with a body of its own makes exactly one entry, so what was prepared belongs to it.
        batch.record(&entry, &admission.payload, admission.sealed.as_ref(), prepared)?;
    }
    Ok(seq)
}

fn manifest(actor: &ActorName, batch: &mut Batch<'_>, reason: &str) -> Result<Manifest> {
    let roots = batch.roots()?;
    let counters = batch.view().counters()?;
    Ok(Manifest {
        schema: SCHEMA,
        actor: actor.as_str().to_owned(),
        number: counters.snapshot.map_or(1, |snapshot| snapshot.number + 1),
        size: roots.size,
        journal_root: roots.journal,
        heads_root: roots.heads,
        edges_root: roots.edges,
        root: roots.overall(actor.as_str()),
        previous: counters.snapshot.map(|snapshot| snapshot.manifest),
        reason: reason.to_owned(),
        live: counters.live(),
        tombstoned: counters.tombstoned,
        edges: counters.edges,
    })
}

/// What a delegate attests is journaled, but teaches the owner's weights nothing.
fn untaught(entries: &mut [Admission]) {
    for entry in entries {
        if let Payload::LearnWeights(learned) = &mut entry.payload {
            learned.next = learned.previous;
            learned.skipped.get_or_insert_with(|| "a delegate teaches nothing".to_owned());
        }
    }
}
