//! The writer: the one thread that writes to an actor's store.
//!
//! One thread takes commands from a bounded queue, joins those that wait into one batch, makes the batch durable with
//! one commit and only then answers each caller. Commands are judged one after the other against the state including
//! all that is staged before them, so no two callers ever act on the same old state.
//!
//! What a body alone decides is prepared by the caller, on its own thread: a lone command before it queues, a bulk
//! while the writer is at work on the part before.
//!
//! A batch comes into being only by recording entries: there is no way to write to the store without a journal entry.
//! After a failed commit nobody knows what is on disk; the writer is poisoned and refuses everything until the actor is
//! reopened.

mod catch_up;
mod gate;
mod held;
mod way;
mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

pub(crate) use gate::permission_of;
pub(crate) use work::WriterThread;

use crate::command::{Command, Receipt, Stamp};
use crate::error::{Error, Result, StorageFailure};
use crate::grants::Authority;
use crate::hook::{Prepare, PreparedBody};
use crate::limits::QUEUE_COMMANDS_MAX;
use crate::rebuild::{RebuildReport, Remake};
use crate::validate::check_body;

/// A command with who asks.
#[derive(Clone, Debug)]
pub struct Submission {
    pub stamp: Stamp,
    pub command: Command,
    /// Set when a delegate asks; the change must then lie inside the grant.
    pub authority: Option<Authority>,
}

/// What the writer's thread can be asked to do.
pub(crate) enum Job {
    One(Box<Submission>, Vec<PreparedBody>, SyncSender<Result<Receipt>>),
    /// All in one commit; each is admitted or refused by itself. What was prepared comes in the same order, while the
    /// writer is at work.
    Bulk(Arc<[Submission]>, Receiver<PreparedPart>, SyncSender<Vec<Result<Receipt>>>),
    /// Lets a derived store that was made beside the live one take its place.
    Replace(Box<Remake>, SyncSender<Result<RebuildReport>>),
    /// Takes over what other nodes wrote. Answers with the size of the journal then.
    CatchUp(SyncSender<Result<u64>>),
    /// Lets another node append before anything else is committed.
    GiveWay,
    Close,
}

/// What was prepared for some commands, one after the other.
type PreparedPart = Vec<Vec<PreparedBody>>;

/// Commands of a part: few, so that the writer begins soon.
const PART_COMMANDS: usize = 16;

#[derive(Debug)]
pub(crate) struct WriterHandle {
    queue: SyncSender<Job>,
    preparers: Vec<Arc<dyn Prepare>>,
    poisoned: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl WriterHandle {
    pub(crate) fn start(writer: WriterThread, name: &str) -> Result<WriterHandle> {
        let (poisoned, preparers) = (writer.poison(), writer.preparers());
        let (queue, jobs): (_, Receiver<Job>) = sync_channel(QUEUE_COMMANDS_MAX);
        let thread = std::thread::Builder::new()
            .name(format!("writer {name}"))
            .spawn(move || writer.run(&jobs))
            .map_err(|error| Error::Storage(StorageFailure::new(error.to_string(), error)))?;
        Ok(WriterHandle { queue, preparers, poisoned, thread: Some(thread) })
    }

    /// True if nothing can be written before the actor is reopened.
    pub(crate) fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Acquire)
            || self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    pub(crate) fn submit(&self, request: Submission) -> Result<Receipt> {
        let prepared = self.prepared(&request);
        self.ask(|answer| Job::One(Box::new(request), prepared, answer))?
    }

    pub(crate) fn submit_bulk(&self, requests: Vec<Submission>) -> Result<Vec<Result<Receipt>>> {
        let requests: Arc<[Submission]> = requests.into();
        let (ready, parts) = channel();
        let (answer, reply) = sync_channel(1);
        let job = Job::Bulk(Arc::clone(&requests), parts, answer);
        self.queue.send(job).map_err(|_| Error::Closed)?;
        if !self.preparers.is_empty() {
            for part in requests.chunks(PART_COMMANDS) {
                let part = part.iter().map(|request| self.prepared(request)).collect();
                // If the writer is gone, the receive below says so.
                if ready.send(part).is_err() {
                    break;
                }
            }
        }
        drop(ready);
        reply.recv().map_err(|_| Error::Poisoned)
    }

    /// What the hooks make of the body beforehand. Nothing of one that will be refused: it may be of any size.
    fn prepared(&self, request: &Submission) -> Vec<PreparedBody> {
        let body = request.command.body().filter(|_| !self.preparers.is_empty());
        let Some(body) = body.filter(|body| check_body(body).is_ok()) else { return Vec::new() };
        self.preparers.iter().map(|preparer| preparer.prepare(body)).collect()
    }

    pub(crate) fn replace(&self, remake: Remake) -> Result<RebuildReport> {
        self.replacer()(remake)
    }

    /// The same for whoever outlives this handle; the writer does not.
    pub(crate) fn replacer(
        &self,
    ) -> impl Fn(Remake) -> Result<RebuildReport> + Send + Sync + 'static {
        let queue = self.queue.clone();
        move |remake| ask(&queue, |answer| Job::Replace(Box::new(remake), answer))?
    }

    pub(crate) fn catch_up(&self) -> Result<u64> {
        self.ask(Job::CatchUp)?
    }

    pub(crate) fn give_way(&self) -> Result<()> {
        self.queue.send(Job::GiveWay).map_err(|_| Error::Closed)
    }

    fn ask<T>(&self, job: impl FnOnce(SyncSender<T>) -> Job) -> Result<T> {
        ask(&self.queue, job)
    }
}

fn ask<T>(queue: &SyncSender<Job>, job: impl FnOnce(SyncSender<T>) -> Job) -> Result<T> {
    let (answer, reply) = sync_channel(1);
    queue.send(job(answer)).map_err(|_| Error::Closed)?;
    reply.recv().map_err(|_| Error::Poisoned)
}

impl Drop for WriterHandle {
    fn drop(&mut self) {
        // A writer that died has no queue, and it has answered everybody who asked.
        let _ = self.queue.send(Job::Close);
        if let Some(thread) = self.thread.take() {
            // A writer that panicked is poisoned; whoever asked it was told so.
            let _ = thread.join();
        }
    }
}
