//! Runs of this daemon, for the work of the night: started and waited for without the bus.
//!
//! What must stay true: the time a run may take counts from the start of its process, not from the queue; runs that
//! nobody waits for any more because their owner is gone are cancelled.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use api::run::{FinishPayload, RunEvent, RunEventKind, RunReceipt, RunRequest};
use llm::providers::BoxFuture;
use runs::runner::{RunFollower, RunSelector, Runner, run_of};
use talents::UseId;
use talents::think::{RunEnd, RunLauncher};
use tokio::time::Instant;

/// Waits for the end, at most `limit` from when the process began.
async fn end_of(mut events: RunFollower, limit: Duration) -> RunEnd {
    let lost = |error: String| RunEnd::Failed { error, code: "lost".to_owned() };
    let mut until = None;
    loop {
        let next = events.next();
        let next = match until {
            None => next.await,
            Some(until) => match tokio::time::timeout_at(until, next).await {
                Ok(next) => next,
                Err(_) => return RunEnd::TimedOut,
            },
        };
        let event = match next {
            Ok(Some(event)) => event.event,
            Ok(None) => return lost("the run has no end".to_owned()),
            Err(error) => return lost(error.to_string()),
        };
        if event.kind() == RunEventKind::Spawned {
            until = Some(Instant::now() + limit);
        }
        if event.is_terminal() {
            return ended(&event);
        }
    }
}

fn ended(event: &RunEvent) -> RunEnd {
    if let Some(finish) = event.payload::<FinishPayload>() {
        return RunEnd::Finished(Box::new(finish));
    }
    let text = |key: &str| event.text(key).unwrap_or_default().to_owned();
    let code = match text("reason") {
        reason if reason.is_empty() => text("code"),
        reason => reason,
    };
    RunEnd::Failed { error: text("error"), code }
}

fn run_id(use_id: &str) -> Result<UseId, RunEnd> {
    UseId::parse(use_id)
        .map_err(|error| RunEnd::Failed { error: error.to_string(), code: error.code().to_owned() })
}

/// Runs of this daemon.
#[derive(Debug)]
pub(super) struct OwnRuns {
    runner: Runner,
    caller: String,
    open: Mutex<BTreeSet<UseId>>,
}

impl OwnRuns {
    pub(super) fn new(runner: Runner, caller: &str) -> OwnRuns {
        OwnRuns { runner, caller: caller.to_owned(), open: Mutex::default() }
    }

    fn closed(&self, run: &UseId) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(run);
    }
}

impl RunLauncher for OwnRuns {
    fn start(&self, request: RunRequest) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async move {
            let receipt = self.runner.submit(request, &self.caller).await;
            match receipt {
                RunReceipt::Rejected { code, reason } => Err(format!("{reason} ({code})")),
                RunReceipt::Accepted { ref use_id, .. } | RunReceipt::Queued { ref use_id, .. } => {
                    let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
                    open.extend(run_of(&receipt));
                    drop(open);
                    Ok(use_id.clone())
                }
            }
        })
    }

    fn wait<'a>(&'a self, use_id: &'a str, limit: Duration) -> BoxFuture<'a, RunEnd> {
        Box::pin(async move {
            let run = match run_id(use_id) {
                Ok(run) => run,
                Err(ended) => return ended,
            };
            let ended = end_of(self.runner.follow(&run, None), limit).await;
            if ended != RunEnd::TimedOut {
                self.closed(&run);
            }
            ended
        })
    }

    fn cancel<'a>(&'a self, use_id: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Ok(run) = run_id(use_id) {
                self.runner.cancel(&RunSelector::Run(run.clone()));
                self.closed(&run);
            }
        })
    }
}

impl Drop for OwnRuns {
    fn drop(&mut self) {
        let open = std::mem::take(self.open.get_mut().unwrap_or_else(PoisonError::into_inner));
        for run in open {
            self.runner.cancel(&RunSelector::Run(run));
        }
    }
}
