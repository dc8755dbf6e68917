//! What a run that has ended teaches the memory: a run is an intent, and its end is attested with what it relied on.
//!
//! What must stay true: one attestation per run, however often a daemon that dies is told of the same end; a failure to
//! attest is counted and in the log, and costs the run nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use api::attest::{AttestRequest, Citation};
use api::run::RunOutcome;
use api::{ErrorCode, Result};
use kernel::limits::CITATIONS_MAX;
use serde_json::Value;
use service::Caller;
use talents::runner::{EndedRun, RunObserver};

use crate::channels::actor_of;
use crate::host::Host;

/// Who attests.
const BY: &str = "runner";

#[derive(Debug)]
pub(super) struct Attester {
    host: Arc<Host>,
    finished: AtomicU64,
    skipped: AtomicU64,
    failed: AtomicU64,
    cancelled: AtomicU64,
    failures: AtomicU64,
}

impl Attester {
    pub(super) fn new(host: Arc<Host>) -> Attester {
        Attester {
            host,
            finished: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            cancelled: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        }
    }

    pub(super) fn ended(&self) -> [(&'static str, u64); 4] {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        [
            ("finished", count(&self.finished)),
            ("skipped", count(&self.skipped)),
            ("failed", count(&self.failed)),
            ("cancelled", count(&self.cancelled)),
        ]
    }

    pub(super) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    fn attest(&self, run: &EndedRun, request: AttestRequest) -> Result<()> {
        let mut caller = Caller::new(actor_of(&run.request)?, BY);
        caller.idempotency_key = Some(format!("talent-run/{}", run.use_id));
        match self.host.service.attest(&caller, request) {
            // It was attested before, and a memory it cites has changed since.
            Err(error) if error.code() == ErrorCode::IdempotencyConflict => Ok(()),
            attested => Ok(attested.map(drop)?),
        }
    }
}

impl RunObserver for Attester {
    fn ended(&self, run: &EndedRun) {
        let counter = match run.outcome {
            RunOutcome::Finished => &self.finished,
            RunOutcome::Skipped => &self.skipped,
            RunOutcome::Failed => &self.failed,
            RunOutcome::Cancelled => &self.cancelled,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        let of_channel = actor_of(&run.request)
            .and_then(|actor| self.host.run_ended(&Caller::new(actor, BY), run));
        if let Err(error) = of_channel {
            tracing::warn!("the end of run {}: {} ({})", run.use_id, error, error.code());
        }
        let Some(request) = attestation(run) else { return };
        let intent = request.intent.clone();
        if let Err(error) = self.attest(run, request) {
            self.failures.fetch_add(1, Ordering::Relaxed);
            tracing::warn!("{intent} is not attested: {} ({})", error.message, error.code);
        }
    }
}

/// What is attested of a run; nothing of one that found nothing to do.
fn attestation(run: &EndedRun) -> Option<AttestRequest> {
    let outcome = match run.outcome {
        RunOutcome::Finished => "success",
        RunOutcome::Failed => "failure",
        // Whoever cancels it says nothing about what it read.
        RunOutcome::Cancelled => "partial",
        RunOutcome::Skipped => return None,
    };
    let id = |cited: &Value| cited.as_u64().or_else(|| cited.as_str()?.parse().ok());
    let mut cite: Vec<Citation> = run
        .cited
        .iter()
        .filter_map(id)
        .filter(|id| *id > 0)
        .map(|id| Citation { id, version: None })
        .collect();
    if cite.len() > CITATIONS_MAX {
        tracing::warn!(
            "run {} cites {} memories; the first {CITATIONS_MAX} are attested",
            run.use_id,
            cite.len()
        );
        cite.truncate(CITATIONS_MAX);
    }
    let reason = run.record.error_message.as_deref().or(run.record.reason.as_deref());
    let reason: Option<String> =
        reason.map(|text| text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect());
    Some(AttestRequest {
        intent: format!("talent/{}/{}", run.name, run.use_id),
        outcome: outcome.to_owned(),
        cite,
        reason: reason.filter(|text| !text.trim().is_empty()),
        ..AttestRequest::default()
    })
}
