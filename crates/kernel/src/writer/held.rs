//! Jobs whose commands are staged and whose answers wait for the commit.
//!
//! What must stay true: nobody is answered before the outcome is known, and a job that was not answered can be put back
//! into the queue as it was.

use std::sync::mpsc::SyncSender;

use super::{Job, Submission};
use crate::command::Receipt;
use crate::error::Result;
use crate::hook::PreparedBody;

pub(super) struct HeldJob {
    job: Job,
    /// What came of its commands, one after the other.
    staged: Vec<Result<Receipt>>,
}

impl HeldJob {
    /// Runs a job's commands now and keeps its answer for later.
    pub(super) fn stage(
        held: &mut Vec<HeldJob>,
        job: Job,
        mut run: impl FnMut(&Submission, &[PreparedBody]) -> Result<Receipt>,
    ) {
        let staged = match &job {
            Job::One(request, prepared, _) => vec![run(request, prepared)],
            // What was prepared is there the first time only, and changes no row.
            Job::Bulk(requests, parts, _) => {
                let mut parts = parts.iter().flatten();
                let mut next = |request| run(request, &parts.next().unwrap_or_default());
                requests.iter().map(&mut next).collect()
            }
            Job::Replace(..) | Job::CatchUp(_) | Job::GiveWay | Job::Close => {
                unreachable!("take_command hands out commands only")
            }
        };
        held.push(HeldJob { job, staged });
    }

    /// The job as it came.
    pub(super) fn into_job(self) -> Job {
        self.job
    }

    /// Tells whoever asked what came of it.
    pub(super) fn answer(self, committed: &Result<()>) {
        let mut each = self
            .staged
            .into_iter()
            .map(|staged| staged.and_then(|receipt| committed.clone().map(|()| receipt)));
        match self.job {
            Job::One(_, _, answer) => {
                if let Some(outcome) = each.next() {
                    reply(&answer, outcome);
                }
            }
            Job::Bulk(_, _, answer) => reply(&answer, each.collect()),
            Job::Replace(..) | Job::CatchUp(_) | Job::GiveWay | Job::Close => {}
        }
    }
}

pub(super) fn reply<T>(answer: &SyncSender<T>, outcome: T) {
    // A caller that gave up waiting loses the answer, not the work.
    let _ = answer.send(outcome);
}
