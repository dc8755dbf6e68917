//! Places for work that blocks, in kinds that cannot take each other's: who reads never waits for who exports.
//!
//! What must stay true: every kind has its own bound, and together they are fewer than the threads that may block, so
//! that no kind of work can take the threads of another; whoever finds all places taken waits, and is then told.

use std::sync::Arc;
use std::time::Duration;

use api::{Error, ErrorCode, Fault, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How long to wait for a place.
const PLACE_WAIT: Duration = Duration::from_secs(10);
/// How long an ordinary operation may take; whoever asked is told then, and its place is free when it ends.
const SHORT_LIMIT: Duration = Duration::from_mins(1);
/// The same for work that looks at everything or waits for a model.
const LONG_LIMIT: Duration = Duration::from_mins(30);
/// Threads for work that blocks: those of all pools, and some for the daemon itself.
pub const BLOCKING_THREADS: usize = 256;

/// A kind of work, with places of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkKind {
    Read,
    Write,
    /// What looks at everything and computes all the while. A few of them take every processor.
    Whole,
    /// What may take long, and mostly waits: for a model, or for a program.
    Long,
    /// What goes on for as long as somebody reads it.
    Stream,
    /// A command line that is run for a caller.
    Command,
    /// A tool of an agent, over HTTP.
    Tool,
}

/// Operations that change something and end soon.
const WRITES: [&str; 33] = [
    "archive",
    "attest",
    "budget",
    "capture",
    "channel_remove",
    "channel_stop",
    "confirm",
    "decide",
    "delete",
    "grant",
    "language",
    "mind_keep",
    "mind_pause",
    "mind_reset",
    "output_put",
    "page_remove",
    "page_restore",
    "past_keep",
    "pin",
    "prompt_save",
    "relate",
    "restore",
    "revoke",
    "save",
    "save_many",
    "separate_project",
    "session_end",
    "session_start",
    "session_summary",
    "set_setting",
    "snapshot",
    "unrelate",
    "update",
];
/// Operations that look at every byte of an actor.
const WHOLE: [&str; 8] =
    ["audit", "backup", "compact", "rebuild", "restore_backup", "salvage", "sweep", "verify"];
/// Operations that may take long: they wait for a model or a program, or what they look at may be much.
const LONG: [&str; 27] = [
    "admin",
    "admin_question",
    "bulletin",
    "change_many",
    "channel_branch",
    "channel_say",
    "channel_worker",
    "diff",
    "memory_recall",
    "merge_projects",
    "mind_run",
    "mind_undo",
    "page_add",
    "past_check",
    "past_exclude",
    "past_forget",
    "past_read",
    "past_rebuild",
    "past_report",
    "past_restore",
    "past_work",
    "prove_claim",
    "since_root",
    "talent_run",
    "tool_ask",
    "tool_use",
    "verify_proof",
];

impl WorkKind {
    const ALL: [WorkKind; 7] = [
        WorkKind::Read,
        WorkKind::Write,
        WorkKind::Whole,
        WorkKind::Long,
        WorkKind::Stream,
        WorkKind::Command,
        WorkKind::Tool,
    ];

    /// The kind of an operation, by its name. What is not known to be more is a read.
    pub fn of(operation: &str) -> WorkKind {
        if WRITES.contains(&operation) {
            WorkKind::Write
        } else if WHOLE.contains(&operation) {
            WorkKind::Whole
        } else if LONG.contains(&operation) {
            WorkKind::Long
        } else {
            WorkKind::Read
        }
    }

    const fn places(self) -> usize {
        match self {
            WorkKind::Read | WorkKind::Write | WorkKind::Tool => 32,
            WorkKind::Whole => 3,
            WorkKind::Long => 24,
            WorkKind::Stream => 8,
            WorkKind::Command => 64,
        }
    }

    fn name(self) -> &'static str {
        match self {
            WorkKind::Read => "reading",
            WorkKind::Write => "writing",
            WorkKind::Whole => "looks at everything",
            WorkKind::Long => "long work",
            WorkKind::Stream => "streams",
            WorkKind::Command => "commands",
            WorkKind::Tool => "tools",
        }
    }

    /// How long work of this kind may take.
    pub fn limit(self) -> Duration {
        match self {
            WorkKind::Read | WorkKind::Write => SHORT_LIMIT,
            WorkKind::Whole
            | WorkKind::Long
            | WorkKind::Stream
            | WorkKind::Command
            | WorkKind::Tool => LONG_LIMIT,
        }
    }
}

