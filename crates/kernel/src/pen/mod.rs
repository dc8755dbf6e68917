//! The pen: the only writer of an actor.
//!
//! One thread takes commands from a bounded queue, joins those that wait into one batch, makes the batch durable with one
//! commit and only then answers each caller. Commands are judged one after the other against the state including all that
//! is staged before them, so no two callers ever act on the same old state.
//!
//! A batch comes into being only by recording entries: there is no way to write to the store without a journal entry. After
//! a failed commit nobody knows what is on disk; the pen is poisoned and refuses everything until the actor is reopened.

mod batch;
mod gate;
mod work;

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

pub(crate) use batch::{Batch, Hooks};
pub(crate) use work::Writer;

use crate::command::{Command, Receipt, Stamp};
use crate::error::{Error, Result};
use crate::limits::{BULK_COMMANDS_MAX, QUEUE_COMMANDS_MAX};
use crate::scope::Authority;

/// A command with who asks.
#[derive(Clone, Debug)]
pub struct Request {
    pub stamp: Stamp,
    pub command: Command,
    /// Set when a delegate asks; the change must then lie inside the grant.
    pub authority: Option<Authority>,
}

/// Entries applied so far and entries in all.
pub type Progress<'p> = dyn FnMut(u64, u64) + Send + 'p;

/// What the pen's thread can be asked to do.
pub(crate) enum Job {
    One(Box<Request>, SyncSender<Result<Receipt>>),
    /// All in one commit; each is admitted or refused by itself.
    Bulk(Vec<Request>, SyncSender<Vec<Result<Receipt>>>),
    Rebuild(Box<Progress<'static>>, SyncSender<Result<u64>>),
    /// Rewrites the file if content was erased since the last time.
    Scrub(SyncSender<Result<bool>>),
    Close,
}

#[derive(Debug)]
pub(crate) struct Pen {
    queue: SyncSender<Job>,
    thread: Option<JoinHandle<()>>,
}

impl Pen {
    pub(crate) fn start(writer: Writer, name: &str) -> Result<Pen> {
        let (queue, jobs): (_, Receiver<Job>) = sync_channel(QUEUE_COMMANDS_MAX);
        let thread = std::thread::Builder::new()
            .name(format!("pen {name}"))
            .spawn(move || writer.run(&jobs))
            .map_err(|error| Error::Storage(error.to_string()))?;
        Ok(Pen { queue, thread: Some(thread) })
    }

    pub(crate) fn submit(&self, request: Request) -> Result<Receipt> {
        self.ask(|answer| Job::One(Box::new(request), answer))?
    }

    pub(crate) fn submit_bulk(&self, requests: Vec<Request>) -> Result<Vec<Result<Receipt>>> {
        let (field, count, max) = ("commands", requests.len(), BULK_COMMANDS_MAX);
        if count > max {
            return Err(Error::TooMany { field, count, max });
        }
        self.ask(|answer| Job::Bulk(requests, answer))
    }

    pub(crate) fn rebuild(&self, progress: Box<Progress<'static>>) -> Result<u64> {
        self.ask(|answer| Job::Rebuild(progress, answer))?
    }

    pub(crate) fn scrub(&self) -> Result<bool> {
        self.ask(Job::Scrub)?
    }

    fn ask<T>(&self, job: impl FnOnce(SyncSender<T>) -> Job) -> Result<T> {
        let (answer, reply) = sync_channel(1);
        self.queue.send(job(answer)).map_err(|_| Error::Closed)?;
        reply.recv().map_err(|_| Error::Poisoned)
    }
}

impl Drop for Pen {
    fn drop(&mut self) {
        // A pen that died has no queue and has said so to everybody who asked.
        let _gone = self.queue.send(Job::Close);
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}