/// The places of one daemon.
#[derive(Debug)]
pub struct WorkPools {
    pools: [Arc<Semaphore>; WorkKind::ALL.len()],
}

impl Default for WorkPools {
    fn default() -> WorkPools {
        WorkPools { pools: WorkKind::ALL.map(|kind| Arc::new(Semaphore::new(kind.places()))) }
    }
}

impl WorkPools {
    /// A place for work of this kind, for as long as it is held.
    pub async fn enter(&self, kind: WorkKind) -> Result<OwnedSemaphorePermit> {
        self.enter_within(kind, PLACE_WAIT).await
    }

    /// The same for whoever does not want to wait that long.
    pub async fn enter_within(
        &self,
        kind: WorkKind,
        wait: Duration,
    ) -> Result<OwnedSemaphorePermit> {
        let pool = Arc::clone(&self.pools[kind as usize]);
        match tokio::time::timeout(wait, pool.acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            _ => {
                let message = format!("all {} places for {} are taken", kind.places(), kind.name());
                Err(Error::new(ErrorCode::TooManyCalls, Fault::Busy, message)
                    .with_hint("try again in a moment"))
            }
        }
    }

    /// Runs work on a thread that may block, in a place of its kind and for as long as its kind may take. A panic is an
    /// answer too: the others must not suffer from it.
    pub async fn run<T: Send + 'static>(
        &self,
        kind: WorkKind,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let place = self.enter(kind).await?;
        let work = tokio::task::spawn_blocking(move || {
            let done = work();
            // Only now: whoever gave up waiting must not free a place that is still used.
            drop(place);
            done
        });
        match tokio::time::timeout(kind.limit(), work).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => {
                tracing::warn!("an operation failed: {error}");
                Err(Error::internal("the operation failed unexpectedly; the log says more"))
            }
            Err(_) => {
                let seconds = kind.limit().as_secs();
                let message = format!("the operation took longer than {seconds} s");
                Err(Error::new(ErrorCode::Deadline, Fault::Busy, message)
                    .with_hint("what it began may still be finished; ask for less at once"))
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_together_leave_threads_for_the_daemon_itself() {
        let places: usize = WorkKind::ALL.iter().map(|kind| kind.places()).sum();
        assert!(places + 32 <= BLOCKING_THREADS, "{places}");
        for name in WRITES.iter().chain(&WHOLE).chain(&LONG) {
            assert!(api::operation::NAMES.contains(name), "{name}");
        }
        // F9: what takes as long as the store is large, or as another's program likes, takes no place of readers.
        assert_eq!(WorkKind::of("tool_use"), WorkKind::Long);
        assert!(WHOLE.iter().all(|name| WorkKind::of(name) == WorkKind::Whole));
        assert!(WRITES.iter().all(|name| !LONG.contains(name) && !WHOLE.contains(name)));
    }

    // F9
    #[tokio::test]
    async fn one_kind_of_work_cannot_take_the_places_of_another() {
        let pools = WorkPools::default();
        let mut held = Vec::new();
        for _ in 0..WorkKind::Stream.places() {
            held.push(pools.enter(WorkKind::Stream).await.unwrap());
        }
        let moment = Duration::from_millis(1);
        let refused = pools.enter_within(WorkKind::Stream, moment).await.unwrap_err();
        assert_eq!((refused.code, refused.retry), (ErrorCode::TooManyCalls, true));
        assert_eq!(pools.run(WorkKind::Read, || 7).await.unwrap(), 7);
        drop(held.pop());
        assert!(pools.enter(WorkKind::Stream).await.is_ok());
    }

    #[tokio::test]
    async fn a_panic_is_an_answer_and_gives_its_place_back() {
        let pools = WorkPools::default();
        for _ in 0..=WorkKind::Stream.places() {
            let failed = pools.run(WorkKind::Stream, || panic!("on purpose")).await;
            let failed: Result<()> = failed;
            assert_eq!(failed.unwrap_err().code, ErrorCode::Internal);
        }
    }
}
